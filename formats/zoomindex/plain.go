package zoomindex

import (
	"context"
	"errors"
	"io"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// Plain writes the file without the index inside it: the bytes that the original
// library would have written. Most indexes lie behind the plain file; a long index also
// has parts between its blocks. If the file has no index, Plain writes it as it is.
// Errors of w are returned as they are. Plain makes the reads that look for the index.
// It then reads every byte of the plain file once, 1 MiB at a time, one read after the
// other.
func (f *File) Plain(ctx context.Context, w io.Writer) error {
	ix, err := index.Open(ctx, f.r, index.Options{Gap: zoomcache.BlockHeaderLen, Limits: f.Limits()})
	end, parts := f.Size(), []index.Extent(nil)
	switch {
	case err == nil && f.around(ix):
		end, parts = ix.Trailer.Plain, ix.Extents()
	case err != nil && !errors.Is(err, index.ErrUnusable):
		return wrapRead(f.Size(), err)
	}
	at := int64(0)
	for _, p := range parts {
		if err := f.copyTo(ctx, w, at, p.Off-zoomcache.BlockHeaderLen); err != nil {
			return err
		}
		at = p.Off + p.Len
	}
	return f.copyTo(ctx, w, at, end)
}

// around reports whether the file can be that of the index inside it.
func (f *File) around(ix *index.Index) bool {
	if ix.Trailer.Plain < f.Body() || ix.Trailer.Plain > ix.Trailer.Off-zoomcache.BlockHeaderLen {
		return false
	}
	at := f.Body()
	for _, p := range ix.Extents() {
		if p.Off-zoomcache.BlockHeaderLen < at || p.Len > ix.Trailer.Plain-p.Off {
			return false
		}
		at = p.Off + p.Len
	}
	return true
}

// copyTo writes the bytes [from, to) of the file.
func (f *File) copyTo(ctx context.Context, w io.Writer, from, to int64) error {
	for from < to {
		p := bufpool.Get(int(min(to-from, 1<<20)))
		err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: from, P: p}})
		if err != nil {
			err = wrapRead(from, err)
		} else {
			_, err = w.Write(p)
		}
		from += int64(len(p))
		bufpool.Put(p)
		if err != nil {
			return err
		}
	}
	return nil
}
