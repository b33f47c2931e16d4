package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// chunkOf writes a chunk of frames of 20 000 bytes.
func chunkOf(t *testing.T, dir, dataName, metaName string, frames map[string]int) string {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	ids := make([]string, 0, len(frames))
	for id := range frames {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		for i := range frames[id] {
			p := bytes.Repeat([]byte{byte(i)}, 20_000)
			copy(p, id)
			if err := w.WriteFrame(id, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, dataName), data.Bytes())
	write(t, filepath.Join(dir, metaName), meta.Bytes())
	return filepath.Join(dir, dataName)
}

// TestErrors: the documented exit code, and exactly one line on stderr.
func TestErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := sample(t, dir)
	text := filepath.Join(dir, "notes.bin")
	write(t, text, []byte("nothing special"))
	write(t, filepath.Join(dir, "index.json"), []byte(`{"a": {"meta_data": [], "frame_info": []}}`))
	array := filepath.Join(t.TempDir(), "x.npy")
	npyFile(t, array, "<i4", []int64{2}, false, make([]byte, 8))
	out := filepath.Join(dir, "out")
	denied := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer denied.Close()
	for _, tc := range []struct {
		code int
		args string // fields are split at |
		say  string
	}{
		{2, "bogus", `unknown command "bogus"`},
		{2, "inof", "did you mean info"},
		{2, "info", "missing URI"},
		{2, "help|nothing", `unknown command "nothing"`},
		{2, "completion|tcsh", `shell "tcsh": want one of [bash fish powershell zsh]`},
		{2, "help|get|more", `unknown command "more"`},
		{2, "info|a|b", `unexpected argument "b"`},
		{2, "info|" + name + "|--no-such-flag", "unknown flag: --no-such-flag"},
		{2, "get|" + name, "missing -o"},
		{2, "get|" + name + "|--id|one|--frames|1:2:x|-o|" + out, "want A:B:STEP"},
		{2, "get|" + name + "|--id|one|--frames|1:2:0|-o|" + out, "step 0"},
		{2, "get|" + name + "|--frames|99|-o|" + out, "all ids: frame 99 of"},
		{2, "get|" + name + "|--id|one|--frames|1|-o|" + out, "frame 1 of 1: index out of bounds"},
		{2, "get|" + name + "|--policy|slow|-o|" + out, "want one of [fast few lean]"},
		{2, "info|" + name + "|--max-memory|much", "want a size"},
		{2, "info|" + name + "|--max-memory|1kB", "at least 16 MiB"},
		{2, "info|" + name + "|--offset|5", "begins at byte 0"},
		{2, "info|ftp://host/x", "want s3, https"},
		{2, "explain|" + name + "|0:10", "select frames with --id"},
		{2, "pack|" + dir + "|" + out, "names no format"},
		{2, "pack|" + dir, "missing SRC or DST"},
		{2, "worker|--event|" + text, "no rules"},
		{3, "get|" + name + "|--id|nobody|-o|" + out, `gulp: id "nobody": no such entry`},
		{3, "info|" + dir + "/absent.gulp", "not found"},
		{3, "ls|" + dir + "/absent/", "not found"},
		{3, "pack|" + dir + "/absent.tar|" + out + ".gulp", "not found"},
		{4, "info|" + denied.URL + "/x.gulp", "access denied"},
		{5, "unpack|" + name + "|" + dir, "has files already"},
		{5, "unpack|" + name + "|" + text, "is no folder"},
		{5, "get|" + name + "|-o|" + text, "is a file"},
		{6, "info|http://127.0.0.1:1/x.gulp", "connection refused"},
		{7, "info|" + text, "no format that this version knows"},
		{7, "verify|" + array, "a .npy, which farread pack makes an array of"},
		{7, "info|" + dir + "/index.json", "its name does not end in .gmeta"},
		{7, "get|" + dir + "|-o|" + out, "a folder without gulp chunks"},
		{7, "pack|" + text + "|" + out + ".gulp", "neither an archive"},
		{2, "pack|" + dir + "|" + out + ".b2nd", "a folder, not an object"},
		{2, "pack|" + text + "|" + out + ".gulp|--codec|lz4", "--codec does not go with gulp"},
		{2, "pack|" + text + "|" + out + ".b2nd|--codec|zip", "is not one of"},
		{2, "pack|" + text + "|" + out + ".b2nd|--filter|magic", "want one of [shuffle"},
		{7, "pack|" + text + "|" + out + ".zip", "want a name that ends in one of [.gulp .b2nd .b2frame .blp .zoom]"},
		{7, "pack|" + text + "|" + out + ".b2nd", "no note says what the bytes are"},
	} {
		args := strings.Split(tc.args, "|")
		r := runner{}.run(t, args...)
		if r.code != tc.code || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, tc.say) {
			t.Errorf("farread %q: exit %d, want %d and %q: %q", args, r.code, tc.code, tc.say, r.stderr)
		}
		if r.stdout != "" {
			t.Errorf("farread %q: %q on stdout", args, r.stdout)
		}
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed command left %s", out)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{usagef("x"), 2}, {gulp.ErrIndex, 2}, {gulp.ErrSlice, 2}, {objstore.ErrInvalid, 2},
		{objstore.ErrNotFound, 3}, {formats.ErrNoEntry, 3}, {fs.ErrNotExist, 3},
		{objstore.ErrDenied, 4}, {fs.ErrPermission, 4}, {syscall.EROFS, 4},
		{objstore.ErrChanged, 5}, {objstore.ErrExists, 5}, {functions.ErrTaken, 5}, {fs.ErrExist, 5},
		{objstore.ErrThrottled, 6}, {objstore.ErrUnavailable, 6}, {objstore.ErrBadRange, 6}, {objstore.ErrCorrupt, 7}, {context.DeadlineExceeded, 6}, {io.ErrShortWrite, 6},
		{formats.ErrCorrupt, 7}, {formats.ErrUnsupported, 7}, {formats.ErrTooLarge, 7}, {errors.ErrUnsupported, 7},
		{errInterrupted, 130}, {context.Canceled, 130},
		{fmt.Errorf("%w: %w", gulp.ErrIndex, formats.ErrNoEntry), 2},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.err, got, tc.want)
		}
		if tc.err != nil {
			if got := exitCode(fmt.Errorf("get x: %w", &formats.Error{Format: "f", Off: -1, Err: tc.err})); got != tc.want {
				t.Errorf("wrapped %v: %d, want %d", tc.err, got, tc.want)
			}
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	got := oneLine(errors.New(" a\nb\r\n\tc\x1b[2J \u202e \x00"))
	if got != `a b c\u001b[2J \u202e \u0000` {
		t.Errorf("%q", got)
	}
}

