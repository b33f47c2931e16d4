package main

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/bootstrap/packing"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/machinetest"
	"github.com/farread/farread/internal/teststack"
)

const packsARN = "arn:aws:states:us-east-1:123456789012:stateMachine:packs"

// packMachine serves the state machine of packs.
func packMachine(t *testing.T, bad func(e *parts.Event) error) *machinetest.Server {
	t.Helper()
	return machineOf(t, packing.Function(bootstrap.CallConfig{Memory: 1 << 30, NoHedge: true}, slog.New(slog.DiscardHandler)), bad)
}

// TestPackOn runs what needs a store.
func TestPackOn(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"data", "work"}})
	t.Run("same", packOnSame)
	t.Run("again", packOnAgain)
	t.Run("changed", packOnChanged)
	t.Run("copied", packOnCopied)
}

// bumpy are n bytes of which some runs are zeros, and some of one value.
func bumpy(n int) []byte {
	p := make([]byte, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		switch i / 4096 % 4 {
		case 0:
			p[i] = byte(rnd.Uint32())
		case 1:
			p[i] = byte(i / 64)
		case 2:
			p[i] = []byte{0, 0, 0xc0, 0x7f}[i%4] // NaN of float32
		}
	}
	return p
}

// on packs on the state machine.
func packOn(src, dst string, more ...string) []string {
	return append([]string{"pack", src, dst, "--on", packsARN, "--work", "s3://work/packs"}, more...)
}

// copyOf returns the bytes of an object.
func copyOf(t *testing.T, uri string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x")
	run(t, "cp", uri, name, "-q")
	return load(t, name)
}

func load(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// packOnSame: what many workers make has the bytes that one machine makes with the same
// flags.
func packOnSame(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	npyFile(t, in("f4.npy"), "<f4", []int64{60, 110}, false, bumpy(60*110*4))
	npyFile(t, in("fortran.npy"), ">i2", []int64{50, 30, 20}, true, bumpy(50*30*20*2))
	npyFile(t, in("c16.npy"), "<c16", []int64{900}, false, bumpy(900*16))
	npyFile(t, in("big-end.npy"), ">f8", []int64{7, 400}, false, bumpy(7*400*8))
	write(t, in("u1.raw"), bumpy(30000))
	write(t, in("attrs.json"), []byte(`{"units":"K"}`))
	npyFile(t, in("axis.npy"), "<f8", []int64{60}, false, bumpy(60*8))
	run(t, "pack", in("f4.npy"), in("src.b2nd"), "--chunk-shape", "16,32", "-q")
	run(t, "unpack", in("src.b2nd"), in("v3.zarr"), "-q")
	for _, name := range []string{"f4.npy", "fortran.npy", "c16.npy", "big-end.npy", "u1.raw", "src.b2nd"} {
		run(t, "cp", in(name), "s3://data/"+name, "-q")
	}
	run(t, "cp", "-r", in("v3.zarr"), "s3://data/v3.zarr", "-q")
	s := packMachine(t, nil)
	for i, c := range [][]string{
		{"f4.npy", "--chunk-shape", "16,32", "--part-size", "4KiB"},
		{"f4.npy", "--chunk-shape", "16,32", "--part-size", "1", "--index", "--codec", "lz4-9", "--dims", "y,x", "--attrs", in("attrs.json"), "--coord", "y=" + in("axis.npy"), "--fill", "3"},
		{"f4.npy", "--chunk-shape", "7,32", "--block-shape", "3,8", "--part-size", "5KiB", "--filter", "trunc_prec:7,bitshuffle", "--index"},
		{"f4.npy", "--part-size", "4KiB", "--index=false", "--for", "series"},
		{"fortran.npy", "--chunk-shape", "10,10,10", "--part-size", "8KiB", "--index"},
		{"c16.npy", "--chunk-shape", "100", "--part-size", "4KiB", "--index", "--level", "0"},
		{"big-end.npy", "--chunk-shape", "2,50", "--part-size", "1KiB", "--index"},
		{"u1.raw", "--dtype", "|u1", "--shape", "300,100", "--chunk-shape", "50,50", "--part-size", "9KiB", "--index"},
		{"src.b2nd", "--chunk-shape", "20,20", "--part-size", "4KiB", "--index"},
		{"src.b2nd", "--codec", "zlib-6", "--part-size", "4KiB"},
		{"v3.zarr", "--part-size", "4KiB", "--index"},
		{"v3.zarr", "--chunk-shape", "9,50", "--part-size", "4KiB", "--index", "--dims", "a,b"},
	} {
		src, dst := "s3://data/"+c[0], "s3://data/out"+string(rune('a'+i))+".b2nd"
		flags := slices.Clone(c[1:])
		run(t, append(packOn(src, dst, flags...), "-q")...)
		at := slices.Index(flags, "--part-size")
		want := in("want.b2nd")
		run(t, append([]string{"pack", src, want, "-q", "--force"}, slices.Delete(flags, at, at+2)...)...)
		if got := copyOf(t, dst); !bytes.Equal(got, load(t, want)) {
			t.Errorf("%v: %d bytes are others than the %d of one machine", c, len(got), len(load(t, want)))
		}
	}
	b, err := (&bootstrap.Buckets{NoHedge: true}).Open("work")
	if err != nil {
		t.Fatal(err)
	}
	for in, err := range b.List(t.Context(), "packs/") {
		if err != nil || strings.Contains(in.Key, "/chunks/") {
			t.Errorf("%s remains, %v", in.Key, err)
		}
	}
	if n := strings.Count(strings.Join(s.Calls(), " "), "StartExecution"); n != 12 {
		t.Errorf("%d runs", n)
	}
}

// packOnAgain: a part that fails is told, another run makes what is missing; an output that is
// there is not made again, another one is not replaced but with --force, and one that was
// removed is made anew.
func packOnAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	npyFile(t, name, "<f4", []int64{64, 100}, false, bumpy(64*100*4))
	run(t, "cp", name, "s3://data/again.npy", "-q")
	var broken atomic.Bool
	broken.Store(true)
	made := atomic.Int64{}
	s := packMachine(t, func(e *parts.Event) error {
		if e.Make != nil && e.Make.From == 2 && broken.Load() {
			return errors.New("no luck")
		}
		if e.Make != nil {
			made.Add(int64(e.Make.To - e.Make.From))
		}
		return nil
	})
	on := packOn("s3://data/again.npy", "s3://data/again.b2nd", "--chunk-shape", "16,50", "--part-size", "3200", "--batch-size", "6400")
	r := runner{}.run(t, on...)
	if r.code != exitUnavailable || !strings.Contains(r.stderr, "2 of 8 parts failed: parts 2-3: no luck") || r.stdout != "" {
		t.Fatalf("exit %d %s%s", r.code, r.stdout, r.stderr)
	}
	if r := (runner{}).run(t, "info", "s3://data/again.b2nd"); r.code != exitNotFound {
		t.Errorf("an output of which a part is missing: %+v", r)
	}
	broken.Store(false)
	first := run(t, on...)
	if !strings.Contains(first, "stored in") || made.Load() != 8 {
		t.Errorf("%s, %d parts", first, made.Load())
	}
	want := copyOf(t, "s3://data/again.b2nd")
	calls := len(s.Calls())
	if got := run(t, on...); !strings.Contains(got, "unchanged") || len(s.Calls()) != calls {
		t.Errorf("again: %s", got)
	}
	refused(t, exitChanged, "again.b2nd", append(on, "--codec", "lz4")...)
	run(t, append(on, "--codec", "lz4", "--force")...)
	if bytes.Equal(copyOf(t, "s3://data/again.b2nd"), want) {
		t.Error("--force: not replaced")
	}
	refused(t, exitChanged, "again.b2nd", on...)
	b, err := (&bootstrap.Buckets{NoHedge: true}).Open("data")
	if err == nil {
		err = b.Delete(t.Context(), "again.b2nd")
	}
	if err != nil {
		t.Fatal(err)
	}
	made.Store(0)
	run(t, on...)
	if !bytes.Equal(copyOf(t, "s3://data/again.b2nd"), want) || made.Load() != 8 {
		t.Errorf("an output that was removed: %d parts", made.Load())
	}
}

