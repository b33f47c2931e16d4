package stats_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/stats"
)

// types are types of all kinds that have Stats.
func types() []string {
	return []string{"|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c16", "<M8[s]", ">m8[us]"}
}

// few returns items of a type whose bytes are mostly the ends of bytes: NaN, infinities,
// zeros of both signs, NaT and extremes are frequent.
func few(t *rapid.T, d dtype.DType, most int) []byte {
	n := rapid.IntRange(0, most).Draw(t, "items")
	b := rapid.SampledFrom([]byte{0, 0, 1, 0x7f, 0x80, 0xff, 0xff, 0xf0, 0x7c, 0x3c})
	if rapid.Bool().Draw(t, "any") {
		b = rapid.Byte()
	}
	return rapid.SliceOfN(b, n*d.ItemSize(), n*d.ItemSize()).Draw(t, "bytes")
}

// each yields the items of p.
func each(d dtype.DType, p []byte) [][]byte {
	return slices.Collect(slices.Chunk(p, d.ItemSize()))
}

// TestWithin: whatever the items, and however they are cut into runs, each number lies
// within the extremes of its run, the extremes are numbers of it, counts are those of a
// walk, merged Stats are those of all items, and a page gives back what was put in.
func TestWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, err := dtype.Parse(rapid.SampledFrom(types()).Draw(t, "type"))
		if err != nil {
			t.Fatal(err)
		}
		var fill []byte
		if rapid.Bool().Draw(t, "filled") {
			fill = rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0x80, 0xff}), d.ItemSize(), d.ItemSize()).Draw(t, "fill")
		}
		cols, err := stats.Columns(d, fill)
		if err != nil || len(cols) != 1 {
			t.Fatal(cols, err)
		}
		c := cols[0]
		var list []stats.Stat
		var all stats.Stat
		var joined []byte
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			p := few(t, d, 70)
			s := c.Of(p)
			checkStat(t, c, s, p, fill)
			list, all, joined = append(list, s), all.Merge(s), append(joined, p...)
		}
		checkStat(t, c, all, joined, fill)
		page, err := c.AppendPage([]byte("x"), list)
		if err != nil {
			t.Fatal(err)
		}
		if most := 2 + 8 + len(list)*(2*d.ItemSize()+6); len(page) > most {
			t.Errorf("%d stats of %s take %d bytes", len(list), d, len(page))
		}
		got, err := c.ParsePage(nil, page[1:], int64(len(list)))
		if diff := cmp.Diff(list, got); err != nil || diff != "" {
			t.Errorf("%v: %s", err, diff)
		}
	})
}

func checkStat(t *rapid.T, c stats.Column, s stats.Stat, p, fill []byte) {
	d := c.Type()
	want := stats.Stat{Items: int64(len(p) / d.ItemSize())}
	if fill == nil {
		fill = make([]byte, d.ItemSize())
	}
	for _, item := range each(d, p) {
		if isNaN(d, item) {
			want.NaN++
		}
		if same(d, item, fill) {
			want.Fill++
		}
		key, ok := c.Key(item)
		if ok != (c.Ordered() && !isNaN(d, item)) {
			t.Fatalf("Key of %x: %v", item, ok)
		}
		if !ok {
			continue
		}
		if !want.Ranged {
			want.Ranged, want.Min, want.Max = true, key, key
		}
		want.Min, want.Max = min(want.Min, key), max(want.Max, key)
		if back := c.Append(nil, key); !same(d, back, item) {
			t.Fatalf("%x is %x by its key", item, back)
		}
	}
	if s != want {
		t.Fatalf("%s: %+v, want %+v of %x", d, s, want, p)
	}
}

// text is an item as CSV, which says nothing of NaN's bits.
func text(d dtype.DType, item []byte) string { return string(d.AppendCSV(nil, item)) }

func isNaN(d dtype.DType, item []byte) bool {
	return bytes.Contains(d.AppendCSV(nil, item), []byte("nan")) || text(d, item) == "NaT"
}

// same reports whether items are equal, NaN to NaN and minus zero to zero.
func same(d dtype.DType, a, b []byte) bool {
	if isNaN(d, a) || isNaN(d, b) {
		return isNaN(d, a) && isNaN(d, b)
	}
	switch d.Kind() {
	case dtype.Bool:
		return (a[0] != 0) == (b[0] != 0)
	case dtype.Float, dtype.Complex:
		wide, err := dtype.Parse("<c16")
		if err != nil {
			panic(err)
		}
		x, y := make([]byte, 16), make([]byte, 16)
		if err := errors.Join(d.Convert(x, wide, a), d.Convert(y, wide, b)); err != nil {
			panic(err)
		}
		part := func(p []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(p)) }
		return part(x) == part(y) && part(x[8:]) == part(y[8:])
	default:
		return bytes.Equal(a, b)
	}
}

