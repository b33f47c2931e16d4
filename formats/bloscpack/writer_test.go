package bloscpack

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// sink is an Output that behaves like a store's writer: only written bytes in the head
// can be changed. It keeps what a file would hold after each call.
type sink struct {
	b     []byte
	grown int64
	re    bool
	fail  int // the call that fails, from 1
	n     int
	each  func(b []byte) // after each call
}

var errSink = errors.New("disk full")

func (s *sink) call() error {
	if s.n++; s.n == s.fail {
		return errSink
	}
	return nil
}

func (s *sink) did() {
	if s.each != nil {
		s.each(s.b)
	}
}

func (s *sink) Write(p []byte) (int, error) {
	if err := s.call(); err != nil {
		return 0, err
	}
	s.b = append(s.b, p...)
	s.did()
	return len(p), nil
}

func (s *sink) head() int64 { return min(int64(len(s.b))-s.grown, MaxHead) + s.grown }

func (s *sink) Patch(off int64, p []byte) error {
	if err := s.call(); err != nil {
		return err
	}
	if off < 0 || off+int64(len(p)) > s.head() {
		return fmt.Errorf("patch [%d, +%d) outside the head", off, len(p))
	}
	copy(s.b[off:], p)
	s.did()
	return nil
}

func (s *sink) Rehead(n int64, p []byte) error {
	if err := s.call(); err != nil {
		return err
	}
	if s.re || n < 0 || n > s.head() || int64(len(p)) < n {
		return fmt.Errorf("%d bytes for %d of %d", len(p), n, s.head())
	}
	s.b = append(p, s.b[n:]...)
	s.re, s.grown = true, int64(len(p))-n
	s.did()
	return nil
}

// tester is a test of package testing or of rapid.
type tester interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func openBytes(tb tester, b []byte) *File {
	tb.Helper()
	f, err := Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// drawOptions are options of all kinds, for one of the two versions.
func drawOptions(t *rapid.T) WriteOptions {
	o := WriteOptions{
		Variable: rapid.Bool().Draw(t, "variable"),
		Checksum: Checksum(rapid.IntRange(0, 8).Draw(t, "sum")),
		Encode: blosc.EncodeOptions{
			Codec:    rapid.SampledFrom([]blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}).Draw(t, "codec"),
			Level:    rapid.SampledFrom([]int{0, 1, 5, 9, blosc.LevelStore}).Draw(t, "level"),
			TypeSize: rapid.SampledFrom([]int{0, 1, 2, 4, 8, 17, 255, 300}).Draw(t, "typesize"),
			Filters:  rapid.SampledFrom([][]blosc.Filter{nil, {}, {{ID: blosc.Shuffle}}, {{ID: blosc.BitShuffle}}}).Draw(t, "filters"),
		},
		Parallel: rapid.IntRange(0, 3).Draw(t, "parallel"),
	}
	o.NoChecksum = o.Checksum == None
	if !o.Variable {
		o.Version = rapid.SampledFrom([]int{0, 3, 4}).Draw(t, "version")
		o.ChunkSize = rapid.IntRange(1, 700).Draw(t, "chunk")
		o.NoOffsets = rapid.Bool().Draw(t, "no offsets")
		if o.Version != 4 && !o.NoOffsets {
			o.MaxAppend = rapid.Int64Range(-1, 9).Draw(t, "spare")
		}
	}
	if rapid.Bool().Draw(t, "metadata") {
		o.Metadata = map[string]any{"text": rapid.StringN(0, 300, -1).Draw(t, "text")}
		o.Meta = MetaOptions{Checksum: Checksum(rapid.IntRange(0, 8).Draw(t, "meta sum")), Plain: rapid.Bool().Draw(t, "plain"), Room: rapid.IntRange(0, 900).Draw(t, "room")}
		o.Meta.NoChecksum = o.Meta.Checksum == None
	}
	return o
}

