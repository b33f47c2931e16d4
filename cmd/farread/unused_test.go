package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestUnusedIndexIsTold: --stats and explain say that an index is there that was copied
// along with its file, or that lies on a server without strong ETags, why it is not used,
// and what to do; nothing of a file whose index is right, or that has none.
func TestUnusedIndexIsTold(t *testing.T) {
	t.Parallel()
	made, copied := t.TempDir(), t.TempDir()
	write(t, filepath.Join(made, "x.npy"), noisy(3))
	packNoisy(t, filepath.Join(made, "x.npy"), filepath.Join(made, "x.b2nd"), "--index=false")
	packNoisy(t, filepath.Join(made, "x.npy"), filepath.Join(made, "none.b2nd"), "--index=false")
	makeZoom(t, filepath.Join(made, "x.zoom"), time.Unix(0, 0))
	stem := strings.TrimSuffix(manyFrames(t, 2000), ".gulp")
	for _, suffix := range []string{".gulp", ".gmeta"} {
		if err := os.Rename(stem+suffix, filepath.Join(made, "x"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "index", filepath.Join(made, "x.b2nd"), "--ranges")
	run(t, "index", filepath.Join(made, "x.zoom"))
	run(t, "index", filepath.Join(made, "x.gulp"))
	for name, p := range files(t, made) {
		write(t, filepath.Join(copied, name), []byte(p))
	}
	weak := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `W/"e"`)
		http.FileServer(http.Dir(made)).ServeHTTP(w, r)
	}))
	t.Cleanup(weak.Close)
	const anew, strong = "farread index makes it anew", "needs a file with a strong ETag"
	for _, place := range []struct{ uri, why, todo string }{
		{countingFolder(t, made).URL, "", ""},
		{countingFolder(t, copied).URL, "another copy: the size is the same, the ETag is not", anew},
		{copied, "another copy", anew},
		{weak.URL, "has only a weak ETag", strong},
	} {
		for _, args := range [][]string{
			{"slice", "x.b2nd", ":, 100, 100", "--format", "csv"},
			{"slice", "x.b2nd", "...", "--where", "v < 2", "--format", "csv"},
			{"slice", "none.b2nd", "...", "--where", "v < 2", "--format", "csv"},
			{"view", "x.zoom", "--track", "1", "--width", "10", "--format", "csv"},
			{"get", "x.gulp", "--id", "c007", "--frames", "3"},
		} {
			if place.uri == copied && (args[0] == "get" || args[0] == "slice" && args[2] != "...") {
				continue // of files on this machine no index is looked for
			}
			why, todo := place.why, place.todo
			if args[1] == "none.b2nd" {
				why, todo = "", ""
			}
			args[1] = place.uri + "/" + args[1]
			r := runner{}.run(t, append(args, "-o", "-", "--stats")...)
			lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
			var s struct {
				Unused string `json:"index_unused"`
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); r.code != 0 || err != nil {
				t.Fatalf("%q: exit %d: %s", args, r.code, r.stderr)
			}
			if told := s.Unused != ""; told != (why != "") || !strings.Contains(s.Unused, why) || !strings.Contains(s.Unused, todo) {
				t.Errorf("%q: %q", args, s.Unused)
			}
			if n := len(lines); n > 2 || n == 2 && (!strings.Contains(lines[0], "everything is read") || !strings.Contains(lines[0], todo)) {
				t.Errorf("%q: %s", args, r.stderr)
			}
			args[0] = "explain"
			if args[len(args)-2] == "--format" {
				args = args[:len(args)-2]
			}
			if r := (runner{}).run(t, args...); strings.Contains(r.stdout, "\nindex: there is one") != (why != "") || !strings.Contains(r.stdout, why) {
				t.Errorf("%q: %s", args, r.stdout)
			}
		}
	}
}

