package zarrface

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/formats/dtype"
)

// castTypes are the types that numbers are cast to, by their names in Zarr.
var castTypes = map[string]string{"float32": "<f4", "uint8": "|u1", "uint16": "<u2", "int32": "<i4", "int64": "<i8"}

// A cast turns items of one type into items of another.
type cast struct {
	from, to dtype.DType
	lossy    bool
}

// newCast returns the type that items of type d have after a cast to the type of the given
// name, and the cast, which is nil if the bytes stay as they are.
func newCast(d dtype.DType, name string) (dtype.DType, *cast, error) {
	if name == "" {
		return d, nil, nil
	}
	to, err := dtype.Parse(castTypes[name])
	if err != nil {
		return d, nil, err
	}
	c := &cast{from: d, to: to}
	switch kind := d.Kind(); {
	case d.Opaque():
	case kind == dtype.DateTime || kind == dtype.Duration:
		if name == "int64" { // the counts themselves
			to, err = dtype.Parse(map[bool]string{false: "<i8", true: ">i8"}[d.BigEndian()])
			return to, nil, err
		}
	case kind == to.Kind() && d.ItemSize() == to.ItemSize():
		return d, nil, nil // the document tells the order of bytes
	case kind == dtype.Bool, kind == dtype.Int, kind == dtype.Uint, kind == dtype.Float:
		c.lossy = !fits(d, to)
		return to, c, nil
	}
	return d, nil, unsupported("%s is no number that can be cast to %s", d, name)
}

// fits reports whether a type has all numbers of another one.
func fits(d, to dtype.DType) bool {
	n, m := d.ItemSize(), to.ItemSize()
	switch {
	case d.Kind() == dtype.Bool:
		return true
	case to.Kind() == dtype.Float: // float32
		return d.Kind() == dtype.Float && n <= 4 || d.Kind() != dtype.Float && n <= 2
	case d.Kind() == dtype.Float:
		return false
	case d.Kind() == to.Kind():
		return n <= m
	}
	return d.Kind() == dtype.Uint && n < m
}

// convert fills dst with the items of src. Floats are cut to integers towards zero, NaN
// becomes 0, and what is beyond the range of the type becomes its end: a picture that wraps
// around would show edges that are not there.
func (c *cast) convert(dst, src []byte) error {
	if c.to.Kind() == dtype.Float || !c.lossy {
		return c.from.Convert(dst, c.to, src)
	}
	n, m := c.from.ItemSize(), c.to.ItemSize()
	lo, hi := int64(0), uint64(1)<<(8*m)-1
	if c.to.Kind() == dtype.Int {
		lo, hi = -1<<(8*m-1), 1<<(8*m-1)-1
	}
	var word [8]byte
	for ; len(src) >= n; src, dst = src[n:], dst[m:] {
		var v uint64
		switch c.from.Kind() {
		case dtype.Int:
			v = clamp(signed(src[:n], c.from.BigEndian()), lo, hi)
		case dtype.Uint:
			v = min(unsigned(src[:n], c.from.BigEndian()), hi)
		default:
			f, _ := c.from.Float(src[:n])
			v = clampFloat(f, lo, hi)
		}
		binary.LittleEndian.PutUint64(word[:], v)
		copy(dst[:m], word[:])
	}
	return nil
}

func clamp(v, lo int64, hi uint64) uint64 {
	if v >= 0 {
		return min(uint64(v), hi)
	}
	return uint64(max(v, lo))
}

// clampFloat is for ranges whose end fits into an int64.
func clampFloat(f float64, lo int64, hi uint64) uint64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f <= float64(lo):
		return uint64(lo)
	case f >= float64(hi):
		return hi
	}
	return uint64(int64(f))
}

func unsigned(p []byte, big bool) uint64 {
	var w [8]byte
	if big {
		copy(w[8-len(p):], p)
		return binary.BigEndian.Uint64(w[:])
	}
	copy(w[:], p)
	return binary.LittleEndian.Uint64(w[:])
}

func signed(p []byte, big bool) int64 {
	shift := 64 - 8*len(p)
	return int64(unsigned(p, big)<<shift) >> shift
}
