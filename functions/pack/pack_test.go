package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is one member of an archive, in order.
type file struct {
	name string
	data []byte
}

// picture is a real JPEG of its own for every seed.
func picture(tb testing.TB, seed int) []byte {
	tb.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 16+seed%7, 12))
	for y := range 12 {
		for x := range m.Rect.Dx() {
			m.Set(x, y, color.RGBA{uint8(x*13 + seed), uint8(y*17 + seed*3), uint8(seed * 31), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func clips(tb testing.TB) []file {
	tb.Helper()
	var fs []file
	for i, clip := range []string{"walk/w1", "walk/w2", "run/r1"} {
		for k := range 4 {
			fs = append(fs, file{fmt.Sprintf("%s/f%d.jpg", clip, k*4), picture(tb, i*10+k)})
		}
	}
	return fs
}

func tarOf(tb testing.TB, fs []file) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range fs {
		h := &tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o644, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func gz(tb testing.TB, p []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(p)
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func zst(tb testing.TB, p []byte) []byte {
	tb.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer e.Close()
	return e.EncodeAll(p, nil)
}

func zipOf(tb testing.TB, method uint16, fs []file) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range fs {
		e, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := e.Write(f.data); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func put(tb testing.TB, b objstore.Bucket, key string, data []byte, meta map[string]string) objstore.Info {
	tb.Helper()
	info, err := objstore.Put(context.Background(), b, key, bytes.NewReader(data), objstore.PutOptions{Meta: meta})
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

// stores are two fresh buckets.
func stores() (in, out *memstore.Bucket) {
	return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
}

// run packs key as an event would.
func run(tb testing.TB, in, out objstore.Bucket, info objstore.Info, o pack.Options) error {
	tb.Helper()
	j := &pack.Job{Out: out, Options: o}
	_, err := j.Run(context.Background(), in, functions.Upload{Bucket: "uploads", Key: info.Key, ETag: info.ETag, Sequencer: "01", Size: info.Size})
	return err
}

// dataset is what a reader finds: frames by id, ids in order, meta_data by id.
type dataset struct {
	IDs    []string
	Frames map[string][][]byte
	Meta   map[string]string
}

func openPair(tb testing.TB, out objstore.Bucket, dataKey, metaKey string) (*gulp.Chunk, *objstore.Object) {
	tb.Helper()
	ctx := context.Background()
	data, err := objstore.Open(ctx, out, dataKey, objstore.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	meta, err := objstore.Open(ctx, out, metaKey, objstore.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	if got := meta.Info().Meta[functions.MetaDataETag]; got != data.Info().ETag {
		tb.Fatalf("the index names data %s, there is %s", got, data.Info().ETag)
	}
	c, err := gulp.Open(ctx, meta, data, gulp.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c, data
}

func frameOf(tb testing.TB, c *gulp.Chunk, data *objstore.Object, id string, i int) []byte {
	tb.Helper()
	f, err := c.Frame(id, i)
	if err != nil {
		tb.Fatal(err)
	}
	p := make([]byte, f.Size)
	if _, err := data.ReadAt(p, f.Off); err != nil && !errors.Is(err, io.EOF) {
		tb.Fatal(err)
	}
	return p
}

func read(tb testing.TB, out objstore.Bucket, key string) dataset {
	tb.Helper()
	c, data := openPair(tb, out, key+".gulp", key+".gmeta")
	d := dataset{Frames: map[string][][]byte{}, Meta: map[string]string{}}
	for it := range c.All() {
		d.IDs = append(d.IDs, it.ID)
		d.Meta[it.ID] = string(it.MetaData)
		for i := range it.Frames {
			d.Frames[it.ID] = append(d.Frames[it.ID], frameOf(tb, c, data, it.ID, i))
		}
	}
	return d
}

func wantOf(fs []file) map[string][][]byte {
	m := map[string][][]byte{}
	for _, f := range fs {
		id := path.Dir(f.name)
		m[id] = append(m[id], f.data)
	}
	return m
}

func TestEveryContainer(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	junk := append([]file{{"walk/", nil}, {".DS_Store", []byte("x")}, {"__MACOSX/walk/._f0.jpg", []byte("y")}}, fs...)
	junk = append(junk, file{"labels.json", []byte(`{"w1": {"label": "slow", "nested": {"a": [1, 2.50]}}, "walk/w2": "brisk", "absent": "x"}`)})
	plain := tarOf(t, junk)
	for name, data := range map[string][]byte{
		"clips.tar": plain, "clips.tar.gz": gz(t, plain), "clips.tar.zst": zst(t, plain), "clips.zip": zipOf(t, zip.Deflate, junk),
		"stored.zip": zipOf(t, zip.Store, junk), "wrong-suffix.jpg": plain, "without": gz(t, plain), "sub dir/ü+%.tgz": gz(t, plain),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := stores()
			if err := run(t, in, out, put(t, in, name, data, map[string]string{"label-split": "train"}), pack.Options{}); err != nil {
				t.Fatal(err)
			}
			got := read(t, out, name)
			want := dataset{IDs: []string{"walk/w1", "walk/w2", "run/r1"}, Frames: wantOf(fs), Meta: map[string]string{
				"walk/w1": `[{"label":"slow","nested":{"a":[1,2.50]},"split":"train"}]`,
				"walk/w2": `[{"label":"brisk","split":"train"}]`,
				"run/r1":  `[{"label":"run","split":"train"}]`,
			}}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	slices.SortFunc(fs, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, closing := range []string{"_SUCCESS", "manifest.json"} {
		t.Run(closing, func(t *testing.T) {
			t.Parallel()
			in, out := stores()
			var keys []string
			for _, f := range fs {
				info := put(t, in, "set/"+f.name, f.data, nil)
				if err := run(t, in, out, info, pack.Options{}); !errors.Is(err, functions.ErrSkip) {
					t.Fatalf("a loose image: %v", err)
				}
				keys = append(keys, f.name)
			}
			put(t, in, "set/labels.csv", []byte("id,label,n\nr1,\"fast, very\",7\n"), nil)
			put(t, in, "settle/other.jpg", fs[0].data, nil)
			text := []byte{}
			if closing != "_SUCCESS" {
				text, _ = json.Marshal(map[string]any{"keys": append(keys, "labels.csv")})
				put(t, in, "set/unlisted/x.jpg", fs[0].data, nil)
			}
			if err := run(t, in, out, put(t, in, "set/"+closing, text, nil), pack.Options{}); err != nil {
				t.Fatal(err)
			}
			stem := map[string]string{"_SUCCESS": "set/frames", "manifest.json": "set/manifest"}[closing]
			got := read(t, out, stem)
			want := map[string][][]byte{}
			for _, clip := range []string{"walk/w1", "walk/w2", "run/r1"} {
				for k := range 4 { // natural order: f4 before f12
					i := slices.IndexFunc(fs, func(f file) bool { return f.name == fmt.Sprintf("%s/f%d.jpg", clip, k*4) })
					want[clip] = append(want[clip], fs[i].data)
				}
			}
			if !cmp.Equal(want, got.Frames) {
				t.Error("other frames, or in another order")
			}
			if got.Meta["run/r1"] != `[{"label":"fast, very","n":7}]` {
				t.Errorf("meta_data %s", got.Meta["run/r1"])
			}
		})
	}
}

func TestLocalFolderEqualsTar(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	fsys := fstest.MapFS{".DS_Store": {Data: []byte("x")}}
	for _, f := range fs {
		fsys[f.name] = &fstest.MapFile{Data: f.data}
	}
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	var read, calls int64
	var done pack.Result
	res, err := pack.Stream(t.Context(), pack.Folder(fsys, "clips", pack.Options{}), w, pack.Options{
		Progress: func(n, _ int64) { read, calls = n, calls+1 }, Done: func(r pack.Result) { done = r }})
	if err == nil {
		err = w.WriteMeta(&meta)
	}
	if err != nil || res.Frames != 12 || res.IDs != 3 || done != res || calls != 12 || read < res.Bytes {
		t.Fatalf("%+v, told %+v, %d bytes in %d calls, %v", res, done, read, calls, err)
	}
	fsys["link.jpg"] = &fstest.MapFile{Data: []byte("walk"), Mode: os.ModeSymlink}
	_, err = pack.Stream(t.Context(), pack.Folder(fsys, "clips", pack.Options{}), gulp.NewWriter(io.Discard, gulp.WriteOptions{}), pack.Options{})
	if !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("a link: %v", err)
	}
}

// TestRealPhotographs packs the JPEGs of Go's own source tree: baseline,
// progressive, gray, CMYK, with restart markers.
func TestRealPhotographs(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "image", "testdata")
	names, err := filepath.Glob(filepath.Join(dir, "*.jpeg"))
	if err != nil || len(names) < 10 {
		t.Fatalf("no Go source tree: %v, %d files", err, len(names))
	}
	var good []file
	for _, n := range names {
		p, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, file{"go/" + filepath.Base(n), p})
	}
	in, out := stores()
	if err := run(t, in, out, put(t, in, "go.tar", tarOf(t, good), nil), pack.Options{}); err != nil {
		t.Fatal(err)
	}
	got := read(t, out, "go.tar").Frames["go"]
	if len(got) != len(good) {
		t.Fatalf("%d frames, want %d", len(got), len(good))
	}
	for _, f := range good { // each is there, untouched
		if !slices.ContainsFunc(got, func(p []byte) bool { return bytes.Equal(p, f.data) }) {
			t.Errorf("%s is not there", f.name)
		}
	}
}

// TestTruncation cuts every container at every interesting length: nothing may
// be published, and the error must say that the upload is at fault.
func TestTruncation(t *testing.T) {
	t.Parallel()
	fs := clips(t)[:3]
	plain := tarOf(t, fs)
	for name, data := range map[string][]byte{
		"a.tar": plain, "a.tar.gz": gz(t, plain), "a.tar.zst": zst(t, plain), "a.zip": zipOf(t, zip.Deflate, fs),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end := len(data)
			if name == "a.tar" {
				end = len(bytes.TrimRight(data, "\x00")) + 1 // what is left of the end may go
				end += tarPad(end)
			}
			for n := 0; n < end; n += 1 + n/97 {
				checkCut(t, name, data[:n])
			}
			for n := max(0, end-64); n < end; n++ {
				checkCut(t, name, data[:n])
			}
		})
	}
}

func tarPad(n int) int { return (512 - n%512) % 512 }

func checkCut(t *testing.T, name string, data []byte) {
	t.Helper()
	in, out := stores()
	err := run(t, in, out, put(t, in, name, data, nil), pack.Options{})
	if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	for info, err := range out.List(t.Context(), "") {
		t.Fatalf("%d bytes: %s was published, %v", len(data), info.Key, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ok := file{"a/1.jpg", picture(t, 1)}
	tarWith := func(h tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write(ok.data[:h.Size])
		w.Close()
		return b.Bytes()
	}
	flip := func(p []byte, sig string, at int, v byte) []byte {
		p = bytes.Clone(p)
		for i := 0; ; {
			k := bytes.Index(p[i:], []byte(sig))
			if k < 0 {
				return p
			}
			p[i+k+at] = v
			i += k + 4
		}
	}
	z := zipOf(t, zip.Deflate, []file{ok})
	small := pack.Options{Limits: pack.Limits{Entries: 3, Frame: 4096, Bytes: 10_000, Text: 100, Name: 40, Depth: 4}}
	bomb := tarOf(t, []file{{"._zeros", make([]byte, 20<<20)}, ok})
	for name, c := range map[string]struct {
		data []byte
		o    pack.Options
		want error
	}{
		"dotdot.tar":      {tarOf(t, []file{{"a/../../b.jpg", ok.data}}), pack.Options{}, formats.ErrCorrupt},
		"absolute.tar":    {tarOf(t, []file{{"/etc/b.jpg", ok.data}}), pack.Options{}, formats.ErrCorrupt},
		"drive.zip":       {zipOf(t, zip.Store, []file{{`c:\b.jpg`, ok.data}}), pack.Options{}, formats.ErrCorrupt},
		"backslash.zip":   {zipOf(t, zip.Store, []file{{`a\..\..\b.jpg`, ok.data}}), pack.Options{}, formats.ErrCorrupt},
		"control.zip":     {zipOf(t, zip.Store, []file{{"a/\x00b.jpg", ok.data}}), pack.Options{}, formats.ErrCorrupt},
		"latin1.tar":      {append(gnuMember("a/\xfcb.jpg", tar.TypeReg, ok.data, 0), make([]byte, 1024)...), pack.Options{}, formats.ErrCorrupt},
		"symlink.tar":     {tarWith(tar.Header{Name: "a/b.jpg", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), pack.Options{}, formats.ErrUnsupported},
		"hardlink.tar":    {tarWith(tar.Header{Name: "a/b.jpg", Typeflag: tar.TypeLink, Linkname: "a/c.jpg"}), pack.Options{}, formats.ErrUnsupported},
		"device.tar":      {tarWith(tar.Header{Name: "a/b.jpg", Typeflag: tar.TypeChar}), pack.Options{}, formats.ErrUnsupported},
		"twice.tar":       {tarOf(t, []file{ok, ok}), pack.Options{}, formats.ErrCorrupt},
		"twice.zip":       {zipOf(t, zip.Store, []file{ok, {"a/0.jpg", ok.data}, ok}), pack.Options{}, formats.ErrCorrupt},
		"text.tar":        {tarOf(t, []file{ok, {"a/readme.txt", []byte("hello")}}), pack.Options{}, formats.ErrUnsupported},
		"broken.tar":      {tarOf(t, []file{{"a/1.jpg", ok.data[:len(ok.data)-2]}}), pack.Options{}, formats.ErrCorrupt},
		"empty.tar":       {tarOf(t, nil), pack.Options{}, formats.ErrUnsupported},
		"empty.zip":       {zipOf(t, zip.Store, nil), pack.Options{}, formats.ErrUnsupported},
		"no-bytes.tar":    {nil, pack.Options{}, formats.ErrCorrupt},
		"junk.gz":         {bytes.Repeat([]byte("junk"), 999), pack.Options{}, formats.ErrUnsupported},
		"not-a.tar.gz":    {gz(t, bytes.Repeat([]byte("junk"), 999)), pack.Options{}, formats.ErrCorrupt},
		"encrypted.zip":   {flip(z, "PK\x01\x02", 8, 1|8), pack.Options{}, formats.ErrUnsupported},
		"disks.zip":       {flip(z, "PK\x05\x06", 4, 1), pack.Options{}, formats.ErrUnsupported},
		"method.zip":      {flip(z, "PK\x01\x02", 10, 12), pack.Options{}, formats.ErrUnsupported},
		"crc.zip":         {flip(z, "PK\x01\x02", 16, 0x55), pack.Options{}, formats.ErrCorrupt},
		"size.zip":        {flip(z, "PK\x01\x02", 24, 0x55), pack.Options{}, formats.ErrCorrupt},
		"offset.zip":      {flip(z, "PK\x01\x02", 42, 9), pack.Options{}, formats.ErrCorrupt},
		"many.tar":        {tarOf(t, []file{ok, {"a/2.jpg", ok.data}, {"a/3.jpg", ok.data}, {"a/4.jpg", ok.data}}), small, formats.ErrTooLarge},
		"many.zip":        {zipOf(t, zip.Store, []file{ok, {"a/2.jpg", ok.data}, {"a/3.jpg", ok.data}, {"a/4.jpg", ok.data}}), small, formats.ErrTooLarge},
		"frame.tar":       {tarOf(t, []file{{"a/1.jpg", append(bytes.Clone(ok.data), make([]byte, 5000)...)}}), small, formats.ErrTooLarge},
		"total.zip":       {zipOf(t, zip.Deflate, []file{{"._a", make([]byte, 11_000)}}), small, formats.ErrTooLarge},
		"name.tar":        {tarOf(t, []file{{strings.Repeat("a", 41) + ".jpg", ok.data}}), small, formats.ErrTooLarge},
		"deep.tar":        {tarOf(t, []file{{"a/b/c/d/e/f.jpg", ok.data}}), small, formats.ErrTooLarge},
		"bomb.tar.gz":     {gz(t, bomb), pack.Options{}, formats.ErrTooLarge},
		"bomb.tar.zst":    {zst(t, bomb), pack.Options{}, formats.ErrTooLarge},
		"bomb.zip":        {zipOf(t, zip.Deflate, []file{{"._zeros", make([]byte, 20<<20)}, ok}), pack.Options{}, formats.ErrTooLarge},
		"trailing.tar":    {append(tarOf(t, []file{ok}), tarOf(t, []file{ok})...), pack.Options{}, formats.ErrCorrupt},
		"labels.tar":      {tarOf(t, []file{ok, {"labels.json", []byte("nonsense")}}), pack.Options{}, formats.ErrCorrupt},
		"labels2.tar":     {tarOf(t, []file{ok, {"labels.csv", []byte("name,label\na,b\n")}}), pack.Options{}, formats.ErrCorrupt},
		"labels-big.tar":  {tarOf(t, []file{ok, {"labels.csv", bytes.Repeat([]byte("id,label\n"), 50)}}), small, formats.ErrTooLarge},
		"device-name.tar": {tarOf(t, []file{{"CON/1.jpg", ok.data}}), pack.Options{}, formats.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := stores()
			err := run(t, in, out, put(t, in, name, c.data, nil), c.o)
			if !errors.Is(err, c.want) {
				t.Fatalf("want %v, got %v", c.want, err)
			}
			for info, err := range out.List(t.Context(), "") {
				t.Errorf("%s was published, %v", info.Key, err)
			}
		})
	}
}

// TestInterleaved: frames of several ids may alternate. Frames that do not come
// in the order of their names are put into it.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	mixed := make([]file, 0, len(fs))
	for k := range 4 {
		for c := range 3 {
			mixed = append(mixed, fs[c*4+k])
		}
	}
	backward := slices.Clone(fs)
	slices.Reverse(backward)
	for name, c := range map[string]struct {
		data []byte
		want map[string][][]byte
	}{
		"m.tar": {tarOf(t, mixed), wantOf(fs)}, "m.zip": {zipOf(t, zip.Deflate, mixed), wantOf(fs)},
		"b.tar": {tarOf(t, backward), wantOf(fs)}, "b.zip": {zipOf(t, zip.Store, backward), wantOf(fs)},
	} {
		in, out := stores()
		if err := run(t, in, out, put(t, in, name, c.data, nil), pack.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, out, name).Frames; !cmp.Equal(c.want, got) {
			t.Errorf("%s: other frames, or in another order", name)
		}
	}
}

// shelf is a writer whose index can be reordered.
type shelf struct{ frames map[string][]string }

func (s *shelf) WriteFrame(id string, p []byte) error {
	s.frames[id] = append(s.frames[id], string(p))
	return nil
}

func (s *shelf) AddMeta(string, json.RawMessage) error { return nil }

func (s *shelf) Reorder(id string, order []int) error {
	sorted := make([]string, len(order))
	for k, i := range order {
		sorted[k] = s.frames[id][i]
	}
	s.frames[id] = sorted
	return nil
}

func TestReorder(t *testing.T) {
	t.Parallel()
	in, _ := stores()
	var fs []file
	want := map[string][]string{}
	for i := range 12 {
		fs = append(fs, file{fmt.Sprintf("c/f%d.jpg", i), picture(t, i)})
		want["c"] = append(want["c"], string(fs[i].data))
	}
	slices.SortFunc(fs, func(a, b file) int { return strings.Compare(a.name, b.name) }) // as most tools sort: f1, f10, f11, f2
	put(t, in, "c.tar", tarOf(t, fs), nil)
	src, err := pack.Open(t.Context(), in, "c.tar", pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &shelf{map[string][]string{}}
	res, err := pack.Stream(t.Context(), src, w, pack.Options{})
	if err != nil || res.Unordered != 1 || !cmp.Equal(want, w.frames) {
		t.Fatalf("%+v, %v", res, err)
	}
}
