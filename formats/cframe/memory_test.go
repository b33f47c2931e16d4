package cframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// sink is an Output as a store's writer is one: what is patched must have been
// written, and lie in the head.
type sink struct {
	b    []byte
	fail int // the write that fails, from 1
	n    int
}

var errSink = errors.New("disk full")

func (s *sink) Write(p []byte) (int, error) {
	if s.n++; s.n == s.fail {
		return 0, errSink
	}
	s.b = append(s.b, p...)
	return len(p), nil
}

func (s *sink) Patch(off int64, p []byte) error {
	if s.n++; s.n == s.fail {
		return errSink
	}
	if off < 0 || off+int64(len(p)) > min(int64(len(s.b)), MaxHeader) {
		return fmt.Errorf("patch outside the head")
	}
	copy(s.b[off:], p)
	return nil
}

// folder is a SetOutput and a formats.Set.
type folder struct {
	mu    sync.Mutex
	files map[string][]byte
	order []string // as committed
	fail  string   // the name whose commit fails
}

func newFolder() *folder { return &folder{files: map[string][]byte{}} }

type folderObject struct {
	bytes.Buffer
	f    *folder
	name string
}

func (f *folder) Create(_ context.Context, name string) (formats.Object, error) {
	return &folderObject{f: f, name: name}, nil
}

func (o *folderObject) Commit(context.Context) error {
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	if o.name == o.f.fail {
		return errSink
	}
	if _, ok := o.f.files[o.name]; ok {
		return fmt.Errorf("%s is taken", o.name)
	}
	o.f.files[o.name] = o.Bytes()
	o.f.order = append(o.f.order, o.name)
	return nil
}

func (*folderObject) Abort() {}

func (f *folder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	b, ok := f.files[name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), nil
}

func (f *folder) List(context.Context) ([]string, error) {
	var names []string
	for n := range f.files {
		names = append(names, n)
	}
	return names, nil
}

// content is what a reader finds in a frame.
type content struct {
	Chunks [][]byte
	Meta   []Metalayer
	VL     []Metalayer
}

func contentOf(ctx context.Context, f *Frame) (content, error) {
	c := content{Chunks: make([][]byte, f.Chunks()), Meta: f.Metalayers()}
	var err error
	for i := range c.Chunks {
		if c.Chunks[i], err = f.AppendChunk(ctx, nil, i); err != nil {
			return c, err
		}
	}
	c.VL, err = f.VLMetalayers(ctx)
	return c, err
}

func openBytes(ctx context.Context, b []byte) (*Frame, error) {
	return Open(ctx, rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
}

func readBytes(ctx context.Context, b []byte) (content, error) {
	f, err := openBytes(ctx, b)
	if err != nil {
		return content{}, err
	}
	return contentOf(ctx, f)
}

func mustRead(t *testing.T, b []byte) (Info, content) {
	t.Helper()
	f, err := openBytes(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	c, err := contentOf(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return f.Info(), c
}

func compare(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b []byte) bool { return bytes.Equal(a, b) }), cmp.Transformer("none", func(l []Metalayer) []Metalayer {
		if len(l) == 0 {
			return []Metalayer{{}}
		}
		return l
	})); d != "" {
		t.Fatalf("%s (-want +got)\n%s", what, d)
	}
}

// ramp is data that compresses.
func ramp(n, seed int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i/7 + seed)
	}
	return p
}

// noise is data that does not.
func noise(n, seed int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(p) // it never fails
	return p
}

func write(t *testing.T, o WriteOptions, f func(w *Writer)) []byte {
	t.Helper()
	s := &sink{}
	w, err := NewWriter(s, o)
	if err != nil {
		t.Fatal(err)
	}
	f(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return s.b
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func stored(t *testing.T, p string, typesize int) []byte {
	t.Helper()
	chunk, err := blosc.AppendEncoded(nil, []byte(p), blosc.EncodeOptions{Level: blosc.LevelStore, TypeSize: typesize, Filters: []blosc.Filter{}})
	must(t, err)
	return chunk
}
