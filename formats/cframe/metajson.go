package cframe

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// JSONLimits bound the result of AppendJSON. A field of 0 means its default.
type JSONLimits struct {
	Depth  int // nesting of lists and maps; 0: 32
	Values int // number of values and keys; 0: 65 536
	Bytes  int // length of the JSON; 0: 1 MiB
}

func (l JSONLimits) withDefaults() JSONLimits {
	for _, f := range []struct {
		n    *int
		zero int
	}{{&l.Depth, 32}, {&l.Values, 1 << 16}, {&l.Bytes, 1 << 20}} {
		if *f.n <= 0 {
			*f.n = f.zero
		}
	}
	return l
}

// JSON returns the value of a metalayer as JSON; see AppendJSON.
func (m Metalayer) JSON(l JSONLimits) (json.RawMessage, error) { return AppendJSON(nil, m.Data, l) }

// AppendJSON decodes data, one msgpack value, and appends it to dst as JSON. If it
// fails, it returns dst as it was. It decodes the values that NewMetalayer encodes, and
// is safe for data from strangers: its memory is proportional to the result, not to
// counts in the data.
//
// Binary strings become base64, numbers their shortest decimal text, NaN and infinities
// null. Keys that are integers, floats or booleans become text. AppendJSON returns
// formats.ErrCorrupt if a key occurs twice, if a string is not UTF-8, if bytes follow
// the value, or if data ends inside it; formats.ErrUnsupported for extensions of msgpack
// and for other keys; and formats.ErrTooLarge if a limit is exceeded.
func AppendJSON(dst, data []byte, l JSONLimits) ([]byte, error) {
	d := unpacker{in: data, limits: l.withDefaults(), out: dst, at: len(dst)}
	err := d.value(0)
	if err == nil && len(d.in) > 0 {
		err = fmt.Errorf("%d bytes behind the value: %w", len(d.in), formats.ErrCorrupt)
	}
	if err != nil {
		return dst, &formats.Error{Format: Format, Part: "metalayer", Off: int64(len(data) - len(d.in)), Err: err}
	}
	return d.out, nil
}

// An unpacker decodes msgpack from the front of in and appends JSON to out.
type unpacker struct {
	in     []byte
	limits JSONLimits
	values int
	out    []byte
	at     int // index in out where the JSON begins
}

// take removes n bytes from the front of in and returns them.
func (d *unpacker) take(n int) ([]byte, error) {
	if n > len(d.in) {
		return nil, fmt.Errorf("%d bytes where %d are: %w", n, len(d.in), formats.ErrCorrupt)
	}
	p := d.in[:n]
	d.in = d.in[n:]
	return p, nil
}

// number takes n bytes, a big-endian number.
func (d *unpacker) number(n int) (uint64, error) {
	p, err := d.take(n)
	if err != nil {
		return 0, err
	}
	var b [8]byte
	copy(b[8-n:], p)
	return binary.BigEndian.Uint64(b[:]), nil
}

// add appends text to the JSON.
func (d *unpacker) add(text ...byte) error {
	if len(d.out)-d.at+len(text) > d.limits.Bytes {
		return fmt.Errorf("more than %d bytes of JSON: %w", d.limits.Bytes, formats.ErrTooLarge)
	}
	d.out = append(d.out, text...)
	return nil
}

// A kind is a group of markers for values of one kind.
type kind uint8

const (
	kindNil kind = iota
	kindBool
	kindInt
	kindUint
	kindFloat
	kindString
	kindBinary
	kindList
	kindMap
	kindOther
)

// A head is a decoded marker and the number after it: a value, or the length of
// the value that follows.
type head struct {
	kind kind
	n    uint64 // for kindFloat the bits of a float64
}

// head takes a marker and its number.
func (d *unpacker) head() (head, error) {
	if d.values++; d.values > d.limits.Values {
		return head{}, fmt.Errorf("more than %d values: %w", d.limits.Values, formats.ErrTooLarge)
	}
	p, err := d.take(1)
	if err != nil {
		return head{}, err
	}
	switch m := p[0]; {
	case m < 0x80:
		return head{kindUint, uint64(m)}, nil
	case m < 0x90:
		return head{kindMap, uint64(m & 0x0f)}, nil
	case m < 0xa0:
		return head{kindList, uint64(m & 0x0f)}, nil
	case m < 0xc0:
		return head{kindString, uint64(m & 0x1f)}, nil
	case m >= 0xe0:
		return head{kindInt, uint64(int64(int8(m)))}, nil
	default:
		return d.long(m)
	}
}

