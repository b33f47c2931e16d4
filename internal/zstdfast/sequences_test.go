package zstdfast

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestSequences gives random bits, which mean new distances and each of the last three, right
// ones and wrong ones, to the kernel: Go comes to the same.
func TestSequences(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	ran := 0
	for range 300 {
		src, lit := random(r, 16+r.IntN(400)), random(r, 200+r.IntN(800))
		src[len(src)-1] |= 1
		const at, size = 8, 6000
		in, n, from := src[at:], 2+r.IntN(200), r.IntN(60)
		k := run{rep: [3]int{1, 4, 8}, o: from, window: 8 << r.IntN(10)}
		for kind := range k.table {
			k.table[kind].spread(r, kind, [3]int{24, 2 + r.IntN(11), 44}[kind])
		}
		k.start(in, n)
		g := k
		dst := random(r, size)
		want := bytes.Clone(dst)
		lit = lit[:len(lit)-r.IntN(60)]
		k.kernel(dst, size-r.IntN(60), lit, src, at)
		for range n - k.n {
			ran++
			if !g.steps(want, size, lit, in, 1) {
				t.Fatalf("the kernel runs %d sequences of %d, Go %d", n-k.n, n, n-g.n-1)
			}
		}
		k.outEnd, k.litEnd = 0, 0
		if k != g || !bytes.Equal(dst[:k.o], want[:g.o]) {
			t.Fatalf("%d sequences: at %d of %d, %v, without the kernel at %d of %d, %v, or other bytes", n-k.n, k.o, k.l, k.rep, g.o, g.l, g.rep)
		}
	}
	if hasKernel && ran < 300 {
		t.Errorf("the kernel ran %d sequences alone", ran)
	}
}

func random(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// spread makes a table of the first codes, of which any may be the most frequent.
func (t *fseTable) spread(r *rand.Rand, kind, codes int) {
	log := uint8(5 + r.IntN(3))
	norm := make([]int16, codes)
	for range 1 << log {
		norm[min(r.IntN(codes), r.IntN(codes))]++
	}
	t.build(fseDefined(), kind, log, norm)
}
