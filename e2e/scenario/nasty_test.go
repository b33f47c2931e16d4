package scenario_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/functions"
)

// TestNastyKeys: they are thirty, of at most 1 024 bytes, and each is a rule's.
func TestNastyKeys(t *testing.T) {
	t.Parallel()
	keys := scenario.NastyKeys()
	rules := scenario.Rules(&scenario.Pipeline{Uploads: "uploads", Datasets: "datasets", Spare: "spare"}, "", "")
	outputs := map[string]bool{}
	longest := 0
	for _, k := range keys {
		if _, ok := rules.Match("uploads", k); !ok || !utf8.ValidString(k) || len(k) > 1024 {
			t.Errorf("%.60q: %d bytes, matched %v", k, len(k), ok)
		}
		outputs[functions.OutputKey("", k, ".gulp")] = true
		longest = max(longest, len(k))
	}
	if len(keys) != 30 || len(outputs) != 30 || longest != 1024 || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != 30 {
		t.Errorf("%d keys, %d outputs, the longest of %d bytes", len(keys), len(outputs), longest)
	}
}
