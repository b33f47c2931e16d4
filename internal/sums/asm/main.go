// Command asm writes the amd64 assembly of internal/sums. It is a module of its own, so
// that programs that import farread need not know the generator's dependencies.
// `go generate ./internal/sums` runs it.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const vector = 32 // bytes

func main() {
	ConstraintExpr("amd64,!purego")
	for _, width := range []int{2, 4, 8} {
		swap(width)
	}
	smalls()
	smallBins()
	wrapped()
	windows()
	bins()
	parts()
	pairs()
	Generate()
}

// begin starts a function; end closes it.
func begin(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc...)
}

func end() {
	VZEROUPPER() // what follows may be SSE code
	RET()
}

func param(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

func at(p reg.Register, disp int) operand.Mem { return operand.Mem{Base: p, Disp: disp} }

// loop does body until n, which it lowers by step, is zero.
func loop(label string, n reg.Register, step int, body func()) {
	Label(label)
	body()
	SUBQ(operand.U32(step), n)
	JNZ(operand.LabelRef(label))
}

func zeros(n int) []reg.VecVirtual {
	out := make([]reg.VecVirtual, n)
	for i := range out {
		out[i] = YMM()
		VPXOR(out[i], out[i], out[i])
	}
	return out
}

// swap turns the bytes of each number around.
func swap(width int) {
	begin("swap"+string(rune('0'+width))+"AVX2", "func(dst *byte, src *byte, n int)",
		"turns the bytes of each number around. n is in bytes, a positive multiple of 64.")
	order := GLOBL("order"+string(rune('0'+width)), RODATA|NOPTR)
	for i := range vector {
		DATA(i, operand.U8(uint8(i%16/width*width+width-1-i%width)))
	}
	dst, src, n := param("dst"), param("src"), param("n")
	shuffle := YMM()
	VMOVDQU(order, shuffle)
	loop("swap", n, 2*vector, func() {
		for k := range 2 {
			v := YMM()
			VMOVDQU(at(src, k*vector), v)
			VPSHUFB(shuffle, v, v)
			VMOVDQU(v, at(dst, k*vector))
		}
		ADDQ(operand.U32(2*vector), src)
		ADDQ(operand.U32(2*vector), dst)
	})
	end()
}

// words is a vector of one number of 16 bits.
func words(name string, x uint16) reg.VecVirtual {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range vector / 2 {
		DATA(2*i, operand.U16(x))
	}
	v := YMM()
	VMOVDQU(m, v)
	return v
}

// bounds16 begins with the bounds of the first vector.
func bounds16(src reg.Register) (lo, hi reg.VecVirtual) {
	lo, hi = YMM(), YMM()
	VMOVDQU(at(src, 0), lo)
	VMOVDQA(lo, hi)
	return lo, hi
}

// storeBounds16 stores the bounds in the lanes; who calls joins them.
func storeBounds16(out reg.Register, lo, hi reg.VecVirtual) {
	for k, join := range []func(...operand.Op){VPMINSW, VPMAXSW} {
		v := []reg.VecVirtual{lo, hi}[k]
		x := XMM()
		VEXTRACTI128(operand.Imm(1), v, x)
		join(x, v.AsX(), x)
		if k == 1 { // the greatest is the complement of the least complement
			ones := XMM()
			VPCMPEQW(ones, ones, ones)
			VPXOR(ones, x, x)
		}
		flip := XMM() // unsigned numbers that order like the signed ones
		VPCMPEQW(flip, flip, flip)
		VPSLLW(operand.Imm(15), flip, flip)
		VPXOR(flip, x, x)
		VPHMINPOSUW(x, x)
		VPXOR(flip, x, x)
		if k == 1 {
			ones := XMM()
			VPCMPEQW(ones, ones, ones)
			VPXOR(ones, x, x)
		}
		r := GP32()
		VPEXTRW(operand.Imm(0), x, r)
		MOVW(r.As16(), at(out, 2*k))
	}
}

// total stores the sum of the lanes of 64 bits.
func total(out reg.Register, disp int, v reg.VecVirtual) {
	x := XMM()
	VEXTRACTI128(operand.Imm(1), v, x)
	VPADDQ(v.AsX(), x, x)
	y := XMM()
	VPSHUFD(operand.Imm(0xEE), x, y)
	VPADDQ(y, x, x)
	VMOVQ(x, at(out, disp))
}

// widen turns eight signed numbers of 32 bits into four sums of 64.
func widen(v reg.VecVirtual) reg.VecVirtual {
	a, b, x := YMM(), YMM(), XMM()
	VPMOVSXDQ(v.AsX(), a)
	VEXTRACTI128(operand.Imm(1), v, x)
	VPMOVSXDQ(x, b)
	VPADDQ(a, b, b)
	return b
}

// smalls sums up numbers of 16 bits, and their squares.
func smalls() {
	begin("smallsAVX2", "func(out *byte, v *int16, n int)",
		"sums up n numbers, a positive multiple of 16 and at most 2^19.")
	out, src, n := param("out"), param("v"), param("n")
	ones := words("ones", 1)
	lo, hi := bounds16(src)
	acc := zeros(3) // sums, and squares of 64 bits
	low := YMM()
	VPCMPEQD(low, low, low)
	VPSRLQ(operand.Imm(32), low, low)
	loop("smalls", n, vector/2, func() {
		x := YMM()
		VMOVDQU(at(src, 0), x)
		ADDQ(operand.U32(vector), src)
		VPMINSW(x, lo, lo)
		VPMAXSW(x, hi, hi)
		addSmalls(x, ones, low, acc)
	})
	storeSmalls(out, lo, hi, acc)
	end()
}

// addSmalls adds the numbers of x and their squares.
func addSmalls(x, ones, low reg.VecVirtual, acc []reg.VecVirtual) {
	a, b := YMM(), YMM()
	VPMADDWD(ones, x, a)
	VPADDD(a, acc[0], acc[0])
	VPMADDWD(x, x, a) // up to 2^31, without a sign
	VPSRLQ(operand.Imm(32), a, b)
	VPAND(low, a, a)
	VPADDQ(a, acc[1], acc[1])
	VPADDQ(b, acc[2], acc[2])
}

// storeSmalls stores a Small16.
func storeSmalls(out reg.Register, lo, hi reg.VecVirtual, acc []reg.VecVirtual) {
	storeBounds16(out, lo, hi)
	VPADDQ(acc[1], acc[2], acc[1])
	total(out, 8, widen(acc[0]))
	total(out, 16, acc[1])
}

// smallBins is smalls for bins that follow each other. What is left of a bin behind its last
// whole vector is read with numbers in front of it, which change no bounds and are zeros in sums.
func smallBins() {
	begin("smallBinsAVX2", "func(out *byte, v *int16, size, bins int)",
		"sums up so many bins of size numbers each, from 16 to 2^18.")
	some := GLOBL("some", RODATA|NOPTR) // from word k on: 16-k zeros, then ones
	for i := range 2 * vector / 2 {
		DATA(2*i, operand.U16(uint16(i/16*math.MaxUint16)))
	}
	out, src, size, count := param("out"), param("v"), param("size"), param("bins")
	ones := words("ones2", 1)
	low, mask := YMM(), YMM()
	VPCMPEQD(low, low, low)
	VPSRLQ(operand.Imm(32), low, low)
	rest, table := GP64(), GP64()
	MOVQ(size, rest)
	ANDQ(operand.Imm(15), rest)
	LEAQ(some, table)
	VMOVDQU(operand.Mem{Base: table, Index: rest, Scale: 2}, mask)
	Label("bin")
	lo, hi := bounds16(src)
	acc := zeros(3)
	n := GP64()
	MOVQ(size, n)
	SHRQ(operand.Imm(4), n)
	loop("vectors", n, 1, func() {
		x := YMM()
		VMOVDQU(at(src, 0), x)
		ADDQ(operand.U32(vector), src)
		VPMINSW(x, lo, lo)
		VPMAXSW(x, hi, hi)
		addSmalls(x, ones, low, acc)
	})
	TESTQ(rest, rest)
	JZ(operand.LabelRef("whole"))
	LEAQ(operand.Mem{Base: src, Index: rest, Scale: 2}, src)
	x := YMM()
	VMOVDQU(at(src, -vector), x)
	VPMINSW(x, lo, lo)
	VPMAXSW(x, hi, hi)
	VPAND(mask, x, x)
	addSmalls(x, ones, low, acc)
	Label("whole")
	storeSmalls(out, lo, hi, acc)
	ADDQ(operand.U32(24), out)
	SUBQ(operand.Imm(1), count)
	JNZ(operand.LabelRef("bin"))
	end()
}

// wrapped is smalls with squares that are cut to 16 bits.
func wrapped() {
	begin("wrappedAVX2", "func(out *byte, v *int16, n int)",
		"sums up n numbers, a positive multiple of 16 and at most 2^18. Squares wrap.")
	out, src, n := param("out"), param("v"), param("n")
	ones := words("ones1", 1)
	lo, hi := bounds16(src)
	acc := zeros(2)
	loop("wrapped", n, vector/2, func() {
		x, a := YMM(), YMM()
		VMOVDQU(at(src, 0), x)
		ADDQ(operand.U32(vector), src)
		VPMINSW(x, lo, lo)
		VPMAXSW(x, hi, hi)
		VPMADDWD(ones, x, a)
		VPADDD(a, acc[0], acc[0])
		VPMULLW(x, x, a)
		VPMADDWD(ones, a, a)
		VPADDD(a, acc[1], acc[1])
	})
	storeBounds16(out, lo, hi)
	total(out, 8, widen(acc[0]))
	total(out, 16, widen(acc[1]))
	end()
}

// windows sums up four windows side by side, a lane for each, so that each sum is in
// order.
func windows() {
	begin("windowsAVX2", "func(acc *byte, v *float64, stride, n int)",
		"goes on with the minima, maxima, sums and sums of squares of four windows, of",
		"which each begins stride numbers behind the one before, over n numbers of each,",
		"a positive multiple of 4.")
	acc, a, stride, n := param("acc"), param("v"), param("stride"), param("n")
	SHLQ(operand.Imm(3), stride)
	b := GP64()
	LEAQ(operand.Mem{Base: a, Index: stride, Scale: 2}, b) // of the third window
	state := make([]reg.VecVirtual, 4)
	for i := range state {
		state[i] = YMM()
		VMOVUPD(at(acc, i*vector), state[i])
	}
	lo, hi, sum, sq := state[0], state[1], state[2], state[3]
	loop("windows", n, 4, func() {
		for _, half := range []int{0, 16} { // two numbers of each window
			// x: a0 a1 | c0 c1; y: b0 b1 | d0 d1
			x, y := YMM(), YMM()
			VMOVUPD(at(a, half), x.AsX())
			VINSERTF128(operand.Imm(1), at(b, half), x, x)
			VMOVUPD(operand.Mem{Base: a, Index: stride, Scale: 1, Disp: half}, y.AsX())
			VINSERTF128(operand.Imm(1), operand.Mem{Base: b, Index: stride, Scale: 1, Disp: half}, y, y)
			for _, unpack := range []func(...operand.Op){VUNPCKLPD, VUNPCKHPD} {
				v, square := YMM(), YMM()
				unpack(y, x, v)
				VMULPD(v, v, square)
				VADDPD(v, sum, sum)
				VADDPD(square, sq, sq)
				VMINPD(lo, v, lo) // v if it is less, else lo
				VMAXPD(v, hi, hi) // hi if it is greater, else v
			}
		}
		ADDQ(operand.U32(vector), a)
		ADDQ(operand.U32(vector), b)
	})
	for i := range state {
		VMOVUPD(state[i], at(acc, i*vector))
	}
	end()
}

// bins sums up pairs of bins, two lanes for each.
func bins() {
	begin("binsAVX2", "func(out *byte, v *float64, size, pairs int)",
		"sums up so many pairs of bins of size numbers each, from 2 on. Even and odd",
		"numbers have sums of their own, which are joined in the end.")
	out, a, size, pairs := param("out"), param("v"), param("size"), param("pairs")
	b, n, stride := GP64(), GP64(), GP64()
	MOVQ(size, stride)
	SHLQ(operand.Imm(3), stride)
	Label("pair")
	LEAQ(operand.Mem{Base: a, Index: stride, Scale: 1}, b)
	lo, hi, low, high := YMM(), YMM(), YMM(), YMM()
	VMOVUPD(at(a, 0), lo.AsX())
	VINSERTF128(operand.Imm(1), at(b, 0), lo, lo)
	VMOVAPD(lo, hi)
	VMOVAPD(lo, low)
	VMOVAPD(lo, high)
	acc := zeros(2)
	sum, sq := acc[0], acc[1]
	one := func(v, w reg.VecVirtual) { // w goes into the sums
		square := YMM()
		VMULPD(w, w, square)
		VADDPD(w, sum, sum)
		VADDPD(square, sq, sq)
		VMINPD(v, lo, lo)
		VMAXPD(v, hi, hi)
		VORPD(v, low, low)
		VANDPD(v, high, high)
	}
	MOVQ(size, n)
	SHRQ(operand.Imm(1), n)
	loop("numbers", n, 1, func() {
		v := YMM()
		VMOVUPD(at(a, 0), v.AsX())
		VINSERTF128(operand.Imm(1), at(b, 0), v, v)
		ADDQ(operand.U32(16), a)
		ADDQ(operand.U32(16), b)
		one(v, v)
	})
	TESTQ(operand.U32(1), size)
	JZ(operand.LabelRef("even"))
	x, y := XMM(), XMM()
	VMOVSD(at(a, 0), x)
	VMOVSD(at(b, 0), y)
	w, v := YMM(), YMM()
	VMOVAPD(x, w.AsX())
	VINSERTF128(operand.Imm(1), y, w, w)
	VMOVDDUP(w, v) // twice, so that it is all that the bounds see
	one(v, w)
	Label("even")
	// Each lane joins its neighbour.
	swapped := func(v reg.VecVirtual) reg.VecVirtual {
		s := YMM()
		VPERMILPD(operand.Imm(5), v, s)
		return s
	}
	VMINPD(swapped(lo), lo, lo)
	VMAXPD(swapped(hi), hi, hi)
	VORPD(swapped(low), low, low)
	VANDPD(swapped(high), high, high)
	VHADDPD(sq, sum, sum) // sum, squares | sum, squares
	VUNPCKLPD(hi, lo, lo)
	VUNPCKLPD(high, low, low)
	for half := range 2 {
		for i, v := range []reg.VecVirtual{lo, low, sum} {
			if half == 0 {
				VMOVUPD(v.AsX(), at(out, 16*i))
			} else {
				VEXTRACTF128(operand.Imm(1), v, at(out, 48+16*i))
			}
		}
	}
	ADDQ(operand.U32(96), out)
	MOVQ(b, a) // the end of the second bin, or the last number of an odd one
	MOVQ(size, n)
	ANDQ(operand.U32(1), n)
	LEAQ(operand.Mem{Base: a, Index: n, Scale: 8}, a)
	DECQ(pairs)
	JNZ(operand.LabelRef("pair"))
	end()
}

// doubles is a vector of one number in memory.
func doubles(name string, x float64) operand.Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range vector / 8 {
		DATA(8*i, operand.U64(math.Float64bits(x))) // F64 prints whole numbers as integers
	}
	return m
}

