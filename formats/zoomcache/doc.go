// Package zoomcache reads and writes zoom-cache 3.0 files: long series of
// samples in packets, with summaries of them by level, each level joining two
// blocks of the level below. A [Writer] writes the same bytes as the original
// library, zlib streams apart, quirks of its arithmetic included;
// docs/formats/zoomcache.md lists these.
//
// Offsets of samples count in ticks of a track's rate. The first sample of a
// track of constant rate has offset 1.
//
// The package knows no index but leaves room for one: zoomindex makes them, and reads
// views and ranges of samples by them.
package zoomcache

import (
	"fmt"
	"io"

	"github.com/farread/farread/formats"
)

const (
	// Format is formats.Error.Format in errors of this package.
	Format = "zoomcache"
	// Suffix ends the names of zoom-cache files.
	Suffix = ".zoom"
)

// The 8-byte markers that begin headers and blocks. All start with 0xE5 and end
// with 0.
const (
	MarkerGlobal  = "\xe5ZXhe4d\x00"
	MarkerTrack   = "\xe5ZXtRcK\x00"
	MarkerPacket  = "\xe5ZXp4ck\x00"
	MarkerSummary = "\xe5ZX5umm\x00"
)

const markerLen = 8

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

// cut makes the error for bytes that end inside a part. It matches io.ErrUnexpectedEOF
// too, so a caller who holds only the beginning of the file knows to fetch more.
func cut(part string, off int64) error {
	return &formats.Error{Format: Format, Part: part, Off: off, Err: fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, formats.ErrCorrupt)}
}
