package bloscpack_test

import (
	"runtime"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
)

// TestProportion: a damaged file of a few hundred bytes does not make a reader
// allocate the sizes that it claims.
func TestProportion(t *testing.T) {
	for _, x := range manifest(t) {
		if x.Kind != "malformed" {
			continue
		}
		p := load(t, x.File)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(t.Context(), p, bloscpack.Options{Parallel: 1})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20+16*uint64(len(p)) {
			t.Errorf("%s: %d bytes allocated, then %v", x.File, n, err)
		}
	}
}
