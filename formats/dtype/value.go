package dtype

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// uint reads an unsigned integer of 1, 2, 4 or 8 bytes.
func (d DType) uint(p []byte) uint64 {
	switch d.size {
	case 1:
		return uint64(p[0])
	case 2:
		if d.bigEndian {
			return uint64(binary.BigEndian.Uint16(p))
		}
		return uint64(binary.LittleEndian.Uint16(p))
	case 4:
		if d.bigEndian {
			return uint64(binary.BigEndian.Uint32(p))
		}
		return uint64(binary.LittleEndian.Uint32(p))
	default:
		if d.bigEndian {
			return binary.BigEndian.Uint64(p)
		}
		return binary.LittleEndian.Uint64(p)
	}
}

// int reads a signed integer of 1, 2, 4 or 8 bytes.
func (d DType) int(p []byte) int64 {
	shift := 64 - 8*d.size
	return int64(d.uint(p)<<shift) >> shift // extend the sign of the item
}

// float reads a float of 2, 4 or 8 bytes.
func (d DType) float(p []byte) float64 {
	switch bits := d.uint(p); d.size {
	case 2:
		return float64(HalfToFloat(uint16(bits)))
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	default:
		return math.Float64frombits(bits)
	}
}

// complexParts returns the type of the real and the imaginary part of a
// Complex.
func (d DType) complexParts() DType {
	return DType{kind: Float, bigEndian: d.bigEndian, size: d.size / 2}
}

// Float returns a Bool, Int, Uint or Float as a float64 (int64 and uint64
// beyond 2^53 are rounded); false for opaque types and every other kind. The
// item has ItemSize bytes.
func (d DType) Float(item []byte) (float64, bool) {
	switch d.kind {
	case Bool:
		if item[0] != 0 {
			return 1, true
		}
		return 0, true
	case Int:
		return float64(d.int(item)), true
	case Uint:
		return float64(d.uint(item)), true
	case Float:
		if d.size <= 8 {
			return d.float(item), true
		}
	default:
	}
	return 0, false
}

// Text returns a Bytes or Text item without the NULs at its end. Bytes that are
// not UTF-8 are taken for Latin-1, and code points that are no characters become
// U+FFFD. False for every other kind. The item has ItemSize bytes.
func (d DType) Text(item []byte) (string, bool) {
	switch d.kind {
	case Bytes:
		n := len(item)
		for n > 0 && item[n-1] == 0 {
			n--
		}
		if item = item[:n]; utf8.Valid(item) {
			return string(item), true
		}
		var b strings.Builder
		for _, c := range item {
			b.WriteRune(rune(c))
		}
		return b.String(), true
	case Text:
		n := len(item)
		for n >= 4 && item[n-1]|item[n-2]|item[n-3]|item[n-4] == 0 {
			n -= 4
		}
		var b strings.Builder
		point := DType{kind: Uint, size: 4, bigEndian: d.bigEndian}
		for i := 0; i+4 <= n; i += 4 {
			r := point.uint(item[i : i+4])
			b.WriteRune(rune(min(r, utf8.MaxRune+1))) // WriteRune replaces numbers that are no character
		}
		return b.String(), true
	default:
		return "", false
	}
}

// AppendJSON appends one item as JSON. NaN and NaT are null and infinities the
// strings "inf" and "-inf"; a complex number is [re, im], a point in time an
// ISO 8601 string as NumPy prints it, a duration the number of its steps, text a
// string, opaque bytes base64, and a structured item an object whose keys are the
// members' names. The item has ItemSize bytes.
func (d DType) AppendJSON(dst, item []byte) []byte {
	switch d.kind {
	case Bool:
		return strconv.AppendBool(dst, item[0] != 0)
	case Int:
		return strconv.AppendInt(dst, d.int(item), 10)
	case Uint:
		return strconv.AppendUint(dst, d.uint(item), 10)
	case Float, Complex:
		if d.Opaque() {
			break
		}
		if d.kind == Float {
			return d.appendFloatJSON(dst, item)
		}
		part := d.complexParts()
		dst = part.appendFloatJSON(append(dst, '['), item)
		dst = part.appendFloatJSON(append(dst, ','), item[part.size:])
		return append(dst, ']')
	case Bytes, Text:
		s, _ := d.Text(item)
		return appendQuoted(dst, s)
	case DateTime, Duration:
		v := d.int(item)
		if v == math.MinInt64 {
			return append(dst, "null"...)
		}
		if d.kind == Duration {
			return strconv.AppendInt(dst, v, 10)
		}
		dst = d.appendTime(append(dst, '"'), v)
		return append(dst, '"')
	case Struct:
		return d.appendObject(dst, item)
	case Raw:
	}
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, item)
	return append(dst, '"')
}

