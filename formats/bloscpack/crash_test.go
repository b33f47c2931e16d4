package bloscpack

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// tempFile is an Output that shows every state of a file in which a killed writer may
// leave it: each write done in part. Rehead writes a second file, as filestore does.
type tempFile struct {
	b    []byte
	seen func(b []byte)
}

// inPart does a write to a copy of b, up to several places, and shows each.
func inPart(b []byte, o op, seen func([]byte)) []byte {
	for _, n := range []int{0, 1, 7, 8, 31, 33, len(o.p) / 3, len(o.p) / 2, len(o.p) - 9, len(o.p) - 1} {
		if n >= 0 && n < len(o.p) {
			seen(op{off: o.off, p: o.p[:n:n]}.apply(bytes.Clone(b)))
		}
	}
	b = o.apply(b)
	seen(b)
	return b
}

func (f *tempFile) Write(p []byte) (int, error) {
	f.b = inPart(f.b, op{off: int64(len(f.b)), p: bytes.Clone(p)}, f.seen)
	return len(p), nil
}

func (f *tempFile) Patch(off int64, p []byte) error {
	f.b = inPart(f.b, op{off: off, p: bytes.Clone(p)}, f.seen)
	return nil
}

func (f *tempFile) Rehead(n int64, p []byte) error {
	second := inPart(nil, op{p: p}, f.seen)
	f.b = inPart(bytes.Clone(second), op{off: int64(len(p)), p: f.b[n:]}, f.seen)
	return nil
}

// salvaged are the chunks that Salvage finds.
func salvaged(tb tester, b []byte) [][]byte {
	tb.Helper()
	var out [][]byte
	if _, err := openBytes(tb, b).Salvage(tb.Context(), func(_ int64, _, p []byte) error {
		out = append(out, bytes.Clone(p))
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestKilledWriter: a file that was not written to its end is never taken for a whole
// one, and its chunks can be salvaged.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	meta := map[string]any{"container": "lines", "text": "some words of metadata"}
	for name, o := range map[string]WriteOptions{
		"items":              {Variable: true},
		"items, metadata":    {Variable: true, Metadata: meta},
		"items, count known": {Variable: true, Metadata: meta, Chunks: 30},
		"items, no checksum": {Variable: true, NoChecksum: true},
		"items, zstd":        {Variable: true, Checksum: SHA256, Encode: blosc.EncodeOptions{Codec: blosc.Zstd}, Parallel: 2},
		"chunks":             {ChunkSize: 400},
		"chunks, metadata":   {ChunkSize: 400, Metadata: meta, Parallel: 2},
		"chunks, no table":   {ChunkSize: 400, NoOffsets: true, Metadata: meta},
		"chunks, version 4":  {Version: 4, ChunkSize: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items := drawn(30, 700)
			if !o.Variable {
				items = [][]byte{bytes.Join(items, nil)}
			}
			var final sink
			pack(t, &final, o, items, nil)
			chunks := salvaged(t, final.b)
			if !bytes.Equal(bytes.Join(chunks, nil), bytes.Join(items, nil)) {
				t.Fatal("a whole file is not salvaged whole")
			}
			states, most := 0, 0
			f := tempFile{seen: func(b []byte) {
				states++
				most = max(most, checkState(t, b, final.b, chunks))
			}}
			w, err := NewWriter(&f, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := put(w, o.Variable, items); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.b, final.b) || most != len(chunks) {
				t.Errorf("as expected: %t; %d states, of one %d chunks of %d were salvaged", bytes.Equal(f.b, final.b), states, most, len(chunks))
			}
		})
	}
}

// checkState counts the chunks that can be salvaged in a state. Any state but the
// final one must be known to be aborted.
func checkState(t *testing.T, b, final []byte, chunks [][]byte) int {
	t.Helper()
	if bytes.Equal(b, final) {
		return 0
	}
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	if err != nil { // header or metadata are missing
		if !errors.Is(err, formats.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		return 0
	}
	if !f.Aborted() {
		t.Fatalf("a state of %d bytes looks whole: %+v", len(b), f.Header())
	}
	if _, err := f.AppendItem(t.Context(), nil, 0); !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrNoEntry) {
		t.Fatalf("reading an aborted file: %v", err)
	}
	got := salvaged(t, b)
	for i, p := range got {
		if i >= len(chunks) || !bytes.Equal(p, chunks[i]) {
			t.Fatalf("%d bytes: chunk %d of the salvaged ones is not what was written", len(b), i)
		}
	}
	return len(got)
}

// TestKilledEditor cuts an append at every place, and loses single writes that no sync
// followed. The file is then the old one, or the new one, or known to be aborted; then
// all old chunks can be salvaged.
func TestKilledEditor(t *testing.T) {
	t.Parallel()
	meta, other := map[string]any{"n": 1}, map[string]any{"n": []int{2, 3, 4}}
	for name, c := range map[string]struct {
		first  int
		more   []int
		o      WriteOptions
		encode *blosc.EncodeOptions
		meta   bool
	}{
		"fill":                   {first: 2500, more: []int{300}},
		"fill, shorter":          {first: 2500, more: []int{1}, o: WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}, encode: &blosc.EncodeOptions{Codec: blosc.Zstd}},
		"fill and more":          {first: 2500, more: []int{700, 1900, 1500}},
		"fill and more, shorter": {first: 2990, more: []int{700, 1900}, o: WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}, encode: &blosc.EncodeOptions{Codec: blosc.Zstd}},
		"exactly":                {first: 2500, more: []int{500}},
		"behind a full one":      {first: 3000, more: []int{100, 2000}},
		"metadata":               {first: 1500, more: nil, o: WriteOptions{Metadata: meta}, meta: true},
		"all":                    {first: 1500, more: []int{4000}, o: WriteOptions{Metadata: meta, Checksum: SHA1}, meta: true},
		"without checksums":      {first: 2500, more: []int{2000}, o: WriteOptions{NoChecksum: true}},
		"one chunk":              {first: 1000, more: []int{50}},
		"an empty file":          {first: 0, more: []int{5000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 7))
			o := c.o
			o.ChunkSize = 1000
			before := text(r, c.first)
			old := writeAll(t, before, o)
			d := &disk{b: bytes.Clone(old)}
			e, err := Edit(t.Context(), d, int64(len(old)), EditOptions{Encode: c.encode})
			if err != nil {
				t.Fatal(err)
			}
			after := before
			for _, n := range c.more {
				p := text(r, n)
				after = append(after[:len(after):len(after)], p...)
				if err := e.Extend(p); err != nil {
					t.Fatal(err)
				}
			}
			if c.meta {
				if err := e.SetMetadata(other); err != nil {
					t.Fatal(err)
				}
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			x := &edited{t: t, old: old, final: d.b, before: before, after: after, n: openBytes(t, old).Len()}
			if got := whole(t, d.b); !bytes.Equal(got, after) {
				t.Fatalf("%d bytes, %d expected", len(got), len(after))
			}
			x.cut(d.ops)
			x.lose(d.ops)
			if x.aborted == 0 {
				t.Error("in no state the file was aborted")
			}
		})
	}
}

