package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// FuzzArchive feeds archives of every kind. Whatever they hold, the job ends
// with one of the sentinels, or with a chunk that its reader accepts.
func FuzzArchive(f *testing.F) {
	fs := append(clips(f)[:2], file{"labels.csv", []byte("id,label\nw1,x\n")}, file{"a/labels.json", []byte(`{"w2":{"label":1}}`)})
	plain := tarOf(f, fs)
	for _, p := range [][]byte{plain, gz(f, plain), zst(f, plain), zipOf(f, zip.Store, fs), zipOf(f, zip.Deflate, fs)} {
		f.Add(p)
	}
	samples := tree(f, "0.cls=1\n0.png=photo.png\n0.json={\"a\":[1]}\n0.txt=x\n1.avif=photo.avif\n1.webp=alpha.webp\n2.gif=photo.gif\nlabels.csv=file;n\\n2.gif;3")
	f.Add(tarOf(f, samples))
	f.Add(zipOf(f, zip.Store, samples))
	f.Fuzz(func(t *testing.T, p []byte) {
		ctx := context.Background()
		b := memstore.New(memstore.Config{})
		if _, err := objstore.Put(ctx, b, "x.zip", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		o := pack.Options{Limits: pack.Limits{Bytes: 1 << 20, Frame: 1 << 16, Entries: 100, Text: 1 << 12}}
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		src, err := pack.Open(ctx, b, "x.zip", o)
		if err == nil {
			_, err = pack.Stream(ctx, src, w, o)
		}
		if err != nil {
			if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrTooLarge) {
				t.Fatalf("no sentinel: %v", err)
			}
			return
		}
		if err := w.WriteMeta(&meta); err != nil {
			t.Fatal(err)
		}
		if _, err := gulp.Open(ctx, rangeio.FromReaderAt(bytes.NewReader(meta.Bytes()), int64(meta.Len())), rangeio.FromReaderAt(bytes.NewReader(data.Bytes()), int64(data.Len())), gulp.Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
