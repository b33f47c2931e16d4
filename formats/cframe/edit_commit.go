package cframe

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// Commit makes the changes visible to readers. It writes offsets and trailer
// behind the end of the file and syncs, then writes the header and syncs again. If
// nothing was changed, it does nothing.
//
// A frame without chunks is a special case, since the C library then looks for the
// trailer right behind the header. So Commit first copies the chunks that are
// there to the end of the file, and commits the old frame with the copies. Then it
// writes the trailer in their place and a header that says that there are no
// chunks, and cuts the file off, unless Edit found bytes behind the frame. A
// reader that had the frame open then finds those chunks damaged, and never takes
// other bytes for them.
//
// Two cases are weaker. If the frame had no chunks before, either, and the machine
// crashes while the vlmetalayers are replaced, the C library reads damaged
// vlmetalayers or fails. If Edit found bytes behind the frame and the trailer is
// too long for the space before them, the trailer is written behind them, and the
// C library does not find it.
func (e *Editor) Commit() error {
	if e.err != nil || !e.changed {
		return e.err
	}
	if err := e.plainFirst(); err != nil {
		return e.fail(err)
	}
	draft := e.o.Draft && !e.foreign
	if draft {
		if err := e.slide(); err != nil {
			return e.fail(err)
		}
	}
	in := e.in
	in.VLBlocks, in.HasVL, in.BlockSize = e.kind == kindVL, len(e.vl) > 0, e.block
	e.sizes.put(&in)
	tail, err := appendOffsets(nil, e.offs)
	if err != nil {
		return err
	}
	if tail, err = e.tail(&in, tail); err != nil {
		return e.fail(err)
	}
	if in.NBytes > 0 {
		err = e.publish(in, tail, e.end, e.meta)
	} else {
		err = e.publishEmpty(in, tail)
	}
	if err != nil {
		return e.fail(err)
	}
	if draft {
		if err := e.cutDraft(); err != nil {
			return e.fail(err)
		}
	}
	e.oldOffs, e.oldVL = slices.Clone(e.offs), e.vl
	e.kept, e.changed, e.meta = e.end, false, false
	e.renewIndex()
	return nil
}

// publishEmpty commits a frame without chunks; see Commit.
func (e *Editor) publishEmpty(in Info, trailer []byte) error {
	n := int64(len(trailer))
	fits := !e.foreign || in.HeaderLen+n <= e.own
	switch {
	case e.o.Draft && fits: // nobody reads what is there
	case fits && e.in.NBytes > 0:
		if err := e.vacate(n); err != nil {
			return err
		}
	default: // the old trailer may be in that place: first commit the new one elsewhere
		if err := e.publish(in, trailer, max(e.end, in.HeaderLen+n), e.meta); err != nil || !fits {
			return err
		}
	}
	if err := e.publish(in, trailer, in.HeaderLen, e.meta); err != nil || e.foreign {
		return err
	}
	e.end = e.in.FrameLen
	if err := e.f.Truncate(e.end); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return nil
}

// vacate copies the chunks of the committed frame that lie in the n bytes behind
// the header to the end of the file, and commits the frame with the copies.
func (e *Editor) vacate(n int64) error {
	offs := slices.Clone(e.oldOffs)
	moved := false
	e.end = max(e.end, e.in.HeaderLen+n)
	for i, off := range offs {
		if off < 0 || off >= n {
			continue
		}
		chunk, err := e.appendAt(nil, i, off)
		if err != nil {
			return err
		}
		if offs[i], err = e.write(i, chunk); err != nil {
			return err
		}
		moved = true
	}
	// If most chunks have no bytes, offsets and trailer may be in these n
	// bytes, too.
	if !moved && e.in.CBytes >= n {
		return nil
	}
	tail, err := appendOffsets(nil, offs)
	if err != nil {
		return err
	}
	return e.publish(e.in, appendTrailer(tail, e.oldVL), e.end, false)
}

// plainFirst replaces a special first chunk in a frame of varying sizes by a
// plain one, which the C library can open; see asStored.
func (e *Editor) plainFirst() error {
	if len(e.offs) == 0 || !e.sizes.varies() {
		return nil
	}
	h, err := e.head(0)
	if err != nil || h.Special == blosc.None {
		return err
	}
	chunk, err := e.AppendStored(nil, 0)
	if err != nil {
		return err
	}
	if chunk, err = plainChunk(chunk, e.o.Limits.MaxDecoded); err != nil {
		return err
	}
	e.offs[0], err = e.write(0, chunk)
	e.index.renew(0)
	return err
}

// publish writes tail, offsets and trailer, at the offset at, and then the
// header, with its metalayers if metalayers is set.
func (e *Editor) publish(in Info, tail []byte, at int64, metalayers bool) error {
	in.CBytes = at - in.HeaderLen
	in.FrameLen = at + int64(len(tail))
	if _, err := e.f.WriteAt(tail, at); err != nil {
		return wrap("trailer", at, err)
	}
	if err := syncFile(e.f); err != nil {
		return err
	}
	// From here on the header may name these bytes, even if its write fails:
	// Abort must keep them.
	e.end = max(e.end, in.FrameLen)
	e.kept = max(e.kept, in.FrameLen)
	putTotals(e.header, &in)
	h := e.header[:fixedLen]
	if metalayers {
		h = e.header
	}
	if _, err := e.f.WriteAt(h, 0); err != nil {
		return wrap("header", 0, err)
	}
	e.in = in
	return syncFile(e.f)
}

func syncFile(f formats.File) error {
	if err := formats.Sync(f); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	return nil
}

// sizeOf returns the length of a file.
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

// probeSize finds the end of a file by reads of single bytes. It makes about
// twice the base-2 logarithm of the length of them.
func probeSize(f formats.File) (int64, error) {
	holds := func(off int64) (bool, error) {
		var b [1]byte
		n, err := f.ReadAt(b[:], off)
		if n == 1 || err == nil || err == io.EOF { //nolint:errorlint // ReaderAt gives io.EOF as it is
			return n == 1, nil
		}
		return false, wrap("file", off, err)
	}
	low, high := int64(-1), int64(0) // the file has the byte at low; high is not tried yet
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
