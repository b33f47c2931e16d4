package parquet

import (
	"encoding/binary"

	"github.com/farread/farread/functions/internal/kit"
)

// A delta reads whole numbers as their differences, block by block.
type delta struct {
	p      []byte
	minis  int // miniblocks of a block
	per    int // numbers of a miniblock
	left   int // numbers that are not read yet
	value  int64
	any    bool // the first number is read
	least  int64
	widths []byte // of the miniblocks of this block that are not read yet
	mini   []byte // of this miniblock
	width  int
	in     int // numbers that are left of this miniblock
	bit    int
}

// maxBlock is the most numbers of a block; 128 are usual.
const maxBlock = 1 << 16

func newDelta(p []byte) (*delta, error) {
	var head [3]uint64
	for i := range head {
		x, n := binary.Uvarint(p)
		if n <= 0 {
			return nil, errValues
		}
		head[i], p = x, p[n:]
	}
	first, n := binary.Varint(p)
	switch {
	case n <= 0:
		return nil, errValues
	case head[0] == 0 || head[0] > maxBlock || head[1] == 0 || head[1] > head[0] || head[0]%head[1] != 0 || head[0]/head[1]%8 != 0:
		return nil, kit.Corrupt("blocks of %d differences in %d parts", head[0], head[1])
	case head[2] > 1<<31:
		return nil, kit.Corrupt("%d differences", head[2])
	}
	return &delta{p: p[n:], minis: int(head[1]), per: int(head[0] / head[1]), left: int(head[2]), value: first}, nil
}

// next reads one number.
func (d *delta) next() (int64, error) {
	if d.left == 0 {
		return 0, errValues
	}
	d.left--
	if !d.any {
		d.any = true
		return d.value, nil
	}
	if d.in == 0 {
		if err := d.miniblock(); err != nil {
			return 0, err
		}
	}
	x, ok := unpack(d.mini, d.bit, d.width)
	if !ok {
		return 0, errValues
	}
	d.bit += d.width
	d.in--
	d.value += d.least + int64(x)
	return d.value, nil
}

// miniblock begins the next miniblock, of which the last one may be cut.
func (d *delta) miniblock() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.p)
		if n <= 0 || len(d.p)-n < d.minis {
			return errValues
		}
		d.least, d.widths, d.p = least, d.p[n:n+d.minis], d.p[n+d.minis:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return errWidth
	}
	size := min(d.per*d.width/8, len(d.p))
	d.mini, d.p, d.bit, d.in = d.p[:size], d.p[size:], 0, d.per
	return nil
}

// rest reads the numbers that are left, and returns what is behind them.
func (d *delta) rest() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.p, nil
}

// deltas reads numbers of a column.
type deltas struct {
	c *Column
	d *delta
}

func (d deltas) read(v *Values, n int) error {
	for range n {
		x, err := d.d.next()
		if err != nil {
			return err
		}
		if d.c.physical == physicalInt32 {
			x = int64(int32(x))
		}
		d.c.putInt(v, x)
	}
	return nil
}

// texts reads byte arrays whose lengths come first, and, if prefixes is not nil, before
// them how much of the text before is at their beginning.
type texts struct {
	c        *Column
	prefixes *delta
	lengths  *delta
	p        []byte
	last     []byte
}

// maxText bounds a text that is read: the text of a time.
const maxText = 1 << 16

func newTexts(c *Column, p []byte, prefixed bool) (*texts, error) {
	d := &texts{c: c}
	var err error
	for _, list := range []**delta{&d.prefixes, &d.lengths} {
		if list == &d.prefixes && !prefixed {
			continue
		}
		// Once to find the end, and once to use them: they are not kept.
		var end *delta
		if end, err = newDelta(p); err != nil {
			return nil, err
		}
		if *list, err = newDelta(p); err != nil {
			return nil, err
		}
		if p, err = end.rest(); err != nil {
			return nil, err
		}
	}
	d.p = p
	return d, nil
}

func (d *texts) read(v *Values, n int) error {
	for range n {
		prefix := int64(0)
		var err error
		if d.prefixes != nil {
			if prefix, err = d.prefixes.next(); err != nil {
				return err
			}
		}
		size, err := d.lengths.next()
		switch {
		case err != nil:
			return err
		case size < 0 || size > int64(len(d.p)) || prefix < 0 || prefix > int64(len(d.last)):
			return errValues
		case size+prefix > maxText:
			return kit.TooLarge("a text of more than %d bytes", maxText)
		}
		if d.last = append(d.last[:prefix], d.p[:size]...); d.c.size > 0 && len(d.last) != d.c.size {
			return errValues
		}
		d.p = d.p[size:]
		d.c.put(v, d.last)
	}
	return nil
}
