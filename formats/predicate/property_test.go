package predicate_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
)

// A column is a member of random items.
type column struct {
	name string
	typ  dtype.DType
	off  int
}

// value returns the number that an item has, nil for NaN.
func (c column) value(item []byte) *big.Float {
	p := item[c.off : c.off+c.typ.ItemSize()]
	switch c.typ.Kind() {
	case dtype.Float:
		f, _ := c.typ.Float(p)
		if math.IsNaN(f) {
			return nil
		}
		return big.NewFloat(f)
	case dtype.Bool:
		return big.NewFloat(float64(min(p[0], 1)))
	default: // JSON has all digits of an integer
		f, _, err := big.ParseFloat(string(c.typ.AppendJSON(nil, p)), 10, 64, big.ToNearestEven)
		if err != nil {
			return nil // null: NaT
		}
		return f
	}
}

// A query is a text and what it is true of.
type query struct {
	text string
	is   func(item []byte) bool
}

// literals has numbers around the ends of types, and around where floats get coarse.
func literals() []string {
	list := []string{"0.5", "-1.5", "3.0", "-0.0", "1e300", "-1e300", "65519.0", "65520.0", "3.5e38", "inf", "-inf", "nan", "6e-8", "1e-300"}
	for _, bits := range []int{0, 1, 7, 8, 11, 15, 16, 24, 31, 32, 53, 62, 63} {
		for _, near := range []int64{-1, 0, 1} {
			u := uint64(1)<<bits + uint64(near)
			list = append(list, strconv.FormatUint(u, 10), "-"+strconv.FormatUint(min(u, 1<<63), 10))
		}
	}
	return append(list, strconv.FormatUint(math.MaxUint64, 10))
}

func comparison(t *rapid.T, cols []column) query {
	c := rapid.SampledFrom(cols).Draw(t, "column")
	op := rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "op")
	lit := rapid.SampledFrom(literals()).Draw(t, "literal")
	x, _, err := big.ParseFloat(lit, 10, 64, big.ToNearestEven)
	if f, bad := strconv.ParseFloat(lit, 64); lit != "nan" && bad == nil && slices.ContainsFunc([]byte(lit), func(b byte) bool { return b == '.' || b == 'e' }) {
		x = big.NewFloat(round(c.typ, f))
	}
	return query{fmt.Sprintf("%s %s %s", c.name, op, lit), func(item []byte) bool {
		v := c.value(item)
		if v == nil || err != nil {
			return op == "!="
		}
		n := v.Cmp(x)
		return map[string]bool{"<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0, "==": n == 0, "!=": n != 0}[op]
	}}
}

// round rounds to floats of a type, unless they have no such number.
func round(d dtype.DType, f float64) float64 {
	if d.Kind() != dtype.Float || d.ItemSize() == 8 {
		return f
	}
	wide, err := dtype.Parse("<f8")
	if err != nil {
		panic(err)
	}
	item := make([]byte, d.ItemSize())
	if err := wide.Convert(item, d, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))); err != nil {
		panic(err)
	}
	if r, _ := d.Float(item); !math.IsInf(r, 0) {
		return r
	}
	return f
}

func anyQuery(t *rapid.T, cols []column, depth int) query {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return comparison(t, cols)
	}
	a := anyQuery(t, cols, depth-1)
	if kind == 2 {
		return query{"not (" + a.text + ")", func(p []byte) bool { return !a.is(p) }}
	}
	b := anyQuery(t, cols, depth-1)
	if kind == 3 {
		return query{"(" + a.text + ") or (" + b.text + ")", func(p []byte) bool { return a.is(p) || b.is(p) }}
	}
	return query{"(" + a.text + ") and (" + b.text + ")", func(p []byte) bool { return a.is(p) && b.is(p) }}
}

