package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/objstore"
)

// bloscFlags say how chunks are compressed.
type bloscFlags struct {
	codec    string
	level    levelFlag
	filters  []string
	typeSize int
	index    *bool // nil: not given
}

func bloscFlagNames() []string { return []string{"codec", "level", "filter"} }

func (f *bloscFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.codec, "codec", "", "`CODEC` of chunks: blosclz, lz4, lz4hc, zlib, zstd, with a level or without (zstd-1; lz4 for the items of a .blp)")
	c.Flags().Var(&f.level, "level", "`L` from 0 (stored) to 9, instead of the one in --codec")
	c.Flags().StringSliceVar(&f.filters, "filter", nil, "`FILTER` before the codec: shuffle (default), bitshuffle, delta, bytedelta, trunc_prec:BITS, none; several in order")
	c.Flags().Var(indexFlag{&f.index}, "index", "an index of block starts in a .b2nd or .b2frame, whatever it takes; =false: none (not given: where it takes at most 2 %)")
	c.Flags().Lookup("index").NoOptDefVal = "true"
	c.Flags().IntVar(&f.typeSize, "typesize", 1, "`BYTES` of a value in a .b2frame or .blp, for the filters")
	offer(c.Flags(), "codec", "blosclz", "lz4", "lz4hc", "zlib", "zstd")
	offer(c.Flags(), "filter", "shuffle", "bitshuffle", "delta", "bytedelta", "trunc_prec:", "none")
}

// A levelFlag is a flag whose value is a level of compression.
type levelFlag struct {
	given bool
	to    int // level as the encoder takes it
}

func (f *levelFlag) String() string { return "" }
func (f *levelFlag) Type() string   { return "L" }
func (f *levelFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 9 {
		return errors.New("want 0 to 9")
	}
	if f.given, f.to = true, n; n == 0 {
		f.to = blosc.LevelStore
	}
	return nil
}

// plain reports whether neither a filter nor a choice about the index was given.
func (f *bloscFlags) plain() bool { return len(f.filters) == 0 && f.index == nil }

// choice returns whether the frame gets an index.
func (f *bloscFlags) choice() cframe.IndexChoice {
	switch {
	case f.index == nil:
		return cframe.CheapIndex
	case *f.index:
		return cframe.WithIndex
	}
	return cframe.NoIndex
}

// An indexFlag is a boolean flag that knows whether it was given.
type indexFlag struct{ to **bool }

func (f indexFlag) String() string   { return "" }
func (f indexFlag) Type() string     { return "bool" }
func (f indexFlag) IsBoolFlag() bool { return true }
func (f indexFlag) Set(text string) error {
	on, err := strconv.ParseBool(text)
	*f.to = &on
	return err
}

// options returns the flags as the encoder takes them.
func (f *bloscFlags) options() (blosc.EncodeOptions, error) {
	o, err := pack.ParseCodec(f.codec)
	switch {
	case err != nil:
		return o, usagef("--codec: %s", err)
	case f.level.given:
		o.Level = f.level.to
	}
	if f.filters == nil {
		return o, nil
	}
	o.Filters = []blosc.Filter{}
	for _, text := range f.filters {
		x, err := parseFilter(text)
		if err != nil {
			return o, err
		}
		if x.ID != blosc.NoFilter {
			o.Filters = append(o.Filters, x)
		}
	}
	if len(o.Filters) > 6 {
		return o, usagef("%d filters, at most 6", len(o.Filters))
	}
	return o, nil
}

