package npy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/rangeio"
)

// golden is a line of testdata/npy.jsonl; npy.py says what is in it.
type golden struct {
	DType   string      `json:"dtype"`
	Lengths []int       `json:"lengths"`
	Prefix  string      `json:"prefix"`
	Shape   []int64     `json:"shape"`
	Fortran bool        `json:"fortran"`
	SHA256  string      `json:"sha256"`
	Header  []byte      `json:"header"`
	File    []byte      `json:"file"`
	Boxes   [][2]string `json:"boxes"`
}

func (g golden) header(tb testing.TB) npy.Header {
	tb.Helper()
	text := g.DType
	for _, n := range g.Lengths {
		text += fmt.Sprintf("('%s', 'u1'), ", strings.Repeat("n", n))
	}
	for i := range 4000 * min(len(g.Prefix), 1) {
		text += fmt.Sprintf("('%s%d', '<f8'), ", g.Prefix, i)
	}
	if g.DType == "" {
		text = "[" + text + "]"
	}
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return npy.Header{DType: d, Shape: g.Shape, Fortran: g.Fortran}
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	f, err := os.Open("testdata/npy.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []golden
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			tb.Fatal(err)
		}
		all = append(all, g)
	}
	if s.Err() != nil || len(all) < 150 {
		tb.Fatal(len(all), s.Err())
	}
	return all
}

func sum(p []byte) string {
	h := sha256.Sum256(p)
	return hex.EncodeToString(h[:])
}

// Headers are the ones that numpy.save writes, and read as the same type and shape.
func TestHeadersAreNumPys(t *testing.T) {
	versions := map[byte]int{}
	for _, g := range goldens(t) {
		want := g.header(t)
		name := g.DType[:min(len(g.DType), 80)]
		got, err := npy.AppendHeader([]byte("xy"), want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got = got[2:]; sum(got) != g.SHA256 {
			t.Errorf("%s %v:\n%.2000q\nwant %.2000q", name, g.Shape, got, g.Header)
		}
		versions[got[6]]++
		h, n, err := npy.ParseHeader(iotest.OneByteReader(io.MultiReader(bytes.NewReader(got), strings.NewReader("items"))))
		if err != nil || n != int64(len(got)) || !h.DType.Equal(want.DType) || !slices.Equal(h.Shape, want.Shape) || h.Fortran != want.Fortran {
			t.Errorf("%s: read %v of %d bytes, %v", name, h, n, err)
		}
	}
	if len(versions) != 3 {
		t.Errorf("versions %v", versions)
	}
}

func TestBoxesAreNumPys(t *testing.T) {
	n := 0
	for _, g := range goldens(t) {
		if g.File == nil {
			continue
		}
		h, base, err := npy.ParseHeader(bytes.NewReader(g.File))
		if err != nil {
			t.Fatal(err)
		}
		size, err := h.NBytes()
		if err != nil || base+size != int64(len(g.File)) {
			t.Fatal(base, size, len(g.File), err)
		}
		for _, b := range g.Boxes {
			got, err := readBox(t, h, base, g.File, b[0])
			if err != nil || sum(got) != b[1] {
				t.Errorf("%s %v fortran %t [%s]: %x, %v", g.DType, g.Shape, g.Fortran, b[0], got, err)
			}
			n++
		}
	}
	if n < 200 {
		t.Errorf("%d boxes", n)
	}
}

func readBox(t *testing.T, h npy.Header, base int64, file []byte, text string) ([]byte, error) {
	t.Helper()
	s, err := nd.ParseSlice(text)
	if err != nil {
		t.Fatal(err)
	}
	box, err := s.Resolve(h.Shape)
	if err != nil {
		t.Fatal(err)
	}
	items, err := box.Items()
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, items*int64(h.DType.ItemSize()))
	r := rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file)))
	return dst, h.ReadBox(t.Context(), r, base, dst, box)
}

