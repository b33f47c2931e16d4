package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// hostileKeys are keys in a store that try to climb out of a folder or to control a
// terminal.
var hostileKeys = []string{
	"../../up.jpg", "../up.gulp", "/etc/abs.jpg", "a/../../../up.jpg", "a//b.jpg", "./dot.jpg", "%2e%2e/%2e%2e/up.jpg", `..\..\up.jpg`, `C:\up.jpg`, "C:/up.jpg",
	"nul\x00.jpg", "\x1b]0;title\x07\x1b[2J.jpg", "line\nend.jpg", "back\r\x08.jpg", "\u202egpj.exe", "c1\u009b31m.jpg", "tab\t.jpg", "zero\u200bwidth.jpg", "CON.jpg", "end ", "ok.jpg",
}

// listsHostile is an S3 whose every bucket has these keys, with a JPEG under each.
func listsHostile(t *testing.T) (endpoint string) {
	t.Helper()
	jpeg := photo(t, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Get("list-type") == "2" && r.URL.Path == "/f":
			type object struct {
				Key  string
				Size int
				ETag string
			}
			var list struct {
				XMLName      xml.Name `xml:"ListBucketResult"`
				Name         string
				EncodingType string
				Contents     []object
			}
			list.Name, list.EncodingType = "f", "url"
			for _, k := range hostileKeys {
				if strings.HasPrefix(k, q.Get("prefix")) && k > q.Get("start-after") {
					list.Contents = append(list.Contents, object{url.QueryEscape(k), len(jpeg), `"e"`})
				}
			}
			w.Header().Set("Content-Type", "application/xml")
			if err := xml.NewEncoder(w).Encode(list); err != nil {
				t.Error(err)
			}
		case slices.Contains(hostileKeys, strings.TrimPrefix(r.URL.Path, "/f/")):
			w.Header().Set("ETag", `"e"`)
			w.Header().Set("Last-Modified", "Sat, 21 Nov 2026 08:00:00 GMT")
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(jpeg)))
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// printableOnly fails the test if text has characters that control a terminal.
func printableOnly(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("%s shows %q", what, r)
			return
		}
	}
}

// TestHostileKeys: keys of a store are shown without control characters and are exact
// in JSON, and only the file that was asked for is written.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	flags := []string{"--endpoint-url", listsHostile(t), "--no-sign-request", "--path-style", "--region", "us-east-1"}
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b", "c")
	rules := filepath.Join(root, "rules.json")
	write(t, rules, []byte(`[{"bucket":"f","job":"pack","format":"bloscpack","out":{"bucket":"o"}}]`))
	write(t, filepath.Join(dir, "mine"), nil)
	before := files(t, root)
	with := func(args ...string) result { return runner{}.run(t, append(args, flags...)...) }

	r := with("ls", "s3://f/")
	printableOnly(t, "ls", r.stdout+r.stderr)
	if n := strings.Count(r.stdout, "\n"); r.code != 0 || n != 1+len(hostileKeys) || !strings.Contains(r.stdout, `"s3://f/\u202egpj.exe"`) || !strings.Contains(r.stdout, " s3://f/ok.jpg\n") {
		t.Errorf("exit %d, %d lines: %s%s", r.code, n, r.stdout, r.stderr)
	}
	var got []string
	r = with("ls", "s3://f/", "--json")
	for _, o := range lines[objectLine](t, r.stdout) {
		got = append(got, strings.TrimPrefix(o.URI, "s3://f/"))
	}
	if d := cmp.Diff(hostileKeys, got); d != "" {
		t.Errorf("JSON is not exact (-want +got):\n%s", d)
	}
	for _, args := range [][]string{
		{"info", "s3://f/"}, {"backfill", "s3://f/", "--rules", rules, "--dry-run"}, {"backfill", "s3://f/", "--rules", rules}, {"explain", "s3://f/"}, {"verify", "s3://f/"},
		{"unpack", "s3://f/", filepath.Join(dir, "out")}, {"get", "s3://f/", "-o", filepath.Join(dir, "out")},
	} {
		r := with(args...)
		printableOnly(t, strings.Join(args[:2], " "), r.stdout+r.stderr)
		if r.code == exitOK && args[0] != "info" && args[0] != "backfill" {
			t.Errorf("%v: exit 0", args)
		}
	}
	for _, key := range hostileKeys {
		for _, args := range [][]string{{"info", "s3://f/" + key}, {"get", "s3://f/" + key, "-o", filepath.Join(dir, "out")}, {"ls", "s3://f/" + key + "/"}} {
			r := with(args...)
			printableOnly(t, fmt.Sprintf("%s %q", args[0], key), r.stdout+r.stderr)
			if args[0] == "info" && r.code == exitOK && r.stderr == "" && strings.Contains(r.stdout, "jpeg") {
				continue // info says what an image is
			}
			if strings.Count(r.stderr, "\n") != 1 || r.code == exitOK {
				t.Errorf("%q: exit %d %q", args, r.code, r.stderr)
			}
		}
	}
	if d := cmp.Diff(before, files(t, root)); d != "" {
		t.Errorf("files (-before +after):\n%s", d)
	}

	// Packed, keys become ids and names of files. Names that no file may have are one
	// error.
	r = with("pack", "s3://f/", filepath.Join(dir, "x.gulp"))
	printableOnly(t, "pack to gulp", r.stdout+r.stderr)
	for name := range files(t, root) {
		if name != "rules.json" && !strings.HasPrefix(name, "a/b/c/") {
			t.Errorf("wrote %s", name)
		}
	}
	if r.code == exitOK {
		r = with("unpack", filepath.Join(dir, "x.gulp"), filepath.Join(dir, "deep"))
		printableOnly(t, "unpack", r.stdout+r.stderr)
	} else if strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("pack: exit %d %q", r.code, r.stderr)
	}
}

// TestHostileNames: ids and names in files are shown like keys, and unpack joins no
// path that leads elsewhere.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for _, name := range hostileKeys {
		root := t.TempDir()
		dir := filepath.Join(root, "a", "b")
		src := hostile(t, filepath.Join(root, "in"), "good", name)
		set := filepath.Join(root, "set")
		hostile(t, set, name)
		for from, to := range map[string]string{"h.gulp": "data_0.gulp", "h.gmeta": "meta_0.gmeta"} {
			if err := os.Rename(filepath.Join(set, from), filepath.Join(set, to)); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(map[string]any{"container": "files", "names": []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		blp := filepath.Join(root, "in", "x.blp")
		makeBlp(t, blp, string(text), "payload")
		out := filepath.Join(dir, "out")
		for _, uri := range []string{src, set, blp} {
			for _, args := range [][]string{{"ls", uri}, {"info", uri}, {"verify", uri}, {"explain", uri}, {"get", uri, "--id", name + "\x1b", "-o", out}, {"unpack", uri, out}} {
				r := runner{}.run(t, args...)
				printableOnly(t, fmt.Sprintf("%q of %q", args[0], name), r.stdout+r.stderr)
				if r.code != exitOK && strings.Count(r.stderr, "\n") != 1 {
					t.Errorf("%q: exit %d %q", args, r.code, r.stderr)
				}
			}
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
		for f := range files(t, root) {
			if !strings.HasPrefix(f, "in/") && !strings.HasPrefix(f, "set/") {
				t.Errorf("%q: wrote %s", name, f)
			}
		}
	}
}
