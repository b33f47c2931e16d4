package pack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// cutAll cuts data, and puts it together again from the items.
func cutAll(by Records, l Limits, r io.Reader, size int64) (items []string, again []byte, c *cutter, err error) {
	c = newCutter(by, l.WithDefaults(), func(p []byte) error {
		items = append(items, string(p))
		if by.prefixed() {
			again = append(by.AppendPrefix(again, len(p)), p...)
		} else {
			again = append(append(again, p...), '\n')
		}
		return nil
	})
	if by.prefixed() {
		err = c.records(r, size)
	} else if err = c.lines(r); c.open {
		again = again[:len(again)-1]
	}
	return items, again, c, err
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 200_000)
	for _, x := range []struct {
		in   string
		want []string
		open bool
		text bool
	}{
		{"", nil, false, true},
		{"\n", []string{""}, false, true},
		{"a", []string{"a"}, true, true},
		{"a\n", []string{"a"}, false, true},
		{"a\n\n", []string{"a", ""}, false, true},
		{"\n\na", []string{"", "", "a"}, true, true},
		{"a\r\nb\r\n", []string{"a\r", "b\r"}, false, true},
		{"a\rb", []string{"a\rb"}, true, true},
		{"größe\n漢字", []string{"größe", "漢字"}, true, true},
		{"gr\xf6\xdfe\nx\n", []string{"gr\xf6\xdfe", "x"}, false, false},
		{"\x00\n\x00", []string{"\x00", "\x00"}, true, true},
		{long + "\n" + long, []string{long, long}, true, true},
	} {
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(x.in), "halves": iotest.HalfReader(strings.NewReader(x.in)),
			"with the end": iotest.DataErrReader(strings.NewReader(x.in)), "bytes": iotest.OneByteReader(strings.NewReader(x.in)),
		} {
			items, again, c, err := cutAll(Lines, Limits{}, r, -1)
			if err != nil || c.open != x.open || c.text != x.text || string(again) != x.in || c.n != int64(len(x.want)) {
				t.Errorf("%.20q in %s: %v, open %v, text %v, %d items", x.in, name, err, c.open, c.text, c.n)
			}
			if d := cmp.Diff(x.want, items); d != "" {
				t.Errorf("%.20q in %s: %s", x.in, name, d)
			}
		}
	}
}

// TestCutAgain: whatever is cut can be put together again, however it arrives.
func TestCutAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		by := rapid.SampledFrom([]Records{Lines, JSONL, U32LE, U32BE, U64LE, U64BE, Varint}).Draw(t, "by")
		var want []string
		var in []byte
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(recordBuffer-2, recordBuffer+2), rapid.IntRange(0, 3*recordBuffer)).Draw(t, "length")
			p := bytes.Repeat([]byte{rapid.SampledFrom([]byte("a\r\x00\xff")).Draw(t, "byte")}, n)
			want = append(want, string(p))
			in = append(by.AppendPrefix(in, n), p...)
			if !by.prefixed() {
				in = append(in, '\n')
			}
		}
		r := io.Reader(bytes.NewReader(in))
		if rapid.Bool().Draw(t, "in halves") {
			r = iotest.HalfReader(r)
		}
		items, again, _, err := cutAll(by, Limits{}, r, rapid.SampledFrom([]int64{-1, int64(len(in))}).Draw(t, "size"))
		if err != nil || !cmp.Equal(want, items) || !bytes.Equal(again, in) {
			t.Fatalf("%s: %v, %d items of %d, same %v", by, err, len(items), len(want), bytes.Equal(again, in))
		}
	})
}

