package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A staleIndex is the index beside a file that an append changes, and makes stale.
type staleIndex struct {
	a     *app
	o     *objstore.Object // the file
	found bool
	why   string // why the append cannot use it
}

func (s *staleIndex) key() string { return s.o.Info().Key + index.Suffix }

// open is cframe.EditOptions.Sidecar: it reads all of the index, once.
func (s *staleIndex) open(ctx context.Context) (rangeio.Reader, string, error) {
	const most = 1 << 20 // of most indexes it is all
	x, err := objstore.Open(ctx, s.o.Bucket(), s.key(), objstore.OpenOptions{Head: most, Ahead: -1, Patience: s.o.Patience(), Aid: true})
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case errors.Is(err, objstore.ErrNotFound), errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalid):
		return nil, "", nil
	}
	s.found = true
	var p []byte
	if err == nil {
		if room := int64(s.a.flags.maxMemory) / 4; x.Size() > room {
			s.why = fmt.Sprintf("it has %s, over %s, a quarter of --max-memory", human.Size(x.Size()), human.Size(room))
			return nil, "", nil
		}
		p = make([]byte, x.Size())
		err = x.ReadRanges(ctx, []rangeio.Span{{P: p}})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		s.why = err.Error()
		return nil, "", nil
	}
	return rangeio.FromReaderAt(bytes.NewReader(p), x.Size()), s.o.Info().ETag, nil
}

// look is open for an append that has no use for the index.
func (s *staleIndex) look(ctx context.Context) {
	_, err := s.o.Bucket().Head(ctx, s.key())
	s.found = err == nil
}

// What became of an index beside; see appendReport.Index.
const (
	indexInside = "inside"
	indexStale  = "stale"
)

// settle removes the index if the file, which has grown, has one inside, and else tells that it is stale.
func (s *staleIndex) settle(ctx context.Context, rep *appendReport) {
	switch {
	case s == nil || !s.found:
		return
	case !rep.inside:
		rep.Index = indexStale
		if s.a.rehearsal == nil {
			why := "is about what was there before, so it is not used any more"
			if s.why != "" {
				why += " (" + s.why + ")"
			}
			s.a.warn(rep.Output+index.Suffix, why+"; farread index makes it anew")
		}
		return
	}
	rep.Index = indexInside
	if s.a.rehearsal != nil {
		s.a.rehearsal.step(objstore.Step{Op: "delete"})
		return
	}
	if err := s.o.Bucket().Delete(ctx, s.key()); err != nil {
		s.a.warn(rep.Output+index.Suffix, "the new index lies inside; this one is not used any more, and could not be removed: "+err.Error())
	}
}
