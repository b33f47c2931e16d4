package render

import (
	"io"
	"slices"
	"strings"

	"github.com/farread/farread/formats/dtype"
)

// rawFile writes the items unchanged, after the header of a .npy if head is set.
type rawFile struct{ head []byte }

func (f *rawFile) begin(w io.Writer) error {
	_, err := w.Write(f.head)
	return err
}

func (f *rawFile) items(w io.Writer, p []byte) error {
	_, err := w.Write(p)
	return err
}

func (f *rawFile) end(io.Writer) error { return nil }

// A counter goes through the indexes of a shape in C order.
type counter struct {
	shape []int64
	at    []int64
	done  bool
}

func newCounter(shape []int64) counter {
	return counter{shape: shape, at: make([]int64, len(shape)), done: slices.Contains(shape, 0)}
}

// next goes to the next index. It returns how many axes, counted from the last, went
// back to 0.
func (c *counter) next() (carried int) {
	for i := len(c.at) - 1; i >= 0; i-- {
		if c.at[i]++; c.at[i] < c.shape[i] {
			return carried
		}
		c.at[i] = 0
		carried++
	}
	c.done = true
	return carried
}

// jsonFile is nested lists, a line for each row of the last axis.
type jsonFile struct {
	d   dtype.DType
	c   counter
	buf []byte
}

func (f *jsonFile) begin(w io.Writer) error {
	if f.c.done {
		return f.empty(w, 0)
	}
	_, err := io.WriteString(w, strings.Repeat("[", len(f.c.shape)))
	return err
}

// empty writes nested lists down to the axis without items.
func (f *jsonFile) empty(w io.Writer, axis int) error {
	if _, err := io.WriteString(w, "["); err != nil {
		return err
	}
	for i := range f.c.shape[axis] {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if err := f.empty(w, axis+1); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "]")
	return err
}

func (f *jsonFile) items(w io.Writer, p []byte) error {
	for item := range slices.Chunk(p, f.d.ItemSize()) {
		f.buf = f.d.AppendJSON(f.buf, item)
		carried := f.c.next()
		f.buf = append(f.buf, strings.Repeat("]", carried)...)
		switch {
		case f.c.done:
		case carried > 0:
			f.buf = append(append(f.buf, ",\n"...), strings.Repeat("[", carried)...)
		default:
			f.buf = append(f.buf, ',')
		}
		if len(f.buf) >= textBuffer {
			if err := f.flush(w); err != nil {
				return err
			}
		}
	}
	return f.flush(w)
}

const textBuffer = 64 << 10

func (f *jsonFile) flush(w io.Writer) error {
	_, err := w.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

func (f *jsonFile) end(w io.Writer) error {
	_, err := io.WriteString(w, "\n")
	return err
}

// csvFile has a line for each row of the last axis. If items have members it has a
// line for each item, under a line of their names.
type csvFile struct {
	d   dtype.DType
	c   counter
	buf []byte
}

func (f *csvFile) begin(w io.Writer) error {
	if f.d.Kind() != dtype.Struct {
		return nil
	}
	_, err := w.Write(append(f.d.AppendColumns(nil, ""), '\n'))
	return err
}

func (f *csvFile) items(w io.Writer, p []byte) error {
	axes := f.c.shape
	alone := len(axes) <= 1 || axes[len(axes)-1] == 1 || f.d.Kind() == dtype.Struct // one item on each line
	for item := range slices.Chunk(p, f.d.ItemSize()) {
		n := len(f.buf)
		if f.buf = f.d.AppendCSV(f.buf, item); alone && len(f.buf) == n {
			f.buf = append(f.buf, `""`...) // readers of CSV skip empty lines
		}
		if f.c.next() > 0 || f.c.done || len(f.c.shape) == 1 || f.d.Kind() == dtype.Struct {
			f.buf = append(f.buf, '\n')
		} else {
			f.buf = append(f.buf, ',')
		}
		if len(f.buf) >= textBuffer {
			if err := f.flush(w); err != nil {
				return err
			}
		}
	}
	return f.flush(w)
}

func (f *csvFile) flush(w io.Writer) error {
	_, err := w.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

func (f *csvFile) end(io.Writer) error { return nil }
