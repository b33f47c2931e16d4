package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/internal/flawedtest"
)

// TestReplacedWithinTTL: an object that was replaced while --cache-ttl lets nobody ask is
// read anew, on stdout, too, if nothing is written yet. If something is, one line says so,
// and the next run is right.
func TestReplacedWithinTTL(t *testing.T) {
	t.Parallel()
	var array [2][]byte // by version
	var local [2]string
	var series [2][]byte
	for v := range array {
		dir := t.TempDir()
		raw := filepath.Join(dir, "x.raw")
		write(t, raw, noise(1<<20, v))
		write(t, raw+".json", []byte(`{"dtype":"|u1","shape":[1024,1024]}`))
		local[v] = filepath.Join(dir, "x.b2nd")
		run(t, "pack", raw, local[v], "--chunk-shape", "64,1024")
		array[v], _ = os.ReadFile(local[v])
		write(t, raw+".json", []byte(`{"dtype":"|u1","shape":[1048576],"rate":1000}`))
		run(t, "pack", raw, filepath.Join(dir, "x.zoom"))
		series[v], _ = os.ReadFile(filepath.Join(dir, "x.zoom"))
	}
	begin := func(t *testing.T, content [2][]byte, first ...string) (s *flawedtest.Server, again func(args ...string) result) {
		t.Helper()
		s = flawedtest.New(t, func(name string, v int) []byte {
			if strings.HasSuffix(name, ".fri") {
				return nil
			}
			return content[v]
		}, nil)
		cache := []string{"--cache", t.TempDir(), "--cache-ttl", "1h", "--quiet"}
		again = func(args ...string) result {
			t.Helper()
			args[1] = s.Base() + filepath.Base(args[1])
			return runner{}.run(t, append(args, cache...)...)
		}
		if r := again(first...); r.code != exitOK {
			t.Fatal(r.stderr)
		}
		s.Replace(1)
		return s, again
	}
	for _, format := range []string{"npy", "raw", "json", "csv", "png", "b2nd", "arrow", "text"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			_, again := begin(t, array, "slice", "x.b2nd", "0:64", "-o", "-", "--format", "raw")
			args := []string{"slice", local[1], "700:710, 5:25", "-o", "-", "--format", format}
			want := run(t, args...)
			if r := again(args...); r.code != exitOK || r.stderr != "" || r.stdout != want {
				t.Errorf("exit %d, %d bytes of %d, %q", r.code, len(r.stdout), len(want), r.stderr)
			}
		})
	}
	t.Run("where", func(t *testing.T) {
		t.Parallel()
		_, again := begin(t, array, "slice", "x.b2nd", "0:64", "-o", "-", "--format", "raw")
		args := []string{"slice", local[1], "700:710", "--where", "v > 250", "-o", "-", "--format", "csv"}
		if r, want := again(args...), run(t, args...); r.code != exitOK || r.stderr != "" || r.stdout != want {
			t.Errorf("exit %d, %d bytes of %d, %q", r.code, len(r.stdout), len(want), r.stderr)
		}
	})
	t.Run("samples", func(t *testing.T) {
		t.Parallel()
		_, again := begin(t, series, "get", "x.zoom", "--from", "0s", "--to", "10s", "-o", "-")
		args := []string{"get", filepath.Join(filepath.Dir(local[1]), "x.zoom"), "--from", "500s", "--to", "510s", "-o", "-"}
		if r, want := again(args...), run(t, args...); r.code != exitOK || r.stderr != "" || r.stdout != want {
			t.Errorf("exit %d, %d bytes of %d, %q", r.code, len(r.stdout), len(want), r.stderr)
		}
	})
	t.Run("bytes are out", func(t *testing.T) {
		t.Parallel()
		var large [2][]byte
		var old, want string
		args := []string{"slice", "large.b2nd", "...", "-o", "-", "--format", "raw", "--max-memory", "16MiB"}
		for v := range large {
			raw := filepath.Join(filepath.Dir(local[v]), "large.raw")
			write(t, raw, bytes.Repeat(noise(1<<10, v), 32<<10))
			write(t, raw+".json", []byte(`{"dtype":"|u1","shape":[32768,1024]}`))
			args[1] = filepath.Join(filepath.Dir(raw), "large.b2nd")
			run(t, "pack", raw, args[1], "--chunk-shape", "256,1024")
			large[v], _ = os.ReadFile(args[1])
			old, want = want, run(t, args...)
		}
		_, again := begin(t, large, "slice", "large.b2nd", "0:16384", "-o", "-", "--format", "raw")
		r := again(args...)
		if r.code != exitChanged || len(r.stdout) == 0 || len(r.stdout) > 16<<20 || !strings.HasPrefix(old, r.stdout) ||
			strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "incomplete") {
			t.Errorf("exit %d, %d bytes, %q", r.code, len(r.stdout), r.stderr)
		}
		t.Log(r.stderr)
		if r := again(args...); r.code != exitOK || !bytes.Equal([]byte(r.stdout), []byte(want)) {
			t.Errorf("the next run: exit %d, %d bytes, %q", r.code, len(r.stdout), r.stderr)
		}
	})
}
