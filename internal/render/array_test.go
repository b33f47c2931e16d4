package render

import (
	"errors"
	"io"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// TestNoBytes: items without bytes are refused as text and as a picture, not endless.
func TestNoBytes(t *testing.T) {
	d, err := dtype.Parse("|S0")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range append(Arrays(), Text) {
		err := Array(io.Discard, d, []int64{3}, ArrayOptions{Format: format, Memory: 1 << 20}, func(put func(p []byte) error) error { return put(nil) })
		if plain := format == Npy || format == Raw; plain != (err == nil) || !plain && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", format, err)
		}
	}
}