// TestChangedOnce: an object that is replaced while it is read is read again
// from the start, once.
func TestChangedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big(t, dir)
	for _, times := range []int{1, 99} {
		var mu sync.Mutex
		left, tag := times, 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if m := r.Header.Get("If-Match"); m != "" && left > 0 {
				left--
				tag++
				w.WriteHeader(http.StatusPreconditionFailed)
				return
			}
			w.Header().Set("Etag", fmt.Sprintf(`"v%d"`, tag))
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
		}))
		out := filepath.Join(t.TempDir(), "f.jpg")
		r := runner{}.run(t, "get", srv.URL+"/x.gulp", "--id", "b", "--frames", "59", "-o", out)
		srv.Close()
		p, err := os.ReadFile(out)
		switch {
		case times == 1 && (r.code != 0 || err != nil || len(p) != 20_000):
			t.Errorf("replaced once: exit %d %q, %d bytes", r.code, r.stderr, len(p))
		case times > 1 && (r.code != exitChanged || err == nil):
			t.Errorf("replaced again and again: exit %d %q", r.code, r.stderr)
		}
	}
}

// TestInterrupt: a real process that waits for a silent server ends with 130 and one
// line, and leaves nothing behind.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big(t, dir)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for _, out := range []string{"folder", "there/folder"} {
			interrupted(t, dir, sig, out)
		}
	}
}

func interrupted(t *testing.T, dir string, sig os.Signal, out string) {
	t.Helper()
	work := t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "there", "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	cutShort(t, dir, sig, func(srv string) []string { return []string{"get", srv + "/x.gulp", "-o", filepath.Join(work, out)} })
	left, err := os.ReadDir(filepath.Join(work, filepath.Dir(out)))
	if err != nil || len(left) != 1 { // "there", or the folder that lies in it
		t.Errorf("%v left %v %v", sig, left, err)
	}
	if f := files(t, work); len(f) != 0 {
		t.Errorf("%v left %v", sig, f)
	}
}

// cutShort runs a command on a server of the files in dir that falls silent once an
// object is open, and interrupts the command.
func cutShort(t *testing.T, dir string, sig os.Signal, args func(srv string) []string) {
	t.Helper()
	reading, over := make(chan struct{}, 64), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v"`)
		if r.Header.Get("If-Match") == "" {
			http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
			return
		}
		reading <- struct{}{}
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(over)
	p := newProcess(t, args(srv.URL)...).start(t)
	<-reading
	p.signal(sig)
	p.interrupted(t, sig.String())
}

// TestProgram: streams and exit codes of a real process.
func TestProgram(t *testing.T) {
	t.Parallel()
	name := sample(t, t.TempDir())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "get", name, "--id", "one", "-o", "-", "--stats")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	got, err := cmd.Output()
	if err != nil || !bytes.Equal(got, clips(t)["one"][0]) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	if !strings.HasPrefix(errs.String(), `{"requests":2,`) || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("stderr %q", errs.String())
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0], "info", name+"x")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if _, err := cmd.Output(); cmd.ProcessState.ExitCode() != exitNotFound {
		t.Errorf("absent: %v", err)
	}
}
