package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
)

// A sink takes payload and shows it only when it is committed.
type sink interface {
	commit() error
	abort() // harmless after commit
}

// A frameSink takes the frames of ids.
type frameSink interface {
	sink
	frame(id string, i int, p []byte) error
}

// A byteSink takes bytes.
type byteSink interface {
	sink
	io.Writer
}

const filePerm, dirPerm = 0o666, 0o777 // cut by the umask, as for any tool that makes files

const tempPrefix, tempSuffix = ".farread-", ".tmp" // as filestore's: both are hidden from readers

// tempName is a temporary name in dir, for a file that may appear under another name.
func tempName(dir string) string {
	return filepath.Join(dir, tempPrefix+rand.Text()+tempSuffix)
}

// streamSink writes payloads back to back.
type streamSink struct {
	w     io.Writer
	wrote bool
}

func (s *streamSink) Write(p []byte) (int, error) {
	s.wrote = true
	return s.w.Write(p)
}

func (s *streamSink) frame(_ string, _ int, p []byte) error {
	_, err := s.Write(p)
	return err
}

func (s *streamSink) commit() error { return nil }
func (s *streamSink) abort()        {}

// byteSink decides what OUT is for bytes: stdout or a file.
func (a *app) byteSink(out string) (sink, error) {
	if out == "-" {
		return &streamSink{w: a.stdout}, nil
	}
	if info, err := os.Stat(out); os.IsPathSeparator(out[len(out)-1]) || err == nil && info.IsDir() {
		return nil, usagef("%s is a folder; name a file", printable(out))
	}
	return a.newFileSink(out)
}

// newFileSink writes to a temporary file beside name, which commit renames to name. If
// name exists and is no regular file (a pipe, a device), it is written directly.
func (a *app) newFileSink(name string) (sink, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &fileSink{streamSink: streamSink{w: f}, a: a, f: f}, nil
	}
	temp := tempName(filepath.Dir(name))
	var f *os.File
	err := a.trash.make(temp, func() (err error) {
		f, err = os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
		return err
	})
	if err != nil {
		return nil, asNamed(err, name)
	}
	return &fileSink{streamSink: streamSink{w: f}, a: a, f: f, temp: temp, name: name}, nil
}

// asNamed puts the name that the user knows into an error of the system.
func asNamed(err error, name string) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return &fs.PathError{Op: "write", Path: name, Err: pe.Err}
	}
	return err
}

type fileSink struct {
	streamSink
	a          *app
	f          *os.File
	temp, name string // "" if the file is written directly
	done       bool
}

func (s *fileSink) commit() error {
	s.done = true
	err := s.f.Close()
	if s.temp == "" {
		return err
	}
	if err == nil {
		err = s.a.trash.publish(s.temp, func() error { return os.Rename(s.temp, s.name) })
	}
	if err != nil {
		s.remove()
		return asNamed(err, s.name)
	}
	return nil
}

func (s *fileSink) abort() {
	if !s.done {
		s.done = true
		_ = s.f.Close() // the written bytes are thrown away
		s.remove()
	}
}

func (s *fileSink) remove() {
	if s.temp != "" && os.Remove(s.temp) == nil {
		s.a.trash.keep(s.temp)
	}
}

// A folderSink collects files in a temporary folder. Commit renames it. If the target
// exists already, Commit moves the files into it one by one: files of the same names
// are replaced, others stay.
type folderSink struct {
	a    *app
	out  string
	temp string   // beside out, or inside it
	into *os.Root // out, if it exists
	root *os.Root // temp
	nest bool     // files lie in folders named by id
	what string   // the files are named after; "": ids
	last string   // folder made last
	done bool
}

func (a *app) newFolderSink(out string, nest bool) (*folderSink, error) {
	if out == "-" {
		return nil, usagef("files go to a folder, not to stdout (./- is a folder of that name)")
	}
	if err := notFolder(out); err != nil {
		return nil, err
	}
	s := &folderSink{a: a, out: filepath.Clean(out), nest: nest}
	info, err := os.Stat(s.out)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is a file, a folder is to be written: %w", printable(out), fs.ErrExist)
	case err == nil:
		if s.into, err = os.OpenRoot(s.out); err != nil {
			return nil, err
		}
		s.temp = tempName(s.out)
	default:
		err = a.trash.makeParents(filepath.Dir(s.out))
		s.temp = tempName(filepath.Dir(s.out))
	}
	if err == nil {
		err = a.trash.make(s.temp, func() error { return os.Mkdir(s.temp, dirPerm) })
	}
	if err == nil {
		s.root, err = os.OpenRoot(s.temp)
	}
	if err != nil {
		s.abort()
		return nil, asNamed(err, out)
	}
	return s, nil
}

// missing are the folders on the way to dir that do not exist, innermost first.
func missing(dir string) (out []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return out
		}
		out = append(out, dir)
		dir = filepath.Dir(dir)
	}
}

func (s *folderSink) frame(id string, i int, p []byte) error {
	name := fmt.Sprintf("%04d.jpg", i)
	if s.nest {
		dir, err := gulp.SafePath(id)
		if err != nil {
			return err
		}
		name = path.Join(dir, name)
	}
	return s.file(name, p)
}

// file writes one file under a name with slashes that is known to be safe.
func (s *folderSink) file(name string, p []byte) error {
	if err := s.folder(path.Dir(name)); err != nil {
		return err
	}
	f, err := s.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return s.clash(name, err)
	}
	_, err = f.Write(p)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (s *folderSink) folder(name string) error {
	if name == s.last || name == "." {
		return nil
	}
	if err := s.root.MkdirAll(filepath.FromSlash(name), dirPerm); err != nil {
		return s.clash(name, err)
	}
	s.last = name
	return nil
}

// clash explains an error for a name that is in the way. The temporary folder was
// empty, so both files came from the same source: ids that differ only in case, or an
// id that is also a frame's name.
func (s *folderSink) clash(name string, err error) error {
	info := errors.Is(err, fs.ErrExist)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && !info {
		info = pe.Err.Error() == "not a directory"
	}
	if !info {
		return err
	}
	if s.what != "" {
		return fmt.Errorf("two %s want the name %s: %w", s.what, printable(name), formats.ErrUnsupported)
	}
	if name == labelsFile || strings.HasPrefix(name, labelsFile+"/") {
		return fmt.Errorf("an id has the name of the file that labels go to, %s: %w", labelsFile, formats.ErrUnsupported)
	}
	return fmt.Errorf("two ids want the file %s: %w", printable(name), formats.ErrUnsupported)
}

func (s *folderSink) commit() error {
	if s.done {
		return nil
	}
	if s.into == nil {
		_ = s.root.Close() // some systems rename no open folder
		if err := s.a.trash.publish(s.temp, func() error { return os.Rename(s.temp, s.out) }); err != nil {
			return asNamed(err, s.out)
		}
		s.done = true
		return nil
	}
	defer s.abort()
	return s.a.trash.publish("", s.move) // abort removes the rest of temp
}

// move moves the files into the folder that existed.
func (s *folderSink) move() error {
	prefix := filepath.Base(s.temp)
	return fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return s.into.MkdirAll(filepath.FromSlash(name), dirPerm)
		}
		name = filepath.FromSlash(name)
		return s.into.Rename(filepath.Join(prefix, name), name)
	})
}

func (s *folderSink) abort() {
	if s.done {
		return
	}
	s.done = true
	if s.root != nil {
		_ = s.root.Close()
	}
	if s.into != nil {
		_ = s.into.Close()
	}
	if s.temp != "" && os.RemoveAll(s.temp) == nil {
		s.a.trash.keep(s.temp)
	}
}
