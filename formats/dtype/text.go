package dtype

import (
	"strconv"

	"github.com/farread/farread/formats/dtype/pylit"
)

// String is NumPy's text for the type, byte by byte what python-blosc2 stores in
// a b2nd metalayer: dtype.str for a plain type, and str(dtype) for a structured
// one, such as "[('a', '<i4'), ('b', 'S3', (2,))]". A structured type with gaps
// has the form "{'names': …, 'formats': …, 'offsets': …, 'itemsize': …}", the zero
// DType is "no type".
func (d DType) String() string {
	if d.kind == 0 {
		return "no type"
	}
	return string(d.appendStr(nil, false))
}

// appendStr appends the text of String. quoted is set for a member of another
// type.
func (d DType) appendStr(dst []byte, quoted bool) []byte {
	switch {
	case d.kind == Struct && d.packed():
		dst = append(dst, '[')
		for i, f := range d.fields {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = f.appendTuple(dst, DType.appendMember)
		}
		return append(dst, ']')
	case d.kind == Struct:
		return d.appendDict(dst)
	case quoted:
		return d.appendMember(dst)
	default:
		return d.AppendPlain(dst)
	}
}

// appendMember appends the short spelling that NumPy uses inside of structured
// types: no '|', '?' for bool, and no length of zero.
func (d DType) appendMember(dst []byte) []byte {
	if d.kind == Struct {
		return d.appendStr(dst, true)
	}
	dst = append(dst, '\'')
	if d.kind == Bool {
		return append(dst, "?'"...)
	}
	start := len(dst)
	dst = d.AppendPlain(dst)
	if dst[start] == '|' {
		dst = append(dst[:start], dst[start+1:]...)
	}
	switch d.kind {
	case Bytes, Text, Raw:
		if d.size == 0 {
			dst = dst[:len(dst)-1]
		}
	default:
	}
	return append(dst, '\'')
}

// appendTuple appends one member of a list: name, type and shape.
func (f Field) appendTuple(dst []byte, typ func(DType, []byte) []byte) []byte {
	dst = append(dst, '(')
	if f.Title != "" {
		dst = append(dst, '(')
		dst = pylit.AppendString(dst, f.Title)
		dst = append(dst, ", "...)
		dst = pylit.AppendString(dst, f.Name)
		dst = append(dst, ')')
	} else {
		dst = pylit.AppendString(dst, f.Name)
	}
	dst = append(dst, ", "...)
	dst = typ(f.Type, dst)
	if f.Shape != nil {
		dst = append(dst, ", "...)
		dst = pylit.AppendInts(dst, f.Shape)
	}
	return append(dst, ')')
}

// appendDict appends the form with offsets.
func (d DType) appendDict(dst []byte) []byte {
	list := func(name string, each func(dst []byte, f Field) []byte) {
		dst = append(dst, name...)
		for i, f := range d.fields {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = each(dst, f)
		}
		dst = append(dst, ']')
	}
	list("{'names': [", func(dst []byte, f Field) []byte { return pylit.AppendString(dst, f.Name) })
	list(", 'formats': [", func(dst []byte, f Field) []byte {
		if f.Shape == nil {
			return f.Type.appendMember(dst)
		}
		dst = f.Type.appendMember(append(dst, '('))
		return append(pylit.AppendInts(append(dst, ", "...), f.Shape), ')')
	})
	list(", 'offsets': [", func(dst []byte, f Field) []byte { return strconv.AppendInt(dst, int64(f.Off), 10) })
	for _, f := range d.fields {
		if f.Title == "" {
			continue
		}
		list(", 'titles': [", func(dst []byte, f Field) []byte {
			if f.Title == "" {
				return append(dst, "None"...)
			}
			return pylit.AppendString(dst, f.Title)
		})
		break
	}
	dst = append(dst, ", 'itemsize': "...)
	dst = strconv.AppendInt(dst, int64(d.size), 10)
	return append(dst, '}')
}

// packed reports whether the members are adjacent, without gaps.
func (d DType) packed() bool {
	off := 0
	for _, f := range d.fields {
		if f.Off != off {
			return false
		}
		off += f.Size()
	}
	return off == d.size
}

// Packed returns a type of the same bytes without gaps: each gap becomes a raw
// member named f<index> (with underscores if the name is taken), as NumPy and
// python-blosc2 name padding. If members overlap or are out of order, Packed
// returns d.
func (d DType) Packed() DType {
	if d.kind != Struct || !d.ordered() {
		return d
	}
	p := d
	p.fields = make([]Field, 0, len(d.fields))
	used := map[string]bool{}
	for _, f := range d.fields {
		used[f.Name], used[f.Title] = true, true
	}
	gap := func(off, end int) {
		if off == end {
			return
		}
		name := "f" + strconv.Itoa(len(p.fields))
		for used[name] {
			name += "_"
		}
		p.fields = append(p.fields, Field{Name: name, Off: off, Type: Opaque(end - off)})
	}
	off := 0
	for _, f := range d.fields {
		gap(off, f.Off)
		f.Type = f.Type.Packed()
		p.fields = append(p.fields, f)
		off = f.Off + f.Size()
	}
	gap(off, d.size)
	return p
}

// ordered reports whether the members, and the members in them, are in order
// and do not overlap.
func (d DType) ordered() bool {
	off := 0
	for _, f := range d.fields {
		if f.Off < off || !f.Type.ordered() {
			return false
		}
		off = f.Off + f.Size()
	}
	return off <= d.size
}

// AppendDescr appends what numpy.save writes for the type: the str of a plain
// type in quotes, and dtype.descr of a structured one, where gaps are members
// without a name. If members overlap or are out of order, there is no descr, and
// AppendDescr returns ErrUnsupported.
func (d DType) AppendDescr(dst []byte) ([]byte, error) {
	if !d.ordered() {
		return dst, fail(errNoDescr, "%s", d)
	}
	return d.appendDescr(dst), nil
}

func (d DType) appendDescr(dst []byte) []byte {
	if d.kind != Struct {
		dst = d.AppendPlain(append(dst, '\''))
		return append(dst, '\'')
	}
	dst = append(dst, '[')
	n := len(dst)
	gap := func(off, end int) {
		if off == end {
			return
		}
		if len(dst) > n {
			dst = append(dst, ", "...)
		}
		dst = append(dst, "('', '|V"...)
		dst = strconv.AppendInt(dst, int64(end-off), 10)
		dst = append(dst, "')"...)
	}
	off := 0
	for _, f := range d.fields {
		gap(off, f.Off)
		if len(dst) > n {
			dst = append(dst, ", "...)
		}
		dst = f.appendTuple(dst, DType.appendDescr)
		off = f.Off + f.Size()
	}
	gap(off, d.size)
	return append(dst, ']')
}
