package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/pierrec/lz4/v4"

	"github.com/farread/farread/internal/codec"
)

// TestSmallLZ4: the stream does not depend on earlier inputs of the encoder, is the
// one that C makes (as a port of C says), also if dst has little room, and is read by
// another decoder.
func TestSmallLZ4(t *testing.T) {
	t.Parallel()
	var old codec.Encoder
	for name, class := range classes {
		for i := range 160 {
			n := i
			if i > 40 {
				n = 41 + 3*(i-41) // up to 395
			}
			src := class(n, uint64(n))
			for _, level := range []int{1, 5, 9} {
				var fresh codec.Encoder
				want, got := roomy(n), roomy(n)
				k, err := fresh.Encode(codec.LZ4, level, want, src, nil)
				if err != nil {
					t.Fatal(err)
				}
				m, err := old.Encode(codec.LZ4, level, got, src, nil)
				if err != nil || !bytes.Equal(want[:k], got[:m]) {
					t.Fatalf("%s, %d bytes, level %d: %x, and later %x, %v", name, n, level, want[:k], got[:m], err)
				}
				back := make([]byte, n)
				if r, err := lz4.UncompressBlock(got[:m], back); err != nil || r != n || !bytes.Equal(back, src) {
					t.Fatalf("%s, %d bytes, level %d: %d come back, %v", name, n, level, r, err)
				}
				for _, room := range []int{0, 1, 3, m / 2, m - 1, m, m + 1, m + 4, m + 8, m + 30, n - 1, n + 40} {
					if room < 0 {
						continue
					}
					short, theirs := bytes.Repeat([]byte{0xa5}, room+40), make([]byte, room)
					r, err := old.Encode(codec.LZ4, level, short[:room], src, nil)
					c := lz4.CompressorCCompat{Acceleration: 10 - level}
					k, err2 := c.CompressBlock(src, theirs)
					if errors.Is(err2, lz4.ErrInvalidSourceShortBuffer) {
						k = 0
					}
					if err != nil || r != k || !bytes.Equal(short[:r], theirs[:k]) {
						t.Fatalf("%s, %d bytes, level %d, room %d: %x, %v; C makes %x, %v", name, n, level, room, short[:r], err, theirs[:k], err2)
					}
					if !bytes.Equal(short[room:], bytes.Repeat([]byte{0xa5}, 40)) {
						t.Fatalf("%s, %d bytes, level %d, room %d: written behind the end", name, n, level, room)
					}
				}
			}
		}
	}
}

// TestSmallLZ4Often: so many inputs that positions start again from 0.
func TestSmallLZ4Often(t *testing.T) {
	t.Parallel()
	var enc codec.Encoder
	src := classes["text"](397, 3)
	want := make([]byte, 396)
	c := lz4.CompressorCCompat{Acceleration: 1}
	n, err := c.CompressBlock(src, want)
	if err != nil || n == 0 {
		t.Fatal(n, err)
	}
	got := make([]byte, 396)
	for i := range 1000 {
		if k, err := enc.Encode(codec.LZ4, 9, got, src, nil); err != nil || !bytes.Equal(got[:k], want[:n]) {
			t.Fatalf("the %d. time: %x, %v; want %x", i, got[:k], err, want[:n])
		}
		if i%7 == 0 { // other content in between
			if _, err := enc.Encode(codec.LZ4, 9, got, classes["random"](i%400, uint64(i)), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// BenchmarkSmall encodes inputs as short as records are.
func BenchmarkSmall(b *testing.B) {
	for _, n := range []int{100, 250, 1000, 4000, 8000, 16000} {
		for _, level := range []int{1, 5, 9} {
			src := classes["text"](n, 1)
			b.Run(fmt.Sprintf("bytes=%d/level=%d", n, level), func(b *testing.B) {
				var enc codec.Encoder
				b.SetBytes(int64(n))
				dst, k := make([]byte, n-1), 0
				for b.Loop() {
					k, _ = enc.Encode(codec.LZ4, level, dst, src, nil)
				}
				b.ReportMetric(float64(n)/float64(max(k, 1)), "ratio")
			})
		}
	}
}
