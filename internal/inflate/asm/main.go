// Command asm writes the amd64 assembly of internal/inflate. It is a module of its
// own, so that programs that import farread need not know the generator's
// dependencies. `go generate ./internal/inflate` runs it.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build" //nolint:revive // the way the generator is written for
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The tables and their entries are those of table.go.
const (
	litBits   = 11
	maxCode   = 15
	litParts  = 4 << litBits                        // where the parts for second looks begin, in bytes
	distTable = litParts + 4*144<<(maxCode-litBits) // where the table of distances begins
	distParts = distTable + 4<<8

	entCode       = 8
	entValue      = 16
	entLengthCode = 25
	entSecond     = 1 << 13
	entEnd        = 14 // the number of the bit
	entOther      = 1 << 15
)

func main() {
	ConstraintExpr("amd64,!purego")
	k := begin()
	k.turns()
	k.guesses()
	k.others()
	k.copies()
	k.leave()
	Generate()
}

// kernel has the registers that live through the whole function.
type kernel struct {
	tables, in, out, bb reg.GPVirtual
	nb                  reg.GPVirtual // the number of valid bits; above the lowest six there is anything
	first               reg.GPVirtual // the width of the first look
	guess               reg.GPVirtual
	e                   reg.GPVirtual // the entry to come, of what has not been used
	n, dist, status     reg.GPVirtual
	inLast, outLast     operand.Mem
}

func begin() *kernel {
	TEXT("symbolsBMI2", NOSPLIT, "func(tables *uint32, dst *byte, o, oLast int, src *byte, pos, posLast int, bb uint64, nb, guess uint) (o2, pos2 int, bb2 uint64, nb2 uint, status int)")
	Pragma("noescape")
	Doc("symbolsBMI2 decodes symbols while the next byte of src is not behind posLast and that of", "dst not behind oLast, behind which there are srcMargin and dstMargin bytes. guess is the", "lower half of the entries of most literals, whose codes have at most 8 bits, or 0.")
	k := &kernel{tables: GP64(), in: GP64(), out: GP64(), bb: GP64(), nb: GP64(), first: GP64(), guess: GP64(), e: GP64(), n: GP64(), dist: GP64(), status: GP64(), inLast: AllocLocal(8), outLast: AllocLocal(8)}
	Load(Param("tables"), k.tables)
	for _, x := range []struct {
		base, at, last string
		p              reg.GPVirtual
		end            operand.Mem
	}{{"src", "pos", "posLast", k.in, k.inLast}, {"dst", "o", "oLast", k.out, k.outLast}} {
		Load(Param(x.base), x.p)
		t := GP64()
		Load(Param(x.last), t)
		ADDQ(x.p, t)
		MOVQ(t, x.end)
		Load(Param(x.at), t)
		ADDQ(t, x.p)
	}
	Load(Param("bb"), k.bb)
	Load(Param("nb"), k.nb)
	Load(Param("guess"), k.guess)
	MOVQ(operand.U32(litBits), k.first)
	return k
}

