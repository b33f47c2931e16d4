package groups

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/predicate"
)

// AppendKey appends a value to a key. Values that predicate.CompareValues takes for equal
// have equal keys.
func AppendKey(dst []byte, v *predicate.Value) []byte {
	kind := v.Kind
	whole := v.Whole
	if kind == predicate.Float {
		if f := math.Trunc(v.Float); f == v.Float && f >= -1<<63 && f < 1<<63 {
			kind, whole = predicate.Whole, int64(f)
		}
	}
	dst = append(dst, byte(kind))
	switch kind {
	case predicate.Bool, predicate.Whole:
		dst = binary.BigEndian.AppendUint64(dst, uint64(whole))
	case predicate.Float:
		f := v.Float
		if f != f {
			f = math.NaN() // the same bits everywhere
		}
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
	case predicate.Text:
		dst = binary.AppendUvarint(dst, uint64(len(v.Text)))
		dst = append(dst, v.Text...)
	case predicate.Null, predicate.List, predicate.Object:
	}
	return dst
}

// values returns the n values of a key. It is false if AppendKey has not made it.
func values(key string, n int) ([]predicate.Value, bool) {
	p := []byte(key)
	out := make([]predicate.Value, 0, n)
	for range n {
		if len(p) == 0 {
			return nil, false
		}
		v := predicate.Value{Kind: predicate.ValueKind(p[0])}
		p = p[1:]
		switch v.Kind {
		case predicate.Null, predicate.List, predicate.Object:
		case predicate.Bool, predicate.Whole, predicate.Float:
			if len(p) < 8 {
				return nil, false
			}
			u := binary.BigEndian.Uint64(p)
			v.Whole, v.Float = int64(u), math.Float64frombits(u)
			p = p[8:]
		case predicate.Text:
			size, used := binary.Uvarint(p)
			if used <= 0 || size > uint64(len(p)-used) {
				return nil, false
			}
			v.Text, p = p[used:used+int(size)], p[used+int(size):]
		default:
			return nil, false
		}
		out = append(out, v)
	}
	return out, len(p) == 0
}

// labels returns what the values of one field are called in an answer: a text as it is,
// but in quotes if it begins with one, or if another value than a text is called so.
func labels(list []*predicate.Value) []string {
	taken := map[string]bool{}
	for _, v := range list {
		if v.Kind != predicate.Text {
			taken[label(v)] = true
		}
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s := label(v)
		if v.Kind == predicate.Text && (taken[s] || strings.HasPrefix(s, `"`)) {
			s = strconv.Quote(s)
		}
		out = append(out, s)
	}
	return out
}

func label(v *predicate.Value) string {
	switch v.Kind {
	case predicate.Null:
		return "null"
	case predicate.Bool:
		return strconv.FormatBool(v.Whole != 0)
	case predicate.Whole:
		return strconv.FormatInt(v.Whole, 10)
	case predicate.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case predicate.List:
		return "[...]"
	case predicate.Object:
		return "{...}"
	default:
		return string(v.Text)
	}
}
