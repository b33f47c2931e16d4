package dtype

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype/pylit"
)

// Limits of a type. NumPy holds item sizes in an int32 on many machines, and
// knows 64 axes.
const (
	maxText   = 1 << 20
	maxSize   = math.MaxInt32
	maxFields = 1 << 16
	maxDepth  = 32
	maxAxes   = 64
	// maxExtra bounds the number of values in an item beyond its number of bytes:
	// values of no size, and overlapping members, also take a reader's time.
	maxExtra = 1 << 16
)

var (
	errText    = fmt.Errorf("no dtype: %w", formats.ErrCorrupt)
	errSize    = fmt.Errorf("sizes differ: %w", formats.ErrUnsupported)
	errNoDescr = fmt.Errorf("members overlap or are out of order: %w", formats.ErrUnsupported)
	errKind    = fmt.Errorf("unknown type: %w", formats.ErrUnsupported)
	errObject  = fmt.Errorf("python objects: %w", formats.ErrUnsupported)
	errLimit   = fmt.Errorf("dtype: %w", formats.ErrTooLarge)
)

// fail returns an error of this package. It cuts off long text.
func fail(cause error, format string, args ...any) error {
	part := fmt.Sprintf(format, args...)
	if len(part) > 120 {
		part = part[:120] + "…"
	}
	return &formats.Error{Format: "dtype", Part: part, Off: -1, Err: cause}
}

// Parse reads the text of a type: NumPy's dtype.str ("<f4", "|S5", "<M8[25s]";
// without an order the type is little endian), its names ("float32", "double",
// "datetime64[ns]"), its letters ("d"), and the Python list or dict of a
// structured type, as [DType.String] and [DType.AppendDescr] write it. A member
// without a name is a gap if it is raw, as for numpy.load. Nothing is evaluated.
// Text above 1 MiB, and more than 65536 members or 32 levels are ErrTooLarge;
// sizes are bounded, too.
func Parse(text string) (DType, error) {
	if len(text) > maxText {
		return DType{}, fail(errLimit, "text of %d bytes", len(text))
	}
	t := strings.TrimSpace(text)
	if t == "" || strings.IndexByte("[{('\"", t[0]) < 0 {
		return plain(t)
	}
	v, err := pylit.Parse(t)
	if err != nil {
		cause := formats.ErrCorrupt
		if errors.Is(err, pylit.ErrLimit) {
			cause = formats.ErrTooLarge
		}
		return DType{}, fail(fmt.Errorf("%w: %w", err, cause), "%q", t)
	}
	return FromLiteral(v)
}

// FromLiteral is Parse for a literal that is parsed already, such as the descr
// of a .npy header.
func FromLiteral(v pylit.Value) (DType, error) {
	fields := maxFields
	d, shape, err := build(v, 0, &fields)
	if err != nil {
		return DType{}, err
	}
	if shape != nil {
		return DType{}, fail(fmt.Errorf("sub-array as an item: %w", formats.ErrUnsupported), "%s", d)
	}
	return d, nil
}

// build makes a type of a literal. shape is nil unless the literal is a sub-array, such
// as ('<i4', (2,)).
func build(v pylit.Value, depth int, left *int) (d DType, shape []int, err error) {
	if depth > maxDepth {
		return DType{}, nil, fail(errLimit, "%d levels", depth)
	}
	switch v.Kind {
	case pylit.String:
		d, err = plain(v.Str)
		return d, nil, err
	case pylit.List:
		d, err = fromList(v.List, depth, left)
		return d, nil, err
	case pylit.Dict:
		d, err = fromDict(v, depth, left)
		return d, nil, err
	case pylit.Tuple:
		if len(v.List) != 2 {
			break
		}
		var inner []int
		if d, inner, err = build(v.List[0], depth+1, left); err != nil {
			return DType{}, nil, err
		}
		if shape, err = dims(v.List[1], d.size); err != nil {
			return DType{}, nil, err
		}
		shape = slices.Concat(shape, inner)
		if _, err = total(shape, d.size); err != nil {
			return DType{}, nil, err
		}
		return d, shape, nil
	default:
	}
	return DType{}, nil, fail(errText, "member that is no type")
}

// dims reads a sub-array's shape: a tuple, or one integer. The shape () is none.
func dims(v pylit.Value, size int) ([]int, error) {
	list := v.List
	switch v.Kind {
	case pylit.Int:
		list = []pylit.Value{v}
	case pylit.Tuple, pylit.List:
	default:
		return nil, fail(errText, "shape that is no tuple")
	}
	if len(list) > maxAxes {
		return nil, fail(errLimit, "shape of %d axes", len(list))
	}
	var shape []int
	for _, n := range list {
		if n.Kind != pylit.Int || n.Int < 0 || n.Int > maxSize {
			return nil, fail(errText, "length in a shape")
		}
		shape = append(shape, int(n.Int))
	}
	_, err := total(shape, size)
	return shape, err
}

// total is the size of a sub-array, checked.
func total(shape []int, size int) (int, error) {
	// Lengths are multiplied before a zero can hide them. So later products cannot
	// overflow in any order.
	n, zero := int64(max(size, 1)), size == 0
	for _, k := range shape {
		if k == 0 {
			zero = true
			continue
		}
		if n *= int64(k); n > maxSize {
			return 0, fail(errLimit, "sub-array %v of %d bytes", shape, size)
		}
	}
	if len(shape) > maxAxes {
		return 0, fail(errLimit, "shape of %d axes", len(shape))
	}
	if zero {
		return 0, nil
	}
	return int(n), nil
}

