// Package kit has functions that jobs share: they open uploads and the notes
// beside them, check whether an upload fits an invocation, and make the errors
// about bad uploads.
package kit

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
)

// ErrRule is matched by the errors of a JobMaker about a rule with fields that would
// have no effect.
var ErrRule = errors.New("rule without effect")

// Fail is an error about a part of an upload.
func Fail(format, part string, off int64, err error) error {
	return &formats.Error{Format: format, Part: part, Off: off, Err: err}
}

// Corrupt is formats.ErrCorrupt with a reason.
func Corrupt(why string, a ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(why, a...), formats.ErrCorrupt)
}

// Unsupported is formats.ErrUnsupported with a reason.
func Unsupported(why string, a ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(why, a...), formats.ErrUnsupported)
}

// TooLarge is formats.ErrTooLarge with a reason.
func TooLarge(why string, a ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(why, a...), formats.ErrTooLarge)
}

// IsFormat reports whether err is about bytes: it matches a sentinel of
// formats.
func IsFormat(err error) bool {
	return errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrUnsupported) ||
		errors.Is(err, formats.ErrTooLarge) || errors.Is(err, formats.ErrNoEntry)
}