// TestUnreadIndexIsTold: reads of every format go on without an index beside that cannot be
// read, and say so.
func TestUnreadIndexIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.npy"), noisy(3))
	packNoisy(t, filepath.Join(dir, "x.npy"), filepath.Join(dir, "x.b2nd"), "--index=false")
	makeZoom(t, filepath.Join(dir, "x.zoom"), time.Unix(0, 0))
	run(t, "index", filepath.Join(dir, "x.b2nd"), "--ranges")
	run(t, "index", filepath.Join(dir, "x.zoom"))
	stem := strings.TrimSuffix(manyFrames(t, 2000), ".gulp")
	for _, suffix := range []string{".gulp", ".gmeta"} {
		if err := os.Rename(stem+suffix, filepath.Join(dir, "x"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "index", filepath.Join(dir, "x.gulp"))
	bare := t.TempDir()
	for name, p := range files(t, dir) {
		if filepath.Ext(name) != ".fri" {
			write(t, filepath.Join(bare, name), []byte(p))
		}
	}
	sound := countingFolder(t, dir).Config.Handler
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"busy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"shut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut": func(w http.ResponseWriter, r *http.Request) { // opened, and then not read
			part := httptest.NewRecorder()
			sound.ServeHTTP(part, r)
			maps.Copy(w.Header(), part.Header())
			w.WriteHeader(part.Code)
			w.Write(part.Body.Bytes()[:part.Body.Len()/2])
			panic(http.ErrAbortHandler)
		},
	} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".fri") {
				answer(w, r)
				return
			}
			sound.ServeHTTP(w, r)
		}))
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.Start()
		t.Cleanup(s.Close)
		for _, args := range [][]string{
			{"slice", "x.b2nd", ":, 100, 100", "--format", "csv"},
			{"slice", "x.b2nd", "...", "--where", "v < 2", "--format", "csv"},
			{"view", "x.zoom", "--track", "1", "--width", "10", "--format", "csv"},
			{"get", "x.gulp", "--id", "c007", "--frames", "3"},
		} {
			t.Run(name+"/"+args[0]+"/"+args[2], func(t *testing.T) {
				t.Parallel()
				args[1] = filepath.Join(bare, args[1])
				want := runner{}.run(t, append(args, "-o", "-")...)
				args[1] = s.URL + "/" + filepath.Base(args[1])
				r := runner{}.run(t, append(args, "-o", "-", "--stats")...)
				if r.code != exitOK || want.code != exitOK || r.stdout != want.stdout || r.stdout == "" {
					t.Errorf("%q: exit %d, want %d bytes of text, got %d: %s", args, r.code, len(want.stdout), len(r.stdout), r.stderr)
				}
				if !strings.Contains(r.stderr, `"index_unused":"one beside cannot be read: `) || !strings.Contains(r.stderr, "; reads go on without it") {
					t.Errorf("%q: %s", args, r.stderr)
				}
			})
		}
	}
}

// TestUnusedIndexInfo: info and verify say of every format that the index beside a file is
// not used, and of none that is.
func TestUnusedIndexInfo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("x.npy"), noisy(4))
	packNoisy(t, at("x.npy"), at("x.b2nd"), "--index=false")
	makeZoom(t, at("x.zoom"), time.Unix(0, 0))
	data := manyFrames(t, 2000)
	for i, name := range []string{at("x.b2nd"), at("x.zoom"), data} {
		run(t, "index", name)
		for _, command := range []string{"info", "verify"} {
			if got := run(t, command, name); strings.Contains(got, "not used") {
				t.Errorf("%s %s: %s", command, name, got)
			}
		}
		p := []byte(files(t, filepath.Dir(name))[filepath.Base(name)+".fri"])
		for state, q := range map[string][]byte{"damaged": append(p[:len(p)-70:len(p)-70], make([]byte, 70)...), "short": p[:3], "empty": nil} {
			write(t, name+".fri", q)
			for _, command := range []string{"info", "verify"} {
				got := run(t, command, name)
				as := run(t, command, name, "--json")
				if !strings.Contains(got, "not used") || !strings.Contains(as, []string{`"unused":"`, `"index_unused":"`, `"unusable":"`}[i]) {
					t.Errorf("%s %s, %s: %s, %s", command, name, state, got, as)
				}
			}
		}
	}
}

// TestNeedlessIndex: of what an index is of no use to, index writes none, and says so; it
// is no error. With --ranges it writes one that verify finds right.
func TestNeedlessIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	npyFile(t, at("zeros.npy"), "<f8", []int64{64, 1000}, false, make([]byte, 8*64*1000))
	run(t, "pack", at("zeros.npy"), at("zeros.b2nd"), "--chunk-shape", "4,1000", "--index=false")
	if err := os.Rename(manyFrames(t, 50), at("few.gulp")); err != nil {
		t.Fatal(err)
	}
	write(t, at("few.gmeta"), []byte(`{"a": {"frame_info": [[0, 2, 8]], "meta_data": [{}]}}`))
	for _, name := range []string{"zeros.b2nd", "few.gulp"} {
		if got := run(t, "index", at(name)); !strings.Contains(got, name+" needs no index: it ") || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %s", name, got)
		}
		var r indexReport
		if err := json.Unmarshal([]byte(run(t, "index", at(name), "--json")), &r); err != nil || r.New || r.Needless == "" || r.Index != "" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if _, err := os.Stat(at(name + ".fri")); err == nil {
			t.Errorf("%s: there is an index", name)
		}
	}
	if r := indexed(t, at("zeros.b2nd"), "--ranges"); !r.New || r.Needless != "" {
		t.Errorf("--ranges: %+v", r)
	}
	if got := run(t, "verify", at("zeros.b2nd")); !strings.Contains(got, "agrees, and so do the statistics") {
		t.Error(got)
	}
	if got := run(t, "slice", at("zeros.b2nd"), "--where", "v > 1"); got != "no item matches\n" {
		t.Error(got)
	}
}

