package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gather is merge for planes that lie anywhere.
func (v isa) gather(width int) {
	v.begin(fmt.Sprintf("gather%d", width), "func(dst *byte, planes **byte, n int)",
		fmt.Sprintf("merges %d byte planes, to which planes points, into n elements; n > 0 is a multiple of %d.", width, v.bytes))
	dst, planes, n := arg("dst"), arg("planes"), arg("n")
	var from []reg.Register
	for j := range width {
		p := GP64()
		MOVQ(at(planes, 8*j), p)
		from = append(from, p)
	}
	i := GP64()
	XORQ(i, i)
	Label("loop")
	var rs []reg.VecVirtual
	for _, p := range from {
		rs = append(rs, v.load(operand.Mem{Base: p, Index: i, Scale: 1}))
	}
	v.storeLanes(v.interleave(rs, 1), dst)
	ADDQ(operand.U32(width*v.bytes), dst)
	ADDQ(operand.U32(v.bytes), i)
	CMPQ(i, n)
	JB(operand.LabelRef("loop"))
	v.end()
}
