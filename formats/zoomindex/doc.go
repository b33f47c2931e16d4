// Package zoomindex makes and uses indexes of zoom-cache files, so that a view or a
// range of samples takes a request or two, not a pass over the file. An index has
// spans of samples by level, bins finer than a packet, and the places of packets. A
// [Builder] makes one while a zoomcache.Writer makes the file, inside it;
// [File.BuildIndex] makes one of a file that is there, to lie beside it. A [File] is
// an open file with its index; if there is none, its methods read the file, with the
// same results.
//
// Package zoomcache is the format of the file, and package index the form in which
// sections of pages are stored. What the sections mean is said here and in
// docs/formats/zoomcache.md. Nothing of an index is trusted: one that is wrong or
// damaged counts as none. Errors carry the name of the format of the file.
package zoomindex

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
)

func fail(part string, cause error, text string, args ...any) error {
	return &formats.Error{Format: zoomcache.Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), cause)}
}

// wrapRead adds the offset to the error of a read.
func wrapRead(off int64, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &formats.Error{Format: zoomcache.Format, Part: "read", Off: off, Err: err}
}
