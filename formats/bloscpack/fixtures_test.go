package bloscpack_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A fixture is a line of the manifest. It tells what the Python tool says of a file
// that it wrote, what the writer put into a file of version 4, or which results are
// allowed for a damaged file.
type fixture struct {
	File   string `json:"file"`
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"file_sha256"`
	Expect struct {
		Checksum    string          `json:"checksum"`
		TypeSize    int             `json:"typesize"`
		NChunks     int64           `json:"nchunks"`
		ChunkSize   int64           `json:"chunk_size"`
		LastChunk   int64           `json:"last_chunk"`
		MaxAppend   int64           `json:"max_app_chunks"`
		Lengths     []int64         `json:"chunk_lengths"`
		Codecs      []string        `json:"chunk_codecs"`
		Start       int64           `json:"chunks_start"`
		After       int64           `json:"bytes_after_last_chunk"`
		Offsets     []int64         `json:"offsets"`
		HasOffsets  bool            `json:"offsets_present"`
		HasMetadata bool            `json:"metadata_present"`
		Metadata    json.RawMessage `json:"metadata"`
		MetaHeader  *struct {
			Codec    string `json:"meta_codec"`
			Checksum string `json:"meta_checksum"`
			Level    int    `json:"meta_level"`
			Size     int64  `json:"meta_size"`
			Stored   int64  `json:"meta_comp_size"`
			Room     int64  `json:"max_meta_size"`
		} `json:"metadata_header"`
		NBytes  int64  `json:"nbytes"`
		Digest  string `json:"sha256"`
		NDArray *struct {
			DType string  `json:"dtype"`
			Shape []int64 `json:"shape"`
			Order string  `json:"order"`
		} `json:"ndarray"`
		Variable bool   `json:"variable"`
		Aborted  bool   `json:"aborted"`
		Items    []item `json:"items"`

		Ours     string `json:"ours"`
		Original string `json:"original_sha256"`
	} `json:"expect"`
}

type item struct {
	Length  int64  `json:"length"`
	Digest  string `json:"sha256"`
	Missing bool   `json:"missing"`
}

func manifest(tb testing.TB) []fixture {
	tb.Helper()
	var all []fixture
	if err := json.Unmarshal(load(tb, "MANIFEST"), &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", "fixtures", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func digest(p []byte) string {
	d := sha256.Sum256(p)
	return hex.EncodeToString(d[:])
}

func reader(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

func open(tb testing.TB, p []byte, o bloscpack.Options) *bloscpack.File {
	tb.Helper()
	f, err := bloscpack.Open(tb.Context(), reader(p), o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// collect reads all items by Each.
func collect(ctx context.Context, f *bloscpack.File) ([][]byte, error) {
	var out [][]byte
	err := f.Each(ctx, 0, f.Len(), func(i int64, p []byte) error {
		if i != int64(len(out)) {
			return errors.New("items out of order")
		}
		out = append(out, bytes.Clone(p))
		return nil
	})
	return out, err
}

// variants are ways of reading that must give the same results.
func variants() map[string]bloscpack.Options {
	return map[string]bloscpack.Options{
		"plain":         {},
		"small windows": {Window: 1, Head: 1, Parallel: 1, Policy: rangeio.Lean()},
		"hint":          {Item: 3, Head: 1, Policy: rangeio.Few()},
		"parallel":      {Parallel: 4},
	}
}

// TestFixtures reads the files of the Python tool and those of version 4.
func TestFixtures(t *testing.T) {
	for _, x := range manifest(t) {
		if x.Kind == "malformed" {
			continue
		}
		p := load(t, x.File)
		if digest(p) != x.SHA256 {
			t.Fatalf("%s is not the file of the manifest", x.File)
		}
		for name, o := range variants() {
			t.Run(x.File+"/"+name, func(t *testing.T) {
				f := open(t, p, o)
				checkHeader(t, &x, f)
				checkMeta(t, &x, f)
				checkItems(t, &x, f)
				if x.Kind == "bloscpack" {
					checkFixed(t, &x, f)
				}
			})
		}
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}

func checkHeader(t *testing.T, x *fixture, f *bloscpack.File) {
	t.Helper()
	h, e := f.Header(), &x.Expect
	got := []any{strings.ToLower(e.Checksum), e.TypeSize, e.NChunks, e.HasOffsets, e.HasMetadata, e.Variable, e.Aborted}
	want := []any{h.Checksum.String(), h.TypeSize, h.Chunks, h.Offsets, h.Meta, h.Variable, f.Aborted()}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("header:", d)
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := load(t, x.File); !bytes.Equal(b, p[:bloscpack.HeaderLen]) {
		t.Errorf("header written again:\n%x\n%x", b, p[:bloscpack.HeaderLen])
	}
}

func checkMeta(t *testing.T, x *fixture, f *bloscpack.File) {
	t.Helper()
	e := &x.Expect
	if (f.Metadata() != nil) != e.HasMetadata {
		t.Fatalf("metadata %s", f.Metadata())
	}
	if e.HasMetadata {
		var got, want any
		if err := errors.Join(json.Unmarshal(f.Metadata(), &got), json.Unmarshal(e.Metadata, &want)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error("metadata:", d)
		}
	}
	m := f.MetaHeader()
	if (e.MetaHeader != nil) != (m != bloscpack.MetaHeader{}) {
		t.Errorf("header of metadata %+v", m)
	}
	if w := e.MetaHeader; w != nil {
		codec := map[string]bloscpack.MetaCodec{"None": bloscpack.MetaPlain, "zlib": bloscpack.MetaZlib}[w.Codec]
		if m != (bloscpack.MetaHeader{Checksum: m.Checksum, Codec: codec, Level: w.Level, Size: w.Size, Stored: w.Stored, Room: w.Room}) || m.Checksum.String() != strings.ToLower(w.Checksum) {
			t.Errorf("header of metadata %+v, want %+v", m, *w)
		}
	}
	a, ok, err := f.Array()
	if err != nil || ok != (e.NDArray != nil) {
		t.Fatal("array", ok, err)
	}
	if ok {
		if d := cmp.Diff(e.NDArray.Shape, a.Shape); d != "" || a.Fortran != (e.NDArray.Order == "F") {
			t.Errorf("array of order F %t, shape: %s", a.Fortran, d)
		}
		if want, err := dtype.Parse(e.NDArray.DType); err != nil || !want.Equal(a.DType) {
			t.Errorf("type %s, want %s, %v", a.DType, e.NDArray.DType, err)
		}
	}
}

// checkStarted reads an item in two steps, as AppendItem gave it.
func checkStarted(t *testing.T, f *bloscpack.File, i int64, want []byte, fault error) {
	t.Helper()
	s, err := f.StartItem(t.Context(), i)
	if err != nil {
		if fault == nil || err.Error() != fault.Error() {
			t.Errorf("item %d started: %v, want %v", i, err, fault)
		}
		return
	}
	for range 2 {
		p, err := s.Append(t.Context(), []byte("x"))
		if (err != nil) != (fault != nil) || err == nil && (!bytes.Equal(p, want) || s.Len() != int64(len(want)-1)) {
			t.Errorf("item %d in two steps: %d bytes of %d, %v, want %v", i, len(p), s.Len(), err, fault)
		}
	}
}

// checkItems reads everything in every way.
func checkItems(t *testing.T, x *fixture, f *bloscpack.File) {
	t.Helper()
	e := &x.Expect
	var whole []byte
	var at []int // places of the items in whole
	for i := range f.Len() {
		p, err := f.AppendItem(t.Context(), []byte("x"), i)
		checkStarted(t, f, i, p, err)
		switch {
		case e.Aborted:
			if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "verify --repair") {
				t.Errorf("item %d of an aborted file: %v", i, err)
			}
			continue
		case e.Items != nil && e.Items[i].Missing:
			if !errors.Is(err, formats.ErrNoEntry) || !strings.Contains(err.Error(), f.Header().Part(i)) {
				t.Errorf("item %d, which was never written: %v", i, err)
			}
			if _, err := f.AppendItems(t.Context(), nil, 0, f.Len()); !errors.Is(err, formats.ErrNoEntry) {
				t.Errorf("all items: %v", err)
			}
			continue
		case err != nil:
			t.Fatalf("item %d: %v", i, err)
		case e.Items != nil && (int64(len(p))-1 != e.Items[i].Length || digest(p[1:]) != e.Items[i].Digest):
			t.Errorf("item %d: %d other bytes", i, len(p)-1)
		}
		at = append(at, len(whole))
		whole = append(whole, p[1:]...)
	}
	if e.Aborted || len(at) < int(f.Len()) {
		return
	}
	if x.Kind == "bloscpack" && digest(whole) != e.Digest {
		t.Errorf("%d other bytes in all", len(whole))
	}
	if n, err := f.Size(t.Context()); err != nil || n != int64(len(whole)) {
		t.Errorf("size %d, %v; want %d", n, err, len(whole))
	}
	all, err := collect(t.Context(), f)
	if err != nil || !bytes.Equal(bytes.Join(all, nil), whole) {
		t.Errorf("Each: %v", err)
	}
	n := f.Len()
	for _, r := range [][2]int64{{0, n}, {n / 3, n}, {n / 2, n/2 + min(1, n)}, {min(1, n), n - n/4}, {n, n}} {
		if r[0] > r[1] {
			continue
		}
		from := append(slices.Clone(at), len(whole))[r[0]]
		to := append(slices.Clone(at), len(whole))[r[1]]
		dst := make([]byte, to-from)
		k, err := f.ReadChunks(t.Context(), dst, r[0], r[1])
		if err != nil || k != len(dst) || !bytes.Equal(dst, whole[from:to]) {
			t.Errorf("chunks %v: %d bytes of %d, %v", r, k, len(dst), err)
		}
		if len(dst) > 0 {
			if _, err := f.ReadChunks(t.Context(), dst[1:], r[0], r[1]); !errors.Is(err, formats.ErrTooLarge) {
				t.Errorf("chunks %v, a byte short of room: %v", r, err)
			}
		}
		items, err := f.AppendItems(t.Context(), nil, r[0], r[1])
		if err != nil || int64(len(items)) != r[1]-r[0] || !bytes.Equal(bytes.Join(items, nil), whole[from:to]) {
			t.Errorf("items %v: %d, %v", r, len(items), err)
		}
	}
	rep, err := f.Verify(t.Context(), nil)
	if err != nil || rep.Chunks != n || rep.NBytes != int64(len(whole)) || rep.Missing != 0 || rep.WrongOffsets || rep.FirstMissing != -1 {
		t.Errorf("verify: %+v, %v", rep, err)
	}
}

func checkFixed(t *testing.T, x *fixture, f *bloscpack.File) {
	t.Helper()
	h, e := f.Header(), &x.Expect
	if h.ChunkSize != e.ChunkSize || h.LastChunk != e.LastChunk || h.MaxAppend != e.MaxAppend || f.Body() != e.Start {
		t.Errorf("header %+v, chunks from %d on", h, f.Body())
	}
	rep, err := f.Verify(t.Context(), nil)
	if err != nil || rep.After != e.After || rep.Gaps != 0 {
		t.Errorf("verify: %+v, %v; want %d bytes after", rep, err, e.After)
	}
	for _, scan := range []bool{false, true} {
		err := f.Entries(t.Context(), 0, f.Len(), scan, func(i int64, n bloscpack.Entry) error {
			if e.HasOffsets && n.Off != e.Offsets[i] || n.NBytes != e.Lengths[i] {
				t.Errorf("chunk %d: %+v", i, n)
			}
			if scan && n.Chunk.Codec.String() != e.Codecs[min(int(i), len(e.Codecs)-1)] && len(e.Codecs) == 1 {
				t.Errorf("chunk %d: %s", i, n.Chunk.Codec)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if n := f.Len() - 1; n >= 0 {
		if got, err := f.Entry(t.Context(), n); err != nil || got.NBytes != e.Lengths[n] || got.Missing() {
			t.Errorf("the last chunk: %+v, %v", got, err)
		}
	}
}

// TestMalformed holds the reader to the manifest: some files must be errors, others
// may be errors or give the right bytes, and nothing else.
func TestMalformed(t *testing.T) {
	count := map[string]int{}
	for _, x := range manifest(t) {
		if x.Kind != "malformed" {
			continue
		}
		count[x.Expect.Ours]++
		p := load(t, x.File)
		for name, o := range variants() {
			all, err := readAll(t.Context(), p, o)
			if err != nil && !formattest.Allowed(err) {
				t.Errorf("%s, %s: an error of no known kind: %v", x.File, name, err)
			}
			var e *formats.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%s, %s: an error without a place: %v", x.File, name, err)
			}
			switch {
			case x.Expect.Ours == "error" && err == nil:
				t.Errorf("%s, %s: no error", x.File, name)
			case x.Expect.Ours == "same_or_error" && err == nil && !same(&x, all):
				t.Errorf("%s, %s: other bytes", x.File, name)
			}
		}
	}
	if count["error"] != 290 || count["same_or_error"] != 55 || count["any"] != 5 {
		t.Errorf("the manifest's malformed files: %v", count)
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}

func readAll(ctx context.Context, p []byte, o bloscpack.Options) ([][]byte, error) {
	f, err := bloscpack.Open(ctx, reader(p), o)
	if err != nil {
		return nil, err
	}
	for i := range min(f.Len(), 2000) { // must not crash; files that must fail do so below
		if _, err := f.AppendItem(ctx, nil, i); err != nil && !formattest.Allowed(err) {
			return nil, err
		}
	}
	if _, _, err := f.Array(); err != nil {
		return nil, err
	}
	all, err := collect(ctx, f)
	if _, verr := f.Verify(ctx, nil); (verr == nil) != (err == nil) {
		if !errors.Is(err, formats.ErrNoEntry) { // Verify skips items that were never written
			return nil, errors.Join(errors.New("Each and Verify differ"), err, verr)
		}
	}
	return all, err
}

func same(x *fixture, all [][]byte) bool {
	if x.Expect.Original != "" {
		return digest(bytes.Join(all, nil)) == x.Expect.Original
	}
	if len(all) != len(x.Expect.Items) {
		return false
	}
	for i, p := range all {
		if digest(p) != x.Expect.Items[i].Digest {
			return false
		}
	}
	return true
}
