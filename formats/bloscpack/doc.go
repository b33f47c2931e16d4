// Package bloscpack reads and writes Bloscpack files: Blosc chunks one after
// another behind a header, metadata and a table of offsets, each followed by a
// checksum. The Python tool writes version 3, with chunks of one size. Version 4
// is a proposal that also holds items of uneven size, one chunk each, and then
// always has the table; docs/formats/bloscpack.md says how its text is read here.
//
// Reading goes through a [rangeio.Reader]: opening is one planned read, an item
// one more. Nothing is allocated on the word of a file alone. An error about the
// bytes of a file is a *formats.Error with Format "bloscpack".
package bloscpack

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
)

const (
	// Format is the name that errors of this package carry.
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

// wrap names the place in a file at which an error arose. The error keeps its
// identity.
func wrap(part string, off int64, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*formats.Error](err); ok && e.Format == Format {
		return err
	}
	return &formats.Error{Format: Format, Part: part, Off: off, Err: err}
}
