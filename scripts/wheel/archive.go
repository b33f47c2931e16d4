package main

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// An entry is a file of a wheel.
type entry struct {
	name string
	mode fs.FileMode
	data []byte
}

// A wheel is the entries of an archive.
type wheel struct {
	prefix  string // name and version
	entries []entry
}

// sources adds the package: its Python files, and the mark that it has types. The version
// is that of the wheel.
func (w *wheel) sources(dir, name, version string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	return fs.WalkDir(root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if base := d.Name(); !strings.HasSuffix(base, ".py") && base != "py.typed" {
			return nil // what Python has compiled
		}
		data, err := fs.ReadFile(root.FS(), at)
		if err != nil {
			return err
		}
		if d.Name() == "_version.py" {
			data = []byte(fmt.Sprintf("version = %q\n", version))
		}
		w.entries = append(w.entries, entry{at, 0o644, data})
		return nil
	})
}

// program adds the program, which pip puts beside python itself.
func (w *wheel) program(file, platform string) error {
	data, err := os.ReadFile(file)
	name := "farread"
	if strings.HasPrefix(platform, "windows/") {
		name += ".exe"
	}
	w.entries = append(w.entries, entry{path.Join(w.prefix+".data", "scripts", name), 0o755, data})
	return err
}

// info adds a file about the wheel.
func (w *wheel) info(name, text string) {
	w.entries = append(w.entries, entry{path.Join(w.prefix+".dist-info", name), 0o644, []byte(text)})
}

// write writes the archive: entries by name, and what is in it last.
func (w *wheel) write(out io.Writer) error {
	slices.SortFunc(w.entries, func(a, b entry) int {
		late := func(e entry) int { // as the standard recommends
			if strings.HasPrefix(e.name, w.prefix+".dist-info/") {
				return 1
			}
			return 0
		}
		if d := late(a) - late(b); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	record := path.Join(w.prefix+".dist-info", "RECORD")
	var list strings.Builder
	for _, e := range w.entries {
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(&list, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	fmt.Fprintf(&list, "%s,,\n", record)
	z := zip.NewWriter(out)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, e := range append(w.entries, entry{record, 0o644, []byte(list.String())}) {
		// The first time that a zip can hold.
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return z.Close()
}
