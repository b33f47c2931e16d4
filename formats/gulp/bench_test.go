package gulp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

// A sized reader claims a size, for indexes whose data are never read.
type sized struct {
	rangeio.Reader
	size int64
}

func (s sized) Size() int64 { return s.size }

func BenchmarkOpen(b *testing.B) {
	for _, window := range []int64{4 << 20, 32 << 20} { // the defaults of the package and of a Client
		for _, frames := range []int{200, 25, 1} {
			b.Run(fmt.Sprintf("size=20MiB/window=%dMiB/frames=%d", window>>20, frames), func(b *testing.B) {
				meta, size := bigIndex(20<<20, frames)
				b.SetBytes(int64(len(meta)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := gulp.Open(b.Context(), bytesReader(meta), sized{bytesReader(nil), size}, gulp.Options{Window: window}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// benchChunk is a chunk in a file: 64 ids of 64 frames of about 12.7 KB.
func benchChunk(b *testing.B) *gulp.Chunk {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "x.gulp"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	w := gulp.NewWriter(f, gulp.WriteOptions{})
	frame := make([]byte, 14000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 64 * 64 {
		if err := w.WriteFrame(fmt.Sprint(i/64), frame[:11400+r.IntN(2600)]); err != nil {
			b.Fatal(err)
		}
	}
	var meta bytes.Buffer
	if err := w.WriteMeta(&meta); err != nil {
		b.Fatal(err)
	}
	c, err := gulp.Open(b.Context(), bytesReader(meta.Bytes()), rangeio.FromReaderAt(f, w.Totals().DataBytes), gulp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func BenchmarkAppendFrame(b *testing.B) {
	c := benchChunk(b)
	b.ReportAllocs()
	var buf []byte
	var err error
	for i := 0; b.Loop(); i++ {
		if buf, err = c.AppendFrame(b.Context(), buf[:0], c.ID(i%64), i/64%64); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

func BenchmarkReadFrames(b *testing.B) {
	c := benchChunk(b)
	b.ReportAllocs()
	var buf gulp.Buffer
	frames := 0
	for i := 0; b.Loop(); i++ {
		p, err := c.ReadFrames(b.Context(), &buf, c.ID(i%64), 0, 64, 1)
		if err != nil {
			b.Fatal(err)
		}
		frames += len(p)
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

func BenchmarkEach(b *testing.B) {
	c := benchChunk(b)
	b.SetBytes(c.Totals().Bytes)
	b.ReportAllocs()
	frames := 0
	for b.Loop() {
		if err := c.Each(b.Context(), func(string, int, []byte) error { frames++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
}

type discard struct{ n int64 }

func (d *discard) Write(p []byte) (int, error) { d.n += int64(len(p)); return len(p), nil }

func BenchmarkWriteFrame(b *testing.B) {
	w := gulp.NewWriter(&discard{}, gulp.WriteOptions{})
	frame := make([]byte, 12700)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.WriteFrame("id", frame[:12000+i%700]); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReadAllocs holds the two fast paths to no allocation at all.
func TestReadAllocs(t *testing.T) {
	c := open(t, load(t, "chunks/append_gulpio23/meta_0.gmeta"), load(t, "chunks/append_gulpio23/data_0.gulp"))
	ctx := t.Context()
	frame := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(200, func() {
		if _, err := c.AppendFrame(ctx, frame, "first", 3); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("AppendFrame: %v allocations", n)
	}
	var buf gulp.Buffer
	if n := testing.AllocsPerRun(200, func() {
		if _, err := c.ReadFrames(ctx, &buf, "first", 5, -1, -1); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("ReadFrames: %v allocations", n)
	}
}