// long takes the number after a marker from 0xc0 to 0xdf.
func (d *unpacker) long(m byte) (h head, err error) {
	size := func(n int) { h.n, err = d.number(n) }
	switch m {
	case 0xc0:
		h.kind = kindNil
	case 0xc2, 0xc3:
		h = head{kindBool, uint64(m & 1)}
	case 0xc4, 0xc5, 0xc6:
		h.kind = kindBinary
		size(1 << (m - 0xc4))
	case 0xca:
		h.kind = kindFloat
		size(4)
		h.n = math.Float64bits(float64(math.Float32frombits(uint32(h.n))))
	case 0xcb:
		h.kind = kindFloat
		size(8)
	case 0xcc, 0xcd, 0xce, 0xcf:
		h.kind = kindUint
		size(1 << (m - 0xcc))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		h.kind = kindInt
		n := 1 << (m - 0xd0)
		size(n)
		shift := 64 - 8*n
		h.n = uint64(int64(h.n<<shift) >> shift)
	case 0xd9, 0xda, 0xdb:
		h.kind = kindString
		size(1 << (m - 0xd9))
	case 0xdc, 0xdd:
		h.kind = kindList
		size(2 << (m - 0xdc))
	case 0xde, 0xdf:
		h.kind = kindMap
		size(2 << (m - 0xde))
	default: // extensions, and 0xc1, which is not used
		return head{kind: kindOther}, fmt.Errorf("msgpack marker %#x: %w", m, formats.ErrUnsupported)
	}
	return h, err
}

func (d *unpacker) value(depth int) error {
	h, err := d.head()
	if err != nil {
		return err
	}
	switch h.kind {
	case kindNil:
		return d.add([]byte("null")...)
	case kindBool:
		return d.add(strconv.AppendBool(nil, h.n == 1)...)
	case kindInt:
		return d.add(strconv.AppendInt(nil, int64(h.n), 10)...)
	case kindUint:
		return d.add(strconv.AppendUint(nil, h.n, 10)...)
	case kindFloat:
		return d.float(math.Float64frombits(h.n))
	case kindString:
		_, err := d.text(h.n)
		return err
	case kindBinary:
		return d.binary(h.n)
	case kindList:
		return d.list(h.n, depth+1)
	case kindMap:
		return d.fields(h.n, depth+1)
	case kindOther:
	}
	return formats.ErrUnsupported
}

func (d *unpacker) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return d.add([]byte("null")...)
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return d.add(text...)
}

// length checks that the input has at least n bytes, and returns n.
func (d *unpacker) length(n uint64) (int, error) {
	if n > uint64(len(d.in)) {
		return 0, fmt.Errorf("%d bytes or values where %d bytes are: %w", n, len(d.in), formats.ErrCorrupt)
	}
	return int(n), nil
}

// text takes a string of n bytes, adds it as JSON, and returns the JSON.
func (d *unpacker) text(n uint64) ([]byte, error) {
	k, err := d.length(n)
	if err != nil {
		return nil, err
	}
	if k > d.limits.Bytes {
		return nil, fmt.Errorf("a string of %d bytes: %w", k, formats.ErrTooLarge)
	}
	p, err := d.take(k)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(p) {
		return nil, fmt.Errorf("a string that is no UTF-8: %w", formats.ErrCorrupt)
	}
	text, err := json.Marshal(string(p))
	if err != nil {
		return nil, err
	}
	return text, d.add(text...)
}

func (d *unpacker) binary(n uint64) error {
	k, err := d.length(n)
	if err != nil {
		return err
	}
	if k > d.limits.Bytes {
		return fmt.Errorf("%d bytes: %w", k, formats.ErrTooLarge)
	}
	p, err := d.take(k)
	if err != nil {
		return err
	}
	return d.add(strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(p))...)
}

// inside checks the depth and the length n of a list or map. Each element takes
// at least a byte of the input.
func (d *unpacker) inside(n uint64, depth int) error {
	if depth > d.limits.Depth {
		return fmt.Errorf("more than %d levels: %w", d.limits.Depth, formats.ErrTooLarge)
	}
	_, err := d.length(n)
	return err
}

func (d *unpacker) list(n uint64, depth int) error {
	if err := d.inside(n, depth); err != nil {
		return err
	}
	if err := d.add('['); err != nil {
		return err
	}
	for i := range n {
		if i > 0 {
			if err := d.add(','); err != nil {
				return err
			}
		}
		if err := d.value(depth); err != nil {
			return err
		}
	}
	return d.add(']')
}

func (d *unpacker) fields(n uint64, depth int) error {
	if err := d.inside(n, depth); err != nil {
		return err
	}
	if err := d.add('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range n {
		if i > 0 {
			if err := d.add(','); err != nil {
				return err
			}
		}
		key, err := d.key()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %s twice: %w", key, formats.ErrCorrupt)
		}
		seen[key] = true
		if err := d.add(':'); err != nil {
			return err
		}
		if err := d.value(depth); err != nil {
			return err
		}
	}
	return d.add('}')
}

// key takes the key of a map entry, adds it as a JSON string, and returns that.
func (d *unpacker) key() (string, error) {
	h, err := d.head()
	if err != nil {
		return "", err
	}
	var text string
	switch h.kind {
	case kindString:
		key, err := d.text(h.n)
		return string(key), err
	case kindInt:
		text = strconv.FormatInt(int64(h.n), 10)
	case kindUint:
		text = strconv.FormatUint(h.n, 10)
	case kindFloat:
		text = strconv.FormatFloat(math.Float64frombits(h.n), 'g', -1, 64)
	case kindBool:
		text = strconv.FormatBool(h.n == 1)
	case kindNil, kindBinary, kindList, kindMap, kindOther:
		return "", fmt.Errorf("a key that is no string or number: %w", formats.ErrUnsupported)
	}
	text = strconv.Quote(text)
	return text, d.add([]byte(text)...)
}
