package bloscpack

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/blosc"
)

// disk is a file that remembers all calls.
type disk struct {
	b   []byte
	ops []op
}

// An op is a write, a cut to a length, or a sync.
type op struct {
	off  int64
	p    []byte // nil: no write
	cut  bool
	sync bool
}

func (d *disk) ReadAt(p []byte, off int64) (int, error) { return bytes.NewReader(d.b).ReadAt(p, off) }

func (d *disk) WriteAt(p []byte, off int64) (int, error) {
	d.do(op{off: off, p: bytes.Clone(p)})
	return len(p), nil
}
func (d *disk) Truncate(n int64) error { d.do(op{off: n, cut: true}); return nil }
func (d *disk) Sync() error            { d.do(op{sync: true}); return nil }

func (d *disk) do(o op) {
	d.ops = append(d.ops, o)
	d.b = o.apply(d.b)
}

// apply does o to b.
func (o op) apply(b []byte) []byte {
	switch {
	case o.cut:
		return slices.Grow(b, max(int(o.off)-len(b), 0))[:o.off]
	case o.p != nil:
		if end := int(o.off) + len(o.p); end > len(b) {
			b = append(b, make([]byte, end-len(b))...)
		}
		copy(b[o.off:], o.p)
	}
	return b
}

// text makes n bytes that compress a little.
func text(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "aaaabc \n"[r.IntN(8)]
		if r.IntN(200) == 0 && i > 20 {
			copy(b[i:], b[i-20:i])
		}
	}
	return b
}

// whole is the content of a file.
func whole(tb tester, b []byte) []byte {
	tb.Helper()
	f := openBytes(tb, b)
	if f.Aborted() {
		tb.Fatal("aborted")
	}
	var out []byte
	err := f.Each(tb.Context(), 0, f.Len(), func(_ int64, p []byte) error {
		out = append(out, p...)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func writeAll(tb tester, data []byte, o WriteOptions) []byte {
	tb.Helper()
	var s sink
	w, err := NewWriter(&s, o)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return s.b
}

// checkPlan: the file is the one that a writer makes from all data at once, apart from
// the spare room.
func checkPlan(t tester, b []byte, data []byte, chunk int, entries int64) {
	t.Helper()
	if got := whole(t, b); !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %d expected; the first %d are right", len(got), len(data), commonLen(got, data))
	}
	f := openBytes(t, b)
	h := f.Header()
	n := max((len(data)+chunk-1)/chunk, 1)
	last := len(data) - (n-1)*chunk
	if h.Chunks != int64(n) || h.LastChunk != int64(last) || h.ChunkSize != int64(chunk) && len(data) > 0 || h.Chunks+h.MaxAppend != entries {
		t.Fatalf("header %+v of %d bytes in chunks of %d", h, len(data), chunk)
	}
	r, err := f.Verify(t.Context(), nil)
	if err != nil || r.Gaps != 0 || r.After != 0 || r.WrongOffsets {
		t.Fatalf("%+v, %v", r, err)
	}
}

func commonLen(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// TestAppend: appends of any sizes, by one editor after another, give the file that a
// writer makes from all data.
func TestAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		chunk := rapid.IntRange(1, 300).Draw(t, "chunk")
		first := rapid.IntRange(chunk, 5*chunk).Draw(t, "first")
		if rapid.Bool().Draw(t, "empty") {
			first = 0
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		data := text(r, first)
		o := WriteOptions{ChunkSize: chunk, Checksum: Checksum(rapid.IntRange(0, 8).Draw(t, "sum")), MaxAppend: 40,
			Encode: blosc.EncodeOptions{Codec: rapid.SampledFrom([]blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}).Draw(t, "codec")}}
		o.NoChecksum = o.Checksum == None
		var meta any
		if rapid.Bool().Draw(t, "meta") {
			meta = map[string]any{"first": first}
			o.Metadata = meta
		}
		d := &disk{b: writeAll(t, data, o)}
		entries := openBytes(t, d.b).Header().Chunks + 40
		if first == 0 {
			chunk = DefaultChunkSize
		}
		for range rapid.IntRange(1, 5).Draw(t, "editors") {
			var eo EditOptions
			if rapid.Bool().Draw(t, "store") {
				eo.Encode = &blosc.EncodeOptions{Level: rapid.SampledFrom([]int{blosc.LevelStore, 9}).Draw(t, "level")}
			}
			e, err := Edit(t.Context(), d, int64(len(d.b)), eo)
			if err != nil {
				t.Fatal(err)
			}
			before := bytes.Clone(d.b)
			more := [][]byte(nil)
			for range rapid.IntRange(0, 3).Draw(t, "appends") {
				p := text(r, rapid.IntRange(0, 3*300).Draw(t, "bytes"))
				err := e.Extend(p)
				if errors.Is(err, ErrRefused) {
					break // data given before still counts
				}
				if err != nil {
					t.Fatal(err)
				}
				more = append(more, p)
			}
			if meta != nil && rapid.Bool().Draw(t, "other meta") {
				meta = map[string]any{"n": rapid.IntRange(0, 1000).Draw(t, "n")}
				if err := e.SetMetadata(meta); err != nil {
					t.Fatal(err)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "abort") == 0 {
				if err := e.Abort(); err != nil || !bytes.Equal(d.b, before) {
					t.Fatalf("after Abort: %v, as before: %t", err, bytes.Equal(d.b, before))
				}
				meta = jsonOf(t, openBytes(t, before).Metadata())
				continue
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if err := e.Abort(); err != nil {
				t.Fatal(err)
			}
			data = append(data, bytes.Join(more, nil)...)
			checkPlan(t, d.b, data, chunk, entries)
			if got, want := asText(t, jsonOf(t, openBytes(t, d.b).Metadata())), asText(t, meta); got != want {
				t.Fatalf("metadata %s, want %s", got, want)
			}
		}
	})
}

func jsonOf(t tester, raw json.RawMessage) any {
	t.Helper()
	if raw == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func asText(t tester, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
