package pack

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
	"github.com/farread/farread/rangeio"
)

// JoinLayer is the vlmetalayer of an array that a rule with append has made: a msgpack text,
// the record of functions.Joined.
const JoinLayer = "farread-joined"

const (
	// maxDraft is how many bytes of items a function writes into its temporary file, on a
	// disk of 512 MB.
	maxDraft = 384 << 20
	// heldMemory is how much of a compressed member of a .npz is held in memory.
	heldMemory = arrayMemory / 2
)

// join makes the array of an upload a part of the dataset To.
func (j *Job) join(ctx context.Context, src objstore.Bucket, u functions.Upload, list []Array, noteTag string) ([]objstore.Info, error) {
	a := list[0]
	switch {
	case len(list) > 1:
		return nil, kit.Fail("upload", u.Key, -1, kit.Unsupported("%d arrays: a rule with append takes one of each upload", len(list)))
	case len(a.Shape) == 0:
		return nil, kit.Fail("upload", u.Key, -1, kit.Unsupported("an array without axes has no rows to append"))
	}
	g := &arrayGrower{a: a, encode: j.Encode, chosen: j.Items.Encode != nil, still: func(context.Context) error { return nil }}
	joined := functions.Joined{Bucket: j.Out, Key: j.To, Moved: func(rows int64) {
		if j.Options.Remark != nil {
			j.Options.Remark(u.Key, fmt.Sprintf("%d rows of %s lay behind its place and were moved", rows, j.To))
		}
	}}
	if noteTag != "" {
		joined.Layout = "note " + noteTag
		g.still = func(ctx context.Context) error { return kit.StillNoted(ctx, src, u.Key, noteTag) }
	}
	return joined.Publish(ctx, src, u, g)
}

// arrayGrower is a functions.Grower of one array.
type arrayGrower struct {
	a      Array
	encode blosc.EncodeOptions
	chosen bool                        // encode holds for appends, too; else they are stored as the dataset is
	still  func(context.Context) error // fails if the array is not what it was
	was    *b2nd.Array                 // the dataset that was opened last
}

func (g *arrayGrower) Rows() []int64 { return g.a.Shape[:1] }

// Begin makes chunks for an array that will grow, however short the first one is.
func (g *arrayGrower) Begin(ctx context.Context, w objstore.Writer, record []byte) error {
	if err := g.still(ctx); err != nil {
		return err
	}
	long := slices.Clone(g.a.Shape)
	long[0] = 0
	o := ArrayWrite{Write: b2nd.WriteOptions{Encode: g.encode, MaxMemory: arrayMemory, Index: cframe.CheapIndex,
		VLMetalayers: []cframe.Metalayer{{Name: JoinLayer, Data: textLayer(record)}}}}
	o.ChunkShape, o.BlockShape = b2nd.DefaultShapes(long, g.a.DType.ItemSize())
	return g.a.Write(ctx, w, o)
}

func (g *arrayGrower) Open(ctx context.Context, o *objstore.Object) (functions.Grown, error) {
	was, err := b2nd.Open(ctx, o, b2nd.Options{})
	if err != nil {
		return functions.Grown{}, fmt.Errorf("%s: %w", o.Info().Key, err)
	}
	layers, err := was.Frame().VLMetalayers(ctx)
	if err != nil {
		return functions.Grown{}, fmt.Errorf("%s: %w", o.Info().Key, err)
	}
	for _, l := range layers {
		if l.Name != JoinLayer {
			continue
		}
		record, ok := layerText(l.Data)
		if !ok {
			return functions.Grown{}, fmt.Errorf("%s: %w", o.Info().Key, kit.Corrupt("vlmetalayer %s is no text", JoinLayer))
		}
		if err := g.a.follows(was.Meta()); err != nil {
			return functions.Grown{}, fmt.Errorf("does not go with %s: %w", o.Info().Key, err)
		}
		g.was = was
		return functions.Grown{Record: record, Rows: was.Shape()[:1], Adds: g.Rows()}, nil
	}
	return functions.Grown{}, nil
}

