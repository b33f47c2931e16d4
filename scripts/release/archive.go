package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// label names a system's archive: farread_0.1.0_linux_amd64.
func (r release) label(t target) string {
	return "farread_" + strings.TrimPrefix(r.version, "v") + "_" + t.String()
}

// fill puts into a folder what the archive of a system has: texts, programs, lists of
// their modules, and the terms of these.
func (r release) fill(ctx context.Context, t target, root, texts string) error {
	if err := os.CopyFS(root, os.DirFS(texts)); err != nil {
		return err
	}
	if err := r.build(ctx, t, root, inside(t)); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range inside(t) {
		program := filepath.Join(root, p.name+t.exe())
		list, err := modules(ctx, program)
		if err != nil {
			return err
		}
		for _, m := range list {
			seen[m] = true
		}
		label := strings.TrimSuffix(p.name, "/bootstrap")
		if err := r.sbom(ctx, program, filepath.Join(root, "sbom", label+".cdx.json")); err != nil {
			return err
		}
	}
	return notices(ctx, seen, filepath.Join(root, "THIRD_PARTY_LICENSES"))
}

// archive packs a folder: a .tar.gz, or a .zip for Windows, with one folder of its name.
func (r release) archive(t target, root, name string) error {
	pack, end := r.tarball, ".tar.gz"
	if t.os == "windows" {
		pack, end = r.zipped, ".zip"
	}
	f, err := os.Create(filepath.Join(r.out, name+end))
	if err != nil {
		return err
	}
	return errors.Join(pack(f, root, name), f.Close())
}

// walk calls add for each file below root in the order of names, with its name below
// prefix and whether it is a program.
func walk(root, prefix string, add func(name string, mode fs.FileMode, size int64, src io.Reader) error) error {
	dir := os.DirFS(root)
	return fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := dir.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return add(prefix+"/"+name, mode, info.Size(), f)
	})
}

func (r release) tarball(w io.Writer, root, prefix string) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = walk(root, prefix, func(name string, mode fs.FileMode, size int64, src io.Reader) error {
		h := &tar.Header{Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: name, Size: size, Mode: int64(mode), Uname: "root", Gname: "root", ModTime: r.when}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := io.Copy(t, src)
		return err
	})
	return errors.Join(err, t.Close(), z.Close())
}

func (r release) zipped(w io.Writer, root, prefix string) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	err := walk(root, prefix, func(name string, mode fs.FileMode, _ int64, src io.Reader) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.when}
		h.SetMode(mode)
		e, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = io.Copy(e, src)
		return err
	})
	return errors.Join(err, z.Close())
}

// checksums writes SHA256SUMS, which sha256sum -c reads, of all files of a folder.
func checksums(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range list {
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", h.Sum(nil), e.Name())
	}
	return write(filepath.Join(dir, "SHA256SUMS"), []byte(text.String()))
}
