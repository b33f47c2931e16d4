//go:build !purego

package inflate

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fast says whether there is a kernel for this processor; nothing writes it later.
var fast = cpu.X86.HasBMI1 && cpu.X86.HasBMI2 && cpu.X86.HasAVX2

// kernel does what symbols does.
func (d *Decoder) kernel(dst []byte, o, end int) (_ int, more, ok bool) {
	posLast, oLast := len(d.src)-srcMargin, end-dstMargin
	if d.pos > posLast || o > oLast {
		return o, true, true
	}
	o, pos, bb, nb, status := symbolsBMI2(&d.lit[0], &dst[0], o, oLast, &d.src[0], d.pos, posLast, d.bb, d.nb, d.guess)
	d.pos, d.bb, d.nb = pos, bb, nb
	return o, status == 0, status >= 0
}

// The kernel finds the table of distances so far behind the other.
var _ = [1]struct{}{}[unsafe.Offsetof(tables{}.dist)-4*(1<<litBits+144<<(maxCode-litBits))]
