package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The steps of making an output. Files and folders differ only in the object that is
// made and in the place where it appears.
var outputSteps = map[string]func(bin *Trash, dir string) (steps []func() error, s *Sink){
	"file": func(bin *Trash, dir string) ([]func() error, *Sink) {
		return fileSteps(bin, dir, func(f *File) error { _, err := f.Write([]byte("two")); return err })
	},
	"file and another about it": func(bin *Trash, dir string) ([]func() error, *Sink) {
		return fileSteps(bin, dir, func(f *File) error { return f.With(filepath.Join(dir, "out.json"), []byte("{}")) })
	},
	"folder": func(bin *Trash, dir string) ([]func() error, *Sink) {
		return folderSteps(bin, filepath.Join(dir, "on", "the", "way", "out"))
	},
	"folder that is there": func(bin *Trash, dir string) ([]func() error, *Sink) {
		return folderSteps(bin, filepath.Join(dir, "there"))
	},
}

func fileSteps(bin *Trash, dir string, then func(f *File) error) ([]func() error, *Sink) {
	s := new(Sink)
	return []func() error{
		func() error {
			f, err := NewFile(bin, filepath.Join(dir, "out"))
			if err == nil {
				*s = f
			}
			return err
		},
		func() error { _, err := (*s).Write([]byte("one")); return err },
		func() error { return then((*s).(*File)) },
		func() error { return (*s).Commit() },
	}, s
}

func folderSteps(bin *Trash, out string) ([]func() error, *Sink) {
	s := new(Sink)
	return []func() error{
		func() error {
			folder, err := NewFolder(bin, out, func(string) error { return fs.ErrExist })
			if err == nil {
				*s = folder
			}
			return err
		},
		func() error { return (*s).(*Folder).File("one", []byte("1")) },
		func() error { return (*s).(*Folder).File("sub/two", []byte("2")) },
		func() error { return (*s).Commit() },
	}, s
}

// TestInterruptAnywhere: an interrupt comes between any two steps of an output. The
// run ends at once, or the command goes on until it notices. Either way the whole
// output is left or nothing, and the run can say which.
func TestInterruptAnywhere(t *testing.T) {
	t.Parallel()
	for name, make := range outputSteps {
		for _, abandoned := range []bool{false, true} {
			for at := range 5 {
				dir := t.TempDir()
				if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
					t.Fatal(err)
				}
				bin := &Trash{}
				steps, s := make(bin, dir)
				var failed error
				for k, step := range steps {
					if k == at {
						bin.Shut()
						if abandoned { // the process ends here; the abandoned command must leave nothing
							bin.Empty()
						}
					}
					if failed == nil {
						failed = step()
					}
				}
				if *s != nil {
					(*s).Abort()
				}
				if at == len(steps) {
					bin.Shut()
				}
				bin.Empty()
				left := files(t, dir)
				dirs := 0
				_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, _ error) error {
					if d.IsDir() {
						dirs++
					}
					return nil
				})
				whole := at == len(steps)
				switch {
				case whole != bin.Settled() || whole != (failed == nil):
					t.Errorf("%s, interrupt before step %d, abandoned %v: settled %v, error %v", name, at, abandoned, bin.Settled(), failed)
				case whole && len(left) == 0, !whole && (len(left) > 0 || dirs > 2): // dir and there
					t.Errorf("%s, interrupt before step %d, abandoned %v: left %v, %d folders", name, at, abandoned, left, dirs)
				case !whole && !abandoned && !errors.Is(failed, ErrInterrupted):
					t.Errorf("%s, interrupt before step %d: %v", name, at, failed)
				}
			}
		}
	}
}

// TestTwoFiles: two files appear together, or neither if one of them cannot.
func TestTwoFiles(t *testing.T) {
	t.Parallel()
	for _, blocked := range []string{"", "out", "out.json"} {
		dir := t.TempDir()
		var bin Trash
		s, err := NewFile(&bin, filepath.Join(dir, "out"))
		if err == nil {
			err = s.With(filepath.Join(dir, "out.json"), []byte("{}"))
		}
		if err == nil && blocked != "" {
			err = os.Mkdir(filepath.Join(dir, blocked), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		pe := (*fs.PathError)(nil)
		err = s.Commit()
		s.Abort()
		bin.Empty()
		switch left := files(t, dir); {
		case blocked == "" && (err != nil || len(left) != 2):
			t.Errorf("left %v, %v", left, err)
		case blocked != "" && (len(left) > 0 || !errors.As(err, &pe) || pe.Path != filepath.Join(dir, blocked)):
			t.Errorf("%s is a folder: left %v, %v", blocked, left, err)
		}
	}
	var bin Trash
	dir := t.TempDir()
	s, err := NewFile(&bin, filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.With(filepath.Join(dir, "none", "out.json"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	s.Abort()
	if left := files(t, dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestTrash: what is kept stays, and nothing is made after the end.
func TestTrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var bin Trash
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{a, b} {
		if err := bin.Add(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(name, "f"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bin.keep(b)
	bin.Empty()
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("left %v", got)
	}
	if err := bin.Add(a); !errors.Is(err, ErrInterrupted) {
		t.Errorf("a new file after the end: %v", err)
	}
}

// files are the files below dir.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
