// Package pagetest holds what tests of several modules compare with the pages.
package pagetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/internal/pages"
)

// Doctor compares a report of `farread doctor --json` with the column of a store in docs/stores.md of the checkout
// root, and returns the column's head. Without races these are left out: who wins where two may is chance.
func Doctor(t *testing.T, root, store string, report []byte, races bool) (head string) {
	t.Helper()
	var r struct {
		Findings []struct{ Check, Level, Seen string }
	}
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	list, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	const name = "docs/stores.md"
	i := slices.IndexFunc(list, func(p pages.Page) bool { return p.Name == name })
	head, cells := list[i].Column(store)
	seen, least := 0, 16
	if races {
		least = 18
	}
	for _, f := range r.Findings {
		cell, told := cells[f.Check]
		if !told || !races && strings.Contains(f.Check, "several at once") {
			continue
		}
		seen++
		if strings.Trim(cell, "*") != f.Level {
			t.Errorf("%s at %s: %s %q, and in %s %q: run make stores", f.Check, store, f.Level, f.Seen, name, cell)
		}
	}
	if seen < least {
		t.Errorf("%d checks are in the table of %s", seen, name)
	}
	return head
}
