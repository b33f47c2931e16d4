package zoomindex

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/racetest"
)

// TestPack: whatever parts a page has, of which the packer may know others, any
// inflater gives them back.
func TestPack(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	r := rand.New(rand.NewPCG(1, 9))
	var k packer
	smaller := 0
	for n := range 600 {
		var g guess
		kinds := 1 + r.IntN(6)
		for range 1 + r.IntN(20) {
			k.begin()
			var want []byte
			for i := range kinds {
				p := make([]byte, r.IntN(1200))
				noise, period := uint64(1)<<r.IntN(9), r.IntN(300)*r.IntN(2)
				for j := range p {
					if period > 0 && j >= period && r.IntN(500) > 0 {
						p[j] = p[j-period]
						continue
					}
					p[j] = byte(uint64(i)*77 + r.Uint64N(noise)*r.Uint64N(2))
				}
				want = append(want, p...)
				k.bytes(p)
			}
			p, err := k.pack(&g)
			if err != nil {
				t.Fatal(err)
			}
			size, at := binary.Uvarint(p)
			if size != uint64(len(want)) {
				t.Fatalf("%d: a length of %d, %d", n, size, len(want))
			}
			got := p[at:]
			if len(got) < len(want) {
				smaller++
				z, err := zlib.NewReader(bytes.NewReader(got))
				if err != nil {
					t.Fatal(err)
				}
				if got, err = io.ReadAll(z); err != nil {
					t.Fatal(n, err)
				}
			}
			if !bytes.Equal(got, want) {
				t.Fatalf("%d: other bytes", n)
			}
			var u unpacker
			if u.open(p) != nil || !bytes.Equal(u.p, want) {
				t.Fatalf("%d: it is not read", n)
			}
		}
	}
	if smaller < 600 {
		t.Errorf("%d pages became smaller", smaller)
	}
}

// TestCopies: every length of a run of one byte.
func TestCopies(t *testing.T) {
	t.Parallel()
	for n := 4; n < 1500; n++ {
		for _, b := range []byte{0, 1, 143, 144, 255} {
			var w bitWriter
			w.same(b, n)
			w.bits(3, 3)
			w.bits(0, 7)
			w.align()
			z, err := zlib.NewReader(bytes.NewReader(append([]byte(zlibHeader), w.out...)))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(z) // without a checksum
			if !bytes.Equal(got, bytes.Repeat([]byte{b}, n)) {
				t.Fatalf("%d of %d: %d", n, b, len(got))
			}
		}
	}
}

// TestCycle: every distance after which bytes come again, and one after which they do not.
func TestCycle(t *testing.T) {
	t.Parallel()
	for d := range mostCopy + 1 {
		p := make([]byte, 1200)
		for i := range p {
			p[i] = byte(i * i)
			if d > 0 {
				p[i] = byte(i % d * 7)
			}
		}
		p[700]++
		if d > 255 { // i*7 is the same for i and for i+256
			p[5] += 3
		}
		if got := cycle(p); d > 0 && d < 256 && got != d {
			t.Errorf("they come again after %d, want %d", got, d)
		}
		var w bitWriter
		w.cycle(p, d)
		w.bits(3, 3)
		w.bits(0, 7)
		w.align()
		z, err := zlib.NewReader(bytes.NewReader(append([]byte(zlibHeader), w.out...)))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(z); !bytes.Equal(got, p) { // without a checksum
			t.Fatalf("%d: other bytes", d)
		}
		if d > 0 && float64(len(w.out)) > cycled(p, d)+4 {
			t.Errorf("%d: %d bytes, supposed were %g", d, len(w.out), cycled(p, d))
		}
	}
}

// TestMakeCode: a code for any counts is complete and has no code that is too long.
func TestMakeCode(t *testing.T) {
	t.Parallel()
	for n := range 400 {
		size := literals
		if n >= 200 {
			size = symbols
		}
		n := n % 200
		var count [symbols]uint32
		a, b := 1, 1
		for i := range count {
			switch {
			case n == 0:
				count[i] = 1
			case i < min(n, 24):
				a, b = b, a+b
				count[i] = uint32(min(a, 1<<24))
			}
		}
		c := makeCode(count[:], size)
		sum := 0
		for _, l := range c.len[:size] {
			if l < 1 || l > maxCode {
				t.Fatalf("%d: a length of %d", n, l)
			}
			sum += 1 << (maxCode - l)
		}
		if sum != 1<<maxCode {
			t.Errorf("%d: %d of %d", n, sum, 1<<maxCode)
		}
	}
}
