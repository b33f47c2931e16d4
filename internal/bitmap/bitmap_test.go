package bitmap

import (
	"bytes"
	"testing"
)

// TestPack: full bytes, and a last one that is not.
func TestPack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []byte }{
		{nil, []byte{}},
		{[]byte{0}, []byte{0}},
		{[]byte{1, 0, 2, 0, 0, 0, 0, 255}, []byte{0b10000101}},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 9}, []byte{0, 0b10}},
	} {
		if got := Pack(c.in); !bytes.Equal(got, c.want) {
			t.Errorf("%v: %08b, want %08b", c.in, got, c.want)
		}
	}
}