// Runs cover exactly the items that are asked for, ascending and never touching. Large
// arrays go through groups and several calls.
func TestRuns(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	d, err := dtype.Parse("<i4")
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		h := npy.Header{DType: d, Fortran: rnd.IntN(2) == 0}
		var lo, hi []int64
		for range rnd.IntN(5) {
			n := 1 + rnd.Int64N(6)
			a := rnd.Int64N(n)
			h.Shape, lo, hi = append(h.Shape, n), append(lo, a), append(hi, a+1+rnd.Int64N(n-a))
		}
		box := nd.Sub(lo, hi)
		want, _ := box.Items()
		end, bytes := int64(-1), int64(0)
		for run := range h.RunsOf(box) {
			if run.Off <= end || run.N <= 0 {
				t.Fatalf("%v %v: run %v after %d", h.Shape, box, run, end)
			}
			end, bytes = run.Off+run.N, bytes+run.N
		}
		if total, _ := h.NBytes(); bytes != want*4 || end > total {
			t.Fatalf("%v %v: %d bytes up to %d", h.Shape, box, bytes, end)
		}
	}
}

// counting counts calls and spans of a reader, which may be made side by side.
type counting struct {
	rangeio.Reader
	calls, spans atomic.Int64
}

func (c *counting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return c.ReadEach(ctx, spans, nil)
}

func (c *counting) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	c.calls.Add(1)
	c.spans.Add(int64(len(spans)))
	return c.Reader.ReadEach(ctx, spans, done)
}

// Columns of a C-order array are read in groups, far ones as they are.
func TestReadBoxGroupsRuns(t *testing.T) {
	d, err := dtype.Parse("<i2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		width, wantSpans, wantCalls int64
	}{{100, 20, 3}, {8192, 1200, 1}} {
		h := npy.Header{DType: d, Shape: []int64{120000, c.width}}
		if c.width > 4096 {
			h.Shape[0] = 1200
		}
		size, _ := h.NBytes()
		file := make([]byte, 7+size)
		for i := range file[7:] {
			file[7+i] = byte(i / 2 * 31)
		}
		r := &counting{Reader: rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file)))}
		box := nd.Sub([]int64{0, 3}, []int64{h.Shape[0], 4})
		dst := make([]byte, h.Shape[0]*2)
		if err := h.ReadBox(t.Context(), r, 7, dst, box); err != nil {
			t.Fatal(err)
		}
		for i := range h.Shape[0] {
			if want := byte((i*c.width + 3) * 31); dst[2*i] != want || dst[2*i+1] != want {
				t.Fatalf("row %d: %x, want %x", i, dst[2*i:2*i+2], want)
			}
		}
		if calls, spans := r.calls.Load(), r.spans.Load(); calls > c.wantCalls+1 || spans > c.wantSpans+5 {
			t.Errorf("width %d: %d calls, %d spans", c.width, calls, spans)
		}
	}
}

func TestReadBoxRefuses(t *testing.T) {
	d, err := dtype.Parse("<i2")
	if err != nil {
		t.Fatal(err)
	}
	h := npy.Header{DType: d, Shape: []int64{4, 4}}
	r := rangeio.FromReaderAt(bytes.NewReader(make([]byte, 32)), 32)
	box := nd.Whole(h.Shape)
	if err := h.ReadBox(t.Context(), r, 0, make([]byte, 31), box); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("too small a buffer: %v", err)
	}
	if err := h.ReadBox(t.Context(), r, 1, make([]byte, 32), box); !errors.Is(err, rangeio.ErrOutside) {
		t.Errorf("file cut short: %v", err)
	}
	h.Fortran = true
	if err := h.ReadBox(t.Context(), r, 1, make([]byte, 32), box); !errors.Is(err, rangeio.ErrOutside) {
		t.Errorf("file cut short: %v", err)
	}
}

func file(version byte, text string) string {
	n := string([]byte{byte(len(text)), byte(len(text) >> 8)})
	if version > 1 {
		n += "\x00\x00"
	}
	return "\x93NUMPY" + string([]byte{version, 0}) + n + text
}

func TestReadHeaderTakes(t *testing.T) {
	for _, text := range []string{
		"{'shape': (2L, 3L), 'fortran_order': False, 'descr': '<i4'}", // Python 2, any order of keys
		"{'descr':'<i4','fortran_order':False,'shape':(2,3)}\x00",
		"{\n 'descr': \"i4\", 'fortran_order': False, 'shape': (2, 3), } \n",
	} {
		h, _, err := npy.ParseHeader(strings.NewReader(file(1, text)))
		if err != nil || h.DType.String() != "<i4" || !slices.Equal(h.Shape, []int64{2, 3}) {
			t.Errorf("%q: %v, %v", text, h, err)
		}
	}
}

