package parquet

import "github.com/farread/farread/functions/internal/kit"

const (
	// maxDepth is how deep structures of a footer lie in each other: 8 are usual.
	maxDepth = 32
	// maxItems bounds the structures in lists of a footer, before memory is taken for
	// them: up to half a kilobyte each.
	maxItems = 1 << 19
)

// Kinds of values in the compact protocol of Thrift.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI64    = 6
	thriftDouble = 7
	thriftBytes  = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13
)

// A walker goes through a structure of the compact protocol without keeping anything, so
// that lengths and counts are known to be honest before a decoder takes memory for them.
type walker struct {
	p     []byte
	at    int
	items int // structures in lists
}

// length is the number of bytes of the structure at the beginning of p. If p ends first,
// short is true.
func length(p []byte) (n int, short bool, err error) {
	w := walker{p: p}
	err = w.structure(0)
	return w.at, err != nil && w.at >= len(p), err
}

var errShort = kit.Corrupt("truncated: a structure goes on beyond its end")

func (w *walker) byte() (byte, error) {
	if w.at >= len(w.p) {
		return 0, errShort
	}
	w.at++
	return w.p[w.at-1], nil
}

func (w *walker) uvarint() (uint64, error) {
	v := uint64(0)
	for shift := 0; shift < 64; shift += 7 {
		b, err := w.byte()
		if err != nil {
			return 0, err
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, kit.Corrupt("a number of more than 64 bits")
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.p)-w.at) {
		w.at = len(w.p)
		return errShort
	}
	w.at += int(n)
	return nil
}

func (w *walker) structure(depth int) error {
	if depth > maxDepth {
		return kit.Corrupt("more than %d structures in each other", maxDepth)
	}
	for {
		b, err := w.byte()
		switch {
		case err != nil:
			return err
		case b&0xf == 0:
			return nil
		case b>>4 == 0: // the number of the field follows
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if kind := b & 0xf; kind != thriftTrue && kind != thriftFalse {
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (w *walker) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftI8: // the first two in lists alone
		return w.skip(1)
	case thriftI8 + 1, thriftI8 + 2, thriftI64:
		_, err := w.uvarint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftUUID:
		return w.skip(16)
	case thriftBytes:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth)
	case thriftMap:
		return w.pairs(depth)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return kit.Corrupt("a value of kind %d", kind)
}

func (w *walker) list(depth int) error {
	b, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(b >> 4)
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	return w.each(n, depth, b&0xf)
}

func (w *walker) pairs(depth int) error {
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	b, err := w.byte()
	if err != nil {
		return err
	}
	return w.each(n, depth, b>>4, b&0xf)
}

// each goes through n items of some kinds. An item takes a byte at least.
func (w *walker) each(n uint64, depth int, kinds ...byte) error {
	if n > uint64(len(w.p)-w.at) {
		w.at = len(w.p)
		return errShort
	}
	for range n {
		for _, kind := range kinds {
			if kind >= thriftList || kind == thriftBytes {
				if w.items++; w.items > maxItems {
					return kit.TooLarge("more than %d items in lists", maxItems)
				}
			}
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
