package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Fill implements objstore.Filler. It reads a file that is kept open, and then looks at it
// once: if the key leads to it, and it is as it was when it was opened, the bytes are those of
// the version. Otherwise Fill begins anew, by the rules of Get and of its body. A file that was
// replaced or removed is seen at once, on Linux a folder that was moved within a second; until
// then reads go on, of the file that was opened.
func (b *Bucket) Fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (objstore.Info, error) {
	info, err := b.fill(ctx, key, spans, o)
	if err != nil {
		return objstore.Info{}, b.failGet(key, objstore.Range{}, err)
	}
	return info, nil
}

func (b *Bucket) fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (objstore.Info, error) {
	o.Range = objstore.Range{}
	if info, ok := b.fillKept(ctx, key, spans, o); ok {
		return info, nil
	}
	r, info, err := b.get(ctx, key, o)
	if err != nil {
		return info, err
	}
	defer func() { _ = r.Close() }() // only read from
	err = b.read(ctx, r.k, spans)
	if err == nil {
		err = r.check() // after the reads, so that no changed byte passes
	}
	return info, err
}

// Slow reports whether reads wait for the disk at present: then Fill makes many at a
// time.
func (b *Bucket) Slow() bool { return b.disk.Slow() }

// fillKept fills spans from the file that is kept open for key. ok is false if there is none, if
// it does not meet the conditions of o, or if the read failed: why, the usual way tells.
func (b *Bucket) fillKept(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (info objstore.Info, ok bool) {
	if o.VersionID != "" {
		return objstore.Info{}, false
	}
	k := b.kept.take(key)
	if k == nil {
		return objstore.Info{}, false
	}
	defer func() { _ = b.kept.release(k) }() // only read from
	if refuse(k.info, k.etag, o) != nil || b.read(ctx, k, spans) != nil || !k.stays() {
		return objstore.Info{}, false
	}
	return k.was, true
}

// read fills spans from an open file.
func (b *Bucket) read(ctx context.Context, k *kept, spans []rangeio.Span) error {
	return b.disk.Read(ctx, spans, func(s rangeio.Span) error {
		n, err := k.f.ReadAt(s.P, s.Off)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file ends at %d: %w", s.Off+int64(n), objstore.ErrChanged)
		}
		return err
	}, nil)
}
