package bloscpack_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
)

// TestLongDType: a type of megabytes is refused before it is read.
func TestLongDType(t *testing.T) {
	for _, text := range []string{`"` + strings.Repeat("[", 2<<20) + `"`, `[["a","<i4"]` + strings.Repeat(`,["a","<i4"]`, 100_000) + `]`} {
		meta := json.RawMessage(`{"container":"numpy","shape":[1],"order":"C","dtype":` + text + `}`)
		f := open(t, write(t, bloscpack.WriteOptions{Metadata: meta, ChunkSize: 4}, [][]byte{{1, 2, 3, 4}}), bloscpack.Options{})
		if _, ok, err := f.Array(); !ok || !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%.20s: %v, %v", text, ok, err)
		}
	}
}
