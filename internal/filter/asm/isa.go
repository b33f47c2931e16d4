package main

import (
	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa writes the operations that both instruction sets have, in the shape of
// the newer: a result apart from the operands.
type isa struct {
	name  string
	bytes int
}

func (v isa) avx() bool { return v.bytes == 32 }

func (v isa) reg() reg.VecVirtual {
	if v.avx() {
		return YMM()
	}
	return XMM()
}

func (v isa) load(m operand.Mem) reg.VecVirtual {
	r := v.reg()
	if v.avx() {
		VMOVDQU(m, r)
	} else {
		MOVOU(m, r)
	}
	return r
}

func (v isa) store(r reg.VecVirtual, m operand.Mem) {
	if v.avx() {
		VMOVDQU(r, m)
	} else {
		MOVOU(r, m)
	}
}

// loadLanes takes the low lane of a vector from base+disp, and the upper one,
// if there is one, from apart bytes behind it.
func (v isa) loadLanes(base reg.Register, disp, apart int) reg.VecVirtual {
	if !v.avx() {
		return v.load(at(base, disp))
	}
	r := YMM()
	VBROADCASTI128(at(base, disp), r) // a plain load would depend on the old upper lane
	VINSERTI128(operand.Imm(1), at(base, disp+apart), r, r)
	return r
}

type (
	op2 func(b, a operand.Op)
	op3 func(b, a, result operand.Op)
)

// do returns a op b.
func (v isa) do(sse op2, avx op3, a, b reg.VecVirtual) reg.VecVirtual {
	r := v.reg()
	if v.avx() {
		avx(b, a, r)
	} else {
		MOVO(a, r)
		sse(b, r)
	}
	return r
}

// set puts a op b into a.
func (v isa) set(sse op2, avx op3, a, b reg.VecVirtual) {
	if v.avx() {
		avx(b, a, a)
	} else {
		sse(b, a)
	}
}

// imm returns a op n.
func (v isa) imm(sse op2, avx op3, a reg.VecVirtual, n int) reg.VecVirtual {
	r := v.reg()
	if v.avx() {
		avx(operand.Imm(uint64(n)), a, r)
	} else {
		MOVO(a, r)
		sse(operand.Imm(uint64(n)), r)
	}
	return r
}

// setImm puts a op n into a.
func (v isa) setImm(sse op2, avx op3, a reg.VecVirtual, n int) {
	if v.avx() {
		avx(operand.Imm(uint64(n)), a, a)
	} else {
		sse(operand.Imm(uint64(n)), a)
	}
}

// Instructions that also come with masks take any number of operands.
func three(f func(ops ...operand.Op)) op3 {
	return func(b, a, result operand.Op) { f(b, a, result) }
}

// unpack interleaves units of a and b, lane by lane: those of the lower halves
// of the lanes, then those of the upper ones. It may destroy a.
func (v isa) unpack(a, b reg.VecVirtual, unit int) (lo, hi reg.VecVirtual) {
	type pair struct {
		sse op2
		avx op3
	}
	ops := map[int][2]pair{
		1: {{PUNPCKLBW, three(VPUNPCKLBW)}, {PUNPCKHBW, three(VPUNPCKHBW)}},
		2: {{PUNPCKLWL, three(VPUNPCKLWD)}, {PUNPCKHWL, three(VPUNPCKHWD)}},
		4: {{PUNPCKLLQ, three(VPUNPCKLDQ)}, {PUNPCKHLQ, three(VPUNPCKHDQ)}},
		8: {{PUNPCKLQDQ, three(VPUNPCKLQDQ)}, {PUNPCKHQDQ, three(VPUNPCKHQDQ)}},
	}[unit]
	hi = v.do(ops[1].sse, ops[1].avx, a, b)
	if v.avx() {
		lo = v.do(ops[0].sse, ops[0].avx, a, b)
	} else {
		lo = a
		ops[0].sse(b, lo)
	}
	return lo, hi
}

// constant declares a vector of which every 8 bytes are x.
func (v isa) constant(name string, x uint64) operand.Mem {
	m := GLOBL(name+v.name, RODATA|NOPTR)
	for i := 0; i < v.bytes; i += 8 {
		DATA(i, operand.U64(x))
	}
	return m
}
