// Command asm writes the amd64 assembly of internal/adler. It is a module of its
// own, so that programs that import farread need not know the generator's
// dependencies. `go generate ./internal/adler` runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// block is how many bytes a step takes.
const block = 32

func main() {
	ConstraintExpr("amd64,!purego")
	TEXT("addAVX2", NOSPLIT, "func(p *byte, n int, a, b uint32) (uint32, uint32)")
	Pragma("noescape")
	Doc("addAVX2 goes on from both sums over n bytes, 0 < n <= 5536 and a multiple of 32,", "without bringing them below the modulus.")
	p, n := GP64(), GP64()
	Load(Param("p"), p)
	Load(Param("n"), n)
	// Lane 0 begins with the sums so far. before adds up the value that the first sum
	// has in front of each block, since each byte of the block adds that value to the
	// second sum. Within a block the first byte counts 32 times, the last once.
	a, b, before, zero, ones, weights := YMM(), YMM(), YMM(), YMM(), YMM(), YMM()
	one := GP32()
	Load(Param("a"), one)
	VMOVD(one, a.AsX())
	Load(Param("b"), one)
	VMOVD(one, b.AsX())
	VPXOR(before, before, before)
	VPXOR(zero, zero, zero)
	VMOVDQU(vector("weights", func(i int) uint8 { return uint8(block - i) }), weights)
	VMOVDQU(vector("ones", func(i int) uint8 { return uint8(1 - i%2) }), ones)
	Label("loop")
	in, t := YMM(), YMM()
	VMOVDQU(operand.Mem{Base: p}, in)
	VPADDD(a, before, before)
	VPSADBW(in, zero, t)
	VPADDD(t, a, a)
	VPMADDUBSW(weights, in, in)
	VPMADDWD(ones, in, in)
	VPADDD(in, b, b)
	ADDQ(operand.U32(block), p)
	SUBQ(operand.U32(block), n)
	JNZ(operand.LabelRef("loop"))
	VPSLLD(operand.U8(5), before, before)
	VPADDD(before, b, b)
	Store(across(a), ReturnIndex(0))
	Store(across(b), ReturnIndex(1))
	VZEROUPPER()
	RET()
	Generate()
}

// vector is a constant of 32 bytes.
func vector(name string, at func(int) uint8) operand.Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range block {
		DATA(i, operand.U8(at(i)))
	}
	return m
}

// across adds the eight numbers of a vector up.
func across(v reg.VecVirtual) reg.GPVirtual {
	x, y, sum := XMM(), XMM(), GP32()
	VEXTRACTI128(operand.U8(1), v, x)
	VPADDD(v.AsX(), x, x)
	for _, half := range []uint8{0b01_00_11_10, 0b10_11_00_01} {
		VPSHUFD(operand.U8(half), x, y)
		VPADDD(y, x, x)
	}
	VMOVD(x, sum)
	return sum
}
