package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/farread/farread/objstore"
)

// ErrLink is matched by the error about a key if a symbolic link on the way to it cannot be
// followed: it is dead, leads to itself, or out of the folder. The error is objstore.ErrNotFound or
// objstore.ErrInvalid, too. A dead link is not the same as nothing: a file was meant to be there.
var ErrLink = errors.New("a symbolic link")

// ErrIrregular is matched by the error about a key under which there is something else than a file: a folder, a
// pipe, a device. The error is objstore.ErrNotFound, too.
var ErrIrregular = errors.New("not a regular file")

type irregular struct{}

func (irregular) Error() string { return ErrIrregular.Error() + ": " + objstore.ErrNotFound.Error() }

// Is implements what errors.Is asks for.
func (irregular) Is(target error) bool {
	return target == ErrIrregular || target == objstore.ErrNotFound
}

// A linkError is ErrLink.
type linkError struct {
	at    string // the link, if it is a folder of the key
	what  string // what is wrong with it
	class error
}

func (e linkError) Error() string {
	text := "a symbolic link " + e.what
	if e.at != "" {
		text = filepath.ToSlash(e.at) + " is " + text
	}
	return text
}

// Is implements what errors.Is asks for.
func (e linkError) Is(target error) bool { return target == ErrLink || target == e.class }

var errName = fmt.Errorf("a name that is not UTF-8: %w", objstore.ErrInvalid)

// Links implements objstore.Linker.
func (b *Bucket) Links(ctx context.Context, folder string) ([]objstore.Link, error) {
	var out []objstore.Link
	err := b.within(ctx, func(root *os.Root) error {
		dir := filepath.FromSlash(rooted(folder))
		if i, err := root.Stat(dir); err != nil || !i.IsDir() { // opening a pipe would wait for its writer
			return err
		}
		f, err := root.Open(dir)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read from
		entries, err := f.ReadDir(-1)
		if err != nil {
			return err
		}
		for _, e := range entries {
			switch {
			case isTemp(e.Name()):
				continue
			case !utf8.ValidString(e.Name()) && !e.Type().IsRegular():
				out = append(out, objstore.Link{Name: e.Name(), Err: errName})
				continue
			case e.Type()&fs.ModeSymlink == 0:
				continue
			}
			if isFolder, err := leads(root, dir, e.Name()); isFolder || err != nil {
				out = append(out, objstore.Link{Name: e.Name(), Err: err})
			}
		}
		return ctx.Err()
	})
	if err = b.linksFail(folder, err); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y objstore.Link) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

func (b *Bucket) linksFail(folder string, err error) error {
	if err == nil {
		return nil
	}
	if err = b.fail("list", folder, err); isMissing(err) {
		return nil
	}
	return err
}

// leads reports whether a link in dir leads to a folder, which is none that it lies in.
func leads(root *os.Root, dir, name string) (isFolder bool, err error) {
	at := filepath.Join(dir, name)
	to, err := root.Stat(at)
	if err != nil {
		return false, linked(root, at, err)
	}
	for above := dir; to.IsDir(); above = filepath.Dir(above) {
		if i, err := root.Stat(above); err == nil && os.SameFile(i, to) {
			return true, linkError{"", "to a folder that it lies in", objstore.ErrInvalid}
		}
		if above == "." {
			break
		}
	}
	return to.IsDir(), nil
}

// linked says of an error about a name whether it comes from a link on the way there.
func linked(root *os.Root, name string, err error) error {
	for at := name; at != "."; at = filepath.Dir(at) {
		i, lerr := root.Lstat(at)
		if lerr != nil {
			continue // what it lies in is not there either, or behind a link
		}
		if i.Mode()&fs.ModeSymlink == 0 {
			return err
		}
		of := at
		if at == name {
			of = ""
		}
		var errno syscall.Errno
		switch _, err := root.Stat(at); {
		case err == nil: // a folder, in which there is no such name
		case errors.Is(err, fs.ErrNotExist):
			return linkError{of, "to what is not there", objstore.ErrNotFound}
		case errors.Is(err, syscall.ELOOP):
			return linkError{of, "that leads to itself", objstore.ErrInvalid}
		case !errors.As(err, &errno): // os.Root says so
			return linkError{of, "that leads out of the folder", objstore.ErrInvalid}
		}
		return err
	}
	return err
}
