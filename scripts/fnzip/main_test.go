package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPackIsReproducible(t *testing.T) {
	t.Parallel()
	program := bytes.Repeat([]byte("not really a program\n"), 10_000)
	var archives [][]byte
	for _, at := range []time.Time{time.Unix(1e9, 0), time.Unix(2e9, 0)} {
		dir := t.TempDir()
		src, out := filepath.Join(dir, "any-name"), filepath.Join(dir, "sub", "x.zip")
		if err := os.WriteFile(src, program, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(src, at, at); err != nil {
			t.Fatal(err)
		}
		if err := pack(out, src); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, b)
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the time of the program shows in the archive")
	}
	z, err := zip.NewReader(bytes.NewReader(archives[0]), int64(len(archives[0])))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
		t.Fatalf("entries: %v", z.File)
	}
	r, err := z.File[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, program) {
		t.Errorf("%d bytes, %v; want the program's %d", len(got), err, len(program))
	}
}

func TestPackLeavesNothingOnFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A folder opens, but cannot be read.
	if err := pack(filepath.Join(dir, "out", "x.zip"), dir); err == nil {
		t.Error("a folder was packed")
	}
	if files, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(files) != 0 {
		t.Errorf("left: %v, %v", files, err)
	}
}
