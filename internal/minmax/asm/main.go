// Command asm writes the amd64 assembly of internal/minmax. It is a module of its own, so
// that programs that import farread need not know the generator's dependencies.
// `go generate ./internal/minmax` runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	vector = 32 // bytes
	unroll = 2  // vectors in a step, each with sums of its own
)

func main() {
	ConstraintExpr("amd64,!purego")
	scan(4)
	scan(8)
	Generate()
}

// sums are what a vector of a step adds to.
type sums struct{ lo, hi, equal reg.VecVirtual }

// A kernel is one for numbers of so many bytes.
type kernel struct {
	size                  int
	neg, flip, fill, mask reg.VecVirtual
	zero, x, t, fits      reg.VecVirtual
}

func scan(size int) {
	bits := 8 * size
	TEXT(fmt.Sprintf("scan%dAVX2", size), NOSPLIT, fmt.Sprintf("func(p *uint%d, n int, neg, flip, fill, mask uint%d, lo, hi *[%d]int%d) uint64", bits, bits, vector/size, bits))
	Pragma("noescape")
	Doc(fmt.Sprintf("scan%dAVX2 returns how many of n numbers are fill without the bits beyond mask, and sets lo and", size),
		"hi to the least and the greatest of their keys, of each lane. The key of x is x ^ flip, and neg more",
		fmt.Sprintf("bits of it if x is negative. n is a multiple of %d above 0, and less than 1 << 31.", unroll*vector/size))
	p, n := GP64(), GP64()
	Load(Param("p"), p)
	Load(Param("n"), n)
	k := kernel{size: size, zero: YMM(), x: YMM(), t: YMM(), fits: YMM()}
	if size == 8 {
		VPXOR(k.zero, k.zero, k.zero)
	}
	k.neg, k.flip, k.fill, k.mask = k.all("neg"), k.all("flip"), k.all("fill"), k.all("mask")
	var s [unroll]sums
	for i := range s {
		s[i] = sums{YMM(), YMM(), YMM()}
		k.key(p, 0)
		VMOVDQA(k.x, s[i].lo)
		VMOVDQA(k.x, s[i].hi)
		VPXOR(s[i].equal, s[i].equal, s[i].equal)
	}
	Label("loop")
	for i := range s {
		k.key(p, i)
		k.least(k.x, s[i].lo)
		k.greatest(k.x, s[i].hi)
		VPAND(operand.Mem{Base: p, Disp: i * vector}, k.mask, k.t)
		k.same(k.fill, k.t)
		k.sub(k.t, s[i].equal)
	}
	ADDQ(operand.U32(unroll*vector), p)
	SUBQ(operand.U32(unroll*vector/size), n)
	JNZ(operand.LabelRef("loop"))
	for _, more := range s[1:] {
		k.least(more.lo, s[0].lo)
		k.greatest(more.hi, s[0].hi)
		k.add(more.equal, s[0].equal)
	}
	to := GP64()
	Load(Param("lo"), to)
	VMOVDQU(s[0].lo, operand.Mem{Base: to})
	Load(Param("hi"), to)
	VMOVDQU(s[0].hi, operand.Mem{Base: to})
	Store(k.across(s[0].equal), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// all is a parameter in each lane.
func (k *kernel) all(name string) reg.VecVirtual {
	v := YMM()
	if k.size == 4 {
		r := GP32()
		Load(Param(name), r)
		VMOVD(r, v.AsX())
		VPBROADCASTD(v.AsX(), v)
		return v
	}
	r := GP64()
	Load(Param(name), r)
	VMOVQ(r, v.AsX())
	VPBROADCASTQ(v.AsX(), v)
	return v
}

// key loads vector i and makes keys of it.
func (k *kernel) key(p reg.Register, i int) {
	VMOVDQU(operand.Mem{Base: p, Disp: i * vector}, k.x)
	if k.size == 4 {
		VPSRAD(operand.U8(31), k.x, k.t)
	} else {
		VPCMPGTQ(k.x, k.zero, k.t)
	}
	VPAND(k.neg, k.t, k.t)
	VPXOR(k.flip, k.x, k.x)
	VPXOR(k.t, k.x, k.x)
}

func (k *kernel) least(x, to reg.VecVirtual) {
	if k.size == 4 {
		VPMINSD(x, to, to)
		return
	}
	VPCMPGTQ(x, to, k.fits)
	VPBLENDVB(k.fits, x, to, to)
}

func (k *kernel) greatest(x, to reg.VecVirtual) {
	if k.size == 4 {
		VPMAXSD(x, to, to)
		return
	}
	VPCMPGTQ(to, x, k.fits)
	VPBLENDVB(k.fits, x, to, to)
}

func (k *kernel) same(x, to reg.VecVirtual) {
	if k.size == 4 {
		VPCMPEQD(x, to, to)
	} else {
		VPCMPEQQ(x, to, to)
	}
}

func (k *kernel) sub(x, from reg.VecVirtual) {
	if k.size == 4 {
		VPSUBD(x, from, from)
	} else {
		VPSUBQ(x, from, from)
	}
}

func (k *kernel) add(x, to reg.VecVirtual) {
	if k.size == 4 {
		VPADDD(x, to, to)
	} else {
		VPADDQ(x, to, to)
	}
}

// across adds the counts of a vector up.
func (k *kernel) across(v reg.VecVirtual) reg.GPVirtual {
	x, y, sum := XMM(), XMM(), GP64()
	VEXTRACTI128(operand.U8(1), v, x)
	halves := []uint8{0b01_00_11_10}
	if k.size == 4 {
		VPADDD(v.AsX(), x, x)
		halves = append(halves, 0b10_11_00_01)
	} else {
		VPADDQ(v.AsX(), x, x)
	}
	for _, half := range halves {
		VPSHUFD(operand.U8(half), x, y)
		if k.size == 4 {
			VPADDD(y, x, x)
		} else {
			VPADDQ(y, x, x)
		}
	}
	if k.size == 4 {
		VMOVD(x, sum.As32())
	} else {
		VMOVQ(x, sum)
	}
	return sum
}
