package zstdfast

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// library is the decoder that the frames are compared with.
func library(tb testing.TB) *zstd.Decoder {
	tb.Helper()
	lib, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(lib.Close)
	return lib
}

// contents are data of all kinds: short and long matches, far ones and such that overlap
// themselves, literals of many codes and of few.
func contents() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	ramp := make([]byte, 5000)
	for i := range ramp {
		ramp[i] = byte(i >> 7)
	}
	sparse := make([]byte, 6000)
	for i := 0; i < len(sparse); i += 200 + i%97 {
		sparse[i] = byte(i * i)
	}
	var sine, words []byte
	for i := range 20_000 {
		sine = binary.LittleEndian.AppendUint16(sine, uint16(1000*math.Sin(float64(i)/300)+3*r.Float64()))
	}
	for len(words) < 140_000 {
		words = fmt.Appendf(words, "%d and %x are %d; ", r.IntN(100), r.IntN(1<<12), len(words)/100)
	}
	few := make([]byte, 40_000)
	for i := range few {
		few[i] = byte(r.NormFloat64() * 9)
	}
	periods := make([]byte, 0, 60_000)
	for d := 1; d < 40; d++ {
		p := make([]byte, d)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		for range 3 + r.IntN(40) {
			periods = append(periods, p...)
		}
	}
	return map[string][]byte{
		"zeros": make([]byte, 270_000), "ramp": ramp, "sparse": sparse, "sine": sine, "words": words, "few": few, "periods": periods,
		"13":   bytes.Repeat([]byte("period of 13 "), 200),
		"run":  bytes.Repeat([]byte{7}, 5000),
		"both": append(bytes.Repeat([]byte("abc"), 300), bytes.Repeat([]byte("abcdefgh"), 300)...),
	}
}

// overlapping are the contents that Worthwhile takes on every processor.
var overlapping = []string{"zeros", "ramp", "sparse", "13", "run", "both"}

func encoder(tb testing.TB, level zstd.EncoderLevel) *zstd.Encoder {
	tb.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(level > zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = enc.Close() })
	return enc
}

// both decodes with the kernel and without it, and keeps what one frame leaves for the next.
type both struct {
	ds  [2]Decoder
	lib *zstd.Decoder
}

func newBoth(tb testing.TB) *both {
	tb.Helper()
	return &both{ds: [2]Decoder{1: {run: run{plain: true}}}, lib: library(tb)}
}

// check says that both decoders take src or neither, that they write nothing behind the
// capacity, and that they make the library's bytes. It returns whether they took it.
func (b *both) check(t *testing.T, src []byte, n int) bool {
	t.Helper()
	var want []byte
	var err error
	asked := false
	var took [2]bool
	for i := range b.ds {
		for _, spare := range []int{0, 7, 40, 100} {
			buf := bytes.Repeat([]byte{0x5a}, n+spare+16)
			took[i] = b.ds[i].Decode(buf[:n:n+spare], src)
			if !bytes.Equal(buf[n+spare:], bytes.Repeat([]byte{0x5a}, 16)) {
				t.Fatal("written behind the capacity")
			}
			if !took[i] {
				continue
			}
			if !asked {
				want, err = b.lib.DecodeAll(src, make([]byte, 0, n))
				asked = true
			}
			if err != nil && !errors.Is(err, zstd.ErrDecoderSizeExceeded) || len(want) != n {
				t.Fatalf("decodes to %d bytes what the library refuses: %v", n, err)
			}
			if !bytes.Equal(buf[:n], want) {
				t.Fatal("decodes to other bytes than the library")
			}
		}
	}
	if took[0] != took[1] {
		t.Fatal("taken with the kernel:", took[0], "without:", took[1])
	}
	return took[0]
}

// FuzzDecode compares Decode with the library, with the kernel and without it: a frame
// that it decodes has the same bytes there.
func FuzzDecode(f *testing.F) {
	for level := zstd.SpeedFastest; level < zstd.SpeedBestCompression; level++ {
		enc := encoder(f, level)
		for _, p := range contents() {
			p = p[:min(len(p), 10_000)] // larger seeds mutate slowly
			f.Add(enc.EncodeAll(p, nil), len(p))
		}
	}
	b := newBoth(f)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		n = min(max(n, 0), 1<<18)
		Worthwhile(src, n)
		b.check(t, src, n)
	})
}

// TestDamaged changes a few bits of good frames, which a fuzzer seldom does: most of its
// inputs end at a header.
func TestDamaged(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	b, taken := newBoth(t), 0
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedBetterCompression} {
		enc := encoder(t, level)
		for _, p := range contents() {
			p = p[:min(len(p), 6000)]
			frame := enc.EncodeAll(p, nil)
			for range 10 {
				bad := bytes.Clone(frame)
				for range 1 + r.IntN(3) {
					bad[8+r.IntN(len(bad)-8)] ^= 1 << r.IntN(8)
				}
				if b.check(t, bad, len(p)) {
					taken++
				}
			}
		}
	}
	if taken == 0 {
		t.Error("all were declined")
	}
}

// TestTakes lists frames that must be taken: a decoder that always declines would pass
// every other test.
func TestTakes(t *testing.T) {
	t.Parallel()
	ds := [2]Decoder{1: {run: run{plain: true}}}
	for level := zstd.SpeedFastest; level < zstd.SpeedBestCompression; level++ {
		enc := encoder(t, level)
		for name, p := range contents() {
			frame := enc.EncodeAll(p, nil)
			for i := range ds {
				for _, spare := range []int{0, 64} {
					got := make([]byte, len(p), len(p)+spare)
					if !ds[i].Decode(got, frame) {
						t.Errorf("%s at level %v declined", name, level)
					} else if !bytes.Equal(got, p) {
						t.Errorf("%s at level %v: other bytes", name, level)
					}
				}
			}
		}
	}
}

func TestWorthwhile(t *testing.T) {
	t.Parallel()
	all := contents()
	enc := encoder(t, zstd.SpeedDefault)
	for _, name := range overlapping {
		if !Worthwhile(enc.EncodeAll(all[name], nil), len(all[name])) {
			t.Errorf("%s would go to the library", name)
		}
	}
	if p := all["few"]; Worthwhile(enc.EncodeAll(p, nil), len(p)) != hasKernel {
		t.Error("literals alone: wrong decoder")
	}
}
