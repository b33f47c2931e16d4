//go:build peers

package peers

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A photo is a file of an upload with the size of its image.
type photo struct {
	name     string
	data     []byte
	size     image.Point
	channels int
}

// photos are clips of real photographs, from Go's own source, and of images that
// Go encodes, in the order in which their frames stand in a gulp.
func photos(t *testing.T) []photo {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src/image/testdata/*.jpeg"))
	if err != nil {
		t.Fatal(err)
	}
	var out []photo
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(f, "truncated"):
			continue // refused, as it should be: see the tests of pack
		case strings.Contains(f, "410"):
			continue // a subsampling that GulpIO's decoder does not know
		}
		channels := 3
		switch c.ColorModel {
		case color.GrayModel:
			channels = 1
		case color.CMYKModel:
			channels = 4
		}
		out = append(out, photo{fmt.Sprintf("photos/all/f%d.jpg", len(out)), data, image.Pt(c.Width, c.Height), channels})
	}
	if len(out) < 15 {
		t.Fatalf("only %d photographs in %s", len(out), root)
	}
	for i, id := range []string{"walk/häuser", "walk/w 2", "run/中"} {
		for k := range 12 {
			m := image.NewRGBA(image.Rect(0, 0, 33+k, 20+i))
			for y := range m.Rect.Dy() {
				for x := range m.Rect.Dx() {
					m.SetRGBA(x, y, color.RGBA{uint8(x * 7), uint8(y * 11 * k), uint8(i * 80), 255})
				}
			}
			var b bytes.Buffer
			if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 60 + k}); err != nil {
				t.Fatal(err)
			}
			out = append(out, photo{fmt.Sprintf("%s/f%d.jpg", id, k), b.Bytes(), m.Rect.Size(), 3})
		}
	}
	return out
}

// TestPack: the pack job's outputs, from each kind of upload, hold the very
// bytes that went in, in GulpIO's eyes, and its JPEG decoder takes them.
func TestPack(t *testing.T) {
	ps := photos(t)
	uploads := map[string][]byte{
		"clips.tar":     tarball(t, ps, func(w io.Writer) io.WriteCloser { return plain{w} }),
		"clips.tar.gz":  tarball(t, ps, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"clips.tar.zst": tarball(t, ps, zstdWriter(t)),
		"clips.zip":     zipped(t, ps),
	}
	src, out := memstore.New(memstore.Config{Name: "s3://uploads"}), memstore.New(memstore.Config{Name: "s3://packed"})
	for key, data := range uploads {
		put(t, src, key, data)
	}
	for _, p := range ps {
		put(t, src, "loose/"+p.name, p.data)
	}
	put(t, src, "loose/_SUCCESS", nil)

	dir := t.TempDir()
	var files []string
	var want []folder
	job := pack.Job{Out: out, Prefix: "gulp/"}
	for _, key := range []string{"clips.tar", "clips.tar.gz", "clips.tar.zst", "clips.zip", "loose/_SUCCESS"} {
		infos, err := job.Run(t.Context(), src, functions.Upload{Bucket: "uploads", Key: key})
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		for _, in := range infos {
			name := strings.ReplaceAll(in.Key, "/", "-")
			save(t, out, in.Key, filepath.Join(dir, name))
			if strings.HasSuffix(name, ".gulp") {
				files = append(files, filepath.Join(dir, name))
				want = append(want, packed(ps, name, strings.HasPrefix(key, "loose")))
			}
		}
	}
	if len(files) != 5 {
		t.Fatalf("outputs: %v", files)
	}
	got := read(t, true, files...)
	same(t, want, got)
	for i, f := range files {
		sharedReader(t, true, f, got[i])
	}
}

// packed is what GulpIO should see of the photographs.
func packed(ps []photo, name string, natural bool) folder {
	c := chunk{Name: name}
	ids := []string{}
	by := map[string]*item{}
	for _, p := range ps {
		id := path.Dir(p.name)
		if by[id] == nil {
			by[id] = &item{ID: id}
			ids = append(ids, id)
		}
		f := frameOf(p.data)
		f.Shape = []int{p.size.Y, p.size.X, p.channels}
		if p.channels == 1 {
			f.Shape = f.Shape[:2]
		}
		by[id].Frames = append(by[id].Frames, f)
	}
	if natural { // a folder is listed in the order of names
		ids = []string{"photos/all", "run/中", "walk/häuser", "walk/w 2"}
	}
	for _, id := range ids {
		it := by[id]
		label := map[string]any{"label": path.Dir(id)}
		it.MetaData, it.First = []any{label}, label
		c.Items = append(c.Items, *it)
	}
	return folder{Chunks: []chunk{c}}
}

func put(t *testing.T, b objstore.Bucket, key string, data []byte) {
	t.Helper()
	if _, err := objstore.Put(t.Context(), b, key, bytes.NewReader(data), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, b objstore.Bucket, key, file string) {
	t.Helper()
	body, _, err := b.Get(t.Context(), key, objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

func zstdWriter(t *testing.T) func(io.Writer) io.WriteCloser {
	t.Helper()
	return func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
}

func tarball(t *testing.T, ps []photo, wrap func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	z := wrap(&b)
	w := tar.NewWriter(z)
	for _, p := range ps {
		if err := w.WriteHeader(&tar.Header{Name: p.name, Size: int64(len(p.data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p.data); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zipped(t *testing.T, ps []photo) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i, p := range ps {
		f, err := w.CreateHeader(&zip.FileHeader{Name: p.name, Method: []uint16{zip.Store, zip.Deflate}[i%2]})
		if err == nil {
			_, err = f.Write(p.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