// turns is the loop: three literals, or up to two and a match. The entry of the
// next symbol is looked up before the bits are filled, and before a match is copied.
func (k *kernel) turns() {
	Label("start")
	TESTL(k.guess.As32(), k.guess.As32())
	JNZ(operand.LabelRef("guesses"))
	k.limits()
	k.refill()
	k.look(k.e)
	JMP(operand.LabelRef("symbols"))

	Label("loop")
	TESTL(k.guess.As32(), k.guess.As32())
	JNZ(operand.LabelRef("guesses"))
	k.limits()
	k.refill()
	Label("symbols")
	second := GP64()
	e, next := k.e, second
	for i, stub := range []string{"match", "match1", "match2"} {
		TESTL(e.As32(), e.As32())
		JNS(operand.LabelRef(stub))
		t := GP64()
		BEXTRQ(e, k.bb, t)
		MOVL(operand.Mem{Base: k.tables, Index: t, Scale: 4}, next.As32())
		k.use(e)
		SHRL(operand.U8(entValue), e.As32())
		MOVB(e.As8(), operand.Mem{Base: k.out, Disp: i})
		e, next = next, e
	}
	MOVL(e.As32(), k.e.As32())
	ADDQ(operand.U8(3), k.out)
	JMP(operand.LabelRef("loop"))

	Label("match1")
	MOVL(second.As32(), k.e.As32())
	INCQ(k.out)
	JMP(operand.LabelRef("match"))
	Label("match2")
	ADDQ(operand.U8(2), k.out)
	Label("match")
	TESTL(operand.U32(entOther), k.e.As32())
	JNZ(operand.LabelRef("other"))
	Label("length")
	t, d := GP64(), GP64()
	BEXTRQ(k.e, k.bb, t)
	k.value(k.e, k.n, entLengthCode)
	k.use(k.e)
	k.refill()
	MOVL(operand.Mem{Base: k.tables, Index: t, Scale: 4, Disp: distTable}, d.As32())
	TESTL(operand.U32(entOther), d.As32())
	JNZ(operand.LabelRef("otherDist"))
	Label("distance")
	k.value(d, k.dist, entCode)
	k.use(d)
	k.look(k.e)
	JMP(operand.LabelRef("copy"))

	Label("otherDist")
	TESTL(operand.U32(entSecond), d.As32())
	JZ(operand.LabelRef("bad"))
	k.second(d, 8, maxCode-8, distParts)
	TESTL(operand.U32(entOther), d.As32())
	JZ(operand.LabelRef("distance"))
	JMP(operand.LabelRef("bad"))
}

// guesses is a loop for blocks in which most literals have codes of the same length. To
// guess that length instead of waiting for the entry leaves one shift between literals;
// the processor goes on behind the comparison while it waits for what it compares.
func (k *kernel) guesses() {
	const turn = 6 // literals: the last look takes bits 40 to 50 of 56
	Label("guesses")
	k.limits()
	k.refill()
	t := GP64()
	for i := range turn {
		k.lookAt(t)
		entry := operand.Mem{Base: k.tables, Index: t, Scale: 4}
		CMPW(k.guess.As16(), entry)
		JNE(operand.LabelRef(fmt.Sprintf("wrong%d", i)))
		literal := GP32()
		MOVBLZX(entry.Offset(2), literal)
		MOVB(literal.(reg.GPVirtual).As8(), operand.Mem{Base: k.out, Disp: i})
		SHRXQ(k.guess, k.bb, k.bb)
	}
	k.guessed(turn)
	JMP(operand.LabelRef("guesses"))

	for i := range turn {
		Label(fmt.Sprintf("wrong%d", i))
		k.guessed(i)
		if i < turn-1 {
			JMP(operand.LabelRef("wrong"))
		}
	}
	Label("wrong")
	MOVL(operand.Mem{Base: k.tables, Index: t, Scale: 4}, k.e.As32())
	k.refill() // after five guesses there may be too few bits for a length
	TESTL(k.e.As32(), k.e.As32())
	JNS(operand.LabelRef("match"))
	k.literal()
	JMP(operand.LabelRef("guesses"))
}

// guessed counts n literals of the guessed length. Its multiples are right in the lowest
// six bits, with what else is in guess.
func (k *kernel) guessed(n int) {
	if n == 0 {
		return
	}
	t := GP32()
	IMUL3L(operand.U8(uint8(n)), k.guess.As32(), t)
	SUBL(t, k.nb.As32())
	ADDQ(operand.U8(uint8(n)), k.out)
}

// literal writes the literal of the entry.
func (k *kernel) literal() {
	k.use(k.e)
	SHRL(operand.U8(entValue), k.e.As32())
	MOVB(k.e.As8(), operand.Mem{Base: k.out})
	INCQ(k.out)
}

// limits leaves the loop near the end of src or dst.
func (k *kernel) limits() {
	CMPQ(k.in, k.inLast)
	JHI(operand.LabelRef("more"))
	CMPQ(k.out, k.outLast)
	JHI(operand.LabelRef("more"))
}

