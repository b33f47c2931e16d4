// Package zarrface shows b2nd arrays as Zarr v3 arrays: it makes their documents and
// turns stored chunks into chunks that Zarr clients read. It does no I/O: the caller
// reads stored chunks or items and sends what Encode returns.
//
// A View is an array seen with some Options. To answer a key of a chunk:
//
//	c, err := view.Key("c/0/1")      // ErrAbsent: 404, the chunk is the fill value
//	p, err := frame.AppendStored(ctx, nil, c.Number)
//	p, err = view.Encode(nil, c, p)  // what a client gets
//
// Encode passes most stored chunks through without decoding them. If a stored chunk is
// long and only some of its blocks are wanted, Spans and EncodeParts do with those, and
// EncodeItems takes items that were read in another way.
//
// Errors about an array are *formats.Error with Format "zarr", "blosc" or "dtype". They
// match formats.ErrUnsupported if no client could read the array, or if its type cannot be
// cast, and formats.ErrCorrupt if a stored chunk breaks the rules. ErrAbsent and ErrOption
// are about what a client asked for.
package zarrface

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
)

// Format is formats.Error.Format in errors of this package.
const Format = "zarr"

// Encoding is the number of the way in which this package makes documents and chunks. It
// is raised if they change, and belongs into the ETags of answers.
const Encoding = 2

var (
	// ErrAbsent is matched by errors of Key for a chunk that clients have to take for the
	// fill value: it lies outside of the grid, or the frame marks it as the fill value. A
	// key that is none of a chunk matches it, too.
	ErrAbsent = errors.New("no such chunk")
	// ErrOption is matched by errors for words that are no option, or contradict another.
	ErrOption = errors.New("want ~blocks, ~raw, ~zstd or ~gzip, or ~float32, ~uint8, ~uint16, ~int32 or ~int64")
)

func fail(part string, sentinel error, text string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), sentinel)}
}

// unsupported is about a type of items that no client reads.
func unsupported(text string, args ...any) error {
	return fail("type", formats.ErrUnsupported, text, args...)
}

// corrupt is about a stored chunk.
func corrupt(text string, args ...any) error {
	return fail("chunk", formats.ErrCorrupt, text, args...)
}
