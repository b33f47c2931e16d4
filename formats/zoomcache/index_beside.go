package zoomcache

import (
	"context"

	"github.com/farread/farread/formats/index"
)

// BuildIndex makes the index of a file from one pass over it like Scan, to be
// stored beside it under its name and index.Suffix. etag is that of the file.
// Damage is an error as in Scan. The result is the caller's.
func (f *File) BuildIndex(ctx context.Context, etag string, o IndexOptions) ([]byte, error) {
	x := NewIndexer(f.h.Tracks, o)
	x.decoded = true
	var p Packet
	end := f.body
	err := f.walk(ctx, f.body, func(b *Block, _ *Track) bool { return !b.Summary }, func(b Block, t *Track, content []byte) (bad, err error) {
		if o.Progress != nil {
			o.Progress(b.Off + b.Size())
		}
		if t == nil {
			return nil, nil
		}
		if end = b.Off + b.Size(); content == nil {
			x.track(b.Track).count.add(&b)
			return nil, nil
		}
		if bad := t.DecodePacket(&p, b, content, f.o.Limits); bad != nil {
			return bad, nil
		}
		if b.Count == 0 {
			return nil, x.Packet(&b)
		}
		w := Window{Track: t, Entry: p.Offset(0), Exit: p.Offset(int(p.Count) - 1), Values: p.Values, Stamps: p.Stamps}
		if w.Entry != b.Entry || w.Exit != b.Exit { // the header lies
			x.drop(x.track(b.Track))
			return nil, x.Packet(&b)
		}
		if err := x.Window(&w); err != nil {
			return nil, err
		}
		return nil, x.Packet(&b)
	})
	if err != nil {
		return nil, err
	}
	ix, err := x.finish(index.Binding{Size: f.size, ETag: etag})
	if err != nil {
		return nil, err
	}
	return index.Beside(ix, end), nil
}
