package main

import (
	"fmt"
	"math/bits"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// interleave merges planes, of one vector each, into elements: each step zips
// neighbours and so doubles the units and halves the planes. In each lane the
// elements come out in order.
func (v isa) interleave(planes []reg.VecVirtual, unit int) []reg.VecVirtual {
	if len(planes) == 1 {
		return planes
	}
	var lo, hi []reg.VecVirtual
	for i := 0; i < len(planes); i += 2 {
		l, h := v.unpack(planes[i], planes[i+1], unit)
		lo, hi = append(lo, l), append(hi, h)
	}
	return append(v.interleave(lo, 2*unit), v.interleave(hi, 2*unit)...)
}

// storeLanes writes vectors so that all their low lanes come first, in order,
// then all the upper ones.
func (v isa) storeLanes(rs []reg.VecVirtual, base reg.Register) {
	if !v.avx() {
		for i, r := range rs {
			v.store(r, at(base, 16*i))
		}
		return
	}
	// In the order of their addresses: two stores to one line can go together.
	for i := 0; i < len(rs); i += 2 {
		lo := YMM()
		VPERM2I128(operand.Imm(0x20), rs[i+1], rs[i], lo)
		v.store(lo, at(base, 16*i))
	}
	for i := 0; i < len(rs); i += 2 {
		hi := YMM()
		VPERM2I128(operand.Imm(0x31), rs[i+1], rs[i], hi)
		v.store(hi, at(base, 16*len(rs)+16*i))
	}
}

// deinterleave splits elements, one vector of them for each byte of the width,
// into planes. If the index of a byte in all vectors (per lane) is written in
// binary, a step that zips the first half of the vectors with the second turns
// it by one bit; four steps move the four bits of a place in a lane to where
// the bits of the element were.
func (v isa) deinterleave(rs []reg.VecVirtual) []reg.VecVirtual {
	unit, steps := 1, 4
	if v.avx() && len(rs) < 8 {
		rs, unit = v.group(rs)
		steps = bits.TrailingZeros(uint(len(rs)))
	}
	for range steps {
		var next []reg.VecVirtual
		for i := range len(rs) / 2 {
			lo, hi := v.unpack(rs[i], rs[i+len(rs)/2], unit)
			next = append(next, lo, hi)
		}
		rs = next
	}
	return rs
}

// group brings the bytes of equal rank in each lane together, which saves
// steps; unit is how many there are.
func (v isa) group(rs []reg.VecVirtual) (_ []reg.VecVirtual, unit int) {
	width := len(rs)
	unit = 16 / width
	m := GLOBL(fmt.Sprintf("group%d", width), RODATA|NOPTR)
	for i := 0; i < v.bytes; i++ {
		DATA(i, operand.U8(i%unit*width+i%16/unit))
	}
	order := v.load(m)
	var out []reg.VecVirtual
	for _, r := range rs {
		g := YMM()
		VPSHUFB(order, r, g)
		out = append(out, g)
	}
	return out, unit
}

func (v isa) merge(width int) {
	v.begin(fmt.Sprintf("merge%d", width), "func(dst, src *byte, stride, n int)",
		fmt.Sprintf("merges %d byte planes, stride bytes apart, into n elements; n > 0 is a multiple of %d.", width, v.bytes))
	dst, src, n := arg("dst"), newRows(arg("src"), arg("stride"), width), arg("n")
	loop(n, v.bytes, func() {
		var planes []reg.VecVirtual
		for j := range width {
			planes = append(planes, v.load(src.at(j)))
		}
		v.storeLanes(v.interleave(planes, 1), dst)
		src.advance(operand.U32(v.bytes))
		ADDQ(operand.U32(width*v.bytes), dst)
	})
	v.end()
}

func (v isa) split(width int) {
	v.begin(fmt.Sprintf("split%d", width), "func(dst *byte, stride int, src *byte, n int)",
		fmt.Sprintf("splits n elements into %d byte planes, stride bytes apart; n > 0 is a multiple of %d.", width, v.bytes))
	dst, src, n := newRows(arg("dst"), arg("stride"), width), arg("src"), arg("n")
	loop(n, v.bytes, func() {
		var rs []reg.VecVirtual
		for i := range width {
			rs = append(rs, v.loadLanes(src, 16*i, 16*width))
		}
		for j, r := range v.deinterleave(rs) {
			v.store(r, dst.at(j))
		}
		ADDQ(operand.U32(width*v.bytes), src)
		dst.advance(operand.U32(v.bytes))
	})
	v.end()
}

func (v isa) mergeStrided() {
	v.begin("mergeStrided8", "func(dst *byte, width int, src *byte, stride, n int)",
		"merges 8 byte planes, stride bytes apart, into 8 bytes of each of n elements, width bytes apart; n > 0 is a multiple of 16.")
	dst, width, src, n := arg("dst"), arg("width"), newRows(arg("src"), arg("stride"), 8), arg("n")
	loop(n, v.bytes, func() {
		var planes []reg.VecVirtual
		for j := range 8 {
			planes = append(planes, v.load(src.at(j)))
		}
		for _, r := range v.interleave(planes, 1) {
			MOVQ(r, at(dst, 0))
			MOVHPS(r, operand.Mem{Base: dst, Index: width, Scale: 1})
			LEAQ(operand.Mem{Base: dst, Index: width, Scale: 2}, dst)
		}
		src.advance(operand.U32(v.bytes))
	})
	v.end()
}

// mergeStrided16 takes 8 elements at a time, so that 16 planes fit into the
// registers.
func (v isa) mergeStrided16() {
	v.begin("mergeStrided16", "func(dst *byte, width int, src *byte, stride, n int)",
		"merges 16 byte planes, stride bytes apart, into 16 bytes of each of n elements, width bytes apart; n > 0 is a multiple of 8.")
	dst, width, src, stride, n := arg("dst"), arg("width"), arg("src"), arg("stride"), arg("n")
	eight := GP64()
	LEAQ(operand.Mem{Base: src, Index: stride, Scale: 8}, eight)
	halves := []*rows{newRows(src, stride, 8), newRows(eight, stride, 8)}
	loop(n, 8, func() {
		var elements [2][]reg.VecVirtual // 8 bytes of 2 elements in each
		for i, half := range halves {
			var pairs []reg.VecVirtual
			for j := 0; j < 8; j += 2 {
				a, b := XMM(), XMM()
				MOVQ(half.at(j), a)
				MOVQ(half.at(j+1), b)
				PUNPCKLBW(b, a)
				pairs = append(pairs, a)
			}
			elements[i] = v.interleave(pairs, 2)
			half.advance(operand.Imm(8))
		}
		for i := range 4 {
			lo, hi := v.unpack(elements[0][i], elements[1][i], 8)
			v.store(lo, at(dst, 0))
			v.store(hi, operand.Mem{Base: dst, Index: width, Scale: 1})
			LEAQ(operand.Mem{Base: dst, Index: width, Scale: 2}, dst)
		}
	})
	v.end()
}

func (v isa) splitStrided() {
	v.begin("splitStrided8", "func(dst *byte, stride int, src *byte, width, n int)",
		"splits 8 bytes of each of n elements, width bytes apart, into byte planes, stride bytes apart; n > 0 is a multiple of 16.")
	dst, src, width, n := newRows(arg("dst"), arg("stride"), 8), arg("src"), arg("width"), arg("n")
	loop(n, v.bytes, func() {
		var rs []reg.VecVirtual
		for range 8 {
			r := XMM()
			MOVQ(at(src, 0), r)
			MOVHPS(operand.Mem{Base: src, Index: width, Scale: 1}, r)
			LEAQ(operand.Mem{Base: src, Index: width, Scale: 2}, src)
			rs = append(rs, r)
		}
		for j, r := range v.deinterleave(rs) {
			v.store(r, dst.at(j))
		}
		dst.advance(operand.U32(v.bytes))
	})
	v.end()
}

// transposeBits transposes 8x8 bit matrices, of which each vector holds a row:
// see the Go function of that name.
func (v isa) transposeBits(r, masks []reg.VecVirtual) {
	for s := 2; s >= 0; s-- {
		shift := 1 << s
		for i := range 8 {
			if i&shift != 0 {
				continue
			}
			a, b := r[i], r[i+shift]
			t := v.imm(PSRLW, three(VPSRLW), a, shift)
			v.set(PXOR, VPXOR, t, b)
			v.set(PAND, VPAND, t, masks[s])
			v.set(PXOR, VPXOR, b, t)
			v.setImm(PSLLW, three(VPSLLW), t, shift)
			v.set(PXOR, VPXOR, a, t)
		}
	}
}

// planes repeats body for all columns of all planes. bitRows and plane are the names
// of the arguments with the addresses of the rows of bits and of the bytes.
func (v isa) planes(bitRows, plane string, body func(bits *rows, bytes reg.Register)) {
	row, stride, bytes, step := arg(bitRows), arg("stride"), arg(plane), arg("step")
	planes, next := arg("planes"), GP64()
	MOVQ(stride, next)
	SHLQ(operand.Imm(3), next)
	Label("plane")
	base, to, n := GP64(), GP64(), arg("n")
	MOVQ(row, base)
	MOVQ(bytes, to)
	r := newRows(base, stride, 8)
	loop(n, v.bytes, func() {
		body(r, to)
		r.advance(operand.U32(v.bytes))
		ADDQ(operand.U32(8*v.bytes), to)
	})
	ADDQ(next, row)
	ADDQ(step, bytes)
	DECQ(planes)
	JNZ(operand.LabelRef("plane"))
}

// masks declares the lower halves of the lanes of 2, 4 and 8 bits.
func (v isa) masks() []operand.Mem {
	return []operand.Mem{
		v.constant("low1", 0x5555555555555555),
		v.constant("low2", 0x3333333333333333),
		v.constant("low4", 0x0f0f0f0f0f0f0f0f),
	}
}

func (v isa) loadAll(ms []operand.Mem) []reg.VecVirtual {
	var rs []reg.VecVirtual
	for _, m := range ms {
		rs = append(rs, v.load(m))
	}
	return rs
}

func (v isa) bitsToBytes(lows []operand.Mem) {
	v.begin("bitsToBytes", "func(dst *byte, step int, src *byte, stride, n, planes int)",
		fmt.Sprintf("turns n columns of 8 rows of bits, stride bytes apart, into 8*n bytes, for each of some planes, which begin step bytes apart in dst and 8 rows in src; n > 0 is a multiple of %d.", v.bytes))
	masks := v.loadAll(lows)
	v.planes("src", "dst", func(src *rows, dst reg.Register) {
		var r []reg.VecVirtual
		for k := range 8 {
			r = append(r, v.load(src.at(k)))
		}
		v.transposeBits(r, masks)
		v.storeLanes(v.interleave(r, 1), dst)
	})
	v.end()
}

func (v isa) bytesToBits(lows []operand.Mem) {
	v.begin("bytesToBits", "func(dst *byte, stride int, src *byte, step, n, planes int)",
		fmt.Sprintf("turns 8*n bytes into n columns of 8 rows of bits, stride bytes apart, for each of some planes, which begin step bytes apart in src and 8 rows in dst; n > 0 is a multiple of %d.", v.bytes))
	masks := v.loadAll(lows)
	v.planes("dst", "src", func(dst *rows, src reg.Register) {
		var r []reg.VecVirtual
		for i := range 8 {
			r = append(r, v.loadLanes(src, 16*i, 128))
		}
		r = v.deinterleave(r)
		v.transposeBits(r, masks)
		for k := range 8 {
			v.store(r[k], dst.at(k))
		}
	})
	v.end()
}

// affine makes byte j of each 8 bytes of the result, bit i, the parity of
// byte 7-i of a and byte j of x. The generator's library does not know the
// instruction.
func affine(a, x, result reg.VecVirtual) {
	ops := []operand.Op{operand.Imm(0), a, x, result}
	Instruction(&ir.Instruction{
		Opcode:   "VGF2P8AFFINEQB",
		Operands: ops,
		Inputs:   []operand.Op{a, x},
		Outputs:  []operand.Op{result},
		ISA:      []string{"AVX", "GFNI"},
	})
}

// With single bits for x, bit i of byte j of an affine map is bit j of byte 7-i
// of a: the transposed matrix, if a has its rows in reverse order.

func (v isa) bitsToBytesAffine(diagonal operand.Mem) {
	v.begin("bitsToBytes", "func(dst *byte, step int, src *byte, stride, n, planes int)",
		fmt.Sprintf("turns n columns of 8 rows of bits, stride bytes apart, into 8*n bytes, for each of some planes, which begin step bytes apart in dst and 8 rows in src; n > 0 is a multiple of %d.", v.bytes))
	bit := v.load(diagonal)
	v.planes("src", "dst", func(src *rows, dst reg.Register) {
		var r []reg.VecVirtual
		for k := range 8 {
			r = append(r, v.load(src.at(7-k)))
		}
		r = v.interleave(r, 1)
		for _, m := range r {
			affine(m, bit, m)
		}
		v.storeLanes(r, dst)
	})
	v.end()
}

func (v isa) bytesToBitsAffine(diagonal operand.Mem) {
	v.begin("bytesToBits", "func(dst *byte, stride int, src *byte, step, n, planes int)",
		fmt.Sprintf("turns 8*n bytes into n columns of 8 rows of bits, stride bytes apart, for each of some planes, which begin step bytes apart in src and 8 rows in dst; n > 0 is a multiple of %d.", v.bytes))
	bit := v.load(diagonal)
	v.planes("dst", "src", func(dst *rows, src reg.Register) {
		var r []reg.VecVirtual
		for i := range 8 {
			m := v.loadLanes(src, 16*i, 128)
			affine(m, bit, m)
			affine(bit, m, m) // turns the bits of each byte round
			r = append(r, m)
		}
		for k, m := range v.deinterleave(r) {
			v.store(m, dst.at(k))
		}
	})
	v.end()
}

func (v isa) sums() {
	v.begin("sums", "func(p *byte, n int)",
		fmt.Sprintf("replaces each of n bytes by the sum of all up to it; n > 0 is a multiple of %d.", v.bytes))
	p, n := arg("p"), arg("n")
	carry := v.reg() // the sum so far, in each byte
	var last reg.VecVirtual
	if v.avx() {
		VPXOR(carry, carry, carry)
		last = v.load(v.constant("last", 0x0f0f0f0f0f0f0f0f))
	} else {
		PXOR(carry, carry)
	}
	loop(n, v.bytes, func() {
		x := v.load(at(p, 0))
		for _, d := range []int{1, 2, 4, 8} {
			v.set(PADDB, three(VPADDB), x, v.imm(PSLLO, VPSLLDQ, x, d))
		}
		if v.avx() {
			total, below := YMM(), YMM() // sums of each lane, and of the lane below it
			VPSHUFB(last, x, total)
			VPERM2I128(operand.Imm(0x08), total, total, below)
			VPADDB(below, x, x)
			VPADDB(carry, x, x)
			VPERM2I128(operand.Imm(0x01), total, total, below)
			VPADDB(total, below, below)
			VPADDB(below, carry, carry)
			VMOVDQU(x, at(p, 0))
		} else {
			total := XMM()
			MOVO(x, total)
			PUNPCKHBW(total, total)
			PSHUFHW(operand.Imm(0xff), total, total)
			PSHUFD(operand.Imm(0xff), total, total)
			PADDB(carry, x)
			PADDB(total, carry)
			MOVOU(x, at(p, 0))
		}
		ADDQ(operand.U32(v.bytes), p)
	})
	v.end()
}

func (v isa) differences() {
	v.begin("differences", "func(dst, src *byte, n int)",
		fmt.Sprintf("makes each of n bytes src[i] - src[i-1], the byte before src too; n > 0 is a multiple of %d.", v.bytes))
	dst, src, n := arg("dst"), arg("src"), arg("n")
	loop(n, v.bytes, func() {
		x := v.load(at(src, 0))
		v.set(PSUBB, three(VPSUBB), x, v.load(at(src, -1)))
		v.store(x, at(dst, 0))
		ADDQ(operand.U32(v.bytes), src)
		ADDQ(operand.U32(v.bytes), dst)
	})
	v.end()
}
