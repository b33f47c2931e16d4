// Package b2nd reads and writes n-dimensional arrays that are stored as Blosc2
// frames: any slice is read by fetching the frame's header and offsets, and then
// only the chunks, or blocks of chunks, that hold selected items.
//
// An array is cut into chunks of one shape, each stored full size and padded at
// the far edges, and each chunk into blocks of one shape, stored one after the
// other as dense row-major boxes. The metalayer "b2nd" of the frame holds these
// shapes; see [Meta].
//
// An error about a file is a *formats.Error with Format "b2nd", "cframe" or
// "blosc" that wraps a sentinel of package formats; errors of a reader or output
// keep their identity. Shapes that cannot be written, and a change that an
// [Editor] does not take, match cframe.ErrRefused. A box outside of the array or a
// buffer of the wrong length, in reading, matches no sentinel: it is a mistake of
// the caller.
package b2nd

import (
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// Format is the name of this format in errors.
const Format = "b2nd"

// MaxDims is the most axes of an array (B2ND_MAX_DIM of c-blosc2 3).
const MaxDims = 16

// A Box selects items of an array; see [ParseSlice], [Whole] and [Sub]. Its
// methods are those of [nd.Box]: Counts gives the number of items along each axis of
// the array; OutShape is the same without the axes that an integer took away.
type Box = nd.Box

// A Slice is the parsed text of a selection, for arrays of any shape; see [nd.Slice].
type Slice = nd.Slice

// ParseSlice reads NumPy's spelling of a selection: "0:10, 5, ::-2, ...".
// Slice.Resolve makes a Box of it for an array's shape, and fails for an integer
// outside of its axis; ranges are clipped.
func ParseSlice(text string) (Slice, error) { return nd.ParseSlice(text) }

// Whole selects every item of an array of the given shape.
func Whole(shape []int64) Box { return nd.Whole(shape) }

// Sub selects [start, stop) along every axis. The caller vouches for bounds.
func Sub(start, stop []int64) Box { return nd.Sub(start, stop) }

func fail(part string, class error, format string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(part, format string, args ...any) error {
	return fail(part, formats.ErrCorrupt, format, args...)
}

func chunkName(i int64) string { return fmt.Sprintf("chunk %d", i) }
