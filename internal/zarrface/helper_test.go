package zarrface_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/rangeio"
)

// A tester is a test or a fuzz target.
type tester interface{ testing.TB }

const fixtureDir = "../../formats/b2nd/testdata"

func reader(b []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))) }

// folder is a Set of the files of a folder.
type folder struct{ fs.FS }

func (d folder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	b, err := fs.ReadFile(d.FS, name)
	return reader(b), err
}

func (d folder) List(context.Context) ([]string, error) { return fs.Glob(d.FS, "*") }

// fixtures returns the names of the arrays of python-blosc2.
func fixtures(t tester) []string {
	t.Helper()
	var list []struct{ File, Kind string }
	text, err := os.ReadFile(filepath.Join(fixtureDir, "MANIFEST"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list {
		if x.Kind == "b2nd" {
			names = append(names, x.File)
		}
	}
	if len(names) < 80 {
		t.Fatalf("%d fixtures", len(names))
	}
	return names
}

func openFixture(t tester, name string) *b2nd.Array {
	t.Helper()
	path := filepath.Join(fixtureDir, filepath.FromSlash(name))
	if filepath.Ext(name) == ".b2nddir" {
		a, err := b2nd.OpenSet(t.Context(), folder{os.DirFS(path)}, b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, b)
}

func open(t tester, b []byte) *b2nd.Array {
	t.Helper()
	a, err := b2nd.Open(t.Context(), reader(b), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

func (b *buffer) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(b.Bytes()[n:])
	b.Reset()
	b.Write(p)
	b.Write(rest)
	return nil
}

// newArray writes an array and opens it.
func newArray(t tester, m b2nd.Meta, items []byte, o b2nd.WriteOptions) *b2nd.Array {
	t.Helper()
	var b buffer
	w, err := b2nd.NewWriter(&b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(items); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

func layers(t tester, a *b2nd.Array) []cframe.Metalayer {
	t.Helper()
	vl, err := a.Frame().VLMetalayers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return vl
}

func view(t tester, a *b2nd.Array, o zarrface.Options) *zarrface.View {
	t.Helper()
	v, err := zarrface.New(t.Context(), a, layers(t, a), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// keys calls f for up to most keys of a grid, from the first on, and for the last one.
func keys(count []int64, most int, f func(key string)) {
	total := int64(1)
	for _, n := range count {
		total *= n
	}
	key := func(n int64) string {
		k := ""
		for i := len(count) - 1; i >= 0; i-- {
			k = "/" + strconv.FormatInt(n%count[i], 10) + k
			n /= count[i]
		}
		return "c" + k
	}
	for n := range min(total, int64(most)) {
		f(key(n))
	}
	if total > int64(most) {
		f(key(total - 1))
	}
}

// decoded undoes the codec of a view.
func decoded(c zarrface.Codec, p []byte) ([]byte, error) {
	switch c {
	case zarrface.Zstd:
		d, err := zstd.NewReader(nil)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(p, nil)
	case zarrface.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(p))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		_, err = b.ReadFrom(r)
		return b.Bytes(), err
	case zarrface.Raw:
		return p, nil
	case zarrface.Pass:
		h, err := blosc.ParseHeader(p)
		if err != nil {
			return nil, err
		}
		if h.Extended || h.Version != 2 || h.CBytes != len(p) {
			return nil, fmt.Errorf("%+v is no chunk of Blosc1 of %d bytes", h, len(p))
		}
		return blosc.AppendDecoded(nil, p)
	}
	return p, nil
}

// inside returns the items of a chunk that are in the array.
func inside(v *zarrface.View, c zarrface.Chunk, chunk []byte, item int) []byte {
	n := c.Box.Counts()
	size, zero := int64(item), make([]int64, len(n))
	for _, k := range n {
		size *= k
	}
	out := make([]byte, size)
	nd.CopyBox(out, n, zero, chunk, v.ChunkShape(), zero, n, item)
	return out
}

func readBox(t tester, a *b2nd.Array, box b2nd.Box) []byte {
	t.Helper()
	n, err := a.SizeOf(box)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, n)
	if err := a.ReadSlice(t.Context(), p, box); err != nil {
		t.Fatal(err)
	}
	return p
}
