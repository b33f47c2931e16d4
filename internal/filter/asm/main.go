// Command asm writes the amd64 assembly of internal/filter. It is a module of
// its own, so that programs that import farread need not know the generator's
// dependencies. `go generate ./internal/filter` runs it.
//
// Each kernel has two versions. The SSE2 version runs on every amd64 processor
// and handles 16 elements (or columns) at a time; the AVX2 version handles 32.
// Kernels that transpose bits have a third version, with a special instruction
// of newer processors.
package main

import (
	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, v := range []isa{{"SSE2", 16}, {"AVX2", 32}} {
		for _, width := range []int{2, 4, 8} {
			v.merge(width)
			v.split(width)
		}
		lows := v.masks()
		v.bitsToBytes(lows)
		v.bytesToBits(lows)
		v.sums()
		v.differences()
	}
	for _, width := range []int{2, 4, 8} {
		isa{"AVX2", 32}.gather(width)
	}
	gfni := isa{"GFNI", 32}
	diagonal := gfni.constant("diagonal", 0x8040201008040201)
	gfni.bitsToBytesAffine(diagonal)
	gfni.bytesToBitsAffine(diagonal)
	sse2 := isa{"SSE2", 16}
	sse2.mergeStrided()
	sse2.mergeStrided16()
	sse2.splitStrided()
	Generate()
}

// begin starts a function; end closes it.
func (v isa) begin(name, signature, doc string) {
	name += v.name
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
}

func (v isa) end() {
	if v.avx() {
		VZEROUPPER() // what follows may be SSE code
	}
	RET()
}

// loop repeats body while it takes step from n; n is a positive multiple of it.
func loop(n reg.Register, step int, body func()) {
	Label("loop")
	body()
	SUBQ(operand.U32(step), n)
	JNZ(operand.LabelRef("loop"))
}

func arg(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

func at(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// rows addresses equally spaced places.
type rows struct {
	base          [2]reg.GPVirtual
	stride, three reg.GPVirtual
}

func newRows(base, stride reg.GPVirtual, n int) *rows {
	r := &rows{base: [2]reg.GPVirtual{base}, stride: stride}
	if n > 2 {
		r.three = GP64()
		LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, r.three)
	}
	if n > 4 {
		r.base[1] = GP64()
		LEAQ(operand.Mem{Base: base, Index: stride, Scale: 4}, r.base[1])
	}
	return r
}

func (r *rows) at(i int) operand.Mem {
	m := operand.Mem{Base: r.base[i/4]}
	switch i % 4 {
	case 1, 2:
		m.Index, m.Scale = r.stride, uint8(i%4)
	case 3:
		m.Index, m.Scale = r.three, 1
	}
	return m
}

func (r *rows) advance(n operand.Op) {
	ADDQ(n, r.base[0])
	if r.base[1] != nil {
		ADDQ(n, r.base[1])
	}
}