// TestIndexOfDamaged: index makes an index anew if one of its pages is damaged, which its
// directory does not show, as --stats and verify say.
func TestIndexOfDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("x.npy"), noisy(5))
	packNoisy(t, at("x.npy"), at("x.b2nd"), "--index=false")
	for _, flags := range [][]string{nil, {"--ranges"}} {
		args := append(flags, at("x.b2nd"))
		if r := indexed(t, args...); !r.New {
			t.Errorf("%v: %+v", flags, r)
		}
		good := files(t, dir)["x.b2nd.fri"]
		if r := indexed(t, args...); r.New {
			t.Errorf("%v, again: %+v", flags, r)
		}
		p := []byte(good)
		p[len(p)/4] ^= 1
		write(t, at("x.b2nd.fri"), p)
		if r := (runner{}).run(t, "verify", at("x.b2nd")); r.code != 0 || !strings.Contains(r.stdout, "not used") || !strings.Contains(r.stdout, "hash is another") {
			t.Errorf("%v, damaged: verify: exit %d: %s", flags, r.code, r.stdout)
		}
		if r := indexed(t, args...); !r.New {
			t.Errorf("%v, damaged: %+v", flags, r)
		}
		if files(t, dir)["x.b2nd.fri"] != good {
			t.Errorf("%v: another index", flags)
		}
	}
}

// TestIndexInVain: index makes nothing that no reader would look at, and reads no file for
// an index that cannot be written.
func TestIndexInVain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("x.npy"), noisy(5))
	packNoisy(t, at("x.npy"), at("x.b2nd"))
	packNoisy(t, at("x.npy"), at("plain.b2nd"), "--index=false")
	for _, flags := range [][]string{{"--force"}, {"--force", "--ranges"}} {
		if r := indexed(t, append(flags, at("x.b2nd"))...); r.New || r.Index != "" {
			t.Errorf("%v, of one that has it inside: %+v", flags, r)
		}
	}
	srv := countingFolder(t, dir)
	for _, flags := range [][]string{nil, {"--ranges"}} {
		srv.took()
		r := runner{}.run(t, append([]string{"index", srv.URL + "/plain.b2nd"}, flags...)...)
		if _, n := srv.took(); r.code == 0 || !strings.Contains(r.stderr, "can only be read") || n > 150_000 {
			t.Errorf("%v: exit %d after %d bytes: %s", flags, r.code, n, r.stderr)
		}
	}
	p := []byte(files(t, dir)["x.b2nd"])
	p[bytes.LastIndex(p, []byte("frindex\x02"))+20] ^= 1 // a page of statistics
	write(t, at("x.b2nd"), p)
	r := runner{}.run(t, "slice", at("x.b2nd"), "--where", "v < 2", "-o", "-", "--format", "csv")
	if r.code != 0 || !strings.Contains(r.stderr, "everything is read") || !strings.Contains(r.stderr, "pack the array anew") {
		t.Errorf("damaged inside: exit %d: %s", r.code, r.stderr)
	}
}

// TestStatsOfFailure: --stats counts the requests of a command that fails, too, behind its error.
func TestStatsOfFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := bytes.Repeat([]byte("farread"), 1000)
	write(t, filepath.Join(dir, "x.b2frame"), p)
	r := runner{}.run(t, "verify", served(t, dir)+"/x.b2frame", "--stats")
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	var s struct{ Requests, Bytes int64 }
	if r.code == exitOK || len(lines) != 2 || !strings.HasPrefix(lines[0], "verify") || json.Unmarshal([]byte(lines[1]), &s) != nil || s.Requests == 0 || s.Bytes == 0 {
		t.Errorf("exit %d: %q", r.code, r.stderr)
	}
	if r := (runner{}).run(t, "verify", served(t, dir)+"/x.b2frame"); strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("%q", r.stderr)
	}
}