// refill makes at least 56 bits available.
func (k *kernel) refill() {
	t := GP64()
	SHLXQ(k.nb, operand.Mem{Base: k.in}, t)
	ORQ(t, k.bb)
	u := GP32()
	MOVL(k.nb.As32(), u)
	NOTL(u)
	SHRL(operand.U8(3), u)
	ANDL(operand.U8(7), u)
	ADDQ(u.(reg.GPVirtual).As64(), k.in)
	ORL(operand.U8(56), k.nb.As32())
}

// look finds the entry of the next symbol.
func (k *kernel) look(e reg.GPVirtual) {
	t := GP64()
	k.lookAt(t)
	MOVL(operand.Mem{Base: k.tables, Index: t, Scale: 4}, e.As32())
}

func (k *kernel) lookAt(t reg.GPVirtual) { BZHIQ(k.first, k.bb, t) }

// second takes a second look, for the code whose first bits led to e.
func (k *kernel) second(e reg.GPVirtual, bits, width, parts int) {
	SHRQ(operand.U8(uint8(bits)), k.bb)
	SUBL(operand.U8(uint8(bits)), k.nb.As32())
	t := GP64()
	MOVL(k.bb.As32(), t.As32())
	ANDL(operand.U32(uint32(1<<width-1)), t.As32())
	SHRL(operand.U8(entValue), e.As32())
	ADDL(e.As32(), t.As32())
	MOVL(operand.Mem{Base: k.tables, Index: t, Scale: 4, Disp: parts}, e.As32())
}

// use takes the bits of an entry.
func (k *kernel) use(e reg.GPVirtual) {
	SHRXQ(e, k.bb, k.bb)
	SUBL(e.As32(), k.nb.As32())
}

// value is the length or the distance of an entry, which has the bits of its code at
// codeAt, with the number in its extra bits.
func (k *kernel) value(e, v reg.GPVirtual, codeAt int) {
	t, u := GP64(), GP64()
	BZHIQ(e, k.bb, t)
	MOVL(e.As32(), u.As32())
	SHRL(operand.U8(uint8(codeAt)), u.As32())
	SHRXQ(u, t, t)
	MOVL(e.As32(), v.As32())
	SHRL(operand.U8(entValue), v.As32())
	if codeAt > entValue {
		ANDL(operand.U32(1<<(codeAt-entValue)-1), v.As32())
	}
	ADDQ(t, v)
}

// others handles codes of more bits than a first look has, and the end of the block.
func (k *kernel) others() {
	Label("other")
	TESTL(operand.U32(entSecond), k.e.As32())
	JZ(operand.LabelRef("end"))
	k.second(k.e, litBits, maxCode-litBits, litParts)
	TESTL(operand.U32(entOther), k.e.As32())
	JNZ(operand.LabelRef("end"))
	TESTL(k.e.As32(), k.e.As32())
	JNS(operand.LabelRef("length"))
	k.literal()
	JMP(operand.LabelRef("start"))

	Label("end") // or no code
	k.use(k.e)
	MOVL(k.e.As32(), k.status.As32())
	SHRL(operand.U8(entEnd), k.status.As32())
	ANDL(operand.U8(1), k.status.As32())
	DECQ(k.status)
	ADDQ(k.status, k.status)
	INCQ(k.status) // 1 for the end, -1 for no code
	JMP(operand.LabelRef("leave"))
}

