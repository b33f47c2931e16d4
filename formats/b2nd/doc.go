// Package b2nd reads and writes n-dimensional arrays that are stored as Blosc2
// frames. To read a slice it fetches the frame's header and offsets, and then only
// the chunks, or the blocks of chunks, that hold selected items.
//
// An array is cut into chunks of one shape. Each chunk is stored in full size,
// with padding at the far edges of the array. Each chunk is cut into blocks of one
// shape, which are stored one after another, each in row-major order. The
// metalayer "b2nd" of the frame holds these shapes; see [Meta].
//
// An error about a file is a *formats.Error with Format "b2nd", "cframe" or
// "blosc", which wraps a sentinel of package formats. Errors of a reader or output
// are wrapped, so that errors.Is finds them. Shapes that cannot be written, and
// changes that an [Editor] refuses, match cframe.ErrRefused. A read with a box
// outside of the array, or with a buffer of the wrong length, is a mistake of the
// caller and matches no sentinel.
package b2nd

import (
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// Format is formats.Error.Format in errors of this package.
const Format = "b2nd"

// MaxDims is the largest number of axes (B2ND_MAX_DIM of c-blosc2 3).
const MaxDims = 16

// A Box selects items of an array; see [ParseSlice], [Whole] and [Sub]. It has the
// methods of [nd.Box]. Counts returns the number of items along each axis of the
// array; OutShape is the same without the axes that an integer index removes.
type Box = nd.Box

// A Slice is a parsed selection for arrays of any shape; see [nd.Slice].
type Slice = nd.Slice

// ParseSlice parses a selection as NumPy spells it: "0:10, 5, ::-2, ...".
// Slice.Resolve makes a Box of it for the shape of an array: it clips ranges,
// and fails for an integer outside of its axis.
func ParseSlice(text string) (Slice, error) { return nd.ParseSlice(text) }

// Whole returns the box of all items of an array of the given shape.
func Whole(shape []int64) Box { return nd.Whole(shape) }

// Sub returns the box of the items [start[i], stop[i]) along each axis i. It
// does not check bounds.
func Sub(start, stop []int64) Box { return nd.Sub(start, stop) }

func fail(part string, class error, format string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(part, format string, args ...any) error {
	return fail(part, formats.ErrCorrupt, format, args...)
}

func chunkName(i int64) string { return fmt.Sprintf("chunk %d", i) }