// anyType returns a type with columns that are compared with numbers.
func anyType(t *rapid.T) (dtype.DType, []column) {
	plain := rapid.SampledFrom([]string{"|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", "<u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<m8[s]"})
	text := plain.Draw(t, "type")
	single := rapid.Bool().Draw(t, "plain")
	if !single {
		text = fmt.Sprintf("[('a', '%s'), ('gap', 'S1'), ('b', '%s')]", text, plain.Draw(t, "b"))
	}
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if single {
		return d, []column{{name: "v", typ: d}}
	}
	f := d.Fields()
	return d, []column{{"a", f[0].Type, 0}, {".b", f[2].Type, f[2].Off}}
}

func anyItems(t *rapid.T, d dtype.DType, name string) []byte {
	n := rapid.IntRange(0, 150).Draw(t, name) * d.ItemSize()
	b := rapid.SampledFrom([]byte{0, 0, 0, 1, 0x7f, 0x80, 0xff, 0xff, 0x7c, 0x3c})
	if rapid.IntRange(0, 3).Draw(t, "any") == 0 {
		b = rapid.Byte()
	}
	return rapid.SliceOfN(b, n, n).Draw(t, "bytes")
}

// TestMaskAndMatch: whatever the items and the text, the mask has what is true of each
// item alone; None means that it is empty and All that it is full, also if the extremes
// are too wide.
func TestMaskAndMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		d, cols := anyType(r)
		q := anyQuery(r, cols, 3)
		p := bind(t, q.text, d)
		items := anyItems(r, d, "items")
		n := len(items) / d.ItemSize()
		// A rest, and words that are in use, do not matter.
		mask := p.Mask([]uint64{1, 2, 3, 4, 5}[:2], append(slices.Clone(items), make([]byte, d.ItemSize()-1)...))
		if len(mask) != (n+63)/64 || n%64 != 0 && mask[len(mask)-1]>>(n%64) != 0 {
			r.Fatalf("%d words for %d items: %x", len(mask), n, mask)
		}
		got := bitsOf(mask, n)
		for i := range n {
			item := items[i*d.ItemSize() : (i+1)*d.ItemSize()]
			if want := q.is(item); got[i] != want {
				r.Fatalf("%s: %s: item %d, %s: %v", d, q.text, i, d.AppendCSV(nil, item), got[i])
			}
		}
		exact, wide := statsOf(t, p, d, items), statsOf(t, p, d, items)
		for i, other := range statsOf(t, p, d, anyItems(r, d, "others")) {
			if wide[i].Ranged {
				m := wide[i].Merge(other)
				wide[i].Min, wide[i].Max = m.Min, m.Max
			}
		}
		for _, s := range []predicate.Match{p.Match(exact), p.Match(wide)} {
			if s == predicate.None && slices.Contains(got, true) || s == predicate.All && slices.Contains(got, false) {
				r.Fatalf("%s: %s: %v match, but the mask is %v", d, q.text, s, got)
			}
		}
	})
}

// TestMany: a list of numbers is found like a few.
func TestMany(t *testing.T) {
	t.Parallel()
	var text []string
	for i := range 60 {
		text = append(text, fmt.Sprintf("v == %d", 4*i+1))
	}
	for _, typ := range []string{"|u1", "<i2", ">u4", ">i8", "<f2", ">f4", "<f8"} {
		d := parse(t, typ)
		u1 := parse(t, "|u1")
		numbers := make([]byte, 3000)
		for i := range numbers {
			numbers[i] = byte(i * 7)
		}
		items := make([]byte, len(numbers)*d.ItemSize())
		var err error
		if err = u1.Convert(items, d, numbers); err != nil {
			t.Fatal(err)
		}
		for _, contrary := range []bool{false, true} {
			list := strings.Join(text, " or ")
			if contrary {
				list = "not (" + list + ")"
			}
			p := bind(t, list, d)
			for i, got := range bitsOf(p.Mask(nil, items), len(numbers)) {
				if want := (numbers[i]%4 == 1 && numbers[i] < 240) != contrary; got != want {
					t.Fatalf("%s: item %d, %d: %v", typ, i, numbers[i], got)
				}
			}
		}
	}
}
