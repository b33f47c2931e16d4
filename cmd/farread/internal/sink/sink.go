// Package sink puts results in place so that nobody sees a part of them: files and
// folders of this machine appear by a rename, the chunks of a gulp dataset by their
// index. A Trash knows what is under way; it decides whether an output still appears
// after an interrupt, and removes what must not stay.
package sink

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Sink takes bytes and shows them only when they are committed.
type Sink interface {
	io.Writer

	Commit() error
	Abort() // harmless after Commit
}

// FilePerm is the mode of new files. It is cut by the umask, as for any tool that
// makes files.
const FilePerm = 0o666

const dirPerm = 0o777

const tempPrefix, tempSuffix = ".farread-", ".tmp" // as in filestore, so readers do not see the files

// IsTemp reports whether a file or folder of that name is an output that has not
// appeared.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// tempName is a temporary name in dir, for a file that may appear under another name.
func tempName(dir string) string {
	return filepath.Join(dir, tempPrefix+rand.Text()+tempSuffix)
}

// asNamed puts the name that the user knows into an error of the system.
func asNamed(err error, name string) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return &fs.PathError{Op: "write", Path: name, Err: pe.Err}
	}
	if le := (*os.LinkError)(nil); errors.As(err, &le) {
		return &fs.PathError{Op: "write", Path: name, Err: le.Err}
	}
	return err
}

// A Stream passes on bytes at once.
type Stream struct {
	w     io.Writer
	wrote bool
}

// NewStream is a Stream to w.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	s.wrote = s.wrote || len(p) > 0
	return s.w.Write(p)
}

// Wrote reports whether anything was written: it cannot be taken back.
func (s *Stream) Wrote() bool { return s.wrote }

// Commit does nothing.
func (s *Stream) Commit() error { return nil }

// Abort does nothing.
func (s *Stream) Abort() {}

// A File is a temporary file, which Commit renames.
type File struct {
	bin        *Trash
	f          *os.File
	temp, name string // "" if the file is written directly
	with       *File  // appears along with this one; nil: none
	done       bool
}

// NewFile makes a temporary file beside name. If name exists and is not a regular file
// (a pipe, a device), it is written directly.
func NewFile(bin *Trash, name string) (*File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &File{bin: bin, f: f}, err
	}
	s := &File{bin: bin, temp: tempName(filepath.Dir(name)), name: name}
	err := bin.make(s.temp, func() (err error) {
		s.f, err = os.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, FilePerm)
		return err
	})
	return s, asNamed(err, name)
}

// WriteFile publishes a small file whole.
func WriteFile(bin *Trash, name string, p []byte) error {
	s, err := NewFile(bin, name)
	if err != nil {
		return err
	}
	defer s.Abort()
	if _, err := s.Write(p); err != nil {
		return err
	}
	return s.Commit()
}

// Write implements io.Writer.
func (s *File) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	if s.temp == "" {
		return n, err
	}
	return n, asNamed(err, s.name)
}

// Again returns a writer that can change written bytes before Commit. It is nil if the
// bytes are already gone, into a pipe.
func (s *File) Again() io.WriterAt {
	if s.temp == "" {
		return nil
	}
	return s.f
}

// With puts a small file about this one beside it. Both appear at Commit, or neither
// does: no interrupt comes between them.
func (s *File) With(name string, p []byte) (err error) {
	if s.with, err = NewFile(s.bin, name); err == nil {
		_, err = s.with.Write(p)
	}
	return err
}

// Commit closes the file and lets it appear.
func (s *File) Commit() error {
	s.done = true
	err := asNamed(s.f.Close(), s.name)
	switch {
	case err != nil:
	case s.temp != "":
		err = s.bin.publish(s.temp, s.appear)
	case s.with != nil: // this one went into a pipe
		return s.with.Commit()
	}
	if err != nil {
		s.remove()
		s.with.Abort()
	}
	return err
}

// appear renames the files. That about the other is the first: alone it is nothing that
// anybody would take for the output.
func (s *File) appear() error {
	w := s.with
	if w != nil {
		w.done = true
		err := w.f.Close()
		if err == nil && w.temp != "" {
			err = os.Rename(w.temp, w.name)
		}
		if err != nil {
			w.remove()
			return asNamed(err, w.name)
		}
		s.bin.keep(w.temp)
	}
	err := os.Rename(s.temp, s.name)
	if err != nil && w != nil && w.temp != "" {
		_ = os.Remove(w.name) // it is about bytes that are not there
	}
	return asNamed(err, s.name)
}

// Abort removes the temporary file.
func (s *File) Abort() {
	if s != nil && !s.done {
		s.done = true
		_ = s.f.Close() // the written bytes are thrown away
		s.remove()
		s.with.Abort()
	}
}

func (s *File) remove() {
	if s.temp != "" && os.Remove(s.temp) == nil {
		s.bin.keep(s.temp)
	}
}
