package bloscpack

import (
	"bytes"
	"context"

	"github.com/farread/farread/internal/bufpool"
)

// startBytes is the most that StartItem reads of an item.
const startBytes = 64 << 10

// A Started is an item whose header is read. Its methods must not be called concurrently.
type Started struct {
	f *File
	p piece
}

// StartItem reads the first 64 KiB of chunk i, and so all of a shorter one; Append then reads the rest. It is for
// callers who want to know how long an item is before there is memory for it. Both together cost
// what AppendItem costs, and for a longer chunk one planned read more. Errors are those of AppendItem.
func (f *File) StartItem(ctx context.Context, i int64) (*Started, error) {
	if err := f.checkRange(i, i+1); err != nil {
		return nil, err
	}
	p, err := f.one(ctx, i, startBytes)
	if err != nil {
		return nil, err
	}
	s := &Started{f, *p}
	s.p.b = bytes.Clone(p.b) // nobody may ever call Append
	bufpool.Put(p.b)
	return s, nil
}

// Len returns the number of decoded bytes.
func (s *Started) Len() int64 { return int64(s.p.h.NBytes) }

// Append appends the decoded item to dst. After an error it returns dst as it was.
func (s *Started) Append(ctx context.Context, dst []byte) ([]byte, error) {
	p := s.p
	if !p.whole() {
		b, err := s.f.rest(ctx, &p)
		if err != nil {
			return dst, err
		}
		defer bufpool.Put(b)
		p.b = b
	}
	return s.f.appendPiece(dst, &p, s.f.o.Parallel)
}