// drawItems are items of all lengths; a chunk plan makes others of them.
func drawItems(t *rapid.T) [][]byte {
	items := make([][]byte, rapid.IntRange(0, 40).Draw(t, "items"))
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
	for i := range items {
		n := rapid.SampledFrom([]int{0, 1, 15, 100, 127, 128, 300, 900}).Draw(t, "length")
		items[i] = text(r, n+r.IntN(20)*min(n, 1))
	}
	return items
}

// put gives all items to a writer.
func put(w *Writer, variable bool, items [][]byte) error {
	for _, p := range items {
		var err error
		if variable {
			err = w.WriteItem(p)
		} else {
			_, err = w.Write(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pack(tb tester, s *sink, o WriteOptions, items [][]byte, late any) *Writer {
	tb.Helper()
	w, err := NewWriter(s, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := put(w, o.Variable, items); err != nil {
		tb.Fatal(err)
	}
	if late != nil {
		if err := w.SetMetadata(late); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return w
}

// TestRoundTrip: items come back for all options. Neither a count that is known
// beforehand nor the number of goroutines changes a byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o, items := drawOptions(t), drawItems(t)
		meta := o.Metadata
		var late any
		if rapid.Bool().Draw(t, "late") {
			late = []any{rapid.StringN(0, 400, -1).Draw(t, "late text"), 1.5}
			meta = late
		}
		var s, again sink
		w := pack(t, &s, o, items, late)
		checkFile(t, s.b, o, items, meta)
		if f := openBytes(t, s.b); f.Header() != w.Header() {
			t.Fatalf("the writer says %+v, the file %+v", w.Header(), f.Header())
		}
		o.Parallel, o.Chunks = 0, w.Len()
		pack(t, &again, o, items, late)
		if late == nil && !bytes.Equal(again.b, s.b) {
			t.Fatal("the number of chunks, when known, changes the bytes")
		}
		checkFile(t, again.b, o, items, meta)
		if late == nil && o.Chunks > 0 && !o.NoOffsets && again.re {
			t.Fatal("moved, though there was room for the table")
		}
	})
}

func checkFile(t tester, b []byte, o WriteOptions, items [][]byte, meta any) {
	t.Helper()
	f := openBytes(t, b)
	i := 0
	var got []byte
	err := f.Each(t.Context(), 0, f.Len(), func(_ int64, p []byte) error {
		if o.Variable && !bytes.Equal(p, items[i]) {
			t.Fatalf("item %d is %q, not %q", i, p, items[i])
		}
		got = append(got, p...)
		i++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytes.Join(items, nil)) || o.Variable && i != len(items) {
		t.Fatalf("%d bytes in %d chunks", len(got), i)
	}
	if got, want := asText(t, jsonOf(t, f.Metadata())), asText(t, meta); got != want {
		t.Fatalf("metadata %s, want %s", got, want)
	}
	r, err := f.Verify(t.Context(), nil)
	if err != nil || r.Gaps != 0 || r.After != 0 || r.Missing != 0 || r.WrongOffsets || r.OtherTypeSize != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	h := f.Header()
	if o.Variable && (h.Version != 4 || h.ChunkSize != -1 || h.LastChunk != -1 || !h.Offsets) {
		t.Fatalf("header %+v", h)
	}
	if n := int64(i); h.Version == 3 && h.Offsets && o.MaxAppend == 0 && h.MaxAppend != 10*n {
		t.Fatalf("%d spare entries for %d chunks", h.MaxAppend, n)
	}
}

// TestExample is the worked example of the proposal's precise reading.
func TestExample(t *testing.T) {
	t.Parallel()
	var s sink
	pack(t, &s, WriteOptions{Variable: true}, [][]byte{[]byte("ab"), {}}, nil)
	want := "626c706b04050101ffffffffffffffff02000000000000000000000000000000" + "30000000000000004600000000000000" +
		"02011201020000000200000012000000616" + "2f0003603" + "0201120100000000" + "0100000010000000" + "28009001"
	if got := hex.EncodeToString(s.b); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestEmpty: an empty file of version 3 has one empty chunk, as the Python tool
// makes it.
func TestEmpty(t *testing.T) {
	t.Parallel()
	var s sink
	w := pack(t, &s, WriteOptions{NoOffsets: true, NoChecksum: true, Encode: blosc.EncodeOptions{TypeSize: 8}}, nil, nil)
	want := "626c706b03000008" + "0000000000000000" + "0100000000000000" + "0000000000000000" + "02011308000000000100000010000000"
	if got := hex.EncodeToString(s.b); got != want || w.Len() != 1 {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestRefused: impossible options and items are refused at once, and change nothing.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]WriteOptions{
		"version 2":               {Version: 2},
		"items in version 3":      {Version: 3, Variable: true},
		"items without table":     {Variable: true, NoOffsets: true},
		"room in version 4":       {Version: 4, MaxAppend: 3},
		"room without table":      {NoOffsets: true, MaxAppend: 3},
		"less than no room":       {MaxAppend: -2},
		"count below 0":           {Chunks: -1},
		"chunk size":              {ChunkSize: MaxChunk + 1},
		"checksum":                {Checksum: 9},
		"checksum of metadata":    {Meta: MetaOptions{Checksum: 12}},
		"two filters":             {Encode: blosc.EncodeOptions{TypeSize: 4, Filters: []blosc.Filter{{ID: blosc.Shuffle}, {ID: blosc.BitShuffle}}}},
		"snappy":                  {Encode: blosc.EncodeOptions{Codec: blosc.Snappy}},
		"level":                   {Encode: blosc.EncodeOptions{Level: 10}},
		"a value that no JSON is": {Metadata: func() {}},
		"JSON that is none":       {Metadata: json.RawMessage(`{"a":NaN}`)},
		"JSON that is no UTF-8":   {Metadata: json.RawMessage("\"\xff\"")},
	} {
		var s sink
		if _, err := NewWriter(&s, o); !errors.Is(err, ErrRefused) || len(s.b) > 0 {
			t.Errorf("%s: %v, %d bytes written", name, err, len(s.b))
		}
	}
	var s sink
	w, err := NewWriter(&s, WriteOptions{Variable: true, Chunks: 2, Metadata: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = w.Write([]byte("x"))
	refused("bytes in a file of items", err)
	refused("no metadata in place of some", w.SetMetadata(nil))
	refused("a chunk longer than it says", w.WriteEncoded(append(chunkOf(t, "x"), 0)))
	if err := w.WriteItem([]byte("one")); err != nil {
		t.Fatal(err)
	}
	refused("fewer than announced", w.Close())
	if err := w.WriteEncoded(chunkOf(t, "two")); err != nil {
		t.Fatal(err)
	}
	refused("more than announced", w.WriteItem([]byte("three")))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	refused("an item after Close", w.WriteItem(nil))
	refused("a second Close", w.Close())
	checkFile(t, s.b, WriteOptions{Variable: true}, [][]byte{[]byte("one"), []byte("two")}, 1)
}

func chunkOf(tb tester, text string) []byte {
	tb.Helper()
	b, err := blosc.AppendEncoded(nil, []byte(text), blosc.EncodeOptions{Blosc1: true})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestWriteEncoded: chunks of one size must be of one size, apart from the last.
func TestWriteEncoded(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{0, 2} {
		for want, texts := range map[string][]string{
			"":        {"abcd", "efgh", "ij"},
			"chunk 1": {"abcd", "efghi"},
			"chunk 2": {"abcd", "ef", "ij"},
		} {
			var s sink
			w, err := NewWriter(&s, WriteOptions{Parallel: parallel})
			if err != nil {
				t.Fatal(err)
			}
			bad := ""
			for i, text := range texts {
				if err := w.WriteEncoded(chunkOf(t, text)); errors.Is(err, ErrRefused) {
					bad = fmt.Sprintf("chunk %d", i)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if bad != want {
				t.Errorf("%q: refused is %q, want %q", texts, bad, want)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if want == "" && string(whole(t, s.b)) != "abcdefghij" {
				t.Errorf("%q", whole(t, s.b))
			}
		}
	}
}

// TestFailingOutput: the error of an Output comes back from the call that meets it,
// and from all later ones. The file is never taken for a whole one.
func TestFailingOutput(t *testing.T) {
	t.Parallel()
	items := drawn(300, 2000)
	for _, o := range []WriteOptions{{Variable: true, Metadata: 1}, {ChunkSize: 3000, Parallel: 2}, {ChunkSize: 3000, NoOffsets: true}, {Variable: true, Chunks: 300, Parallel: 3}} {
		for fail := 1; ; fail++ {
			s := sink{fail: fail}
			w, err := NewWriter(&s, o)
			if err == nil {
				if err = put(w, o.Variable, items); err == nil {
					err = w.Close()
				}
				if err != nil {
					if again := w.Close(); !errors.Is(again, errSink) {
						t.Errorf("%+v, call %d: later error %v", o, fail, again)
					}
					w.Abort()
				}
			}
			if err == nil {
				if s.n >= fail {
					t.Errorf("%+v: the failure of call %d is not reported", o, fail)
				}
				break
			}
			if !errors.Is(err, errSink) {
				t.Fatalf("%+v, call %d: %v", o, fail, err)
			}
			if len(s.b) > 0 && !openBytes(t, s.b).Aborted() {
				t.Errorf("%+v: after the failure of call %d the file looks whole", o, fail)
			}
		}
	}
}

// drawn makes items of up to n bytes.
func drawn(count, n int) [][]byte {
	r := rand.New(rand.NewPCG(uint64(count), uint64(n)))
	items := make([][]byte, count)
	for i := range items {
		items[i] = text(r, r.IntN(n))
	}
	return items
}

// TestLimits: the memory of a writer is bounded, and an item above the bound is
// reported before it is kept.
func TestLimits(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	w, err := NewWriter(new(sink), WriteOptions{Variable: true, Limits: formats.Limits{MaxMeta: most}})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = w.WriteItem([]byte("a record"))
	}
	if !errors.Is(err, formats.ErrTooLarge) {
		t.Fatal(err)
	}
	// 8 bytes of table and 1 of length an item, in blocks.
	if n := w.Len(); n < (most-2*lengthsBlock)/9 || n > most/9 || w.lens.memory() > most-8*n {
		t.Errorf("%d items, %d bytes of lengths", n, w.lens.memory())
	}
	if w, err = NewWriter(new(sink), WriteOptions{ChunkSize: 1, Limits: formats.Limits{MaxEntries: 5}}); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write([]byte("123456")); !errors.Is(err, formats.ErrTooLarge) || n != 6 {
		t.Errorf("%d, %v", n, err)
	}
	if err := w.Close(); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("and then %v", err)
	}
}

// TestLengths: the table follows from the lengths, for all sizes of varints and more
// than one block of them.
func TestLengths(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var l lengths
	var want []int64
	off := int64(100)
	for range 60_000 {
		n := uint32(16 + r.IntN(1<<r.IntN(31)))
		l.add([]uint32{n})
		want = append(want, off)
		off += int64(n)
	}
	if len(l.blocks) < 2 {
		t.Fatal("one block")
	}
	b := make([]byte, 8*(len(want)+3))
	l.table(b, 100)
	for i, w := range append(want, -1, -1, -1) {
		if got := int64(binary.LittleEndian.Uint64(b[8*i:])); got != w {
			t.Fatalf("entry %d is %d, not %d", i, got, w)
		}
	}
}

// TestAllocs: an item costs no allocation.
func TestAllocs(t *testing.T) {
	w, err := NewWriter(&discarded{}, WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	if err != nil {
		t.Fatal(err)
	}
	item := text(rand.New(rand.NewPCG(1, 1)), 250)
	for range 5000 { // buffers have their size then
		if err := w.WriteItem(item); err != nil {
			t.Fatal(err)
		}
	}
	n := testing.AllocsPerRun(5000, func() {
		if err := w.WriteItem(item); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 0.1 && !racetest.On {
		t.Errorf("%.2f allocations an item", n)
	}
}

// discarded is an Output that keeps nothing.
type discarded struct{}

func (discarded) Write(p []byte) (int, error) { return len(p), nil }
func (discarded) Patch(int64, []byte) error   { return nil }
func (discarded) Rehead(int64, []byte) error  { return nil }
