// Package bloscpack reads and writes Bloscpack files. A file has a header,
// metadata, a table of offsets, and Blosc chunks one after another. A checksum
// follows each chunk. The Python tool writes version 3, in which all chunks but
// the last have one decoded size. Version 4 is a proposal. It can also hold items
// of any size, one chunk for each item; such a file always has the table.
// docs/formats/bloscpack.md says how this package reads the text of the proposal.
//
// Files are read through a [rangeio.Reader]: one planned read opens a file, one
// more reads an item. Sizes in a file are checked before memory is allocated for
// them. An error about the bytes of a file is a *formats.Error with Format
// "bloscpack".
package bloscpack

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
)

const (
	// Format is formats.Error.Format in errors of this package.
	Format = "bloscpack"
	// Suffix ends the names of Bloscpack files.
	Suffix = ".blp"
)

func fail(part string, off int64, cause error, text string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: off, Err: fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), cause)}
}

func corrupt(part string, off int64, text string, args ...any) error {
	return fail(part, off, formats.ErrCorrupt, text, args...)
}

func unsupported(part string, off int64, text string, args ...any) error {
	return fail(part, off, formats.ErrUnsupported, text, args...)
}

func tooLarge(part string, off int64, text string, args ...any) error {
	return fail(part, off, formats.ErrTooLarge, text, args...)
}

// wrap adds the part of the file and the offset to err. errors.Is still finds
// err. An error that names a place already stays as it is.
func wrap(part string, off int64, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*formats.Error](err); ok && e.Format == Format {
		return err
	}
	return &formats.Error{Format: Format, Part: part, Off: off, Err: err}
}
