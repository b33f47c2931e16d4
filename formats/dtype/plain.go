package dtype

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
)

// Units of DateTime and Duration, coarsest first.
func units() []string {
	return []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"}
}

// named returns the types that NumPy also has words for.
func named(name string) (DType, bool) {
	switch name {
	case "bool", "bool_", "?":
		return DType{kind: Bool, size: 1}, true
	case "bytes", "str":
		return DType{}, false // the name needs a length
	}
	name = sized(name)
	for _, k := range []struct {
		word string
		kind Kind
	}{{"int", Int}, {"uint", Uint}, {"float", Float}, {"complex", Complex}} {
		bits, ok := strings.CutPrefix(name, k.word)
		if !ok || bits == "" {
			continue
		}
		n, err := strconv.Atoi(bits)
		if err != nil || n%8 != 0 || !sizeFits(k.kind, n/8) {
			return DType{}, false
		}
		return DType{kind: k.kind, size: n / 8}, true
	}
	return DType{}, false
}

// sized maps NumPy's names for types without a size (those of its version 2) to
// names with a size, if they mean the same on every machine.
func sized(name string) string {
	switch name {
	case "half":
		return "float16"
	case "single":
		return "float32"
	case "double", "float":
		return "float64"
	case "csingle":
		return "complex64"
	case "cdouble", "complex":
		return "complex128"
	case "byte":
		return "int8"
	case "ubyte":
		return "uint8"
	case "short":
		return "int16"
	case "ushort":
		return "uint16"
	case "intc":
		return "int32"
	case "uintc":
		return "uint32"
	case "int", "longlong":
		return "int64"
	case "uint", "ulonglong":
		return "uint64"
	}
	return name
}

// code maps one of NumPy's letters for a type to the text of dtype.str. Other text
// stays as it is, and so do letters whose meaning differs between machines.
func code(letter string) string {
	const letters = "bBhHiIqQefdFDc"
	if i := strings.Index(letters, letter); len(letter) == 1 && i >= 0 {
		return [...]string{"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "S1"}[i]
	}
	return letter
}

// sizeFits reports whether NumPy has a number of that many bytes on any
// machine.
func sizeFits(k Kind, n int) bool {
	switch k {
	case Bool:
		return n == 1
	case Int, Uint:
		return n == 1 || n == 2 || n == 4 || n == 8
	case Float:
		return n == 2 || n == 4 || n == 8 || n == 12 || n == 16
	case Complex:
		return n == 8 || n == 16 || n == 24 || n == 32
	case DateTime, Duration:
		return n == 8
	default:
		return true
	}
}

// plain reads dtype.str or a name.
func plain(text string) (DType, error) {
	if d, ok := named(text); ok {
		return d, nil
	}
	t, big := text, false
	if unit, ok := strings.CutPrefix(text, "datetime64"); ok {
		t = "M8" + unit
	} else if unit, ok := strings.CutPrefix(text, "timedelta64"); ok {
		t = "m8" + unit
	}
	if t != "" && strings.IndexByte("<>|=", t[0]) >= 0 {
		big = t[0] == '>'
		t = t[1:]
	}
	if t == "" {
		return DType{}, fail(errText, "%q", text)
	}
	t = code(t)
	d := DType{kind: Kind(t[0]), bigEndian: big}
	rest := t[1:]
	switch d.kind {
	case 'O':
		return DType{}, fail(errObject, "%q", text)
	case '?':
		if rest != "" {
			return DType{}, fail(errText, "%q", text)
		}
		return DType{kind: Bool, size: 1}, nil
	case 'a': // the old letter for S
		d.kind = Bytes
	case Bool, Int, Uint, Float, Complex, Bytes, Text, Raw, DateTime, Duration:
	default:
		return DType{}, fail(errKind, "%q", text)
	}
	digits := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
		digits++
	}
	size, err := plainSize(d.kind, rest[:digits])
	if err != nil {
		return DType{}, fail(err, "%q", text)
	}
	d.size = size
	if err := d.setUnit(rest[digits:]); err != nil {
		return DType{}, fail(err, "%q", text)
	}
	if d.letter() == '|' {
		d.bigEndian = false
	}
	return d, nil
}

// plainSize reads the number after the kind, in bytes; strings and raw bytes may
// have none, which means zero.
func plainSize(k Kind, digits string) (int, error) {
	flexible := k == Bytes || k == Text || k == Raw
	if digits == "" {
		if flexible {
			return 0, nil
		}
		return 0, errText
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0, errLimit
	}
	if k == Text {
		n *= 4
	}
	if n > maxSize {
		return 0, errLimit
	}
	if !sizeFits(k, int(n)) {
		return 0, errKind
	}
	return int(n), nil
}

// setUnit reads "[25s]" after a DateTime or Duration; nothing for other kinds.
func (d *DType) setUnit(t string) error {
	if d.kind != DateTime && d.kind != Duration {
		if t != "" {
			return errText
		}
		return nil
	}
	d.count = 1
	if t == "" {
		return nil
	}
	if len(t) < 3 || t[0] != '[' || t[len(t)-1] != ']' {
		return errText
	}
	t = t[1 : len(t)-1]
	unit := strings.TrimLeft(t, "0123456789")
	if num := t[:len(t)-len(unit)]; num != "" {
		n, err := strconv.ParseInt(num, 10, 32)
		if err != nil || n < 1 {
			return errText
		}
		d.count = int(n)
	}
	switch {
	case unit == "generic" && d.count == 1:
		return nil
	case unit == "μs" || unit == "µs":
		unit = "us"
	case !slices.Contains(units(), unit):
		return fmt.Errorf("unit %q: %w", unit, formats.ErrUnsupported)
	}
	d.unit = unit
	return nil
}