// TestPageSizes: what a page of 1024 chunks takes.
func TestPageSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		most       int
		stat       func(i int, key func(v uint64) uint64) stats.Stat
	}{
		{"noise", "<f4", 1024 * 9, func(i int, _ func(uint64) uint64) stats.Stat {
			x, y := uint64(i)*2654435761%(1<<23), uint64(i)*2246822519%(1<<23)
			return stats.Stat{Items: 1 << 20, Min: 0x30000000 + x, Max: 0xc0000000 + y, Ranged: true}
		}},
		{"sorted", "<i8", 1024 * 7, func(i int, key func(uint64) uint64) stats.Stat {
			return stats.Stat{Items: 1 << 19, Min: key(uint64(i) << 19), Max: key(uint64(i+1)<<19 - 1), Ranged: true}
		}},
		{"constant", "<f8", 64, func(int, func(uint64) uint64) stats.Stat {
			return stats.Stat{Items: 1 << 19, Fill: 1 << 19, Min: 1 << 63, Max: 1 << 63, Ranged: true}
		}},
		{"images", "|u1", 1024*2 + 64, func(int, func(uint64) uint64) stats.Stat {
			return stats.Stat{Items: 1 << 22, Fill: 7, Min: 0, Max: 255, Ranged: true}
		}},
	} {
		col := columns(t, parse(t, c.text), nil)[0]
		key := func(v uint64) uint64 {
			k, _ := col.Key(binary.LittleEndian.AppendUint64(nil, v))
			return k
		}
		list := make([]stats.Stat, 1024)
		for i := range list {
			list[i] = c.stat(i, key)
		}
		page, err := col.AppendPage(nil, list)
		if err != nil || len(page) > c.most {
			t.Errorf("%s: %d bytes, at most %d, %v", c.name, len(page), c.most, err)
		}
		t.Logf("%s: %.1f bytes an entry", c.name, float64(len(page))/1024)
		if got, err := col.ParsePage(nil, page, 1024); err != nil || !slices.Equal(got, list) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestPageLimits: pages that cannot be right are refused, and counts too large at once.
func TestPageLimits(t *testing.T) {
	t.Parallel()
	c := columns(t, parse(t, "<f4"), nil)[0]
	if _, err := c.AppendPage(nil, make([]stats.Stat, stats.MaxPage+1)); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	one := []stats.Stat{{Items: 2, Min: 1 << 31, Max: 1 << 31, Ranged: true}}
	good, err := c.AppendPage(nil, one)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]struct {
		page []byte
		n    int64
		want error
	}{
		"too many":      {binary.AppendUvarint(nil, 1<<40), 1 << 40, formats.ErrTooLarge},
		"negative":      {good, -1, formats.ErrCorrupt},
		"another count": {good, 2, formats.ErrCorrupt},
		"a long run":    {[]byte{2, 2, 0, 9}, 2, formats.ErrCorrupt},
		"one too many":  {[]byte{2, 2, 0, 2}, 2, formats.ErrCorrupt},
		"many items":    {append(binary.AppendUvarint([]byte{1, 1}, 1<<42), 1, 0, 1, 0, 0, 1, 2, 3, 4, 1, 0), 1, formats.ErrCorrupt},
		"a form":        {[]byte{1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1, formats.ErrCorrupt},
		"a rest":        {append(slices.Clone(good), 0), 1, formats.ErrCorrupt},
		"cut":           {good[:len(good)-1], 1, formats.ErrCorrupt},
		"empty":         {nil, 0, formats.ErrCorrupt},
		"more NaN":      {[]byte{1, 1, 2, 1, 4, 1, 0, 1, 0, 1, 0}, 1, formats.ErrCorrupt},
		"minus zero":    {[]byte{1, 1, 2, 1, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1, 0}, 1, formats.ErrCorrupt},
		"a NaN":         {[]byte{1, 1, 2, 1, 0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0}, 1, formats.ErrCorrupt},
	} {
		before := []stats.Stat{{Items: 5}}
		got, err := c.ParsePage(before, bad.page, bad.n)
		if !errors.Is(err, bad.want) || len(got) != 1 {
			t.Errorf("%s: %v, %d stats", name, err, len(got))
		}
	}
}

// FuzzParsePage: no page ends in a panic, and one that is taken has Stats that are
// written and read again.
func FuzzParsePage(f *testing.F) {
	for _, text := range types() {
		c := columns(f, parse(f, text), nil)[0]
		p := make([]byte, 64)
		for i := range p {
			p[i] = byte(37 * i)
		}
		page, err := c.AppendPage(nil, []stats.Stat{c.Of(p), c.Of(p[:16]), {}, c.Of(p[16:])})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, page, int64(4))
	}
	f.Fuzz(func(t *testing.T, text string, page []byte, n int64) {
		d, err := dtype.Parse(text)
		if err != nil {
			return
		}
		cols := columns(t, d, nil)
		if len(cols) == 0 {
			return
		}
		list, err := cols[0].ParsePage(nil, page, n)
		if err != nil {
			if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrTooLarge) {
				t.Error(err)
			}
			return
		}
		again, err := cols[0].AppendPage(nil, list)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cols[0].ParsePage(nil, again, n); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v: %v, want %v", err, got, list)
		}
	})
}