func (d DType) appendFloatJSON(dst, p []byte) []byte {
	switch f := d.float(p); {
	case math.IsNaN(f):
		return append(dst, "null"...)
	case math.IsInf(f, 1):
		return append(dst, `"inf"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-inf"`...)
	default:
		return appendFloat(dst, f, d.size)
	}
}

// appendFloat appends the shortest decimal that reads back as the same float of
// that many bytes; half floats are widened first.
func appendFloat(dst []byte, f float64, size int) []byte {
	bits := 64
	if size < 8 {
		bits = 32
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) { // as JavaScript chooses
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

func (d DType) appendObject(dst, item []byte) []byte {
	dst = append(dst, '{')
	for i, f := range d.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendQuoted(dst, f.Name), ':')
		dst = f.appendShape(dst, item[f.Off:f.Off+f.Size()], f.Shape)
	}
	return append(dst, '}')
}

// appendShape appends a sub-array as nested lists.
func (f Field) appendShape(dst, p []byte, shape []int) []byte {
	if len(shape) == 0 {
		return f.Type.AppendJSON(dst, p)
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		if i > 0 {
			dst = append(dst, ',')
		}
		n := len(p) / shape[0]
		dst = f.appendShape(dst, p[i*n:(i+1)*n], shape[1:])
	}
	return append(dst, ']')
}

const hex = "0123456789abcdef"

// appendQuoted appends s as a JSON string. It is UTF-8 by now.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// AppendCSV appends one item as fields of a CSV line, one for each name of
// AppendColumns: values as AppendJSON writes them, but the words nan, inf, -inf
// and NaT; complex numbers as Python writes them, 1+2j; text, times and base64
// without quotes, unless text needs them. The item has ItemSize bytes.
func (d DType) AppendCSV(dst, item []byte) []byte {
	switch d.kind {
	case Float:
		if !d.Opaque() {
			return d.appendFloatCSV(dst, item)
		}
	case Complex:
		if d.Opaque() {
			break
		}
		part := d.complexParts()
		dst = part.appendFloatCSV(dst, item)
		im := part.float(item[part.size:])
		if !math.Signbit(im) || math.IsNaN(im) {
			dst = append(dst, '+')
		}
		return append(part.appendFloatCSV(dst, item[part.size:]), 'j')
	case Bytes, Text:
		s, _ := d.Text(item)
		return appendCell(dst, s)
	case DateTime, Duration:
		v := d.int(item)
		switch {
		case v == math.MinInt64:
			return append(dst, "NaT"...)
		case d.kind == DateTime:
			return d.appendTime(dst, v)
		}
		return strconv.AppendInt(dst, v, 10)
	case Struct:
		for i, f := range d.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = f.appendCSV(dst, item)
		}
		return dst
	case Bool, Int, Uint:
		return d.AppendJSON(dst, item)
	case Raw:
	}
	return base64.StdEncoding.AppendEncode(dst, item)
}

func (f Field) appendCSV(dst, item []byte) []byte {
	for i := range f.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		off := f.Off + i*f.Type.size
		dst = f.Type.AppendCSV(dst, item[off:off+f.Type.size])
	}
	return dst
}

func (d DType) appendFloatCSV(dst, p []byte) []byte {
	switch f := d.float(p); {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	default:
		return appendFloat(dst, f, d.size)
	}
}

// appendCell quotes s for CSV if a reader would split or trim it.
func appendCell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, ",\"\r\n") && strings.TrimSpace(s) == s {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// AppendColumns appends the names of the CSV columns of one item, quoted if they
// must be: for a structured type the members' names after name, unless that is
// "", with a dot between levels and [i] for the items of sub-arrays, counted
// through all axes; for other types name alone.
func (d DType) AppendColumns(dst []byte, name string) []byte {
	if d.kind != Struct {
		return appendCell(dst, name)
	}
	for i, f := range d.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		full := f.Name
		if name != "" {
			full = name + "." + f.Name
		}
		n := f.Len()
		for k := range n {
			if k > 0 {
				dst = append(dst, ',')
			}
			item := full
			if f.Shape != nil {
				item += "[" + strconv.Itoa(k) + "]"
			}
			dst = f.Type.AppendColumns(dst, item)
		}
	}
	return dst
}
