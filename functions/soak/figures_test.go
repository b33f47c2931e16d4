package soak_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions/soak"
)

// TestTable: figures replace those of the same proof and test, and keep the others.
func TestTable(t *testing.T) {
	t.Parallel()
	f := func(id, test, got string, hit bool) soak.Figure {
		return soak.Figure{ID: id, What: "a|b", Got: got, Goal: "<= 1", Hit: hit, Test: test, Date: "2026-11-02"}
	}
	first := soak.Table([]soak.Figure{f("E5", "TestKilled", "1", true), f("E4", "TestA/x", "2", false), f("E4", "TestB", "3", true)}, "")
	doc, err := soak.Insert("x\n<!-- figures: begin -->\nold\n<!-- figures: end -->\ny\n", "figures", "said before\n\n"+first)
	if err != nil {
		t.Fatal(err)
	}
	second := soak.Table([]soak.Figure{f("E4", "TestA/x", "5", true)}, soak.Between(doc, "figures"))
	want := `| | what | figure | goal | | measured by | on |
| --- | --- | --- | --- | --- | --- | --- |
| E4 | a\|b | 5 | &lt;= 1 | hit | ` + "`TestA/x`" + ` | 2026-11-02 |
| E4 | a\|b | 3 | &lt;= 1 | hit | ` + "`TestB`" + ` | 2026-11-02 |
| E5 | a\|b | 1 | &lt;= 1 | hit | ` + "`TestKilled`" + ` | 2026-11-02 |
`
	if d := cmp.Diff(want, second); d != "" {
		t.Error(d)
	}
	if !strings.Contains(first, "| 2 | &lt;= 1 | **missed** |") {
		t.Errorf("a miss is not told: %s", first)
	}
	if _, err := soak.Insert("no markers", "figures", ""); err == nil {
		t.Error("no markers: taken")
	}
	if _, err := soak.ParseFigures(strings.NewReader(`{"id":"E1"}{"id":`)); err == nil {
		t.Error("half a line: taken")
	}
}