func (g *arrayGrower) Replace(ctx context.Context, _ *objstore.Object, f *draft.File, rows, drops []int64, record []byte) error {
	row, drop := rows[0], drops[0]
	if err := g.still(ctx); err != nil {
		return err
	}
	m := g.was.Meta()
	size := int64(g.was.ItemSize())
	for _, n := range m.Shape[1:] {
		size *= n // fits: the array was opened
	}
	behind := m.Shape[0] - row - drop
	if err := kit.Fits(ctx, g.a.NBytes+behind*size, slowest); err != nil {
		return err
	}
	if _, limited := ctx.Deadline(); limited && g.a.NBytes > maxDraft-min(behind*size, maxDraft) {
		return fmt.Errorf("%d bytes, and %d rows behind them, over %d bytes to write: %w", g.a.NBytes, behind, int64(maxDraft), functions.ErrTooLong)
	}
	o := b2nd.EditOptions{Draft: true}
	if g.chosen {
		o.Encode = &g.encode
	}
	e, err := b2nd.Edit(ctx, f, o)
	if err != nil {
		return err
	}
	a, err := g.a.held(ctx)
	if err != nil {
		return err
	}
	if drop == 0 && behind == 0 {
		err = a.Append(ctx, e, heldMemory, nil)
	} else {
		err = a.replace(ctx, e, g.was, row, drop)
	}
	if err != nil {
		return err
	}
	if err := e.Frame().SetVLMetalayer(JoinLayer, textLayer(record)); err != nil {
		return err
	}
	return e.Close() //nolint:contextcheck // writes to a temporary file
}

// held is the array with items that can be read in any order, if memory holds those of a
// compressed member.
func (a Array) held(ctx context.Context) (Array, error) {
	switch {
	case a.r != nil:
		return a, nil
	case a.stored != nil:
		a.r = a.stored
		return a, nil
	case a.NBytes > heldMemory:
		return a, nil
	}
	p := make([]byte, a.NBytes)
	err := a.each(ctx, func(items io.Reader) error {
		_, err := io.ReadFull(items, p)
		return err
	})
	a.r, a.base = rangeio.FromReaderAt(bytes.NewReader(p), a.NBytes), 0
	return a, err
}

// replace puts the array in place of the rows [row, row+drop) of the array in e. was is that
// array as it was opened. Rows behind are read from there once, and written a chunk at a time.
func (a Array) replace(ctx context.Context, e *b2nd.Editor, was *b2nd.Array, row, drop int64) error {
	if a.r == nil {
		return kit.TooLarge("%d bytes, compressed, over %d, and not at the end: upload the .npy itself", a.NBytes, int64(heldMemory))
	}
	m := e.Meta()
	end, more := row+a.Shape[0], a.Shape[0]-drop
	to := slices.Clone(m.Shape)
	to[0] += more
	if more > 0 {
		if err := e.Resize(to); err != nil {
			return err
		}
	}
	size := int64(a.DType.ItemSize())
	for _, n := range to[1:] {
		size *= n
	}
	last := slices.Clone(to)
	if more == 0 {
		last[0] = end // rows behind stay where they are
	}
	if size > 0 && last[0] > row {
		var buf []byte
		err := eachCell(e.Meta().ChunkShape, row, last, func(start, stop []int64) (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if buf, err = a.cell(ctx, buf, was, row, end, more, start, stop); err != nil {
				return err
			}
			return e.WriteSlice(b2nd.Sub(start, stop), buf)
		})
		if err != nil {
			return err
		}
	}
	if more < 0 {
		return e.Resize(to)
	}
	return nil
}

// cell reads the items of a box whose rows, up to end, are those of the array from row on,
// and behind end those of was, more rows before.
func (a Array) cell(ctx context.Context, buf []byte, was *b2nd.Array, row, end, more int64, start, stop []int64) ([]byte, error) {
	size := int64(a.DType.ItemSize())
	for i := range start[1:] {
		size *= stop[i+1] - start[i+1]
	}
	n := int((stop[0] - start[0]) * size)
	buf = slices.Grow(buf[:0], n)[:n]
	mine := min(max(end, start[0]), stop[0])
	from, upto := slices.Clone(start), slices.Clone(stop)
	at := int((mine - start[0]) * size)
	if at > 0 {
		from[0], upto[0] = start[0]-row, mine-row
		if err := a.header.ReadBox(ctx, a.r, a.base, buf[:at], b2nd.Sub(from, upto)); err != nil {
			return buf, err
		}
	}
	if at < n {
		from[0], upto[0] = mine-more, stop[0]-more
		return buf, was.ReadSlice(ctx, buf[at:], b2nd.Sub(from, upto))
	}
	return buf, nil
}

// textLayer is a msgpack text.
func textLayer(p []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{text32}, uint32(len(p))), p...)
}

// layerText returns the text of a msgpack text whose length takes four bytes.
func layerText(p []byte) ([]byte, bool) {
	if len(p) < 5 || p[0] != text32 || int64(binary.BigEndian.Uint32(p[1:])) != int64(len(p)-5) {
		return nil, false
	}
	return p[5:], true
}