// packOnChanged: parts of a source that is replaced meanwhile are refused, and nothing is
// written.
func packOnChanged(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	npyFile(t, name, "<f4", []int64{64, 100}, false, bumpy(64*100*4))
	run(t, "cp", name, "s3://data/changed.npy", "-q")
	packMachine(t, func(e *parts.Event) error {
		if e.Make != nil && e.Make.From == 4 {
			npyFile(t, name, "<f4", []int64{64, 100}, false, make([]byte, 64*100*4))
			run(t, "cp", name, "s3://data/changed.npy", "-q", "--force")
		}
		return nil
	})
	r := runner{}.run(t, packOn("s3://data/changed.npy", "s3://data/changed.b2nd", "--chunk-shape", "16,50", "--part-size", "3200", "--batch-size", "6400")...)
	if r.code != 7 || !strings.Contains(r.stderr, "the source is not the one that was planned: ") {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
	if r := (runner{}).run(t, "info", "s3://data/changed.b2nd"); r.code != exitNotFound {
		t.Errorf("an output: %+v", r)
	}
}

// packOnCopied: runs of 5 MiB and more are copied by the store.
func packOnCopied(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.npy")
	npyFile(t, name, "<u4", []int64{36 << 10, 128}, false, bumpy(18<<20))
	run(t, "cp", name, "s3://data/large.npy", "-q")
	packMachine(t, nil)
	run(t, append(packOn("s3://data/large.npy", "s3://data/large.b2nd", "--part-size", "6MiB", "--chunk-shape", "2048,128", "--level", "0"), "-q")...)
	run(t, "pack", name, filepath.Join(dir, "want.b2nd"), "--chunk-shape", "2048,128", "--level", "0", "-q")
	if !bytes.Equal(copyOf(t, "s3://data/large.b2nd"), load(t, filepath.Join(dir, "want.b2nd"))) {
		t.Error("other bytes")
	}
}
