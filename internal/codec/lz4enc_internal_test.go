package codec

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pierrec/lz4/v4"
)

// sameLZ4 encodes src into room bytes, and compares with the port of C's encoder.
func sameLZ4(tb testing.TB, z *lz4Encoder, accel int, src, got []byte) {
	tb.Helper()
	want := make([]byte, len(got))
	c := lz4.CompressorCCompat{Acceleration: accel}
	k, err := c.CompressBlock(src, want)
	if err != nil && !errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
		tb.Fatal(err)
	} else if err != nil {
		k = 0
	}
	if n := z.encode(accel, got, src); n != k || !bytes.Equal(got[:n], want[:k]) {
		at := 0
		for at < min(n, k) && got[at] == want[at] {
			at++
		}
		tb.Fatalf("%d bytes, acceleration %d, room for %d: %d bytes, of which the first %d are right; C makes %d", len(src), accel, len(got), n, at, k)
	}
}

// lz4Inputs calls do with inputs that the kernel takes, of matches and literals of many
// lengths, and with random bytes among them.
func lz4Inputs(seed uint64, count int, do func(r *rand.Rand, src []byte)) {
	r := rand.New(rand.NewPCG(seed, 7))
	for range count {
		n := lz4SmallMax + 1 + r.IntN(1<<(5+r.IntN(12)))
		_, src := lz4Stream(r, n)
		if r.IntN(3) == 0 { // a stretch without matches
			at := r.IntN(len(src))
			for i := range src[at:][:r.IntN(len(src)-at)] {
				src[at+i] = byte(r.Uint32())
			}
		}
		do(r, src[:min(len(src), lz4BlockMax)])
	}
}

// TestLZ4Encoder: blocks of every length up to the longest, into any room, are those that
// C makes, and nothing is written behind them.
func TestLZ4Encoder(t *testing.T) {
	t.Parallel()
	var z lz4Encoder
	lz4Inputs(1, 200, func(r *rand.Rand, src []byte) {
		accel := 1 + r.IntN(9)
		buf := make([]byte, len(src)+len(src)/255+80)
		sameLZ4(t, &z, accel, src, buf)
		n := z.encode(accel, buf, src)
		for _, room := range []int{n - 1, n, n + 1, n + 1 + r.IntN(80), r.IntN(n)} {
			clear(buf)
			sameLZ4(t, &z, accel, src, buf[:min(room, len(buf)-8)])
			if !bytes.Equal(buf[min(room, len(buf)-8):], make([]byte, len(buf)-min(room, len(buf)-8))) {
				t.Fatalf("%d bytes into %d: written behind the end", len(src), room)
			}
		}
	})
	for _, n := range []int{lz4SmallMax, lz4SmallMax + 1, lz4BlockMax - 1, lz4BlockMax} {
		for _, src := range [][]byte{make([]byte, n), bytes.Repeat([]byte{1, 2, 3}, n)[:n]} {
			sameLZ4(t, &z, 1, src, make([]byte, n))
		}
	}
}

// FuzzLZ4Encoder gives any bytes, in front of a copy of them, to both encoders.
func FuzzLZ4Encoder(f *testing.F) {
	lz4Inputs(2, 8, func(_ *rand.Rand, src []byte) { f.Add(src[:min(len(src), 3000)], uint8(3), uint16(500)) })
	var z lz4Encoder
	f.Fuzz(func(t *testing.T, src []byte, accel uint8, room uint16) {
		src = append(bytes.Clone(src), src...)
		src = append(src, make([]byte, max(0, lz4SmallMax+1-len(src)))...)
		src = src[:min(len(src), lz4BlockMax)]
		sameLZ4(t, &z, 1+int(accel%9), src, make([]byte, room))
		sameLZ4(t, &z, 1+int(accel%9), src, make([]byte, len(src)))
	})
}
