package cframe

import (
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// Commit makes what was changed the frame. It writes offsets and trailer behind
// the end of the file, then the header, each after the other has reached the disk.
//
// Without any chunk left C looks for the trailer right behind the header. So
// such a frame is committed twice: with its trailer behind the end, where what lies
// under the header is not touched yet, and then with the trailer in its place and
// the file cut off (unless bytes of others lie behind it; those are not written
// over either, so that a trailer which is too long for its place stays behind
// them). Between the two C sees no chunks, and no or damaged vlmetalayers. A reader that had the old frame open
// finds its first chunk damaged then, not changed.
func (e *Editor) Commit() error {
	if e.err != nil || !e.changed {
		return e.err
	}
	if err := e.plainFirst(); err != nil {
		return e.fail(err)
	}
	in := e.in
	in.VLBlocks, in.HasVL = e.kind == kindVL, len(e.vl) > 0
	e.sizes.put(&in)
	tail, err := appendOffsets(nil, e.offs)
	if err != nil {
		return err
	}
	tail = appendTrailer(tail, e.vl)
	at := e.end
	if in.NBytes == 0 { // it must not overlap its final place
		at = max(at, in.HeaderLen+int64(len(tail)))
	}
	if err := e.publish(in, tail, at); err != nil {
		return e.fail(err)
	}
	e.end = e.in.FrameLen
	if in.NBytes == 0 && (!e.foreign || in.HeaderLen+int64(len(tail)) <= e.own) {
		if err := e.shrink(tail); err != nil {
			return e.fail(err)
		}
	}
	e.kept, e.changed, e.meta = e.end, false, false
	return nil
}

// plainFirst makes sure that C opens the frame, see asStored.
func (e *Editor) plainFirst() error {
	if len(e.offs) == 0 || !e.sizes.varies() {
		return nil
	}
	h, err := e.head(0)
	if err != nil || h.Special == blosc.None {
		return err
	}
	chunk, err := e.AppendChunk(nil, 0)
	if err != nil {
		return err
	}
	if chunk, err = plainChunk(chunk, e.o.Limits.MaxDecoded); err != nil {
		return err
	}
	e.offs[0], err = e.write(0, chunk)
	return err
}

// publish writes offsets and trailer at the given place and then the header.
func (e *Editor) publish(in Info, tail []byte, at int64) error {
	in.CBytes = at - in.HeaderLen
	if in.NBytes == 0 && at == in.HeaderLen {
		in.CBytes = 0
	}
	in.FrameLen = at + int64(len(tail))
	if _, err := e.f.WriteAt(tail, at); err != nil {
		return wrap("trailer", at, err)
	}
	if err := syncFile(e.f); err != nil {
		return err
	}
	// From here on the header may name these bytes, whatever is reported.
	e.kept = max(e.kept, in.FrameLen)
	putTotals(e.header, &in)
	h := e.header[:fixedLen]
	if e.meta {
		h = e.header
	}
	if _, err := e.f.WriteAt(h, 0); err != nil {
		return wrap("header", 0, err)
	}
	e.in = in
	return syncFile(e.f)
}

// shrink moves the trailer of an empty frame to its place.
func (e *Editor) shrink(tail []byte) error {
	if err := e.publish(e.in, tail, e.in.HeaderLen); err != nil {
		return err
	}
	if e.foreign {
		return nil
	}
	e.end = e.in.FrameLen
	if err := e.f.Truncate(e.end); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return nil
}

func syncFile(f formats.File) error {
	if s, ok := f.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			return fmt.Errorf("%s: %w", Format, err)
		}
	}
	return nil
}

// sizeOf finds the length of a file.
func sizeOf(f formats.File) (int64, error) {
	switch s := f.(type) {
	case interface{ Size() int64 }:
		return s.Size(), nil
	case interface{ Stat() (fs.FileInfo, error) }:
		info, err := s.Stat()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", Format, err)
		}
		return info.Size(), nil
	}
	return probeSize(f)
}

// probeSize finds the end by reading single bytes: twice the base-2 logarithm of
// the length of them.
func probeSize(f formats.File) (int64, error) {
	holds := func(off int64) (bool, error) {
		var b [1]byte
		n, err := f.ReadAt(b[:], off)
		if n == 1 || err == nil || err == io.EOF { //nolint:errorlint // ReaderAt gives io.EOF as it is
			return n == 1, nil
		}
		return false, wrap("file", off, err)
	}
	low, high := int64(-1), int64(0) // low is held, high not yet tried
	for {
		ok, err := holds(high)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if low = high; high > math.MaxInt64/4 {
			return 0, tooLarge("file", -1, "no end")
		}
		high = 2*high + 1
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		ok, err := holds(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return high, nil
}
