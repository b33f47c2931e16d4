package farread

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// TestHeldBytes holds what datasets say of their memory against the heap: right to a
// sixteenth and 128 KiB, after all that makes it grow was called.
func TestHeldBytes(t *testing.T) {
	racetest.Skip(t, racetest.Measures)
	c, b := remote(Config{NoHedge: true})
	var ids []string
	for i := range 30_000 {
		ids = append(ids, fmt.Sprintf("clip-%08d", i))
	}
	for _, tc := range []struct {
		key  string
		make func(key string)
		grow func(d Dataset) error
		min  int64 // MiB
	}{
		{"x.b2nd", func(key string) { manyChunks(t, b, key, 1<<18) }, readFirst, 2},
		{"x.b2frame", func(key string) {
			frame(t, c, key, raw(), func(w chunkWriter) error {
				var err error
				for i := range 1 << 18 {
					err = errors.Join(err, w.WriteChunk(make([]byte, 1+i%3)))
				}
				return err
			})
		}, func(d Dataset) error {
			_, err := d.(*oneItems).frameItems.x.f.ExplainBytes(t.Context(), 0, 1) // finds the sizes of all chunks
			return err
		}, 4},
		{"blocks.b2frame", func(key string) {
			frame(t, c, key, cframe.WriteOptions{ChunkSize: cframe.VaryingSizes}, func(w chunkWriter) error {
				var err error
				for range 1 << 16 {
					err = errors.Join(err, w.WriteBlocks([][]byte{{1}, {2, 3}}))
				}
				return err
			})
		}, readFirst, 1},
		{"x.blp", func(key string) { manyItems(t, b, key, ids) }, readAll, 2},
		{"walked.blp", func(key string) { manyLines(t, b, key, 1<<18) }, readAll, 1},
		{"x.gulp", func(key string) {
			data, meta := chunk(t, 10, 4, ids...)
			put(t, b, key, data, nil)
			put(t, b, strings.TrimSuffix(key, ".gulp")+".gmeta", meta, nil)
		}, nil, 8},
		{"indexed/x.gulp", func(key string) {
			data, meta := chunk(t, 10, 4, ids...)
			ch, err := gulp.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(meta), int64(len(meta))), rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data))), gulp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			putIndexed(t, b, strings.TrimSuffix(key, ".gulp"), gulpMade{data, meta, ch})
			c.learnBeside(b, key, true)
		}, func(d Dataset) error {
			if _, byIndex := d.Handle().(*GulpByID); !byIndex {
				t.Error("the index is not used")
			}
			for k := 0; k < len(ids); k += 7 {
				if n, err := d.(Imager).Images(t.Context(), ids[k]); err != nil || n != 10 {
					return fmt.Errorf("%d images, %w", n, err)
				}
			}
			return nil
		}, 0},
		{"set/", func(key string) {
			for k := range 3 {
				data, meta := chunk(t, 10, 4, ids[k*9000:][:9000]...)
				put(t, b, fmt.Sprintf("%sdata_%d.gulp", key, k), data, nil)
				put(t, b, fmt.Sprintf("%smeta_%d.gmeta", key, k), meta, nil)
			}
		}, func(d Dataset) error {
			_, err := d.Source(t.Context())
			return err
		}, 9},
		{"x.zoom", func(key string) { put(t, b, key, tracksOf(t, 1<<22, true, 64, false), nil) }, func(d Dataset) error {
			v, _ := d.(Viewer)
			_, err := v.View(t.Context(), 1, 0, 1<<22, 100)
			return err
		}, 0},
		{"tracks.zoom", func(key string) { put(t, b, key, manyTracks(t, 10_000), nil) }, nil, 2},
		{"x.npy", func(key string) { put(t, b, key, npyFileOf(t, false), nil) }, nil, 0},
		{"x.blosc", func(key string) {
			p, err := blosc.AppendEncoded(nil, noise(1<<20), blosc.EncodeOptions{TypeSize: 1})
			if err != nil {
				t.Fatal(err)
			}
			put(t, b, key, p, nil)
		}, nil, 0},
	} {
		t.Run(tc.key, func(t *testing.T) {
			tc.make(tc.key)
			var d Dataset
			var opened int64
			live := heaptest.Kept(func() any {
				var err error
				if d, err = c.OpenAny(t.Context(), "s3://b/"+tc.key, AnyOptions{}); err != nil {
					t.Fatal(err)
				}
				opened = d.HeldBytes()
				if tc.grow != nil {
					err = tc.grow(d)
				}
				if err == nil {
					_, err = d.Describe(t.Context(), DescribeOptions{})
				}
				if err != nil {
					t.Fatal(err)
				}
				return d
			})
			held := d.HeldBytes()
			t.Logf("%d bytes held, %d when it was opened; %d on the heap", held, opened, live)
			if off := max(held-live, live-held); off > live/16+128<<10 || held < tc.min<<20 || held < opened {
				t.Errorf("%d bytes held, %d on the heap", held, live)
			}
		})
	}
}