func TestReadHeaderRefuses(t *testing.T) {
	good := "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}"
	if _, _, err := npy.ParseHeader(strings.NewReader(file(2, good))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file string
		want error
	}{
		{"", formats.ErrCorrupt},
		{"PK\x03\x04 a zip file of arrays", formats.ErrCorrupt},
		{file(1, good)[:40], formats.ErrCorrupt},
		{file(0, good), formats.ErrUnsupported},
		{file(4, good), formats.ErrUnsupported},
		{"\x93NUMPY\x02\x00\xff\xff\xff\xff", formats.ErrTooLarge},
		{file(1, strings.Replace(good, "<i4", "|O", 1)), formats.ErrUnsupported},
		{file(1, strings.Replace(good, "<i4", "<q9", 1)), formats.ErrUnsupported},
		{file(1, strings.Replace(good, "(2, 3)", "[2, 3]", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "(2, 3)", "(2, -3)", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "(2, 3)", "(2, 3.5)", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "(2, 3)", "(9223372036854775807, 3)", 1)), formats.ErrTooLarge},
		{file(1, strings.Replace(good, "(2, 3)", "(9223372036854775807,)", 1)), formats.ErrTooLarge},
		{file(1, strings.Replace(good, "(2, 3)", "("+strings.Repeat("1,", 65)+")", 1)), formats.ErrTooLarge},
		{file(1, strings.Replace(good, "False", "0", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "descr", "desc", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "}", ", 'x': 1}", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "'<i4'", "__import__('os')", 1)), formats.ErrCorrupt},
		{file(1, strings.Replace(good, "'<i4'", "'<i4\xe9'", 1)), formats.ErrCorrupt},
		{file(3, strings.Replace(good, "'<i4'", "'<i4\xe9'", 1)), formats.ErrCorrupt},
		{file(1, strings.Repeat("(", 4000)), formats.ErrTooLarge},
		{file(1, ""), formats.ErrCorrupt},
	} {
		_, _, err := npy.ParseHeader(strings.NewReader(c.file))
		var e *formats.Error
		if !errors.Is(err, c.want) || !errors.As(err, &e) || e.Format != "npy" {
			t.Errorf("%.80q: %v, want %v", c.file, err, c.want)
		}
	}
	broken := errors.New("broken")
	if _, _, err := npy.ParseHeader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error of the reader: %v", err)
	}
}

func FuzzNPYHeader(f *testing.F) {
	for _, g := range goldens(f) {
		if g.Header != nil {
			f.Add(g.Header)
		}
	}
	f.Add([]byte(file(1, "{'descr': [('', 'V2')], 'fortran_order': True, 'shape': (0,)}")))
	f.Fuzz(func(t *testing.T, p []byte) {
		h, n, err := npy.ParseHeader(bytes.NewReader(p))
		if err != nil {
			return
		}
		if n > int64(len(p)) {
			t.Fatalf("%d bytes of %d", n, len(p))
		}
		again, err := npy.AppendHeader(nil, h)
		if errors.Is(err, formats.ErrUnsupported) { // members that overlap
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		h2, n2, err := npy.ParseHeader(bytes.NewReader(again))
		if err != nil || n2 != int64(len(again)) || n2%64 != 0 || !h2.DType.Equal(h.DType) || !slices.Equal(h2.Shape, h.Shape) || h2.Fortran != h.Fortran {
			t.Fatalf("%v read back as %v, %v", h, h2, err)
		}
	})
}

func BenchmarkReadBoxFortran(b *testing.B) {
	d, err := dtype.Parse("<f4")
	if err != nil {
		b.Fatal(err)
	}
	h := npy.Header{DType: d, Shape: []int64{1000, 1000}, Fortran: true}
	file := make([]byte, 4_000_000)
	r := rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file)))
	dst := make([]byte, len(file))
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if err := h.ReadBox(b.Context(), r, 0, dst, nd.Whole(h.Shape)); err != nil {
			b.Fatal(err)
		}
	}
}
