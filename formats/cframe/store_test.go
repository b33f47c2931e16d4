package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// A store's writer is an Output as it is.
var _ formats.Output = objstore.Writer(nil)

// prefix makes the objects of a sparse frame in a bucket.
type prefix struct {
	b    objstore.Bucket
	name string
}

type object struct{ objstore.Writer }

func (p prefix) Create(ctx context.Context, name string) (formats.Object, error) {
	w, err := p.b.Create(ctx, p.name+name, objstore.PutOptions{IfAbsent: true})
	return object{w}, err
}

func (o object) Commit(ctx context.Context) error {
	_, err := o.Writer.Commit(ctx)
	return err
}

func (p prefix) Open(ctx context.Context, name string) (rangeio.Reader, error) {
	return objstore.Open(ctx, p.b, p.name+name, objstore.OpenOptions{})
}

func (p prefix) List(ctx context.Context) ([]string, error) {
	var names []string
	for in, err := range p.b.List(ctx, p.name) {
		if err != nil {
			return nil, err
		}
		names = append(names, in.Key[len(p.name):])
	}
	return names, nil
}

func TestStores(t *testing.T) {
	ctx := t.Context()
	dir, err := filestore.New(filestore.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]objstore.Bucket{"memory": memstore.New(memstore.Config{}), "folder": dir} {
		t.Run(name, func(t *testing.T) {
			o := cframe.WriteOptions{TypeSize: 8, Parallel: 2, Encode: blosc.EncodeOptions{Codec: blosc.Zstd}}
			chunk := func(i int) []byte { return bytes.Repeat([]byte{byte(i), 0, byte(2 * i), 0, 0, 0, 0, 9}, 8000+i%2) }
			out, err := b.Create(ctx, "x.b2frame", objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w, err := cframe.NewWriter(out, cframe.WriteOptions{TypeSize: 8, Vary: true, Parallel: 2, Encode: o.Encode})
			if err != nil {
				t.Fatal(err)
			}
			sparse := prefix{b, "x/"}
			o.Vary = true
			sw, err := cframe.NewSetWriter(t.Context(), sparse, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				if err := errors.Join(w.WriteChunk(chunk(i)), sw.WriteChunk(chunk(i))); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := cframe.OpenSet(ctx, sparse, cframe.Options{}); err == nil {
				t.Error("a sparse frame opens before it is closed")
			}
			if err := errors.Join(w.Close(), sw.Close()); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			r, err := objstore.Open(ctx, b, "x.b2frame", objstore.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := cframe.Open(ctx, r, cframe.Options{})
			if err != nil {
				t.Fatal(err)
			}
			set, err := cframe.OpenSet(ctx, sparse, cframe.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []*cframe.Frame{whole, set} {
				for i := range 20 {
					if p, err := f.AppendChunk(ctx, nil, i); err != nil || !bytes.Equal(p, chunk(i)) {
						t.Errorf("chunk %d: %v", i, err)
					}
				}
			}
			again, err := cframe.NewSetWriter(t.Context(), sparse, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(again.WriteChunk(chunk(1)), again.Close()); !errors.Is(err, objstore.ErrExists) {
				t.Errorf("over a frame that is there: %v", err)
			}
		})
	}
}

// slow counts how many buffers are lent while it is written to.
type slow struct {
	most  atomic.Int64
	bytes atomic.Int64
}

func (s *slow) Write(p []byte) (int, error) {
	s.most.Store(max(s.most.Load(), bufpool.Loans()))
	s.bytes.Add(int64(len(p)))
	return len(p), nil
}

func (*slow) Patch(int64, []byte) error { return nil }

// The memory of a writer does not grow with what is written: 200 MB go through a
// few buffers.
func TestWriterMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	const parallel, size = 2, 1 << 20
	p := make([]byte, size)
	for i := range p {
		p[i] = byte(i * i >> 7)
	}
	lent := bufpool.Loans()
	s := &slow{}
	w, err := cframe.NewWriter(s, cframe.WriteOptions{Parallel: parallel, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	for i := range 200 {
		if i == 20 {
			runtime.ReadMemStats(&before)
		}
		if err := w.WriteChunk(p); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most := s.most.Load() - lent; most > 2*parallel+2 {
		t.Errorf("%d buffers at a time", most)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 150*size {
		t.Errorf("%d bytes allocated for 180 chunks of %d", n, size)
	}
	if n := bufpool.Loans() - lent; n != 0 {
		t.Errorf("%d buffers were not given back", n)
	}
}

// A frame is written to a store in one pass, and later grown in place, in the
// file.
func Example() {
	if err := example(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 chunks, 12000 bytes: [2 0 0 0]
}

func example(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		return err
	}

	out, err := b.Create(ctx, "x.b2frame", objstore.PutOptions{})
	if err != nil {
		return err
	}
	defer out.Abort()
	w, err := cframe.NewWriter(out, cframe.WriteOptions{TypeSize: 4, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	if err != nil {
		return err
	}
	for i := range byte(2) {
		if err := w.WriteChunk(bytes.Repeat([]byte{i, 0, 0, 0}, 1000)); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if _, err := out.Commit(ctx); err != nil {
		return err
	}

	file, err := os.OpenFile(filepath.Join(dir, "x.b2frame"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	e, err := cframe.Edit(ctx, file, cframe.EditOptions{})
	if err != nil {
		return err
	}
	if err := e.Extend(bytes.Repeat([]byte{2, 0, 0, 0}, 1000)); err != nil {
		return err
	}
	if err := e.SetVLMetalayer("note", []byte("\xa5grown")); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}

	r, err := objstore.Open(ctx, b, "x.b2frame", objstore.OpenOptions{})
	if err != nil {
		return err
	}
	f, err := cframe.Open(ctx, r, cframe.Options{})
	if err != nil {
		return err
	}
	p, err := f.AppendChunk(ctx, nil, 2)
	if err != nil {
		return err
	}
	fmt.Printf("%d chunks, %d bytes: %d\n", f.Chunks(), f.Info().NBytes, p[:4])
	return nil
}
