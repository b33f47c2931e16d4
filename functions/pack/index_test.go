package pack_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// manyFrames is an archive of ids with so many frames in all that their .gmeta is worth
// an index.
func manyFrames(tb testing.TB, ids int) []byte {
	tb.Helper()
	p := picture(tb, 1)
	var fs []file
	for i := range 4000 {
		fs = append(fs, file{name: fmt.Sprintf("c%03d/%04d.jpg", i%ids, i), data: p})
	}
	return tarOf(tb, fs)
}

// beside opens the index beside an output.
func beside(tb testing.TB, out objstore.Bucket, key string) (*gulp.Chunk, *gulpindex.Index, error) {
	tb.Helper()
	c, _ := openPair(tb, out, key+gulp.DataSuffix, key+gulp.MetaSuffix)
	side, err := objstore.Open(tb.Context(), out, key+gulp.DataSuffix+index.Suffix, objstore.OpenOptions{})
	if err != nil {
		return c, nil, err
	}
	data, err := objstore.Open(tb.Context(), out, key+gulp.DataSuffix, objstore.OpenOptions{})
	meta, err2 := out.Head(tb.Context(), key+gulp.MetaSuffix)
	if err := errors.Join(err, err2); err != nil {
		tb.Fatal(err)
	}
	x, err := gulpindex.Open(tb.Context(), side, data, gulpindex.Pair{
		Data: gulpindex.Version{Size: data.Size(), ETag: data.Info().ETag},
		Meta: gulpindex.Version{Size: meta.Size, ETag: meta.ETag}}, gulpindex.Options{})
	if err == nil {
		err = x.Verify(tb.Context(), c)
	}
	return c, x, err
}

// TestIndex: a job writes an index beside a gulp with many frames and none beside one
// with few. An upload of few frames that replaces the first leaves no index, nor does one
// that becomes of another kind.
func TestIndex(t *testing.T) {
	t.Parallel()
	in, out := stores()
	pair := func(data []byte) {
		t.Helper()
		if err := run(t, in, out, put(t, in, "x.bin", data, nil), pack.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	pair(tarOf(t, clips(t)))
	if _, _, err := beside(t, out, "x.bin"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("few frames: %v", err)
	}
	for _, ids := range []int{3, 700} {
		pair(manyFrames(t, ids))
		c, x, err := beside(t, out, "x.bin")
		if err != nil || c.Len() != ids || x.Totals() != c.Totals() {
			t.Fatalf("%d ids: %v", ids, err)
		}
	}
	pair(tarOf(t, clips(t)))
	if _, _, err := beside(t, out, "x.bin"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("few frames in place of many: %v", err)
	}
	pair(manyFrames(t, 3))
	pair([]byte(strings.Repeat("a line\n", 100)))
	for info, err := range out.List(t.Context(), "") {
		if err != nil || !strings.HasSuffix(info.Key, ".blp") {
			t.Errorf("after the upload became lines: %s, %v", info.Key, err)
		}
	}
}

// TestIndexNoETag: of objects whose store gave no ETag, or a weak one, there is no index, and
// no error.
func TestIndexNoETag(t *testing.T) {
	t.Parallel()
	w := gulp.NewWriter(io.Discard, gulp.WriteOptions{})
	if err := w.WriteFrame("a", []byte("frame")); err != nil {
		t.Fatal(err)
	}
	of := func(etag string) objstore.Info { return objstore.Info{Size: 1 << 20, ETag: etag} }
	for _, etags := range [][2]string{{"d", "m"}, {"", "m"}, {"d", ""}, {"d", `W/"m"`}} {
		p, err := pack.BuildIndex(w, of(etags[0]), of(etags[1]))
		if err != nil || (p != nil) != (etags[1] == "m" && etags[0] == "d") {
			t.Errorf("%q: an index of %d bytes, %v", etags, len(p), err)
		}
	}
}