// parseFilter reads the name of a filter, and the number after a colon.
func parseFilter(text string) (blosc.Filter, error) {
	name, meta, hasMeta := strings.Cut(text, ":")
	known := []blosc.FilterID{blosc.Shuffle, blosc.BitShuffle, blosc.Delta, blosc.ByteDelta, blosc.TruncPrec, blosc.IntTrunc}
	i := slices.IndexFunc(known, func(f blosc.FilterID) bool { return f.String() == name })
	if name == "none" && !hasMeta {
		return blosc.Filter{}, nil
	}
	if i < 0 {
		return blosc.Filter{}, usagef("--filter %q: want one of %v or none", text, known)
	}
	f := blosc.Filter{ID: known[i]}
	if !hasMeta {
		if f.ID == blosc.TruncPrec || f.ID == blosc.IntTrunc {
			return f, usagef("--filter %s: how many bits? %s:10", text, name)
		}
		return f, nil
	}
	n, err := strconv.ParseInt(meta, 10, 16)
	if err != nil || n < -128 || n > 255 {
		return f, usagef("--filter %q: want a small number after the colon", text)
	}
	f.Meta = byte(n)
	return f, nil
}

// frameFormat is the name of frames of bytes in --format.
const frameFormat = "b2frame"

// defaultFrameChunk is the number of decoded bytes of a chunk, as in arrays.
const defaultFrameChunk = 4 << 20

// packBytes packs the bytes of SRC into a frame.
func packBytes(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error {
	if len(srcs) != 1 {
		return usagef("%d SRC: a frame is made of one", len(srcs))
	}
	o, err := f.frameOptions()
	if err != nil {
		return err
	}
	if dst.key == "" || strings.HasSuffix(dst.key, "/") {
		return usagef("DST %q is a folder; a frame is one object", dst.uri)
	}
	ob, err := a.client.Open(ctx, srcs[0])
	if err != nil {
		return at(srcs[0], err)
	}
	o.Vary = ob.Size()%int64(o.TypeSize) != 0
	o.Parallel = int(max(min(int64(a.flags.maxMemory)/8/int64(o.ChunkSize), maxSideBySide), 1))
	info, err := a.packObject(ctx, dst, f.force, func(ctx context.Context, w objstore.Writer) error { return a.writeBytes(ctx, w, ob, o) })
	if err != nil {
		return at(srcs[0], err)
	}
	rep := &arrayReport{Format: frameFormat, Bytes: ob.Size(), Stored: info.Size, Outputs: []string{join(dst.bucket.Name(), dst.key)}}
	return rep.tell(a)
}

const (
	maxSideBySide = 16      // most chunks that are encoded at the same time
	maxFrameChunk = 1 << 30 // most decoded bytes of a chunk; half of the format's limit
	maxItem       = 1 << 20
)

// frameOptions returns the flags as the writer of frames takes them.
func (f *packFlags) frameOptions() (cframe.WriteOptions, error) {
	encode, err := f.blosc.options()
	if err != nil {
		return cframe.WriteOptions{}, err
	}
	item, size := int64(f.blosc.typeSize), int64(f.chunk)
	if size == 0 {
		size = defaultFrameChunk
	}
	if item < 1 || item > maxItem {
		return cframe.WriteOptions{}, usagef("--typesize %d: want 1 to %d", item, maxItem)
	}
	if size = size / item * item; size < item || size > maxFrameChunk {
		return cframe.WriteOptions{}, usagef("--chunk %s: want an item at least and 1 GiB at most", &f.chunk)
	}
	return cframe.WriteOptions{TypeSize: int(item), ChunkSize: int(size), Encode: encode, Index: f.blosc.choice()}, nil
}

// writeBytes writes one chunk after the other. It reads the next chunk meanwhile.
func (a *app) writeBytes(ctx context.Context, w objstore.Writer, ob *objstore.Object, o cframe.WriteOptions) error {
	fw, err := cframe.NewWriter(w, o)
	if err != nil {
		return err
	}
	defer fw.Abort()
	b := a.newBar("pack", ob.Size())
	defer b.clear()
	chunk := int64(o.ChunkSize)
	window := max(a.window()/chunk, 1) * chunk
	p := pull.Pull[struct{}]{From: ob, Window: window}
	p.Stretch(0, ob.Size(), window)
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		b.add(w.Parts[0].Len)
		for part := range slices.Chunk(w.Bytes(0), o.ChunkSize) {
			if err := fw.WriteChunk(part); err != nil {
				return err
			}
		}
	}
	return fw.Close()
}
