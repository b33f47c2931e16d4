package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Fill implements objstore.Filler. It looks at the file once before and once after
// all reads, by the rules of Get and of its body.
func (b *Bucket) Fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (objstore.Info, error) {
	info, err := b.fill(ctx, key, spans, o)
	if err != nil {
		return objstore.Info{}, b.failGet(key, objstore.Range{}, err)
	}
	return info, nil
}

func (b *Bucket) fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (objstore.Info, error) {
	o.Range = objstore.Range{}
	r, info, err := b.get(ctx, key, o)
	if err != nil {
		return info, err
	}
	defer func() { _ = r.Close() }() // only read from
	err = r.fill(ctx, spans)
	if err == nil {
		err = r.check() // after the reads, so that no changed byte passes
	}
	return info, err
}

// Slow reports whether reads wait for the disk at present: then Fill makes many at a
// time.
func (b *Bucket) Slow() bool { return b.disk.Slow() }

func (r *body) fill(ctx context.Context, spans []rangeio.Span) error {
	return r.b.disk.Read(ctx, spans, func(s rangeio.Span) error {
		n, err := r.k.f.ReadAt(s.P, s.Off)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file ends at %d: %w", s.Off+int64(n), objstore.ErrChanged)
		}
		return err
	}, nil)
}
