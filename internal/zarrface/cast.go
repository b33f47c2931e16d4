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
// becomes 0, and what is beyond the range of an integer becomes its end: a picture that
// wraps around would show edges that are not there. dtype.DType.Convert refuses all that.
func (c *cast) convert(dst, src []byte) {
	n, m := c.from.ItemSize(), c.to.ItemSize()
	lo, hi := int64(0), uint64(1)<<(8*m)-1
	if c.to.Kind() == dtype.Int {
		lo, hi = -1<<(8*m-1), 1<<(8*m-1)-1
	}
	kind, big, float := c.from.Kind(), c.from.BigEndian(), c.to.Kind() == dtype.Float
	var word [8]byte
	for ; len(src) >= n; src, dst = src[n:], dst[m:] {
		u := unsigned(src[:n], big)
		switch {
		case kind == dtype.Float && float:
			u = uint64(math.Float32bits(float32(floatOf(u, n))))
		case kind == dtype.Float:
			u = clampFloat(floatOf(u, n), lo, hi)
		case kind == dtype.Int && float:
			u = uint64(math.Float32bits(float32(signed(u, n))))
		case kind == dtype.Int:
			u = clamp(signed(u, n), lo, hi)
		case float:
			u = uint64(math.Float32bits(float32(u)))
		default:
			u = min(u, hi)
		}
		binary.LittleEndian.PutUint64(word[:], u)
		copy(dst[:m], word[:])
	}
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

// unsigned is a number of up to 8 bytes.
func unsigned(p []byte, big bool) uint64 {
	var u uint64
	if big {
		for _, b := range p {
			u = u<<8 | uint64(b)
		}
		return u
	}
	for i, b := range p {
		u |= uint64(b) << (8 * i)
	}
	return u
}

// signed is a number of n bytes with a sign.
func signed(u uint64, n int) int64 {
	shift := 64 - 8*n
	return int64(u<<shift) >> shift
}

// floatOf is the float of n bytes with the given bits.
func floatOf(u uint64, n int) float64 {
	switch n {
	case 2:
		return float64(dtype.HalfToFloat(uint16(u)))
	case 4:
		return float64(math.Float32frombits(uint32(u)))
	}
	return math.Float64frombits(u)
}
