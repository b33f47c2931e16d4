package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// longChunk is the stored length up to which a chunk is read as a whole and kept, even if
// some blocks of it are wanted: its other blocks then cost no request.
const longChunk = 256 << 10

// A zarrChunk is a chunk that Zarr clients ask for, in the stored chunk that has it.
type zarrChunk struct {
	s    *Server
	h    *handle
	v    *zarrface.View
	c    zarrface.Chunk
	at   cframe.ChunkInfo
	want zarrface.Want
	most int64 // of stored bytes that are read
}

// planZarrChunk plans a chunk: of long stored chunks the wanted blocks alone are read.
// Those that are absent are asked for like others.
func planZarrChunk(ctx context.Context, s *Server, by *call, h *handle, v *zarrface.View, c zarrface.Chunk, absent bool) (*job, error) {
	k, ok := h.d.(farread.Chunker)
	a, is := h.d.Handle().(*farread.Array)
	if !ok || !is {
		return nil, wrongKind(h.d, "array in chunks")
	}
	z := &zarrChunk{s: s, h: h, v: v, c: c, want: v.Want(c)}
	var asks func() (done func())
	if !h.weak && !h.loose && !a.Frame().Local() { // else nothing is kept, or nothing has to be waited for
		asks = func() func() { return z.asks(by, k) }
	}
	if absent {
		return &job{absent: true, asks: asks}, nil
	}
	if c.Size > s.c.MaxResponse {
		return nil, tooLarge("a chunk", c.Size, s.c.MaxResponse)
	}
	var err error
	if z.at, err = a.Frame().Chunk(ctx, c.Number); err != nil {
		return nil, err
	}
	if z.most = z.at.MaxLen; z.most < 0 {
		z.most = bytesOf(a)
	}
	// What Encode appends may be twice as long as the items, which it holds besides, twice if
	// it casts them.
	j := &job{media: "application/octet-stream", size: c.Size + zarrSlack, work: 2 * c.Size}
	if by.zarr.o.Cast != "" {
		j.work += c.Size
	}
	one, contiguous := h.d.(farread.Ranger)
	if contiguous && z.want.Blocks != nil && z.at.Special == blosc.None && z.at.MaxLen > longChunk {
		z.most = min(z.most, 2*c.Size+longChunk)
		j.make = func(ctx context.Context) ([]byte, error) { return z.parts(ctx, k, one.Object()) }
	} else {
		j.asks = asks
		j.kept = func() (lead, rest []byte) { return z.lead(k.KeptStored(int64(c.Number))) }
		j.make = func(ctx context.Context) (p []byte, err error) {
			j.lead, p, err = z.whole(ctx, k)
			return p, err
		}
	}
	if z.most > s.c.MaxRead {
		return nil, tooMuch(z.most, s.c.MaxRead)
	}
	j.read = z.most
	return j, nil
}

// zarrSlack is what the header and the block starts of a chunk may take besides its items.
const zarrSlack = 64 << 10

func tooMuch(n, allowed int64) error {
	return refusef(http.StatusRequestEntityTooLarge, "too-much", "%d bytes to read for it, %d allowed", n, allowed)
}

// bytesOf is the most bytes that a stored chunk of an array has.
func bytesOf(a *farread.Array) int64 {
	m, n := a.Meta(), int64(a.ItemSize())
	for i, k := range m.ChunkShape {
		b := int64(max(m.BlockShape[i], 1))
		n *= (int64(k) + b - 1) / b * b // blocks at the edges are full
	}
	return n + n/16 + zarrSlack
}

// whole makes the chunk of all of the stored one. If lead is not nil, the body is a part of
// that, and has no mark.
func (z *zarrChunk) whole(ctx context.Context, k farread.Chunker) (lead, body []byte, err error) {
	stored, err := z.h.ahead.stored(ctx, int64(z.c.Number), k)
	if err != nil {
		return nil, nil, err
	}
	if lead, rest := z.lead(stored); lead != nil {
		return lead, rest, nil
	}
	body, err = z.v.Encode(begin(0), z.c, stored)
	return nil, body, err
}

// lead finds the chunk in the stored one, if that is given and has it. The lead is nil else.
func (z *zarrChunk) lead(stored []byte) (lead, rest []byte) {
	if stored == nil {
		return nil, nil
	}
	lead, rest, _ = z.v.Lead(z.c, stored)
	return lead, rest
}

// parts makes the chunk of the wanted blocks: they are read once the start of the chunk
// tells where they are, and that is kept.
func (z *zarrChunk) parts(ctx context.Context, k farread.Chunker, ob *objstore.Object) ([]byte, error) {
	x, err := z.index(ctx, ob)
	if err != nil {
		return nil, err
	}
	if x == nil { // other blocks than the array says
		l, err := z.s.memory.take(ctx, z.at.MaxLen, z.s.c.Wait)
		if err != nil {
			return nil, err
		}
		defer l.release()
		p, _, err := z.whole(ctx, k)
		return p, err
	}
	list, sum := z.v.Spans(z.c, x), int64(0)
	for _, s := range list {
		if int64(s.Off)+int64(s.Len) > z.at.MaxLen {
			return nil, z.corrupt(fmt.Sprintf("a block ends at %d, the next chunk begins at %d", s.Off+s.Len, z.at.MaxLen))
		}
		sum += int64(s.Len)
	}
	if sum > z.most {
		return nil, tooMuch(sum, z.most)
	}
	spans, room := make([]rangeio.Span, len(list)), make([]byte, sum)
	for i, s := range list {
		spans[i] = rangeio.Span{Off: z.at.Off + int64(s.Off), P: room[:s.Len:s.Len]}
		room = room[s.Len:]
	}
	if err := ob.ReadRanges(ctx, spans); err != nil {
		return nil, err
	}
	return z.v.EncodeParts(begin(0), z.c, x, func(off, n int) []byte {
		i, found := slices.BinarySearchFunc(list, off, func(s zarrface.Span, off int) int { return s.Off - off })
		if !found {
			i--
		}
		if i < 0 || off+n > list[i].Off+list[i].Len {
			return nil
		}
		return spans[i].P[off-list[i].Off:][:n]
	})
}

// index reads the start of the stored chunk, or finds it in the cache. It returns nil if
// the chunk has other blocks than the array says.
func (z *zarrChunk) index(ctx context.Context, ob *objstore.Object) (*blosc.Index, error) {
	const dictLen = 4 // of the field that tells how long a dictionary is
	key := formats.CacheKey{File: z.h.id, Kind: "zarr head", Chunk: int64(z.c.Number)}
	head := z.s.cache.Get(key)
	if head == nil {
		head = make([]byte, min(int64(z.want.Head+dictLen), z.at.MaxLen))
		if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: z.at.Off, P: head}}); err != nil {
			return nil, err
		}
		if !z.h.weak {
			z.s.cache.Put(key, head)
		}
	}
	h, err := blosc.ParseHeader(head)
	if err != nil {
		return nil, err
	}
	if int64(h.CBytes) > z.at.MaxLen {
		return nil, z.corrupt(fmt.Sprintf("%d bytes, the next chunk begins after %d", h.CBytes, z.at.MaxLen))
	}
	if h.IndexLen() > len(head) {
		return nil, nil
	}
	return blosc.ParseIndex(head)
}

func (z *zarrChunk) corrupt(text string) error {
	return &formats.Error{Format: zarrface.Format, Part: fmt.Sprintf("chunk %d", z.c.Number), Off: z.at.Off, Err: fmt.Errorf("%s: %w", text, formats.ErrCorrupt)}
}