func TestCutErrors(t *testing.T) {
	t.Parallel()
	small := Limits{Item: 10, Items: 3}
	for _, x := range []struct {
		by   Records
		in   string
		want error
		text string
	}{
		{Lines, "a\nb\n01234567890\n", formats.ErrTooLarge, `lines: line 3 at 4: longer than 10 bytes`},
		{Lines, "a\n" + strings.Repeat("x", 1<<20), formats.ErrTooLarge, `line 2 at 2: longer than 10 bytes`},
		{JSONL, "1\n2\n3\n4\n", formats.ErrTooLarge, `jsonl: line 4 at 6: more than 3 items`},
		{JSONL, "1\n2\n3\n4", formats.ErrTooLarge, `line 4 at 6: more than 3 items`},
		{U32LE, "\x01\x00\x00\x00a\x02\x00\x00\x00b", formats.ErrCorrupt, `u32le: record 1 at 5: length 2, and 1 bytes are left`},
		{U32LE, "\x01\x00\x00\x00a\x02\x00", formats.ErrCorrupt, `record 1 at 5: truncated: 2 of the 4 bytes of a length`},
		{U32BE, "\x00\x00\x00\x0b01234567890", formats.ErrTooLarge, `u32be: record 0 at 0: length 11, over 10`},
		{U64LE, "\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff", formats.ErrCorrupt, `record 1 at 8: length 18446744073709551615, and 0 bytes are left`},
		{U64BE, "\x00\x00\x00", formats.ErrCorrupt, `record 0 at 0: truncated: 3 of the 8 bytes of a length`},
		{Varint, "\x01a\x80", formats.ErrCorrupt, `varint: record 1 at 2: truncated: a length without its end`},
		{Varint, "\x80\x00", formats.ErrUnsupported, `record 0 at 0: a length of 2 bytes where fewer would do`},
		{Varint, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", formats.ErrCorrupt, `record 0 at 0: a length over 64 bits`},
		{Varint, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", formats.ErrCorrupt, `a length over 64 bits`},
		{Varint, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", formats.ErrCorrupt, `length 18446744073709551615, and 0 bytes are left`},
		{Varint, "\x00\x00\x00\x00", formats.ErrTooLarge, `record 3 at 3: more than 3 items`},
	} {
		_, _, _, err := cutAll(x.by, small, strings.NewReader(x.in), int64(len(x.in)))
		if !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%.20q by %s: %v, want %s", x.in, x.by, err, x.text)
		}
		if _, _, _, err := cutAll(x.by, small, iotest.OneByteReader(strings.NewReader(x.in)), -1); !kit.IsFormat(err) {
			t.Errorf("%.20q by %s, of unknown size: %v", x.in, x.by, err)
		}
	}
}

var errStore = errors.New("the store is away")

// TestCutStoreErrors: an error of the reader is returned unchanged, at whatever place
// it comes.
func TestCutStoreErrors(t *testing.T) {
	t.Parallel()
	in := "\x03\x00\x00\x00a\nb\x01\x00\x00\x00\n"
	for n := range len(in) {
		for _, by := range []Records{Lines, U32LE, U64BE, Varint} {
			r := io.MultiReader(strings.NewReader(in[:n]), iotest.ErrReader(errStore))
			_, _, _, err := cutAll(by, Limits{}, r, -1)
			if by.prefixed() && kit.IsFormat(err) {
				continue // its bytes mean something else
			}
			if !errors.Is(err, errStore) || kit.IsFormat(err) {
				t.Errorf("%s cut at %d: %v", by, n, err)
			}
		}
	}
	if err := newCutter(Lines, DefaultLimits(), nil).lines(idle{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that brings nothing: %v", err)
	}
	stop := errors.New("enough of it")
	for _, by := range []Records{Lines, U32LE} {
		c := newCutter(by, DefaultLimits(), func([]byte) error { return stop })
		err := c.lines(strings.NewReader("a\n"))
		if by == U32LE {
			err = c.records(strings.NewReader("\x00\x00\x00\x00"), -1)
		}
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", by, err)
		}
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// TestLongClaim: a length that nothing follows costs no memory.
func TestLongClaim(t *testing.T) {
	in := append(binary.LittleEndian.AppendUint32(nil, 31<<20), make([]byte, recordBuffer)...)
	x := recorder{cutter: newCutter(U32LE, DefaultLimits(), nil), left: -1, r: bufio.NewReaderSize(bytes.NewReader(in[4:]), recordBuffer)}
	if err := x.long(31 << 20); !errors.Is(err, formats.ErrCorrupt) || len(x.buf) > 8*recordBuffer {
		t.Errorf("%v, %d bytes", err, len(x.buf))
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		names []string
		want  string // of the error; "": none
	}{
		{[]string{"a", "b/a", "b/c/d", "b/e", ".gitignore", "manifest.json", "labels.csv", `quo"te<é>`}, ""},
		{[]string{"a", "b", "a"}, `"a": at -: twice in the upload`},
		{[]string{"a/b", "a"}, `"a": at -: twice in the upload, or a folder there, too`},
		{[]string{"a", "a/b"}, `"a/b": at -: "a" is a file and a folder`},
		{[]string{"a/b/c", "a/b/c/d/e"}, `"a/b/c" is a file and a folder`},
		{[]string{".DS_Store", "x/Thumbs.db", "__MACOSX/a"}, "no file in it"},
		{[]string{strings.Repeat("x", 300), strings.Repeat("y", 300)}, "names and sizes over 500 bytes"},
	} {
		src := rowOf(x.names)
		var got []string
		c := newCutter(Files, DefaultLimits(), func(p []byte) error { got = append(got, string(p)); return nil })
		list, err := c.files(context.Background(), src, Limits{Meta: 500}.WithDefaults())
		if x.want != "" {
			if text := strings.ReplaceAll(fmt.Sprint(err), "at -1", "at -"); !strings.Contains(text, strings.ReplaceAll(x.want, "at -: ", "")) || !kit.IsFormat(err) {
				t.Errorf("%.40q: %v", x.names, err)
			}
			continue
		}
		if err != nil || !cmp.Equal(x.names, got) {
			t.Errorf("%q: %q, %v", x.names, got, err)
			continue
		}
		text := string(list.into([]byte(`{"x":1}`)))
		if want := `{"x":1,"names":["a","b/a","b/c/d","b/e",".gitignore","manifest.json","labels.csv","quo\"te<é>"],"sizes":[1,3,5,3,10,13,10,10]}`; text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// rowOf is a source of files that hold their own names.
func rowOf(names []string) Source { return row(names) }

type row []string

func (r row) About() About { return About{Format: "row", Size: -1} }

func (r row) Each(_ context.Context, f func(File, io.Reader) error) error {
	for _, name := range r {
		if err := f(File{Name: name, Size: int64(len(name)), Off: -1}, strings.NewReader(name)); err != nil {
			return err
		}
	}
	return nil
}

func TestRoll(t *testing.T) {
	t.Parallel()
	var r roll
	var want []byte
	for i := range 50_000 {
		p := fmt.Appendf(nil, "%d,%x;", i, i*i)
		want = append(want, p...)
		r.append(p...)
	}
	if r.n != int64(len(want)) || !bytes.Equal(r.drainTo([]byte("x")), append([]byte("x"), want...)) || r.n != 0 {
		t.Error("another text")
	}
}

func TestIsText(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		in   string
		cut  bool
		want bool
	}{
		{"", false, false}, {"a", false, true}, {"a\x00", false, false}, {"größe", false, true}, {"gr\xf6\xdf", false, false},
		{"gr\xc3", true, true}, {"gr\xc3", false, false}, {"\xe6\xbc", true, true}, {"\xf0\x9f\x98", true, true}, {"a\xff", true, false},
		{"\x80\x80\x80\x80", true, false}, {"漢", true, true},
	} {
		if got := isText([]byte(x.in), x.cut); got != x.want {
			t.Errorf("%q, cut %v: %v", x.in, x.cut, got)
		}
	}
}

// TestLocalRow: a folder of this machine, in natural order.
func TestLocalRow(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"b/10": {Data: []byte("ten")}, "b/9": {Data: []byte("nine")}, "._b": {}, "empty": {}}
	var got []string
	c := newCutter(Files, DefaultLimits(), func(p []byte) error { got = append(got, string(p)); return nil })
	if _, err := c.files(t.Context(), Folder(fsys, "x", Options{}), DefaultLimits()); err != nil || !cmp.Equal(got, []string{"nine", "ten", ""}) {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzLines, and the other targets here: whatever comes is cut into items that
// give it back, or ends in one of the sentinels.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "\n", "a\r\nb", "{\"a\":1}\n{}\n", strings.Repeat("x", 200) + "\n", "\xff\n\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		_, again, _, err := cutAll(Lines, Limits{Item: 100, Items: 50}, iotest.HalfReader(bytes.NewReader(in)), -1)
		checkCut(t, in, again, err)
	})
}

func FuzzRecords(f *testing.F) {
	ways := []Records{U32LE, U32BE, U64LE, U64BE, Varint}
	for i, by := range ways {
		var p []byte
		for _, s := range []string{"", "a", strings.Repeat("b", 130)} {
			p = append(by.AppendPrefix(p, len(s)), s...)
		}
		f.Add(uint8(i), p)
		f.Add(uint8(i), p[:len(p)-1])
	}
	f.Fuzz(func(t *testing.T, way uint8, in []byte) {
		by := ways[int(way)%len(ways)]
		_, again, _, err := cutAll(by, Limits{Item: 200, Items: 50}, bytes.NewReader(in), int64(len(in)))
		checkCut(t, in, again, err)
		_, _, _, other := cutAll(by, Limits{Item: 200, Items: 50}, bytes.NewReader(in), -1)
		if (err == nil) != (other == nil) {
			t.Errorf("%v, but of unknown size %v", err, other)
		}
	})
}

func FuzzFileNames(f *testing.F) {
	f.Add("a\nb/c\nb/d")
	f.Add("a\na/b")
	f.Add("\"\n<\n\x7f")
	f.Fuzz(func(t *testing.T, in string) {
		var src row
		for name := range strings.SplitSeq(in, "\n") {
			if clean, err := cleanName(name, DefaultLimits()); err == nil {
				src = append(src, clean)
			}
		}
		var got []string
		c := newCutter(Files, DefaultLimits(), func(p []byte) error { got = append(got, string(p)); return nil })
		list, err := c.files(t.Context(), src, Limits{Meta: 1000}.WithDefaults())
		if err != nil {
			if !kit.IsFormat(err) {
				t.Fatal(err)
			}
			return
		}
		checkNames(t, list.into([]byte(`{"a":0}`)), got)
	})
}

func checkCut(t *testing.T, in, again []byte, err error) {
	t.Helper()
	if err != nil {
		if !kit.IsFormat(err) {
			t.Fatalf("no sentinel: %v", err)
		}
		return
	}
	if !bytes.Equal(in, again) {
		t.Fatalf("%q became %q", in, again)
	}
}

// checkNames: the text is JSON that names every item.
func checkNames(t *testing.T, text []byte, items []string) {
	t.Helper()
	var m struct {
		Names []string `json:"names"`
		Sizes []int    `json:"sizes"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(m.Names, items) || len(m.Sizes) != len(items) {
		t.Fatalf("%q, want %q", m.Names, items)
	}
}
