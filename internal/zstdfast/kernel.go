//go:build (amd64 || arm64) && !purego

package zstdfast

// kernelSlack is how many bytes behind what it was asked for the kernel reads of
// literals or writes of dst at most.
const kernelSlack = 32

//go:noescape
func runSequences(r *run, dst, lit, in *byte)

// kernel runs sequences until one is left, or one that needs a closer look is next: at
// the ends of the buffers, of many bits, or wrong.
func (r *run) kernel(dst []byte, end int, lit, src []byte, at int) {
	r.outEnd, r.litEnd = min(end, len(dst)-kernelSlack), min(len(lit), cap(lit)-kernelSlack)
	if r.n < 2 || r.pos < 0 || r.outEnd <= r.o || r.litEnd < r.l || at < 8 {
		return
	}
	_ = src[at+(r.pos+7)>>3-1]
	runSequences(r, &dst[0], &lit[:1][0], &src[at])
}
