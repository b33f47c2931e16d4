// Package render turns payload into the bytes of a file: arrays into .npy, raw, JSON,
// CSV, tables and pictures, samples of a track into CSV and .npy, and points of a view
// into all of these, plots and the peaks of a waveform. An encoder takes plain values
// and an io.Writer; where the bytes go, and which flag asked for them, it does not know.
// Two read for themselves, because how a file is cut decides what is read: View makes
// another view where peaks need one, and ReadColumns reads the boxes of Columns.
package render

import (
	"fmt"
	"io"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
)

// The names of formats.
const (
	Npy   = "npy"
	Raw   = "raw"
	JSON  = "json"
	CSV   = "csv"
	PNG   = "png"
	SVG   = "svg"
	Text  = "text"
	Dat   = "dat"
	Peaks = "peaks"
	B2nd  = "b2nd"
	Arrow = "arrow"
)

// Arrays are the suffixes of files that Array writes. It also writes Text, for people.
func Arrays() []string { return []string{Npy, Raw, JSON, CSV, PNG, B2nd, Arrow} }

// ArrayOptions are options for writing an array.
type ArrayOptions struct {
	Format  string
	Fortran bool // for a .npy: items are in Fortran order
	// Columns are those of a terminal on which text is shown: it is printed as NumPy does,
	// with only some of many items. 0: it is a file, and has all.
	Columns int
	// Short says that the shape and the items are what is left of a longer array of which a terminal shows a part: along each longer axis
	// Shown items, of which the first and the last Edge are its own and the one between is not shown.
	Short   bool
	Picture picture.Options // options of a .png
	// Plot draws a .png or .svg with axes around; nil: a .png is the items alone.
	Plot   *picture.Plot
	Memory int64 // bound of the bytes of items for a .png, and of the buffers of a .b2nd
	// Layers are vlmetalayers of a .b2nd.
	Layers []cframe.Metalayer
	// Cubes gives a .b2nd chunks about as long along each axis, if memory has room for a row
	// of them.
	Cubes bool
}

// Array writes an array. items passes its items to put in C order, any number of
// whole items at a time. Nothing is written before the first items are there, or all
// are: until then a caller may begin anew.
func Array(w io.Writer, d dtype.DType, shape []int64, o ArrayOptions, items func(put func(p []byte) error) error) error {
	e, err := newEncoder(d, shape, o)
	if err != nil {
		return err
	}
	begin := sync.OnceValue(func() error { return e.begin(w) })
	err = items(func(p []byte) error {
		if err := begin(); err != nil {
			return err
		}
		return e.items(w, p)
	})
	if err == nil {
		err = begin()
	}
	if err != nil {
		return err
	}
	return e.end(w)
}

// An encoder turns items into a file.
type encoder interface {
	begin(w io.Writer) error
	items(w io.Writer, p []byte) error
	end(w io.Writer) error
}

func newEncoder(d dtype.DType, shape []int64, o ArrayOptions) (encoder, error) {
	if d.ItemSize() == 0 && o.Format != Npy && o.Format != Raw { // nobody could count them
		return nil, fmt.Errorf("items of %s, which have no bytes, as %s: %w", d, o.Format, formats.ErrUnsupported)
	}
	switch o.Format {
	case Npy:
		head, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape, Fortran: o.Fortran})
		return &rawFile{head}, err
	case Raw:
		return &rawFile{}, nil
	case JSON:
		return &jsonFile{d: d, c: newCounter(shape)}, nil
	case CSV:
		return &csvFile{d: d, c: newCounter(shape)}, nil
	case Text:
		return newText(d, shape, o.Columns, o.Short), nil
	case Arrow:
		return newArrow(d, shape)
	case B2nd:
		return &b2ndFile{d: d, shape: shape, memory: o.Memory, layers: o.Layers, cubes: o.Cubes}, nil
	case PNG, SVG:
		if o.Plot != nil {
			return newPlot(d, shape, o)
		}
		if o.Format == SVG {
			break
		}
		return newPicture(d, shape, o.Picture, o.Memory)
	}
	return nil, fmt.Errorf("format %q: %w", o.Format, formats.ErrUnsupported)
}

// pictureFile gathers the items and draws them at the end.
type pictureFile struct {
	d     dtype.DType
	shape []int64
	o     picture.Options
	p     []byte
}

// newPicture draws an array whose items take most bytes at most.
func newPicture(d dtype.DType, shape []int64, o picture.Options, most int64) (encoder, error) {
	size := int64(d.ItemSize())
	for _, n := range shape {
		if size *= n; size > most {
			return nil, fmt.Errorf("a picture of shape %s: take a slice with steps: %w", human.Shape(shape), formats.ErrTooLarge)
		}
	}
	return &pictureFile{d: d, shape: shape, o: o}, nil
}

func (f *pictureFile) begin(io.Writer) error { return nil }

func (f *pictureFile) items(_ io.Writer, p []byte) error {
	f.p = append(f.p, p...)
	return nil
}

func (f *pictureFile) end(w io.Writer) error {
	return picture.Encode(w, f.d, f.shape, f.p, f.o)
}