type edited struct {
	t             *testing.T
	old, final    []byte // the files
	before, after []byte // their content
	n             int64  // chunks of the old one
	aborted       int
}

// cut looks at the file after each part of each operation.
func (x *edited) cut(ops []op) {
	b := bytes.Clone(x.old)
	for i, o := range ops {
		if o.p == nil || o.off == 0 && len(o.p) == HeaderLen { // the header lies in one sector
			b = o.apply(b)
			x.check(b, fmt.Sprintf("after call %d", i))
			continue
		}
		k := 0
		b = inPart(b, o, func(b []byte) { k++; x.check(b, fmt.Sprintf("in call %d, part %d", i, k)) })
	}
}

// lose looks at the file after each operation, with one lost of those since the last
// sync.
func (x *edited) lose(ops []op) {
	synced := 0
	for i := range ops {
		if ops[i].sync {
			synced = i
		}
		for lost := synced; lost < i; lost++ {
			b := bytes.Clone(x.old)
			for k, o := range ops[:i] {
				if k != lost {
					b = o.apply(b)
				}
			}
			x.check(b, fmt.Sprintf("before call %d, without call %d", i, lost))
		}
	}
}

func (x *edited) check(b []byte, when string) {
	t := x.t
	t.Helper()
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if !f.Aborted() {
		if got := whole(t, b); !bytes.Equal(got, x.before) && !bytes.Equal(got, x.after) {
			t.Fatalf("%s: %d bytes of %d or %d", when, len(got), len(x.before), len(x.after))
		}
		return
	}
	x.aborted++
	var got []byte
	if _, err := f.Salvage(t.Context(), func(i int64, _, p []byte) error {
		if i < x.n {
			got = append(got, p...)
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if !bytes.HasPrefix(got, x.before) || !bytes.HasPrefix(x.after, got) {
		t.Fatalf("%s: salvaged are %d bytes, %d of them right, of %d", when, len(got), commonLen(got, x.before), len(x.before))
	}
}
