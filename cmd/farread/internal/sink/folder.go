package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A Folder collects files in a temporary folder. Commit renames it. If the target
// exists already, Commit moves the files into it one by one: files of the same names
// are replaced, others stay.
type Folder struct {
	bin   *Trash
	clash func(name string) error
	out   string
	temp  string   // temporary file or folder, beside out or inside it
	into  *os.Root // out, if it exists
	root  *os.Root // temp
	last  string   // folder made last
	done  bool

	replaces bool // out may exist, and goes when the new folder appears
}

// NewFolder makes a temporary folder for out. clash is the error for a name that two
// files want, or a file and a folder: both came from the same source.
func NewFolder(bin *Trash, out string, clash func(name string) error) (*Folder, error) {
	return newFolder(&Folder{bin: bin, clash: clash, out: filepath.Clean(out)})
}

// NewReplacing is NewFolder for a folder that appears as a whole: Commit puts it in the place of
// one that exists, whose files go.
func NewReplacing(bin *Trash, out string, clash func(name string) error) (*Folder, error) {
	return newFolder(&Folder{bin: bin, clash: clash, out: filepath.Clean(out), replaces: true})
}

func newFolder(s *Folder) (*Folder, error) {
	bin, out := s.bin, s.out
	info, err := os.Stat(s.out)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s is a file, a folder is to be written: %w", human.Printable(out), fs.ErrExist)
	case err == nil && !s.replaces:
		if s.into, err = os.OpenRoot(s.out); err != nil {
			return nil, err
		}
		s.temp = tempName(s.out)
	default:
		err = bin.makeParents(filepath.Dir(s.out))
		s.temp = tempName(filepath.Dir(s.out))
	}
	if err == nil {
		err = bin.make(s.temp, func() error { return os.Mkdir(s.temp, dirPerm) })
	}
	if err == nil {
		s.root, err = os.OpenRoot(s.temp)
	}
	if err != nil {
		s.Abort()
		return nil, asNamed(err, out)
	}
	return s, nil
}

// Write refuses bytes without a name.
func (s *Folder) Write([]byte) (int, error) {
	return 0, fmt.Errorf("bytes into a folder: %w", errors.ErrUnsupported)
}

// File writes one file under a name with slashes that is known to be safe.
func (s *Folder) File(name string, p []byte) error {
	if err := s.Dir(path.Dir(name)); err != nil {
		return err
	}
	f, err := s.root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, FilePerm)
	if err != nil {
		return s.inTheWay(name, err)
	}
	_, err = f.Write(p)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return asNamed(err, filepath.Join(s.out, filepath.FromSlash(name)))
}

// Dir makes a folder under such a name.
func (s *Folder) Dir(name string) error {
	if name == s.last || name == "." {
		return nil
	}
	if err := s.root.MkdirAll(filepath.FromSlash(name), dirPerm); err != nil {
		return s.inTheWay(name, err)
	}
	s.last = name
	return nil
}

// inTheWay returns the error of clash if err means that name exists. The
// temporary folder was empty.
func (s *Folder) inTheWay(name string, err error) error {
	pe := (*fs.PathError)(nil)
	if errors.Is(err, fs.ErrExist) || errors.As(err, &pe) && pe.Err.Error() == "not a directory" {
		return s.clash(name)
	}
	return err
}

// Commit lets the folder, or the files in it, appear.
func (s *Folder) Commit() error {
	if s.done {
		return nil
	}
	if s.into == nil {
		_ = s.root.Close() // some systems rename no open folder
		if err := s.bin.publish(s.temp, s.appear); err != nil {
			return asNamed(err, s.out)
		}
		s.done = true
		return nil
	}
	defer s.Abort()
	return s.bin.publish("", s.move) // Abort removes the rest of temp
}

// appear renames temp, after a folder that it replaces was moved out of the way. If that fails,
// the old folder comes back.
func (s *Folder) appear() error {
	if !s.replaces {
		return os.Rename(s.temp, s.out)
	}
	old := tempName(filepath.Dir(s.out))
	err := os.Rename(s.out, old)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Rename(s.temp, s.out)
	}
	if err != nil {
		return err
	}
	if err := os.Rename(s.temp, s.out); err != nil {
		return errors.Join(err, os.Rename(old, s.out))
	}
	return os.RemoveAll(old)
}

// move moves the files into the folder that existed.
func (s *Folder) move() error {
	prefix := filepath.Base(s.temp)
	return fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return asNamed(s.into.MkdirAll(filepath.FromSlash(name), dirPerm), filepath.Join(s.out, name))
		}
		name = filepath.FromSlash(name)
		return asNamed(s.into.Rename(filepath.Join(prefix, name), name), filepath.Join(s.out, name))
	})
}

// Abort removes files that have not appeared.
func (s *Folder) Abort() {
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
		s.bin.keep(s.temp)
	}
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

// Local is the folder of this machine that a bucket is, with slashes; false if the bucket
// is none.
func Local(b objstore.Bucket) (dir string, ok bool) { return strings.CutPrefix(b.Name(), "file://") }

// NewFolders returns a function that removes the local folder of a bucket again, and
// its parents, as far as they do not exist yet and are empty then.
func NewFolders(b objstore.Bucket) func() {
	dir, local := Local(b)
	if !local {
		return func() {}
	}
	made := missing(filepath.FromSlash(dir))
	return func() {
		for _, dir := range made {
			_ = os.Remove(dir) // fails if the folder is not empty
		}
	}
}
