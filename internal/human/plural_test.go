package human_test

import (
	"testing"

	"github.com/farread/farread/internal/human"
)

func TestPlural(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]int64{"1 axis": 1, "3 axes": 3, "0 axes": 0} {
		if got := human.Plural(n, "axis"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := human.Plural(2000, "frame"); got != "2,000 frames" {
		t.Error(got)
	}
}
