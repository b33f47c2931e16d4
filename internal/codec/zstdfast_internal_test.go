package codec

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzZstdFast compares zstdFast with the library: if zstdFast decodes a frame, the
// library decodes it to the same bytes.
func FuzzZstdFast(f *testing.F) {
	var enc Encoder
	for _, seed := range zstdSeeds() {
		for _, level := range []int{1, 5, 9} {
			out := make([]byte, len(seed)+100)
			n, err := enc.Encode(Zstd, level, out, seed, nil)
			if err != nil || n == 0 {
				f.Fatal(n, err)
			}
			f.Add(out[:n], len(seed))
		}
	}
	lib, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(lib.Close)
	var fast zstdFast // state that is left from one frame must not reach the next
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		n = min(max(n, 0), 1<<18)
		worthwhile(src, n)
		for _, spare := range []int{0, 7, 40} {
			buf := bytes.Repeat([]byte{0x5a}, n+spare+16)
			if !fast.decode(buf[:n:n+spare], src) {
				continue
			}
			if !bytes.Equal(buf[n+spare:], bytes.Repeat([]byte{0x5a}, 16)) {
				t.Fatal("written behind the capacity")
			}
			want, err := lib.DecodeAll(src, make([]byte, 0, n))
			if err != nil && !errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(want) != n {
				t.Fatalf("decodes to %d bytes what the library refuses: %v", n, err)
			}
			if !bytes.Equal(buf[:n], want) {
				t.Fatal("decodes to other bytes than the library")
			}
		}
	})
}

func zstdSeeds() [][]byte {
	ramp := make([]byte, 5000)
	for i := range ramp {
		ramp[i] = byte(i >> 7)
	}
	sparse := make([]byte, 6000)
	for i := 0; i < len(sparse); i += 200 + i%97 {
		sparse[i] = byte(i * i)
	}
	return [][]byte{
		make([]byte, 300_000), ramp, sparse,
		bytes.Repeat([]byte("period of 13 "), 200),
		bytes.Repeat([]byte{7}, 5000),
		append(bytes.Repeat([]byte("abc"), 300), bytes.Repeat([]byte("abcdefgh"), 300)...),
	}
}

// TestZstdFastTakes lists frames that zstdFast must take: a decoder that always
// declines would pass every other test.
func TestZstdFastTakes(t *testing.T) {
	t.Parallel()
	var enc Encoder
	var fast zstdFast
	for i, p := range zstdSeeds() {
		for _, level := range []int{1, 3, 5, 9} {
			out := make([]byte, len(p)+100)
			n, err := enc.Encode(Zstd, level, out, p, nil)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			got := make([]byte, len(p))
			if !worthwhile(out[:n], len(p)) || !fast.decode(got, out[:n]) || !bytes.Equal(got, p) {
				t.Errorf("data %d at level %d went to the library", i, level)
			}
		}
	}
}
