package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// The exit codes, as `farread help exit-codes` explains them.
const (
	exitOK          = 0
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitChanged     = 5
	exitUnavailable = 6
	exitCorrupt     = 7
	exitInterrupted = 130
)

var (
	errInterrupted = sink.ErrInterrupted
	errRetry       = errors.New("to be retried") // worker: some records are to be delivered again
)

// A usageError is a command line that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, a ...any) error { return &usageError{fmt.Sprintf(format, a...)} }

// exitCode returns the exit code of the process for an error.
func exitCode(err error) int {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case is(errInterrupted, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), is(gulp.ErrIndex, gulp.ErrSlice, nd.ErrIndex, nd.ErrSyntax):
		return exitUsage
	case is(functions.ErrTaken): // before ErrUnsupported, which ErrTaken matches for workers
		return exitChanged
	case is(functions.ErrSkip): // a worker's job skips the upload: it is an output of a job, for example
		return exitCorrupt
	case is(errRetry):
		return exitUnavailable
	case is(errFailed, formats.ErrCorrupt, objstore.ErrCorrupt, formats.ErrUnsupported, formats.ErrTooLarge, errors.ErrUnsupported):
		return exitCorrupt
	case is(formats.ErrNoEntry, objstore.ErrNotFound):
		return exitNotFound
	case is(objstore.ErrDenied):
		return exitDenied
	case is(objstore.ErrChanged, objstore.ErrExists):
		return exitChanged
	case is(objstore.ErrInvalid):
		return exitUsage
	case is(objstore.ErrThrottled, objstore.ErrUnavailable, objstore.ErrBadRange, context.DeadlineExceeded):
		return exitUnavailable
	case is(fs.ErrNotExist):
		return exitNotFound
	case is(fs.ErrPermission, syscall.EROFS):
		return exitDenied
	case is(fs.ErrExist):
		return exitChanged
	}
	return exitUnavailable // an error of the local disk or the network: worth another try
}

// outside adds the name of the command before an error, and a hint after a wrong
// command line.
func outside(cmd *cobra.Command, running bool, err error) error {
	name := strings.TrimPrefix(cmd.CommandPath(), "farread ")
	var usage *usageError
	if !running || errors.As(err, &usage) {
		return usagef("%s: %s (see: %s --help)", name, strings.TrimSuffix(strings.TrimSpace(err.Error()), "."), cmd.CommandPath())
	}
	return fmt.Errorf("%s %w", name, err)
}

// at adds the URI before an error. If the error is about the same object, its own place
// is left out.
func at(uri string, err error) error { return atPart(uri, "", err) }

// atPart is at for a part of a URI, such as a slice.
func atPart(uri, part string, err error) error {
	if err == nil {
		return nil
	}
	var usage *usageError
	if errors.As(err, &usage) {
		return err
	}
	if e, ok := err.(*objstore.Error); ok { //nolint:errorlint // only the outermost error may lose its place
		err = &shortError{e, strings.HasSuffix(uri, lastElement(e.Key))}
	}
	return fmt.Errorf("%s: %w", human.Printable(uri+part), err)
}

// A shortError is a store's error with a shorter place. It has no place if the URI
// already names the object, and only the last part of the name if it is about another
// object.
type shortError struct {
	e     *objstore.Error
	named bool
}

func (e *shortError) Error() string {
	c := objstore.Error{Status: e.e.Status, Code: e.e.Code, RequestID: e.e.RequestID, Err: plain(e.e.Err)}
	text := strings.TrimPrefix(c.Error(), " : ")
	if !e.named {
		text = human.Printable(lastElement(e.e.Key)) + ": " + text
	}
	return text
}

func (e *shortError) Unwrap() error { return e.e }

// plain drops the text that the system adds to errors such as "not found".
func plain(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		for _, sentinel := range []error{objstore.ErrNotFound, objstore.ErrDenied} {
			if errors.Is(err, sentinel) {
				return sentinel
			}
		}
	}
	return err
}

func lastElement(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// oneLine returns the text of an error without line ends and other characters that
// would move a terminal's cursor.
func oneLine(err error) string {
	var b strings.Builder
	space := false
	text := err.Error()
	if errors.Is(err, syscall.ENOSPC) { // nothing else needs to be said about a full disk
		text = strings.ReplaceAll(text, objstore.ErrUnavailable.Error()+": ", "")
	}
	for _, r := range strings.TrimSpace(text) {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		human.Spell(&b, r)
	}
	return b.String()
}
