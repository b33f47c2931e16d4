package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

// TestVerifyRemarks: oddities that are no faults are told, with exit code 0.
func TestVerifyRemarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	chunkOf(t, dir, "data_0.gulp", "meta_0.gmeta", map[string]int{"../evil": 1, "/abs": 1, "good": 1})
	write(t, filepath.Join(dir, "data_36.gulp"), []byte("left over"))
	text := run(t, "verify", dir)
	if !strings.Contains(text, `2 ids that unpack refuses, the first is "../evil"`) || !strings.Contains(text, "\n  unfinished: data_36.gulp\n") {
		t.Errorf("%q", text)
	}
	var v verifyReport
	if err := json.Unmarshal([]byte(run(t, "verify", dir, "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if !v.OK || v.Unsafe != 2 || v.FirstUnsafe != "../evil" || cmp.Diff([]string{"data_36.gulp"}, v.Unfinished) != "" || v.IDs != 3 {
		t.Errorf("%+v", v)
	}
	if r := (runner{}).run(t, "unpack", filepath.Join(dir, "data_0.gulp"), filepath.Join(dir, "out")); r.code != exitCorrupt {
		t.Errorf("unpack of the unsafe ids: exit %d %q", r.code, r.stderr)
	}
}

// TestInterruptSmall: an interrupt comes while frames so small that they come from
// memory are written into a folder. Nothing of the folder stays.
func TestInterruptSmall(t *testing.T) {
	t.Parallel()
	dir, work := t.TempDir(), t.TempDir()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	for i := range 100_000 {
		if err := w.WriteFrame(fmt.Sprintf("id%d", i%10), []byte("tiny")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x.gulp"), data.Bytes())
	write(t, filepath.Join(dir, "x.gmeta"), meta.Bytes())
	for _, command := range []string{"get", "unpack"} {
		args := []string{command, filepath.Join(dir, "x.gulp"), "-o", filepath.Join(work, "a", "b")}
		if command == "unpack" {
			args = []string{command, filepath.Join(dir, "x.gulp"), filepath.Join(work, "a", "b")}
		}
		p := newProcess(t, args...).start(t)
		for begun := false; !begun; { // until the files of the first id come
			found, err := filepath.Glob(filepath.Join(work, "a", ".farread-*.tmp", "id0", "0100.jpg"))
			if begun = len(found) > 0; err != nil || !p.running() {
				t.Fatalf("%s ended: %v %v", command, err, p.running())
			}
		}
		p.signal(os.Interrupt)
		p.interrupted(t, command)
		if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
			t.Errorf("%s left %v %v, %d files", command, left, err, len(files(t, work)))
		}
	}
}

// TestPackInPlace: DST lies in SRC, as in `cd photos && farread pack . set.gulp`.
func TestPackInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "0.jpg"), photo(t, 1))
	write(t, filepath.Join(dir, ".farread-OTHERRUN.tmp"), []byte("x"))
	write(t, filepath.Join(dir, "a", ".farread-OTHERRUN.tmp", "0.jpg"), []byte("x"))
	for _, force := range []string{"--force=false", "--force"} {
		run(t, "pack", dir, filepath.Join(dir, "set.gulp"), force)
		run(t, "verify", filepath.Join(dir, "set.gulp"))
	}
	if r := (runner{}).run(t, "pack", dir, filepath.Join(dir, "set.gulp")); r.code != exitChanged {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	for _, name := range []string{"set.gulp", "set.gmeta"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dst := range []string{dir, filepath.Join(dir, "out")} {
		run(t, "pack", dir, dst, "--format", "gulp")
		// The second time its own chunks are in the way, but only the id is refused.
		if r := (runner{}).run(t, "pack", dir, dst, "--format", "gulp"); r.code != exitChanged || !strings.Contains(r.stderr, "id a is in the dataset already") {
			t.Errorf("exit %d %q", r.code, r.stderr)
		}
		for _, name := range []string{"data_0.gulp", "meta_0.gmeta"} {
			if err := os.Remove(filepath.Join(dst, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Other files of that name are no JPEGs, here as elsewhere.
	write(t, filepath.Join(dir, "a", "data_0.gulp"), []byte("x"))
	if r := (runner{}).run(t, "pack", dir, filepath.Join(dir, "set.gulp")); r.code != exitCorrupt || !strings.Contains(r.stderr, "a/data_0.gulp") {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}

// TestUnpackLeavesNothing: parents of DST that a failed run has made are removed,
// older ones stay.
func TestUnpackLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, work := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(work, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for id, say := range map[string]string{"labels.json": "an id has the name of the file that labels go to", "../evil": "evil"} {
		r := runner{}.run(t, "unpack", hostile(t, dir, id), filepath.Join(work, "there", "x", "y", "z"))
		if r.code != exitCorrupt || !strings.Contains(r.stderr, say) {
			t.Errorf("%s: exit %d %q", id, r.code, r.stderr)
		}
		if left, err := os.ReadDir(filepath.Join(work, "there")); err != nil || len(left) != 0 {
			t.Errorf("%s left %v %v", id, left, err)
		}
	}
	// Only unpack writes labels; for get the name is like any other.
	run(t, "get", hostile(t, dir, "labels.json"), "-o", filepath.Join(work, "frames"))
}

// TestDiskErrors: errors of a disk are told in the disk's words, with the right exit
// code.
func TestDiskErrors(t *testing.T) {
	t.Parallel()
	full := &objstore.Error{Op: "put", Bucket: "file:///d", Key: "x.gulp",
		Err: fmt.Errorf("%w: %w", objstore.ErrUnavailable, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})}
	for _, err := range []error{full, at("/d/x.gulp", full)} {
		if text := oneLine(err); !strings.Contains(text, "no space left on device") || strings.Contains(text, "service") {
			t.Errorf("%q", text)
		}
		if exitCode(err) != exitUnavailable {
			t.Errorf("%v: exit %d", err, exitCode(err))
		}
	}
	if c := exitCode(&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EROFS}); c != exitDenied {
		t.Errorf("read-only: exit %d", c)
	}
}

// TestUnlisted: folders of plain HTTP servers.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for _, args := range [][]string{{"ls"}, {"ls", "--objects"}, {"info"}, {"verify"}, {"pack", "x.gulp"}} {
		line := append([]string{args[0], srv.URL + "/sets/"}, args[1:]...)
		r := runner{}.run(t, line...)
		if r.code != exitUsage || !strings.Contains(r.stderr, "a plain HTTP server lists nothing") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d %q", line, r.code, r.stderr)
		}
	}
}
