package b2nd_test

import (
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
)

// TestManyChunks: an array of more chunks than may be written is refused before any of them is.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		rows   int64
		limits formats.Limits
		ok     bool
	}{
		{1_000_000_000, formats.Limits{}, false}, {4, formats.Limits{MaxEntries: 3}, false}, {3, formats.Limits{MaxEntries: 3}, true}, {1 << 20, formats.Limits{MaxMeta: 1 << 20}, false},
	} {
		var out memory
		m := b2nd.Meta{Shape: []int64{x.rows}, ChunkShape: []int{1}, BlockShape: []int{1}, DType: "|u1"}
		w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Limits: x.limits})
		if x.ok {
			if err != nil {
				t.Error(x, err)
				continue
			}
			w.Abort()
			continue
		}
		if !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%v: %v", x, err)
		}
	}
}
