//go:build peers

package peers

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// An editedFrame is a file that python-blosc2 has edited, and what it holds.
type editedFrame struct {
	Path    string
	SHA256  string
	Changed bool
	Index   *int
	Shape   []int64
	VLMeta  map[string]any
}

// rough is data of 2-byte items whose blocks of 512 bytes differ in how well they
// compress.
func rough(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.IntN(1 << (1 + i/512*5%7)))
	}
	return p
}

// The kinds of frames with an index. Long ones have so many blocks that the pages of the
// index lie behind the chunks, and of many chunks so do the offsets in pages.
const (
	short = iota
	long
	many
)

// writeIndexed writes a frame and an array with an index inside.
func writeIndexed(t *testing.T, frame, array string, kind int) {
	t.Helper()
	chunks := []int{12, 1600, 9000}[kind]
	rows := []int{64, 64, 16}[kind]
	size := rows * 128 // of a chunk
	o := cframe.WriteOptions{TypeSize: 2, ChunkSize: size, BlockSize: 512, Index: cframe.WithIndex,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}}
	var b buffer
	w, err := cframe.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	data := rough(chunks * size)
	for p := range slices.Chunk(data, size) {
		if err := w.WriteChunk(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetVLMetalayer("note", []byte("\xa3one")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store(t, frame, b.Bytes())
	var c buffer
	m := b2nd.Meta{Shape: []int64{int64(chunks), int64(rows), 64}, ChunkShape: []int{1, rows, 64}, BlockShape: []int{1, 4, 64}, DType: "<u2"}
	aw, err := b2nd.NewWriter(&c, m, b2nd.WriteOptions{Encode: o.Encode, Index: cframe.WithIndex})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := aw.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := aw.Close(); err != nil {
		t.Fatal(err)
	}
	store(t, array, c.Bytes())
}

func store(t *testing.T, name string, p []byte) {
	t.Helper()
	if err := os.WriteFile(name, p, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestIndexAfterEdits: python-blosc2 reads and edits frames with an index inside. After
// each edit, also of a chunk in place by one of the same size, the index is not used, and
// every block is what python-blosc2 reads.
func TestIndexAfterEdits(t *testing.T) {
	for _, kind := range []int{short, long, many} {
		dir := t.TempDir()
		frame, array := filepath.Join(dir, "x.b2frame"), filepath.Join(dir, "y.b2nd")
		writeIndexed(t, frame, array, kind)
		checkIndexed(t, frame, true, nil)
		checkIndexed(t, array, true, nil)
		checkStatistics(t, array)
		var got map[string]editedFrame
		run(t.Context(), t, &got, "edit_indexed.py", frame, array)
		if len(got) < 19 {
			t.Fatalf("%d edits", len(got))
		}
		for name, e := range got {
			t.Run(name, func(t *testing.T) {
				raw, err := os.ReadFile(e.Path + ".raw")
				if err != nil || sum(raw) != e.SHA256 {
					t.Fatal(err)
				}
				kept := name == "nothing"
				copied := strings.HasPrefix(name, "to_cframe") || name == "copied" || name == "saved"
				if e.Changed == (kept || copied || strings.HasPrefix(name, "vlmeta")) || kept && e.Index == nil {
					t.Fatalf("%+v", e)
				}
				checkIndexed(t, e.Path, kept, raw)
			})
		}
		editAgain(t, got)
	}
}

// editAgain edits files that python-blosc2 has edited with our editors, which make the stale
// index anew. python-blosc2 and the index then tell the same items.
func editAgain(t *testing.T, files map[string]editedFrame) {
	t.Helper()
	args := []string{"edit_indexed.py", "told"}
	for name, e := range files {
		if err := editOne(t, e.Path); err != nil {
			t.Fatal(name, err)
		}
		args = append(args, e.Path)
	}
	var got map[string]editedFrame
	run(t.Context(), t, &got, args...)
	anew := 0
	for name, e := range files {
		raw, err := os.ReadFile(e.Path + ".raw")
		if err != nil || sum(raw) != got[e.Path].SHA256 {
			t.Fatal(name, err)
		}
		p, err := os.ReadFile(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := cframe.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), cframe.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		r, err := f.Verify(t.Context(), nil)
		if err != nil || r.Index.Size == 0 && r.Dead < r.CBytes/6 {
			t.Errorf("%s: no index, %+v, %v", name, r, err)
		}
		if r.Index.Size > 0 {
			anew++
		}
		checkIndexed(t, e.Path, r.Index.Size > 0, raw)
	}
	if anew < len(files)/2 {
		t.Errorf("%d of %d have an index", anew, len(files))
	}
}

// editOne edits a file: a vlmetalayer of a frame, an item of an array.
func editOne(t *testing.T, path string) (err error) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if strings.HasSuffix(path, ".b2nd") {
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Statistics: true})
		if err != nil {
			return err
		}
		return errors.Join(e.WriteSlice(b2nd.Sub([]int64{1, 2, 3}, []int64{2, 3, 4}), []byte{2, 2}), e.Close())
	}
	e, err := cframe.Edit(t.Context(), f, cframe.EditOptions{})
	if err != nil {
		return err
	}
	return errors.Join(e.SetVLMetalayer("ours", []byte{0xc0}), e.Close())
}

// checkIndexed reads every block of a frame, far from the others, and compares it with
// want, if that is not nil.
func checkIndexed(t *testing.T, path string, used bool, want []byte) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A short tail, so that the offsets of many chunks do not come with it.
	o := cframe.Options{Tail: 12 << 10, Policy: rangeio.Policy{Parallel: 64, MaxLen: 1 << 20}}
	f, err := cframe.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), o)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Index(t.Context())
	if err != nil || info.Size > 0 != used || used && info.Unused != nil {
		t.Errorf("used: want %t, %+v, %v", used, info, err)
	}
	if rep, err := f.Verify(t.Context(), nil); err != nil {
		t.Errorf("%+v, %v", rep, err)
	}
	if want == nil {
		return
	}
	every := max(1, len(want)/(1<<20)*9) // of a long one every few
	if !b2nd.IsArray(f) {
		for at := 0; at < len(want); at += 512 * every {
			got := make([]byte, min(512, len(want)-at))
			if err := f.ReadBytes(t.Context(), got, int64(at)); err != nil || !bytes.Equal(got, want[at:at+len(got)]) {
				t.Fatalf("at %d: other data than python-blosc2 reads, %v", at, err)
			}
		}
		return
	}
	a, err := b2nd.FromFrame(f)
	if err != nil {
		t.Fatal(err)
	}
	checkSearch(t, a, used, want)
	shape, row := a.Shape(), int(a.Shape()[2])*2
	for k := int64(0); k < shape[1]; k += int64(every) { // a row of each chunk
		got := make([]byte, int(shape[0])*row)
		if err := a.ReadSlice(t.Context(), got, b2nd.Sub([]int64{0, k, 0}, []int64{shape[0], k + 1, shape[2]})); err != nil {
			t.Fatal(err)
		}
		for i := range int(shape[0]) {
			if at := (i*int(shape[1]) + int(k)) * row; !bytes.Equal(got[i*row:][:row], want[at:at+row]) {
				t.Fatalf("row %d of chunk %d: other data than python-blosc2 reads", k, i)
			}
		}
	}
}

