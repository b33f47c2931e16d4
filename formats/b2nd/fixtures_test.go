package b2nd_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/rangeio"
)

// A fixture is a line of testdata/MANIFEST: a file of python-blosc2 and what it
// holds.
type fixture struct {
	File   string
	Kind   string
	Damage string
	SHA    string `json:"file_sha256"`
	Expect struct {
		Shape, ChunkShape, BlockShape []int64
		DType                         string
		SHA256                        string
		Slices                        []sliced
		ReferenceSlices               []sliced `json:"reference_slices"` // where python-blosc2 reads them otherwise than the whole
		Schunk                        struct {
			TypeSize, NChunks, ChunkSize int
			NBytes                       int64
			Codec                        string
			Metalayers, VLMetalayers     map[string][]byte
		}
		Ours      string
		Original  string `json:"original_sha256"`
		Reference struct {
			Result string
			Same   bool `json:"same_as_original"`
			SHA256 string
		}
	}
}

type sliced struct {
	Slice  [][2]int64
	Shape  []int64
	SHA256 string
}

func fixtures(t tester) []fixture {
	t.Helper()
	var out []fixture
	if err := json.Unmarshal(load(t, "MANIFEST"), &out); err != nil {
		t.Fatal(err)
	}
	if len(out) < 90 {
		t.Fatalf("%d fixtures", len(out))
	}
	return out
}

func load(t tester, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func reader(b []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))) }

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// folder is a Set of the files of a folder.
type folder struct{ fs.FS }

func (d folder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	b, err := fs.ReadFile(d.FS, name)
	return reader(b), err
}

func (d folder) List(context.Context) ([]string, error) { return fs.Glob(d.FS, "*") }

func (x *fixture) open(t tester) (*b2nd.Array, error) {
	t.Helper()
	if filepath.Ext(x.File) == ".b2nddir" {
		return b2nd.OpenSet(t.Context(), folder{os.DirFS(filepath.Join("testdata", x.File))}, b2nd.Options{})
	}
	b := load(t, x.File)
	if digest(b) != x.SHA {
		t.Fatalf("%s: not the file of the manifest", x.File)
	}
	return b2nd.Open(t.Context(), reader(b), b2nd.Options{})
}

func slice(t tester, a *b2nd.Array, box b2nd.Box) []byte {
	t.Helper()
	p, err := trySlice(t.Context(), a, box)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// trySlice reads into memory that holds garbage.
func trySlice(ctx context.Context, a *b2nd.Array, box b2nd.Box) ([]byte, error) {
	n, err := a.SizeOf(box)
	if err != nil {
		return nil, err
	}
	p := bytes.Repeat([]byte{0xA5}, int(n))
	return p, a.ReadSlice(ctx, p, box)
}

func wide(s []int) []int64 {
	out := make([]int64, len(s))
	for i, n := range s {
		out[i] = int64(n)
	}
	return out
}

func TestFixtures(t *testing.T) {
	tried := 0
	for _, x := range fixtures(t) {
		if x.Kind != "b2nd" {
			continue
		}
		t.Run(x.File, func(t *testing.T) {
			e := &x.Expect
			a, err := x.open(t)
			if err != nil {
				t.Fatal(err)
			}
			m := a.Meta()
			if !slices.Equal(m.Shape, e.Shape) || !slices.Equal(wide(m.ChunkShape), e.ChunkShape) || !slices.Equal(wide(m.BlockShape), e.BlockShape) {
				t.Errorf("%v %v %v, want %v %v %v", m.Shape, m.ChunkShape, m.BlockShape, e.Shape, e.ChunkShape, e.BlockShape)
			}
			// The one array of a C program tells no type of its own.
			want := e.DType
			if x.File == "example_day_month_temp.b2nd" {
				want = "|V4"
			}
			if m.DType != e.DType || a.DType().String() != want || a.ItemSize() != e.Schunk.TypeSize && want != "|V4" {
				t.Errorf("type %q, %s of %d bytes, want %s", m.DType, a.DType(), a.ItemSize(), want)
			}
			if again, err := b2nd.AppendMeta(nil, m); err != nil || e.Schunk.Metalayers != nil && !bytes.Equal(again, e.Schunk.Metalayers["b2nd"]) {
				t.Errorf("metalayer %x, want %x: %v", again, e.Schunk.Metalayers["b2nd"], err)
			}
			x.layers(t, a)
			whole, err := trySlice(t.Context(), a, b2nd.Whole(m.Shape))
			if err != nil {
				if !errors.Is(err, formats.ErrUnsupported) || !slices.Contains([]string{"ndlz", "zfp_rate", "zfp_prec", "zfp_acc"}, e.Schunk.Codec) {
					t.Error(err)
				}
				return
			}
			if digest(whole) != e.SHA256 {
				t.Error("other items")
			}
			for _, s := range e.Slices {
				var start, stop []int64
				for _, r := range s.Slice {
					start, stop = append(start, r[0]), append(stop, r[1])
				}
				box := b2nd.Sub(start, stop)
				if p := slice(t, a, box); digest(p) != s.SHA256 || !slices.Equal(box.OutShape, s.Shape) {
					t.Errorf("slice %v: other items", s.Slice)
				}
			}
			if len(e.ReferenceSlices) > 0 && x.strayed() == 0 {
				t.Error("python-blosc2 reads slices as it reads the whole: docs/formats/blosc.md says it does not")
			}
		})
		tried++
	}
	if tried < 70 {
		t.Errorf("only %d arrays", tried)
	}
}

// strayed counts the slices that python-blosc2 reads otherwise than the same items
// in the whole array, which is what ours gives in both.
func (x *fixture) strayed() (n int) {
	for i, s := range x.Expect.ReferenceSlices {
		if s.SHA256 != x.Expect.Slices[i].SHA256 {
			n++
		}
	}
	return n
}

// layers compares the metalayers, of header and trailer.
func (x *fixture) layers(t *testing.T, a *b2nd.Array) {
	t.Helper()
	if x.Expect.Schunk.Metalayers == nil {
		return
	}
	got := map[string][]byte{}
	for _, m := range a.Frame().Metalayers() {
		got[m.Name] = m.Data
	}
	if d := cmp.Diff(x.Expect.Schunk.Metalayers, got); d != "" {
		t.Error(d)
	}
	vl, err := a.Frame().VLMetalayers(t.Context())
	if err != nil {
		t.Error(err)
	}
	got = map[string][]byte{}
	for _, m := range vl {
		got[m.Name] = m.Data
	}
	if d := cmp.Diff(x.Expect.Schunk.VLMetalayers, got); d != "" {
		t.Error(d)
	}
}

// TestMalformed reads files with a damaged metalayer.
func TestMalformed(t *testing.T) {
	tried := 0
	for _, x := range fixtures(t) {
		if x.Kind != "malformed" {
			continue
		}
		tried++
		t.Run(x.Damage, func(t *testing.T) {
			var p []byte
			a, err := x.open(t)
			if err == nil {
				p, err = trySlice(t.Context(), a, b2nd.Whole(a.Shape()))
			}
			t.Log(err)
			switch {
			case err != nil && !formattest.Allowed(err):
				t.Errorf("error of no known class: %v", err)
			case x.Expect.Ours == "error" && err == nil:
				t.Error("no error")
			case err == nil && x.Expect.Reference.Same && digest(p) != x.Expect.Original:
				t.Error("other items")
			}
		})
	}
	if tried != 25 {
		t.Errorf("%d files", tried)
	}
}
