//go:build !purego

package inflate

// fast says that there is a kernel: each processor of this architecture has NEON.
const fast = true

// kernel does what symbols does.
func (d *Decoder) kernel(dst []byte, o, end int) (_ int, more, ok bool) {
	posLast, oLast := len(d.src)-srcMargin, end-dstMargin
	if d.pos > posLast || o > oLast {
		return o, true, true
	}
	o, pos, bb, nb, status := symbolsNEON(&d.tables, &dst[0], o, oLast, &d.src[0], d.pos, posLast, d.bb, d.nb)
	d.pos, d.bb, d.nb = pos, bb, nb
	return o, status == 0, status >= 0
}

// symbolsNEON decodes symbols while the next byte of src is not behind posLast and that of
// dst not behind oLast, behind which there are srcMargin and dstMargin bytes.
//
//go:noescape
func symbolsNEON(t *tables, dst *byte, o, oLast int, src *byte, pos, posLast int, bb uint64, nb uint) (o2, pos2 int, bb2 uint64, nb2 uint, status int)