// checkSearch finds items of an array by their values, and compares them with those of
// want, all items as python-blosc2 reads them. Statistics are used only with the index.
func checkSearch(t *testing.T, a *b2nd.Array, used bool, want []byte) {
	t.Helper()
	for _, text := range []string{"v == 514", "v > 32000 and v < 32030", "not v > 3"} {
		e, err := predicate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := e.Bind(a.DType())
		if err != nil {
			t.Fatal(err)
		}
		mask := p.Mask(nil, want)
		next := int64(0)
		r, err := a.Search(t.Context(), b2nd.Whole(a.Shape()), p, b2nd.SearchOptions{}, func(h b2nd.Hit) error {
			for k, at := range h.At {
				for ; next < at; next++ {
					if mask[next/64]>>(next%64)&1 == 1 {
						return fmt.Errorf("item %d is missing", next)
					}
				}
				if next = at + 1; !bytes.Equal(h.Items[2*k:][:2], want[2*at:][:2]) {
					return fmt.Errorf("item %d: %x, want %x", at, h.Items[2*k:][:2], want[2*at:][:2])
				}
			}
			return nil
		})
		for ; err == nil && next < int64(len(want)/2); next++ {
			if mask[next/64]>>(next%64)&1 == 1 {
				err = fmt.Errorf("item %d is missing", next)
			}
		}
		if err != nil || r.Statistics != used {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// checkStatistics compares the statistics of an array that we wrote with its items.
func checkStatistics(t *testing.T, path string) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.Verify(t.Context(), nil); err != nil || r.Statistics != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