// readFirst reads a little.
func readFirst(d Dataset) error {
	switch d := d.(type) {
	case Itemer:
		return d.EachItem(context.Background(), 0, 1, func(int64, []byte) error { return nil })
	case Slicer:
		return d.ReadSlice(context.Background(), make([]byte, 8), b2nd.Sub([]int64{80}, []int64{88}))
	}
	return nil
}

// readAll reads items all over the file.
func readAll(d Dataset) error {
	it, _ := d.(Itemer)
	for i := it.Items() - 1; i >= 0; i -= 1000 {
		if _, err := it.AppendItem(context.Background(), nil, i); err != nil {
			return err
		}
	}
	return nil
}

func manyChunks(t *testing.T, b objstore.Bucket, key string, n int64) {
	t.Helper()
	create(t, b, key, func(out objstore.Writer) error {
		w, err := b2nd.NewWriter(out, b2nd.Meta{Shape: []int64{8 * n}, ChunkShape: []int{8}, BlockShape: []int{8}, DType: "|u1"}, b2nd.WriteOptions{})
		if err == nil {
			_, err = w.Write(noise(int(8 * n)))
		}
		if err == nil {
			err = w.Close()
		}
		return err
	})
}

func bloscpackTo(t *testing.T, b objstore.Bucket, key string, o bloscpack.WriteOptions, fill func(w *bloscpack.Writer) error) {
	t.Helper()
	create(t, b, key, func(out objstore.Writer) error {
		w, err := bloscpack.NewWriter(out, o)
		if err != nil {
			return err
		}
		return errors.Join(fill(w), w.Close())
	})
}

func manyItems(t *testing.T, b objstore.Bucket, key string, names []string) {
	t.Helper()
	o := bloscpack.WriteOptions{Variable: true, Metadata: map[string]any{"container": bloscpack.KindFiles, "names": names, "sizes": make([]int64, len(names))}}
	bloscpackTo(t, b, key, o, func(w *bloscpack.Writer) (err error) {
		for i := range names {
			err = errors.Join(err, w.WriteItem(binary.LittleEndian.AppendUint32(nil, uint32(i))))
		}
		return err
	})
}

// manyLines makes a file without a table.
func manyLines(t *testing.T, b objstore.Bucket, key string, n int) {
	t.Helper()
	bloscpackTo(t, b, key, bloscpack.WriteOptions{NoOffsets: true, ChunkSize: 8}, func(w *bloscpack.Writer) error {
		_, err := w.Write(noise(8 * n))
		return err
	})
}

// manyTracks is a series of tracks with a sample each, and their index.
func manyTracks(t *testing.T, n int) []byte {
	t.Helper()
	o := zoomcache.WriteOptions{}
	for k := range n {
		o.Tracks = append(o.Tracks, zoomcache.Track{Number: int32(k), Codec: zoomcache.Codec{Kind: zoomcache.I16},
			Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: fmt.Sprintf("channel %08d", k)})
	}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	for k := range n {
		if err := zoomcache.WriteSamples(w.Track(int32(k)), []int16{int16(k)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
