package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/flawedtest"
)

// noise are bytes that no codec can compress.
func noise(n, seed int) []byte {
	p := make([]byte, n)
	x := uint32(seed)*2654435761 + 1
	for i := range p {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		p[i] = byte(x >> 11)
	}
	return p
}

// everyFormat writes a dataset of each format, of about kib KiB, into dir. It returns
// the arguments of get for each.
func everyFormat(t *testing.T, dir string, kib int) map[string][]string {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	for i := range 8 {
		if err := w.WriteFrame("id", noise(kib*128, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x.gulp"), data.Bytes())
	write(t, filepath.Join(dir, "x.gmeta"), meta.Bytes())
	raw := filepath.Join(dir, "x.raw")
	write(t, raw, noise(kib<<10, 9))
	write(t, raw+".json", fmt.Appendf(nil, `{"dtype":"|u1","shape":[%d,1024]}`, kib))
	run(t, "pack", raw, filepath.Join(dir, "x.b2nd"), "--chunk-shape", "32,1024")
	run(t, "pack", raw, filepath.Join(dir, "x.b2frame"), "--chunk", "32KiB")
	run(t, "pack", raw, filepath.Join(dir, "x.blp"), "--chunk", "32KiB")
	write(t, filepath.Join(dir, "wave.raw"), noise(kib<<10, 10))
	write(t, filepath.Join(dir, "wave.raw.json"), fmt.Appendf(nil, `{"dtype":"|u1","shape":[%d],"rate":1000}`, kib<<10))
	run(t, "pack", filepath.Join(dir, "wave.raw"), filepath.Join(dir, "x.zoom"))
	return map[string][]string{"x.gulp": {"--id", "id"}, "x.b2nd": nil, "x.b2frame": nil, "x.blp": nil, "x.zoom": {"--track", "1"}}
}

// TestAnswers: if a server's answers are wrong in any way, get writes the same as from
// the local file, or nothing and one line, over HTTP and over S3.
func TestAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selectors := everyFormat(t, dir, 400)
	cases := map[string]flawedtest.Case{}
	for _, c := range flawedtest.Cases() {
		cases[c.Name] = c
	}
	for name, code := range map[string]int{
		"206 a byte short, once":                           exitOK,
		"206 of the first half, once":                      exitOK,
		"206 of the first half, with more behind it, once": exitOK,
		"less announced than asked, once":                  exitOK,
		"half announced, once":                             exitOK,
		"one byte short, once":                             exitOK,
		"cut in the middle, once":                          exitOK,
		"Content-Encoding gzip from the second answer on":  exitUnavailable,
		"another representation from the second answer on": exitChanged,
		"200 with the whole object":                        exitUnavailable,
		"206 of several ranges":                            exitUnavailable,
	} {
		c, ok := cases[name]
		if !ok {
			t.Fatalf("no case %q", name)
		}
		for file, sel := range selectors {
			for _, scheme := range []string{"http", "s3"} {
				t.Run(strings.Join([]string{name, file, scheme}, "/"), func(t *testing.T) {
					t.Parallel()
					s := serve(t, dir)
					out := t.TempDir()
					want := getFrom(t, filepath.Join(dir, file), filepath.Join(out, "want"), sel, nil)
					if want.code != 0 {
						t.Fatal(want.stderr)
					}
					c.Spoil(s)
					uri, flags := s.Base()+file, []string(nil)
					if scheme == "s3" {
						uri, flags = "s3://data/"+file, []string{"--endpoint-url", s.URL, "--no-sign-request", "--path-style", "--region", "us-east-1"}
					}
					got := getFrom(t, uri, filepath.Join(out, "got"), sel, flags)
					if got.code != code || code != 0 && strings.Count(got.stderr, "\n") != 1 {
						t.Errorf("exit %d %q, want %d", got.code, got.stderr, code)
					}
					if name == "200 with the whole object" && !strings.Contains(got.stderr, "ignores Range") {
						t.Errorf("%q", got.stderr)
					}
					wrote := files(t, out)
					if code != 0 && len(wrote) != len(files(t, filepath.Join(out, "want"))) {
						t.Errorf("left %d files", len(wrote))
					}
					for name, p := range wrote {
						if rest, ok := strings.CutPrefix(name, "got"); ok && wrote["want"+rest] != p {
							t.Errorf("%s is not what the local file gives", name)
						}
					}
				})
			}
		}
	}
}

// TestNoRange: if a server ignores Range, an object that fits into the first answer is
// read as usual. For a longer one the error says what to do.
func TestNoRange(t *testing.T) {
	t.Parallel()
	for _, kib := range []int{4, 150, 400} {
		dir := t.TempDir()
		selectors := everyFormat(t, dir, kib)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// Python's http.server answers like this: no ETag, a date, and the whole
			// object.
			r.Header.Del("Range")
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
		}))
		t.Cleanup(s.Close)
		for file, sel := range selectors {
			out := t.TempDir()
			want := getFrom(t, filepath.Join(dir, file), filepath.Join(out, "want"), sel, nil)
			got := getFrom(t, s.URL+"/"+file, filepath.Join(out, "got"), sel, nil)
			if want.code != 0 {
				t.Fatal(want.stderr)
			}
			if kib > 256 {
				if got.code != exitUnavailable || !strings.Contains(got.stderr, "the server ignores Range") || !strings.Contains(got.stderr, "download the file") {
					t.Errorf("%s of %d KiB: exit %d %q", file, kib, got.code, got.stderr)
				}
				continue
			}
			if got.code != 0 {
				t.Errorf("%s of %d KiB: exit %d %q", file, kib, got.code, got.stderr)
			}
			wrote := files(t, out)
			for name, p := range wrote {
				if rest, ok := strings.CutPrefix(name, "want"); ok && wrote["got"+rest] != p {
					t.Errorf("%s is not what the local file gives", name)
				}
			}
		}
	}
}

// serve serves the files of dir, without faults at first.
func serve(t *testing.T, dir string) *flawedtest.Server {
	t.Helper()
	return flawedtest.New(t, func(name string, _ int) []byte {
		p, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil // an index beside the file, which does not exist
		}
		return p
	}, nil)
}

// getFrom runs get into the folder dir.
func getFrom(t *testing.T, uri, dir string, sel, flags []string) result {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{"get", uri, "-o", filepath.Join(dir, "out")}, sel...), flags...)
	return runner{hedge: true}.run(t, args...)
}
