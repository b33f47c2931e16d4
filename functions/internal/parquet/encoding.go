package parquet

import (
	"encoding/binary"
	"math/bits"

	"github.com/farread/farread/functions/internal/kit"
)

// A decoder reads the values of a page, those that are not null. It takes no memory for
// values before it has read them, whatever counts a page claims.
type decoder interface {
	// read appends n values of the column to v.
	read(v *Values, n int) error
}

var (
	errValues = kit.Corrupt("fewer values than the page says")
	errWidth  = kit.Corrupt("numbers of more bits than their type has")
)

// hybrid reads numbers of a few bits, in runs or packed (RLE).
type hybrid struct {
	p     []byte
	width int
	run   int    // numbers that are left of the run, or of the pack
	value uint32 // number of a run
	pack  []byte // rest of a pack; nil: a run
	bit   int    // bits of pack that are read
}

func newHybrid(p []byte, width int) (*hybrid, error) {
	if width < 0 || width > 32 {
		return nil, errWidth
	}
	return &hybrid{p: p, width: width}, nil
}

// next finds the next run.
func (h *hybrid) next() error {
	for h.run == 0 {
		head, n := binary.Uvarint(h.p)
		if n <= 0 {
			return errValues
		}
		h.p, h.pack, h.bit = h.p[n:], nil, 0
		if head>>1 > 1<<31 {
			return kit.Corrupt("a run of %d values", head>>1)
		}
		if h.run = int(head >> 1); h.run == 0 {
			continue
		}
		if head&1 == 1 { // groups of 8
			size := min(h.run*h.width, len(h.p)) // some writers cut the last group
			h.pack, h.run = h.p[:size:size], h.run*8
			if h.pack == nil {
				h.pack = []byte{}
			}
			h.p = h.p[size:]
			continue
		}
		size := (h.width + 7) / 8
		if len(h.p) < size {
			return errValues
		}
		h.value = 0
		for i := range size {
			h.value |= uint32(h.p[i]) << (8 * i)
		}
		h.p = h.p[size:]
		if bits.Len32(h.value) > h.width {
			return errWidth
		}
	}
	return nil
}

// each calls f with the next n numbers, and how often each comes.
func (h *hybrid) each(n int, f func(value uint32, times int) error) error {
	for n > 0 {
		if err := h.next(); err != nil {
			return err
		}
		if h.pack == nil {
			k := min(n, h.run)
			h.run -= k
			n -= k
			if err := f(h.value, k); err != nil {
				return err
			}
			continue
		}
		for ; n > 0 && h.run > 0; n, h.run = n-1, h.run-1 {
			x, err := h.packed()
			if err != nil {
				return err
			}
			if err := f(x, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// packed reads one number of a pack.
func (h *hybrid) packed() (uint32, error) {
	x, ok := unpack(h.pack, h.bit, h.width)
	if !ok {
		return 0, errValues
	}
	h.bit += h.width
	return uint32(x), nil
}

// unpack reads the number of width bits from a bit on, the lowest bits first.
func unpack(p []byte, bit, width int) (x uint64, ok bool) {
	if bit+width > 8*len(p) {
		return 0, false
	}
	at, shift := bit/8, bit%8
	if at+8 <= len(p) {
		x = binary.LittleEndian.Uint64(p[at:]) >> shift
		if shift+width > 64 {
			x |= uint64(p[at+8]) << (64 - shift)
		}
	} else {
		for i := 0; at+i < len(p); i++ {
			x |= uint64(p[at+i]) << (8 * i)
		}
		x >>= shift
	}
	if width < 64 {
		x &= 1<<width - 1
	}
	return x, true
}

// plain reads values as they are in memory.
type plain struct {
	c   *Column
	p   []byte
	bit int // of booleans
}

func (d *plain) read(v *Values, n int) error {
	switch size := d.c.size; {
	case d.c.physical == physicalBool:
		for range n {
			if d.bit >= 8*len(d.p) {
				return errValues
			}
			v.Int = append(v.Int, int64(d.p[d.bit/8]>>(d.bit%8)&1))
			d.bit++
		}
	case size > 0:
		if n > len(d.p)/size {
			return errValues
		}
		for i := range n {
			d.c.put(v, d.p[i*size:(i+1)*size])
		}
		d.p = d.p[n*size:]
	default:
		for range n {
			if len(d.p) < 4 {
				return errValues
			}
			size := binary.LittleEndian.Uint32(d.p)
			if uint64(size) > uint64(len(d.p)-4) {
				return errValues
			}
			d.c.put(v, d.p[4:4+size])
			d.p = d.p[4+size:]
		}
	}
	return nil
}

// indexed reads values of a dictionary.
type indexed struct {
	h    *hybrid
	dict *Values
}

func (d *indexed) read(v *Values, n int) error {
	have := d.dict.len()
	return d.h.each(n, func(i uint32, times int) error {
		if int64(i) >= int64(have) {
			return kit.Corrupt("value %d of a dictionary of %d", i, have)
		}
		for range times {
			v.copy(d.dict, int(i))
		}
		return nil
	})
}

// booleans reads runs of booleans.
type booleans struct{ h *hybrid }

func (d booleans) read(v *Values, n int) error {
	return d.h.each(n, func(x uint32, times int) error {
		for range times {
			v.Int = append(v.Int, int64(x))
		}
		return nil
	})
}

// split reads values whose first bytes come first, then their second ones, and so on.
type split struct {
	c     *Column
	p     []byte
	at, n int
}

func (d *split) read(v *Values, n int) error {
	if n > d.n-d.at {
		return errValues
	}
	var room [16]byte
	one := room[:d.c.size]
	for range n {
		for b := range one {
			one[b] = d.p[b*d.n+d.at]
		}
		d.c.put(v, one)
		d.at++
	}
	return nil
}
