// Command asm writes the amd64 assembly of analyze/internal/vec. It is a module of its
// own, so that programs that import farread need not know the generator's dependencies.
// `go generate ./analyze/internal/vec` runs it.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	lanes  = 4         // numbers in a vector
	unroll = 4         // vectors in a step
	vector = 8 * lanes // bytes
)

func main() {
	ConstraintExpr("amd64,!purego")
	widen()
	bounds()
	noSign := all("noSign", math.MaxInt64)
	cut(noSign)
	square(noSign)
	Generate()
}

// begin starts a function.
func begin(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

func param(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// A list is a pointer, and how many bytes of what it points to belong to a vector.
type list struct {
	p    reg.GPVirtual
	size int
}

// loop does body for n numbers, unroll vectors at a time.
func loop(n reg.GPVirtual, body func(k int), lists ...list) {
	Label("loop")
	for k := range unroll {
		body(k)
	}
	for _, l := range lists {
		ADDQ(operand.U32(unroll*l.size), l.p)
	}
	SUBQ(operand.U32(unroll*lanes), n)
	JNZ(operand.LabelRef("loop"))
}

func at(p reg.Register, k, size int) operand.Mem { return operand.Mem{Base: p, Disp: k * size} }

// all is a constant in each lane.
func all(name string, bits uint64) operand.Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range lanes {
		DATA(8*i, operand.U64(bits))
	}
	return m
}

// vectors are n registers of zeros.
func vectors(n int) []reg.VecVirtual {
	out := make([]reg.VecVirtual, n)
	for i := range out {
		out[i] = YMM()
		VXORPD(out[i], out[i], out[i])
	}
	return out
}

type op func(b, a, result operand.Op)

// fold joins vectors, and then the lanes of the last one, and returns the result in the
// lowest.
func fold(list []reg.VecVirtual, wide, narrow op) reg.VecVirtual {
	for _, v := range list[1:] {
		wide(v, list[0], list[0])
	}
	x, y := list[0].AsX(), XMM()
	VEXTRACTF128(operand.U8(1), list[0], y)
	wide(y, x, x)
	VUNPCKHPD(x, x, y)
	narrow(y, x, x)
	return list[0]
}

// isSome returns 1 if a bit of mask is set in a vector.
func isSome(v, mask operand.Op, result string) {
	r := GP8()
	VPTEST(mask, v.(reg.VecVirtual))
	SETNE(r)
	Store(r, Return(result))
}

func widen() {
	begin("widenSteps", "func(dst *float64, src *byte, n int)", "widenSteps makes float64 of n float32, a multiple of 16 above 0.")
	dst, src, n := param("dst"), param("src"), param("n")
	loop(n, func(k int) {
		v := YMM()
		VCVTPS2PD(at(src, k, vector/2), v)
		VMOVUPD(v, at(dst, k, vector))
	}, list{dst, vector}, list{src, vector / 2})
	VZEROUPPER()
	RET()
}

func bounds() {
	begin("boundsSteps", "func(p *float64, n int) (lo, hi float64, nan bool)",
		"boundsSteps returns the extremes of n numbers, a multiple of 16 above 0, and whether", "one is NaN: then the extremes have no meaning.")
	p, n := param("p"), param("n")
	lo, hi, nan := vectors(unroll), vectors(unroll), vectors(1)
	for k := range unroll {
		VMOVUPD(at(p, k, vector), lo[k])
		VMOVAPD(lo[k], hi[k])
	}
	var before reg.VecVirtual
	loop(n, func(k int) {
		v := YMM()
		VMOVUPD(at(p, k, vector), v)
		VMINPD(v, lo[k], lo[k])
		VMAXPD(v, hi[k], hi[k])
		if k%2 == 0 {
			before = v
			return
		}
		VCMPPD(operand.U8(3), v, before, v) // unordered: one of both is NaN
		VORPD(v, nan[0], nan[0])
	}, list{p, vector})
	isSome(nan[0], nan[0], "nan")
	Store(fold(lo, vop(VMINPD), vop(VMINSD)).AsX(), Return("lo"))
	Store(fold(hi, vop(VMAXPD), vop(VMAXSD)).AsX(), Return("hi"))
	VZEROUPPER()
	RET()
}

func vop(f func(...operand.Op)) op { return func(b, a, r operand.Op) { f(b, a, r) } }

func cut(noSign operand.Mem) {
	begin("cutSteps", "func(p, rest *float64, n int, one, two float64) (a, b float64, left bool)",
		"cutSteps is Cut of n numbers, a multiple of 16 above 0.")
	p, rest, n := param("p"), param("rest"), param("n")
	one, two := YMM(), YMM()
	VBROADCASTSD(arg("one"), one)
	VBROADCASTSD(arg("two"), two)
	a, b, left := vectors(2), vectors(2), vectors(1)
	loop(n, func(k int) {
		x, q := YMM(), YMM()
		VMOVUPD(at(p, k, vector), x)
		for _, l := range []struct{ by, sum reg.VecVirtual }{{one, a[k%2]}, {two, b[k%2]}} {
			VADDPD(l.by, x, q)
			VSUBPD(l.by, q, q)
			VADDPD(q, l.sum, l.sum)
			VSUBPD(q, x, x)
		}
		VMOVUPD(x, at(rest, k, vector))
		VORPD(x, left[0], left[0])
	}, list{p, vector}, list{rest, vector})
	mask := YMM()
	VMOVUPD(noSign, mask)
	isSome(left[0], mask, "left")
	Store(fold(a, vop(VADDPD), vop(VADDSD)).AsX(), Return("a"))
	Store(fold(b, vop(VADDPD), vop(VADDSD)).AsX(), Return("b"))
	VZEROUPPER()
	RET()
}

// arg is where an argument lies.
func arg(name string) operand.Mem {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return c.Addr
}

func square(noSign operand.Mem) {
	begin("squareSteps", "func(p, high, low *float64, n int) (left, tiny bool)",
		"squareSteps is Square of n numbers, a multiple of 16 above 0.")
	p, high, low, n := param("p"), param("high"), param("low"), param("n")
	acc := vectors(3)
	left, tiny, zero := acc[0], acc[1], acc[2]
	least := YMM()
	VMOVUPD(all("least", math.Float64bits(0x1p-900)), least)
	loop(n, func(k int) {
		x, h, isTiny, some := YMM(), YMM(), YMM(), YMM()
		VMOVUPD(at(p, k, vector), x)
		VMULPD(x, x, h)
		VMOVUPD(h, at(high, k, vector))
		VCMPPD(operand.U8(1), least, h, isTiny) // h < least
		VCMPPD(operand.U8(4), zero, x, some)    // x != 0
		VANDPD(some, isTiny, isTiny)
		VORPD(isTiny, tiny, tiny)
		VFMSUB213PD(h, x, x) // x*x - h
		VMOVUPD(x, at(low, k, vector))
		VORPD(x, left, left)
	}, list{p, vector}, list{high, vector}, list{low, vector})
	mask := YMM()
	VMOVUPD(noSign, mask)
	isSome(left, mask, "left")
	isSome(tiny, tiny, "tiny")
	VZEROUPPER()
	RET()
}
