package bloscpack

import (
	"context"

	"github.com/farread/farread/rangeio"
)

// A Request is a request that a read would make.
type Request struct {
	Phase    int // 1 for requests that depend on no other
	Off, Len int64
	Why      string // "chunk 3 to chunk 7", for people
	// Estimated says that the chunks decide: the read may need more requests, or
	// less of this one.
	Estimated bool
}

// Explain lists the requests for chunks that AppendItem or Each would make to
// read the chunks [i, j). It reads what it needs of the table, and nothing else;
// those requests are not listed. Requests are those that the reader plans if it
// has a method Plan, as an objstore.Object does; else those of Options.Policy.
// Errors are those that Each would have for the table.
func (f *File) Explain(ctx context.Context, i, j int64) ([]Request, error) {
	if err := f.checkRange(i, j); err != nil {
		return nil, err
	}
	if !f.usesTable() {
		return f.explainFollowed(i, j), nil
	}
	var out []Request
	s := f.source(i, j)
	for s.i < j {
		places, err := s.pick(ctx)
		if err != nil {
			return out, err
		}
		if len(places) == 0 {
			break
		}
		s.i = places[len(places)-1].i + 1
		var total int64
		unsure := false
		for _, p := range places {
			if err := f.inFile(p); err != nil {
				return out, err
			}
			total += f.guess(p)
			unsure = unsure || !p.sure
		}
		var g group
		f.cut(&g, places, make([]byte, total))
		why := f.h.Part(places[0].i)
		if n := len(places); n > 1 {
			why += " to " + f.h.Part(places[n-1].i)
		}
		for _, r := range f.plan(g.spans) {
			out = append(out, Request{Phase: 1, Off: r.Off, Len: r.Len, Why: why, Estimated: unsure})
		}
	}
	return out, nil
}

func (f *File) plan(spans []rangeio.Span) []rangeio.Request {
	if p, ok := f.r.(interface {
		Plan(spans []rangeio.Span) []rangeio.Request
	}); ok {
		return p.Plan(spans)
	}
	return rangeio.Plan(spans, f.o.Policy)
}

// explainFollowed is Explain for a file without a table. How far the chunks lie
// apart is not known before they are followed.
func (f *File) explainFollowed(i, j int64) []Request {
	if i >= j {
		return nil
	}
	n := f.size - f.body
	if i == 0 && j == f.h.Chunks {
		var out []Request
		for off := f.body; off < f.size; off += f.o.Window {
			span := rangeio.Span{Off: off, P: make([]byte, min(f.o.Window, f.size-off))}
			for _, r := range f.plan([]rangeio.Span{span}) {
				out = append(out, Request{Phase: 1, Off: r.Off, Len: r.Len, Why: "chunks", Estimated: true})
			}
		}
		return out
	}
	share := func(k int64) int64 { return int64(float64(n) * (float64(k) / float64(f.h.Chunks))) }
	return []Request{
		{Phase: 1, Off: f.body, Len: share(j), Why: "headers of chunks, followed for want of a table", Estimated: true},
		{Phase: 2, Off: f.body + share(i), Len: share(j) - share(i), Why: f.h.Part(i), Estimated: true},
	}
}