// fromList reads [(name, type), (name, type, shape), …].
func fromList(list []pylit.Value, depth int, left *int) (DType, error) {
	d := DType{kind: Struct}
	for i, v := range list {
		if *left--; *left < 0 {
			return DType{}, fail(errLimit, "more than %d members", maxFields)
		}
		if v.Kind != pylit.Tuple || len(v.List) < 2 || len(v.List) > 3 {
			return DType{}, fail(errText, "member %d is no (name, type, shape)", i)
		}
		f := Field{Off: d.size}
		var err error
		if f.Type, f.Shape, err = build(v.List[1], depth+1, left); err != nil {
			return DType{}, err
		}
		if len(v.List) == 3 {
			shape, err := dims(v.List[2], f.Type.size)
			if err != nil {
				return DType{}, err
			}
			f.Shape = slices.Concat(shape, f.Shape)
		}
		size, err := total(f.Shape, f.Type.size)
		if err != nil {
			return DType{}, err
		}
		if size > maxSize-d.size {
			return DType{}, fail(errLimit, "item of more than %d bytes", maxSize)
		}
		d.size += size
		d.cells = min(d.cells+f.cells(), 1<<40) // more than enough to be refused
		if err := f.setName(v.List[0]); err != nil {
			return DType{}, err
		}
		if f.Name == "" {
			if f.Type.kind == Raw {
				continue // a gap
			}
			f.Name = "f" + strconv.Itoa(i)
		}
		d.fields = append(d.fields, f)
	}
	return d, d.check()
}

// setName takes a name, or (title, name).
func (f *Field) setName(v pylit.Value) error {
	if v.Kind == pylit.Tuple && len(v.List) == 2 && v.List[0].Kind == pylit.String {
		f.Title = v.List[0].Str
		v = v.List[1]
	}
	if v.Kind != pylit.String {
		return fail(errText, "member whose name is no string")
	}
	f.Name = v.Str
	return nil
}

// cells counts the values of a field. Shapes passed total, so that the product
// of their lengths is below 2^31, and types passed check.
func (f Field) cells() int64 {
	n := max(f.Type.cells, 1)
	for _, k := range f.Shape {
		n *= int64(max(k, 1))
	}
	return n
}

// check checks a structured type after its members are set.
func (d DType) check() error {
	if d.cells > int64(d.size)+maxExtra {
		return fail(errLimit, "%d values in %d bytes", d.cells, d.size)
	}
	seen := make(map[string]bool, len(d.fields))
	for _, f := range d.fields {
		if seen[f.Name] || f.Title != "" && (seen[f.Title] || f.Title == f.Name) {
			return fail(errText, "two members named %q", f.Name)
		}
		seen[f.Name] = true
		if f.Title != "" {
			seen[f.Title] = true
		}
	}
	return nil
}

// fromDict reads {'names': […], 'formats': […], 'offsets': […], 'titles': […],
// 'itemsize': n}; offsets, titles and itemsize may be left out.
func fromDict(v pylit.Value, depth int, left *int) (DType, error) {
	col := map[string][]pylit.Value{}
	d := DType{kind: Struct}
	itemSize := int64(-1)
	for i := 0; i+1 < len(v.List); i += 2 {
		k, x := v.List[i].Str, v.List[i+1]
		switch {
		case v.List[i].Kind != pylit.String:
			return DType{}, fail(errText, "key that is no string")
		case slices.Contains([]string{"names", "formats", "offsets", "titles"}, k) && (x.Kind == pylit.List || x.Kind == pylit.Tuple):
			col[k] = x.List
		case k == "itemsize" && x.Kind == pylit.Int:
			itemSize = x.Int
		case k == "aligned" && x.Kind == pylit.Bool:
		default:
			return DType{}, fail(errText, "key %q", k)
		}
	}
	n := len(col["names"])
	if *left -= n; *left < 0 {
		return DType{}, fail(errLimit, "more than %d members", maxFields)
	}
	for k, list := range col {
		if len(list) != n {
			return DType{}, fail(errText, "%d %s of %d members", len(list), k, n)
		}
	}
	if n > 0 && (col["formats"] == nil || col["offsets"] == nil && itemSize >= 0) {
		return DType{}, fail(errText, "members without formats or offsets")
	}
	for i := range n {
		if err := d.addColumn(col, i, depth, left); err != nil {
			return DType{}, err
		}
	}
	if itemSize >= 0 {
		if itemSize < int64(d.size) || itemSize > maxSize {
			return DType{}, fail(errText, "item size %d of members that take %d", itemSize, d.size)
		}
		d.size = int(itemSize)
	}
	return d, d.check()
}

func (d *DType) addColumn(col map[string][]pylit.Value, i, depth int, left *int) error {
	f := Field{Off: d.size}
	if err := f.setName(col["names"][i]); err != nil {
		return err
	}
	if t := col["titles"]; t != nil && t[i].Kind == pylit.String {
		f.Title = t[i].Str
	}
	var err error
	if f.Type, f.Shape, err = build(col["formats"][i], depth+1, left); err != nil {
		return err
	}
	size, err := total(f.Shape, f.Type.size)
	if err != nil {
		return err
	}
	if off := col["offsets"]; off != nil {
		if off[i].Kind != pylit.Int || off[i].Int < 0 || off[i].Int > maxSize {
			return fail(errText, "offset of member %q", f.Name)
		}
		f.Off = int(off[i].Int)
	}
	if size > maxSize-f.Off {
		return fail(errLimit, "item of more than %d bytes", maxSize)
	}
	d.size = max(d.size, f.Off+size)
	d.cells = min(d.cells+f.cells(), 1<<40) // more than enough to be refused
	d.fields = append(d.fields, f)
	return nil
}
