package pack

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
)

// fixtures are the images of testdata/images by their names.
func fixtures(tb testing.TB) map[string][]byte {
	tb.Helper()
	names, err := filepath.Glob("testdata/images/*.*")
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		if filepath.Ext(n) == ".py" {
			continue
		}
		if out[filepath.Base(n)], err = os.ReadFile(n); err != nil {
			tb.Fatal(err)
		}
	}
	if len(out) < 12 {
		tb.Fatalf("%d images", len(out))
	}
	return out
}

// TestImageKinds: whole images pass, with bytes behind them, too; every piece of one is refused.
func TestImageKinds(t *testing.T) {
	t.Parallel()
	types := map[string]string{".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif", ".avif": "image/avif"}
	for name, p := range fixtures(t) {
		for _, tail := range []string{"", "\x00", "tail of a camera"} {
			kind, err := checkImage(append(p[:len(p):len(p)], tail...))
			if media := imageKinds()[kind].media; tail == "tail of a camera" && strings.HasSuffix(name, ".avif") {
				if !errors.Is(err, formats.ErrCorrupt) { // an AVIF ends with its file: this would be a box
					t.Errorf("%s with a tail: %v", name, err)
				}
			} else if err != nil || media != types[filepath.Ext(name)] {
				t.Errorf("%s with %d bytes behind it: %s, %v", name, len(tail), media, err)
			}
		}
		for n := range p {
			if _, err := checkImage(p[:n]); !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%s, the first %d of %d bytes: %v", name, n, len(p), err)
			}
		}
	}
	fs := fixtures(t)
	edit := func(name string, at int, to string) []byte {
		p := append([]byte(nil), fs[name]...)
		if at < 0 {
			at += len(p)
		}
		copy(p[at:], to)
		return p
	}
	sum := func(chunk string) string {
		return string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(chunk))))
	}
	for want, p := range map[string][]byte{
		"not a JPEG, PNG, WebP, AVIF or GIF":    []byte("BM123456789012345678"),
		`PNG has "iHDR" as chunk 0`:             edit("photo.png", 12, "i"),
		`PNG chunk "IHDR" at 8 has another`:     edit("photo.png", 20, "\x01"),
		`has 4294967295 bytes`:                  edit("photo.png", 8, "\xff\xff\xff\xff"),
		"PNG without width and height":          edit("photo.png", 16, "\x00\x00\x00\x00\x00\x00\x00\x20\x08\x03\x00\x00\x00"+sum("IHDR\x00\x00\x00\x00\x00\x00\x00\x20\x08\x03\x00\x00\x00")),
		"GIF without an image":                  []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;"),
		"GIF has 0x00 at 13":                    []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00\x00"),
		"GIF ends in its header":                []byte("GIF89a\x01"),
		"WebP of 4294967295 bytes":              edit("photo.webp", 4, "\xff\xff\xff\xff"),
		`WebP begins with chunk "ALPH"`:         edit("photo.webp", 12, "ALPH"),
		"WebP without a key frame":              edit("photo.webp", 23, "x"),
		"WebP without the signature":            edit("lossless.webp", 20, "x"),
		"WebP without an image":                 []byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x001234567890"),
		"AVIF without a description":            edit("photo.avif", strings.Index(string(fs["photo.avif"]), "meta"), "free"),
		`AVIF box "meta"`:                       edit("photo.avif", strings.Index(string(fs["photo.avif"]), "meta")-4, "\x7f"),
		`AVIF ends in the header of a box`:      []byte("\x00\x00\x00\x14ftypavif\x00\x00\x00\x00avif\x00\x00\x00\x01meta"),
		`AVIF box "meta" at 20 has 46116860184`: []byte("\x00\x00\x00\x14ftypavif\x00\x00\x00\x00avif\x00\x00\x00\x01meta\xff\xff\xff\xff\xff\xff\xff\xff"),
	} {
		if _, err := checkImage(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// FuzzImage: whatever an image holds, its check ends, with one of the sentinels or none.
func FuzzImage(f *testing.F) {
	for _, p := range fixtures(f) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		kind, err := checkImage(p)
		if err == nil && !imageKinds()[kind].is(p) || err != nil && !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("kind %d, %v", kind, err)
		}
	})
}

// TestLayoutByNames: names that leave no doubt.
func TestLayoutByNames(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]Layout{
		"":                              Clips,
		"a/0.jpg a/1.jpg a/2.jpg":       Clips,
		"cat_1.jpg cat_2.jpg dog_1.jpg": Clips,
		"photo.jpg other.jpg":           Clips, // too few
		"a.jpg b.png c.webp d.gif e.avif f.jpeg g.jpg h.jpg":                                      Flat,
		"x/a.jpg x/b.png x/c.webp x/d.gif x/e.avif x/f.jpeg x/g.jpg x/h.jpg":                      Flat,
		"a_1.jpg b_1.png c_1.webp d_1.gif e_1.avif f_1.jpeg g_1.jpg h_1.jpg":                      Clips, // ids of one frame
		"x/a.jpg x/b.jpg x/c.jpg x/d.jpg y/e.jpg y/f.jpg y/g.jpg y/h.jpg":                         ImageFolder,
		"x/a.jpg x/b.jpg x/c.jpg y/d.jpg y/e.jpg y/f.jpg z/g.jpg z/h.jpg":                         Clips, // not eight in folders of three
		"x/a.jpg x/b.jpg x/c.jpg x/d.jpg y/a.jpg y/b.jpg y/c.jpg y/d.jpg":                         Clips, // views
		"x/a.jpg x/b.jpg x/c.jpg x/d.jpg x/e.jpg x/f.jpg x/g.jpg x/h.jpg y/0.jpg y/1.jpg y/2.jpg": Clips,
		"x/3f9a.jpg x/b21c.jpg x/77de.jpg x/c0c0.jpg y/ab12.jpg y/9e9e.jpg y/f00d.jpg y/1dea.jpg": ImageFolder,
		"0.cls 0.jpg":                                                 WebDataset,
		"0.jpg 0.json 0.txt 1.jpg":                                    WebDataset,
		"s/0.jpg s/0.cls s/1.jpg s/1.cls":                             WebDataset,
		"readme.txt readme.md a/0.jpg a/1.jpg":                        Clips,
		".DS_Store labels.csv labels.json a/0.jpg __MACOSX/a/._0.jpg": Clips,
		"a.seg.png a.jpg a.cls":                                       WebDataset,
	} {
		g := newGuess()
		for _, n := range strings.Fields(names) {
			g.add(n)
		}
		if got := g.found(); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
	for name, want := range map[string][2]string{"a": {"a", ""}, "d.x/a": {"d.x/a", ""}, "d/a.seg.PNG": {"d/a", "seg.png"}, ".a.jpg": {".a", "jpg"}, "d/.a": {"d/.a", ""}, "": {"", ""}} {
		if key, ext := sampleOf(name); key != want[0] || ext != want[1] {
			t.Errorf("%s: %q, %q", name, key, ext)
		}
	}
	if _, err := ParseLayout("rows"); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "want one of clips, imagefolder, webdataset, flat") {
		t.Error(err)
	}
}
