package blosc_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// TestUnusedDict: a chunk may carry a dictionary that its codec does not use, as the
// chunks of python-blosc2's BatchArray do. c-blosc2 reads these very bytes.
func TestUnusedDict(t *testing.T) {
	want := bytes.Repeat([]byte("hello world, hello blosc "), 20)
	dict := want[:300]
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, err := w.Write(want)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	// Literals of 32 bytes at most, the first with the marker of the format.
	var lz []byte
	for p := want; len(p) > 0; {
		n := min(len(p), 32)
		lz = append(append(lz, byte(n-1)), p[:n]...)
		p = p[n:]
	}
	lz[0] |= 0x20
	le := binary.LittleEndian
	for _, vl := range []byte{0, 1} {
		for format, stream := range map[byte][]byte{0: lz, 3: z.Bytes()} {
			t.Run(fmt.Sprintf("format %d, VL %d", format, vl), func(t *testing.T) {
				size, prefix := len(want), len(stream) // of a block; prefix is the bytes before its stream
				if vl == 1 {
					size, prefix = 1, len(want)
				}
				c := []byte{5 + vl, 1, 0x15 | format<<5, 1}
				c = le.AppendUint32(c, uint32(len(want)))
				c = le.AppendUint32(c, uint32(size))
				c = le.AppendUint32(c, uint32(32+4+4+len(dict)+4+len(stream)))
				c = append(c, make([]byte, 16)...)
				c[30], c[31] = vl, 1
				c = le.AppendUint32(c, uint32(32+4+4+len(dict)))
				c = le.AppendUint32(c, uint32(len(dict)))
				c = append(c, dict...)
				c = le.AppendUint32(c, uint32(prefix))
				c = append(c, stream...)

				got := make([]byte, len(want))
				if _, err := blosc.DecodeInto(got, c); err != nil || !bytes.Equal(got, want) {
					t.Errorf("whole: %v", err)
				}
				x, err := blosc.ParseIndex(c)
				if err != nil {
					t.Fatal(err)
				}
				clear(got)
				off, n := x.Block(0)
				from, k := x.Dict()
				if err := (blosc.DecodeOptions{}).DecodeBlock(got, x, 0, c[off:off+n], nil, c[from:from+k]); err != nil || !bytes.Equal(got, want) {
					t.Errorf("block: %v", err)
				}
			})
		}
	}
}
