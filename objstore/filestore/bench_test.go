package filestore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// BenchmarkReadFrame reads single spans of 12 KiB, a frame of a detector's
// stream, of a file in the page cache: by path through a bucket, as every
// object is read, and below that by Get alone and from a plain open file.
func BenchmarkReadFrame(b *testing.B) {
	const frame, frames = 12 << 10, 1000
	dir := b.TempDir()
	file := filepath.Join(dir, "run.gulp")
	if err := os.WriteFile(file, make([]byte, frame*frames), 0o600); err != nil {
		b.Fatal(err)
	}
	bucket, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, frame)
	each := func(name string, read func(off int64) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(frame)
			b.ReportAllocs()
			for b.Loop() {
				if err := read(frame * (10 + rand.Int64N(frames-10))); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	o, err := objstore.Open(b.Context(), bucket, "run.gulp", objstore.OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	each("by-path", func(off int64) error {
		return o.ReadRanges(b.Context(), []rangeio.Span{{Off: off, P: p}})
	})
	each("get", func(off int64) error {
		r, _, err := bucket.Get(b.Context(), "run.gulp", objstore.GetOptions{IfMatch: o.Info().ETag, Range: objstore.Range{Off: off, Len: frame}})
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = r.Read(p)
		return err
	})
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	each("open-file", func(off int64) error {
		_, err := f.ReadAt(p, off)
		return err
	})
	// The files of a data set in turn: as many as are kept, and one more, of which
	// none is open any more when its turn comes.
	for _, files := range []int64{16, 17} {
		for i := range files {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, frame), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		i := int64(0)
		each(fmt.Sprintf("get-of-%d-files", files), func(int64) error {
			i++
			r, _, err := bucket.Get(b.Context(), fmt.Sprint(i%files), objstore.GetOptions{})
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = r.Read(p)
			return err
		})
	}
}