// parts turns mean and deviation of bins into parts of their bands, four bins at a time.
func parts() {
	begin("partsAVX2", "func(means, devs *byte, lo, hi, sum, sq *float64, each float64, n int)",
		"stores the mean and the deviation of n bins, a positive multiple of 4, as parts of",
		"their bands.")
	most, quantum, half, first, none := doubles("most", math.MaxFloat64), doubles("quantum", 65534), doubles("half", 0.5), doubles("first", 1), doubles("none", 65535)
	means, devs := param("means"), param("devs")
	los, his, totals, squares, n := param("lo"), param("hi"), param("sum"), param("sq"), param("n")
	share, each := XMM(), YMM()
	Load(Param("each"), share)
	VBROADCASTSD(share, each)
	zero := zeros(1)[0]
	one, no := YMM(), YMM()
	VMOVUPD(first, one)
	VMOVUPD(none, no)
	const le, eq = 2, 0
	loop("parts", n, 4, func() {
		lo, hi, m, q, band, t := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
		good, empty, share := YMM(), YMM(), YMM()
		VMOVUPD(at(los, 0), lo)
		VMOVUPD(at(his, 0), hi)
		VMULPD(at(totals, 0), each, m)
		VMULPD(at(squares, 0), each, q)
		VSUBPD(lo, hi, band)
		VDIVPD(band, one, share)
		VSUBPD(band, lo, t)
		VCMPPD(operand.Imm(le), m, t, good) // lo - band <= m
		VADDPD(band, hi, t)
		VCMPPD(operand.Imm(le), t, m, t) // m <= hi + band
		VANDPD(t, good, good)
		VCMPPD(operand.Imm(le), most, band, t)
		VANDPD(t, good, good)
		VCMPPD(operand.Imm(le), most, q, t)
		VANDPD(t, good, good)
		VCMPPD(operand.Imm(eq), zero, band, t)
		VANDPD(good, t, t)
		VPCMPEQQ(lo, hi, empty)
		VORPD(t, empty, empty)
		VMULPD(m, m, t)
		VSUBPD(t, q, t)
		VMAXPD(zero, t, t) // 0 if it is NaN
		VSQRTPD(t, t)
		VADDPD(t, t, t)
		VMULPD(share, t, t)
		VSUBPD(lo, m, m)
		VMULPD(share, m, m)
		small := []reg.VecVirtual{XMM(), XMM()}
		for i, v := range []reg.VecVirtual{m, t} {
			VMAXPD(zero, v, v) // 0 if it is NaN
			VMINPD(one, v, v)
			VMULPD(quantum, v, v)
			VADDPD(half, v, v)
			VBLENDVPD(good, v, no, v)
			VANDNPD(v, empty, v)
			VCVTTPD2DQY(v, small[i])
		}
		VPACKUSDW(small[1], small[0], small[0])
		VMOVQ(small[0], at(means, 0))
		VPEXTRQ(operand.Imm(1), small[0], at(devs, 0))
		for _, p := range []reg.GPVirtual{los, his, totals, squares} {
			ADDQ(operand.U32(vector), p)
		}
		ADDQ(operand.U32(8), means)
		ADDQ(operand.U32(8), devs)
	})
	end()
}

// pairs takes pairs of numbers of 16 bits apart.
func pairs() {
	begin("pairsAVX2", "func(first, second, src *byte, n int)",
		"takes n pairs of numbers apart, a positive multiple of 16.")
	first, second, src, n := param("first"), param("second"), param("src"), param("n")
	loop("pairs", n, vector/2, func() {
		x, y, t, u := YMM(), YMM(), YMM(), YMM()
		VMOVDQU(at(src, 0), x)
		VMOVDQU(at(src, vector), y)
		ADDQ(operand.U32(2*vector), src)
		VPSLLD(operand.Imm(16), x, t)
		VPSLLD(operand.Imm(16), y, u)
		for i, v := range [][2]reg.VecVirtual{{t, u}, {x, y}} {
			VPSRAD(operand.Imm(16), v[0], v[0])
			VPSRAD(operand.Imm(16), v[1], v[1])
			VPACKSSDW(v[1], v[0], v[0])
			VPERMQ(operand.Imm(0xD8), v[0], v[0]) // of the quarters 0, 2, 1, 3
			VMOVDQU(v[0], at([]reg.GPVirtual{first, second}[i], 0))
		}
		ADDQ(operand.U32(vector), first)
		ADDQ(operand.U32(vector), second)
	})
	end()
}