// copies copies a match.
func (k *kernel) copies() {
	Label("copy")
	from, end := GP64(), GP64()
	MOVQ(k.out, from)
	dst, err := Param("dst").Resolve()
	if err != nil {
		panic(err)
	}
	SUBQ(dst.Addr, from)
	CMPQ(k.dist, from)
	JHI(operand.LabelRef("bad"))
	MOVQ(k.out, from)
	SUBQ(k.dist, from)
	LEAQ(operand.Mem{Base: k.out, Index: k.n, Scale: 1}, end)
	CMPQ(k.dist, operand.U8(32))
	JB(operand.LabelRef("near"))
	v := YMM()
	VMOVDQU(operand.Mem{Base: from}, v)
	VMOVDQU(v, operand.Mem{Base: k.out})
	CMPQ(k.n, operand.U8(32))
	JHI(operand.LabelRef("far"))
	MOVQ(end, k.out)
	JMP(operand.LabelRef("loop"))

	Label("far")
	ADDQ(operand.U8(32), k.out)
	ADDQ(operand.U8(32), from)
	VMOVDQU(operand.Mem{Base: from}, v)
	VMOVDQU(v, operand.Mem{Base: k.out})
	ADDQ(operand.U8(32), k.out)
	ADDQ(operand.U8(32), from)
	VMOVDQU(operand.Mem{Base: from}, v)
	VMOVDQU(v, operand.Mem{Base: k.out})
	k.until(end, "far", 32)

	Label("near")
	CMPQ(k.dist, operand.U8(1))
	JNE(operand.LabelRef("pattern"))
	VPBROADCASTB(operand.Mem{Base: from}, v)
	Label("run")
	VMOVDQU(v, operand.Mem{Base: k.out})
	k.step(32)
	k.until(end, "run", 0)

	Label("pattern")
	x := XMM()
	VMOVDQU(operand.Mem{Base: from}, x)
	CMPQ(k.dist, operand.U8(16))
	JB(operand.LabelRef("short"))
	Label("half")
	VMOVDQU(x, operand.Mem{Base: k.out})
	ADDQ(operand.U8(16), from)
	VMOVDQU(operand.Mem{Base: from}, x)
	k.step(16)
	k.until(end, "half", 0)

	Label("short")
	masks, steps := GP64(), GP64()
	LEAQ(patterns(), masks)
	LEAQ(wholes(), steps)
	MOVBQZX(operand.Mem{Base: steps, Index: k.dist, Scale: 1}, steps)
	SHLQ(operand.U8(4), k.dist)
	VPSHUFB(operand.Mem{Base: masks, Index: k.dist, Scale: 1}, x, x)
	Label("repeat")
	VMOVDQU(x, operand.Mem{Base: k.out})
	ADDQ(steps, k.out)
	k.until(end, "repeat", 0)
}

func (k *kernel) step(n int) { ADDQ(operand.U8(uint8(n)), k.out) }

// until goes back to the label while the bytes up to ahead of out do not reach the end,
// and then on behind the match.
func (k *kernel) until(end reg.GPVirtual, label string, ahead int) {
	if ahead > 0 {
		t := GP64()
		LEAQ(operand.Mem{Base: k.out, Disp: ahead}, t)
		CMPQ(t, end)
	} else {
		CMPQ(k.out, end)
	}
	JB(operand.LabelRef(label))
	MOVQ(end, k.out)
	JMP(operand.LabelRef("loop"))
}

// patterns has for each distance below 16 the places of a pattern of so many bytes that
// is repeated.
func patterns() operand.Mem {
	m := GLOBL("patterns", RODATA|NOPTR)
	for d := range 16 {
		for i := range 16 {
			DATA(16*d+i, operand.U8(uint8(i%max(d, 1))))
		}
	}
	return m
}

// wholes has for each distance below 16 how many bytes of 16 its whole patterns fill.
func wholes() operand.Mem {
	m := GLOBL("wholes", RODATA|NOPTR)
	for d := range 16 {
		DATA(d, operand.U8(uint8(16-16%max(d, 1))))
	}
	return m
}

func (k *kernel) leave() {
	Label("bad")
	MOVQ(operand.I32(-1), k.status)
	JMP(operand.LabelRef("leave"))
	Label("more")
	XORL(k.status.As32(), k.status.As32())
	Label("leave")
	for _, x := range []struct {
		base, result string
		p            reg.GPVirtual
	}{{"src", "pos2", k.in}, {"dst", "o2", k.out}} {
		t := GP64()
		Load(Param(x.base), t)
		SUBQ(t, x.p)
		Store(x.p, Return(x.result))
	}
	ANDL(operand.U8(63), k.nb.As32())
	Store(k.bb, Return("bb2"))
	Store(k.nb, Return("nb2"))
	Store(k.status, Return("status"))
	VZEROUPPER()
	RET()
}
