package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
)

// A frameBuffer is a frame being written.
type frameBuffer struct{ bytes.Buffer }

func (m *frameBuffer) Patch(off int64, p []byte) error {
	copy(m.Bytes()[off:], p)
	return nil
}

// TestVerifyNothing: verify does not decode chunks that are not stored. Else 100 TiB
// of zeros, a file of 200 bytes, would keep it busy for hours.
func TestVerifyNothing(t *testing.T) {
	t.Parallel()
	const size, n = 1 << 30, 100_000
	var f frameBuffer
	w, err := cframe.NewWriter(&f, cframe.WriteOptions{ChunkSize: size})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := w.WriteSpecial(blosc.Zeros, size); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "zeros.b2frame")
	write(t, name, f.Bytes())
	if got := run(t, "verify", name); !strings.HasPrefix(got, "ok: 100,000 chunks") || !strings.Contains(got, "100,000 chunks of zeros") {
		t.Errorf("%q", got)
	}
}
