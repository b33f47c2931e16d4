package render

import (
	"bufio"
	"fmt"
	"io"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

// ErrOutOfStep is the error for tracks whose samples would have to wait in too much
// memory for each other.
var ErrOutOfStep = fmt.Errorf("tracks so far out of step: %w", formats.ErrTooLarge)

// RowOptions are options of Rows.
type RowOptions struct {
	Type   dtype.DType // type of all values
	Rows   int64
	Memory int64         // bytes that may wait
	Wrote  func(n int64) // called with the number of bytes of values written; nil: not called
}

// Rows writes the samples of tracks as the columns of a .npy. each passes their values
// to put, packet by packet. The values of a track wait for the values of the other
// tracks: for a packet each if the tracks were written in step.
func Rows(out io.Writer, tracks []zoomcache.Track, o RowOptions, each func(put func(track int32, v *zoomcache.Values) error) error) error {
	head, err := npy.AppendHeader(nil, npy.Header{DType: o.Type, Shape: []int64{o.Rows, int64(len(tracks))}})
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, FileBuffer)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if o.Wrote == nil {
		o.Wrote = func(int64) {}
	}
	j := &joiner{w: w, wrote: o.Wrote, item: o.Type.ItemSize(), most: o.Memory, place: map[int32]int{}, wait: make([][]byte, len(tracks))}
	for i := range tracks {
		j.place[tracks[i].Number] = i
	}
	if err := each(j.add); err != nil {
		return err
	}
	if j.rows != o.Rows {
		return &formats.Error{Format: zoomcache.Format, Off: -1, Err: fmt.Errorf("%d rows of samples, and counted were %d: %w", j.rows, o.Rows, formats.ErrCorrupt)}
	}
	return w.Flush()
}

// A joiner makes rows of the samples of several tracks.
type joiner struct {
	w     *bufio.Writer
	wrote func(n int64)
	item  int
	most  int64 // bytes that may wait
	place map[int32]int
	wait  [][]byte // values of each track that wait
	held  int64
	rows  int64
}

// add takes the samples of a packet, and writes all complete rows.
func (j *joiner) add(track int32, v *zoomcache.Values) error {
	i := j.place[track]
	before := len(j.wait[i])
	j.wait[i] = v.AppendItems(j.wait[i])
	if j.held += int64(len(j.wait[i]) - before); j.held > j.most {
		return ErrOutOfStep
	}
	whole := len(j.wait[0])
	for _, q := range j.wait {
		whole = min(whole, len(q))
	}
	for at := 0; at < whole; at += j.item {
		for _, q := range j.wait {
			if _, err := j.w.Write(q[at : at+j.item]); err != nil {
				return err
			}
		}
	}
	if whole == 0 {
		return nil
	}
	for k, q := range j.wait {
		j.wait[k] = append(q[:0], q[whole:]...)
	}
	n := int64(whole) * int64(len(j.wait))
	j.held -= n
	j.rows += int64(whole / j.item)
	j.wrote(n)
	return nil
}
