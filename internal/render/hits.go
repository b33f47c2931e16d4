package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/human"
)

// HitOptions are options for writing records of which nobody knows how many there are.
type HitOptions struct {
	Format string
	// Columns are those of a terminal, which shows only some of many records as text. 0: it is a file.
	Columns int
	Off     int   // for raw: only the bytes of a record from here on are written
	Memory  int64 // bytes of records that may wait for their number: text, and a .npy without Again
	// Again writes the header of a .npy a second time. It is nil for a stream.
	Again io.WriterAt
}

// HitFormats are the formats that Hits writes, besides Text.
func HitFormats() []string { return []string{Npy, Raw, JSON, CSV} }

// ErrManyHits is the error for more records than can wait in memory.
var ErrManyHits = fmt.Errorf("more items than fit into memory: %w", formats.ErrTooLarge)

// Hits writes records of type d, a structured one. each passes them to put, any number of
// whole ones at a time.
func Hits(out io.Writer, d dtype.DType, o HitOptions, each func(put func(p []byte) error) error) error {
	w := bufio.NewWriterSize(out, FileBuffer)
	var err error
	switch {
	case o.Format == Npy && o.Again != nil:
		err = o.npyFile(w, d, each)
	case o.Format == Npy || o.Format == Text:
		err = o.waiting(w, d, each)
	case o.Format == Raw:
		err = each(func(p []byte) error {
			for rec := range slices.Chunk(p, d.ItemSize()) {
				if _, err := w.Write(rec[o.Off:]); err != nil {
					return err
				}
			}
			return nil
		})
	default:
		err = o.lines(w, d, each)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// npyFile writes the header again at the end, when the number of records is known.
func (o *HitOptions) npyFile(w *bufio.Writer, d dtype.DType, each func(put func(p []byte) error) error) error {
	head, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{0}})
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n := int64(0)
	err = each(func(p []byte) error {
		n += int64(len(p) / d.ItemSize())
		_, err := w.Write(p)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	final, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{n}})
	if err == nil && len(final) != len(head) {
		err = fmt.Errorf("header of %d bytes where %d were left: %w", len(final), len(head), io.ErrShortWrite)
	}
	if err == nil {
		_, err = o.Again.WriteAt(final, 0)
	}
	return err
}

// waiting keeps all records until their number is known.
func (o *HitOptions) waiting(w io.Writer, d dtype.DType, each func(put func(p []byte) error) error) error {
	var all []byte
	err := each(func(p []byte) error {
		if all = append(all, p...); o.Format == Text && len(all)/d.ItemSize() > MaxText {
			return fmt.Errorf("more than %s items match, which are too many to show: name a file with -o, or a --format for stdout: %w", human.Count(MaxText), formats.ErrTooLarge)
		}
		if int64(len(all)) > o.Memory {
			return ErrManyHits
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.Format == Text && len(all) == 0 {
		_, err := io.WriteString(w, "no item matches\n")
		return err
	}
	return Array(w, d, []int64{int64(len(all) / d.ItemSize())}, ArrayOptions{Format: o.Format, Columns: o.Columns},
		func(put func(p []byte) error) error { return put(all) })
}

// lines writes a line for each record, of JSON or CSV.
func (o *HitOptions) lines(w *bufio.Writer, d dtype.DType, each func(put func(p []byte) error) error) error {
	var buf []byte
	begin, between, end := "[", ",\n", "]\n"
	if o.Format == CSV {
		begin, between, end = string(d.AppendColumns(nil, ""))+"\n", "", ""
	}
	if _, err := w.WriteString(begin); err != nil {
		return err
	}
	some := false
	err := each(func(p []byte) error {
		for rec := range slices.Chunk(p, d.ItemSize()) {
			if buf = buf[:0]; some {
				buf = append(buf, between...)
			}
			if some = true; o.Format == CSV {
				buf = append(d.AppendCSV(buf, rec), '\n')
			} else {
				buf = d.AppendJSON(buf, rec)
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = w.WriteString(end)
	return err
}
