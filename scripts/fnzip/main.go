// Command fnzip packs one program as a function archive: a zip with the single
// entry "bootstrap", executable, and nothing in it that depends on when or where
// it was made. The same program gives the same bytes.
//
//	fnzip OUT.zip PROGRAM
package main

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: fnzip OUT.zip PROGRAM")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "fnzip:", err)
		os.Exit(1)
	}
}

// pack writes the archive beside its name and renames it, so that an archive
// that is there is whole.
func pack(out, program string) (err error) {
	src, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // only read
	if err := os.MkdirAll(filepath.Dir(out), 0o750); err != nil {
		return err
	}
	dst, err := os.CreateTemp(filepath.Dir(out), ".fnzip-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(dst.Name()))
		}
	}()
	if err := errors.Join(write(dst, src), dst.Chmod(0o644), dst.Close()); err != nil {
		return err
	}
	return os.Rename(dst.Name(), out)
}

// write copies src into an archive on w.
func write(w io.Writer, src io.Reader) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	h := &zip.FileHeader{
		Name:   "bootstrap", // provided.al2023 starts the program of this name
		Method: zip.Deflate,
		// The first time that a zip can hold.
		Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC),
	}
	h.SetMode(0o755)
	e, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	if _, err := io.Copy(e, src); err != nil {
		return err
	}
	return z.Close()
}
