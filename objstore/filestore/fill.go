package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A read that takes longer than slowRead and the time that its bytes need at
// slowRate did not come out of memory, or the processor went to somebody else
// meanwhile: it takes some of them, and a share of all, to be sure.
const (
	slowRead  = 300 * time.Microsecond
	slowRate  = 1 << 30 // bytes a second
	slowReads = 3
	slowShare = 4 // one in so many
)

// Fill implements objstore.Filler. It looks at the file once before and once after
// all reads, by the rules of Get and of its body.
func (b *Bucket) Fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (int, objstore.Info, error) {
	n, info, err := b.fill(ctx, key, spans, o)
	if err != nil {
		return 0, objstore.Info{}, b.failGet(key, objstore.Range{}, err)
	}
	return n, info, nil
}

func (b *Bucket) fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (int, objstore.Info, error) {
	o.Range = objstore.Range{}
	r, info, err := b.get(ctx, key, o)
	if err != nil {
		return 0, info, err
	}
	defer func() { _ = r.Close() }() // only read from
	n, err := r.fill(spans)
	if err == nil {
		err = r.check() // after the reads, so that no changed byte passes
	}
	return n, info, err
}

// fill reads spans until reading turns out to be slow.
func (r *body) fill(spans []rangeio.Span) (int, error) {
	last, slow := time.Now(), 0
	for i, s := range spans {
		if err := r.ended(); err != nil {
			return 0, err
		}
		n, err := r.k.f.ReadAt(s.P, s.Off)
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the file ends at %d: %w", s.Off+int64(n), objstore.ErrChanged)
		}
		if err != nil {
			return 0, err
		}
		now := time.Now()
		if now.Sub(last) > slowRead+time.Duration(int64(len(s.P))*int64(time.Second)/slowRate) {
			if slow++; slow >= slowReads && slow*slowShare > i {
				return i + 1, nil
			}
		}
		last = now
	}
	return len(spans), nil
}
