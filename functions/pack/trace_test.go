package pack_test

import (
	"archive/zip"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
)

// TestTraces pins the cost of each kind of upload: no byte is requested twice, however
// many functions look at it.
func TestTraces(t *testing.T) {
	t.Parallel()
	x := newCube(t, 20_000)
	note := []byte(`{"dtype":"<i4","shape":[20000]}`)
	photos := clips(t)
	lines := []byte(strings.Repeat("0123456789 a line\n", 6000))
	big := noise(100_000, 3)
	var docs []file
	for i := range 3 {
		docs = append(docs, file{fmt.Sprintf("d/%d.bin", i), noise(50_000, i)})
	}
	var log tracetest.Log
	for _, c := range []struct {
		key, format, records string
		data                 []byte
		others               []file // beside it
	}{
		{key: "a.npy", data: x.npyC},
		{key: "fortran.npy", data: x.npyF, format: "b2nd"},
		{key: "a.npz", data: npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "b.npy": x.npyF})},
		{key: "raw", data: x.c, others: []file{{"raw.json", note}}},
		{key: "late.json", data: note, others: []file{{"late", x.c}}},
		{key: "waits", data: x.c, format: "b2nd"},
		{key: "clips.tar", data: tarOf(t, photos)},
		{key: "clips.tar.gz", data: gz(t, tarOf(t, photos))},
		{key: "clips.zip", data: zipOf(t, zip.Store, photos)},
		{key: "clips/_SUCCESS", others: []file{{"clips/a/1.jpg", photos[0].data}, {"clips/a/2.jpg", photos[0].data}}},
		{key: "docs.tar", data: tarOf(t, docs)},
		{key: "docs.tar.gz", data: gz(t, tarOf(t, docs))},
		{key: "docs.zip", data: zipOf(t, zip.Store, docs)},
		{key: "a.txt", data: lines},
		{key: "a.txt.gz", data: gz(t, append(lines, big...))},
		{key: "empty.txt"},
		{key: "a.bin", data: big},
		{key: "array.npy", data: x.npyC, format: "bloscpack"},
		{key: "photo.jpg", data: photos[0].data},
		{key: "forced.jpg", data: photos[0].data, format: "bloscpack", records: "chunks"},
	} {
		a := newArrayJob()
		a.job.Format = c.format
		var err error
		if a.job.Records, err = pack.ParseRecords(c.records); err != nil {
			t.Fatal(err)
		}
		for _, f := range c.others {
			a.put(t, f.name, f.data)
		}
		u := a.put(t, c.key, c.data)
		infos, err := a.job.Run(t.Context(), objstore.Chain(a.in, log.Middleware()), u)
		log.Step(fmt.Sprintf("%s, %d bytes, format %q", c.key, len(c.data), c.format))
		text := make([]string, 0, len(infos))
		for _, in := range infos {
			text = append(text, fmt.Sprintf("%s %d", in.Key, in.Size))
		}
		log.Note(fmt.Sprintf("%v, %v", text, err))
	}
	log.Golden(t, "testdata/uploads.trace")
}
