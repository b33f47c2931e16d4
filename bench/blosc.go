package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/farread/farread/formats/blosc"
)

// chunkBytes is the size of the chunks that are measured, the default of b2nd.
const chunkBytes = 4 << 20

// file writes the series once into the folder of the run.
func (b *bench) file(s series, n int) (string, []byte, error) {
	data := s.bytes(n)
	path := filepath.Join(b.dir, s.name+".raw")
	return path, data, os.WriteFile(path, data, 0o600)
}

// A coding is one line of the table: data, codec, level and filter, and the goals.
type coding struct {
	series, codec  string
	level          int
	filter         string
	decode, encode float64 // goals as ratios; 0: none
}

// codings are the rows "decode" and "encode" of docs/performance.md. Very compressible data
// under zstd is a class of its own. The last rows are what arrays of instruments and of
// models hold, in each codec.
func codings() []coding {
	cs := append(make([]coding, 0, 64), []coding{
		{"f32 sine", "lz4", 5, "shuffle", 1, 1},
		{"f64 walk", "lz4", 5, "shuffle", 1, 1},
		{"f32 sine", "lz4", 5, "bitshuffle", 1.2, 0},
		{"f64 walk", "lz4", 5, "bitshuffle", 1.2, 0},
		{"f32 sine", "zstd", 1, "shuffle", 0.95, 1},
		{"f64 walk", "zstd", 1, "shuffle", 0.95, 1},
		{"f32 sine", "zstd", 5, "shuffle", 0.95, 0},
		{"f64 walk", "zstd", 5, "shuffle", 0.95, 0},
		{"i64 ramp", "zstd", 1, "shuffle", 0.95, 0},
		{"time stamps", "zstd", 1, "shuffle", 0.95, 0},
		{"sparse", "zstd", 1, "shuffle", 0.95, 0},
		{"nearly zeros", "zstd", 1, "shuffle", 0.95, 0},
		{"zeros", "zstd", 1, "shuffle", 0.95, 0},
		{"f32 sine", "blosclz", 5, "shuffle", 1, 0},
		{"f64 walk", "blosclz", 5, "shuffle", 1, 0},
		{"i64 ramp", "blosclz", 5, "shuffle", 1, 0},
		{"f32 sine", "zlib", 5, "shuffle", 0.9, 0},
		{"f64 walk", "zlib", 5, "shuffle", 0.9, 0},
	}...)
	for _, name := range []string{"counts-u2", "field-f4", "sensor-f8", "stamps-i8"} {
		cs = append(cs,
			coding{name, "lz4", 1, "shuffle", 1, 0},
			coding{name, "lz4", 5, "shuffle", 1, 0},
			coding{name, "lz4", 5, "bitshuffle", 1.2, 0},
			coding{name, "blosclz", 5, "shuffle", 1, 0},
			coding{name, "zstd", 1, "shuffle", 0.95, 0},
			coding{name, "zstd", 1, "bitshuffle", 0.95, 0},
			coding{name, "zstd", 3, "shuffle", 0.95, 0},
			coding{name, "zstd", 5, "shuffle", 0.95, 0},
			coding{name, "zstd", 5, "bitshuffle", 0.95, 0},
			coding{name, "zlib", 5, "shuffle", 0.9, 0})
	}
	return cs
}

func (c coding) String() string {
	return fmt.Sprintf("%s %d + %s, %s", c.codec, c.level, c.filter, c.series)
}

func codecNamed(name string) blosc.Codec {
	for c := blosc.BloscLZ; c <= blosc.Zstd; c++ {
		if c.String() == name {
			return c
		}
	}
	panic("no such codec: " + name)
}

func (c coding) options(level, typesize int) blosc.EncodeOptions {
	f := blosc.Shuffle
	if c.filter == "bitshuffle" {
		f = blosc.BitShuffle
	}
	return blosc.EncodeOptions{Codec: codecNamed(c.codec), Level: level, TypeSize: typesize, Filters: []blosc.Filter{{ID: f}}}
}

// theirs lets the peer encode the data into a chunk, and returns its length.
func (c coding) theirs(p *python, w *work, raw, chunk string, typesize, reps int) side {
	return p.side(w, "encode", raw, chunk, c.codec, strconv.Itoa(c.level), c.filter, strconv.Itoa(typesize), strconv.Itoa(reps))
}

// bloscDecode: one thread decodes chunks that python-blosc2 wrote. The best of many
// rounds counts on both sides: what else the machine does only takes time away.
func bloscDecode(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range codings() {
		if !b.wants("decode " + c.String()) {
			continue
		}
		s := seriesOf(c.series)
		raw, data, err := b.file(s, pick(b, chunkBytes, 1<<18))
		if err != nil {
			return nil, err
		}
		path, reps := filepath.Join(b.dir, "peer.chunk"), pick(b, 15, 2)
		var w work
		if _, err := c.theirs(p, &w, raw, path, s.typesize, 1)(ctx); err != nil {
			return nil, err
		}
		chunk, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		d, err := b.finer().best(ctx, decodeChunk(blosc.DecodeOptions{}, onCPU, chunk, data, reps), p.side(&w, "decode", path, strconv.Itoa(reps)))
		if err != nil {
			return nil, err
		}
		r := against("decode "+c.String(), "B", float64(len(data)*reps), d[0], d[1], c.decode)
		r.note = fmt.Sprintf("ratio of the chunk %.1f", float64(len(data))/float64(len(chunk)))
		rows = append(rows, r)
	}
	return rows, nil
}

// bloscParallel: two goroutines decode the blocks of a chunk, beside one. Both
// sides are ours, and wall clock counts: the best of many short rounds, as whatever
// else this machine does takes one of its processors away.
func bloscParallel(ctx context.Context, b *bench) ([]row, error) {
	short := *b
	short.rounds = pick(b, 60, 1)
	var rows []row
	for _, x := range []struct {
		coding
		goal float64
	}{
		{coding{series: "f32 sine", codec: "lz4", level: 5, filter: "shuffle"}, 1.5},
		{coding{series: "f32 sine", codec: "zstd", level: 1, filter: "shuffle"}, 1.2},
	} {
		s := seriesOf(x.series)
		data := s.bytes(pick(b, chunkBytes, 1<<18))
		chunk, err := blosc.AppendEncoded(nil, data, x.options(x.level, s.typesize))
		if err != nil {
			return nil, err
		}
		const reps = 2
		one, two := decodeChunk(blosc.DecodeOptions{}, timed, chunk, data, reps), decodeChunk(blosc.DecodeOptions{Parallel: 2}, timed, chunk, data, reps)
		d, err := short.best(ctx, two, one)
		if err != nil {
			return nil, err
		}
		r := against("decode "+x.String()+", two goroutines beside one of ours, wall clock", "B", float64(len(data)*reps), d[0], d[1], x.goal)
		r.note = fmt.Sprintf("the best of %d rounds", short.rounds)
		rows = append(rows, r)
	}
	return rows, nil
}

// decodeChunk decodes a chunk into the same memory, reps times, after once that
// does not count and is compared.
func decodeChunk(o blosc.DecodeOptions, clock func(func(context.Context) error) side, chunk, want []byte, reps int) side {
	dst := make([]byte, len(want))
	decode := func() error {
		n, err := o.DecodeInto(dst, chunk)
		if err == nil && n != len(want) {
			err = fmt.Errorf("%d bytes decoded, not %d", n, len(want))
		}
		return err
	}
	job := clock(func(context.Context) error {
		for range reps {
			if err := decode(); err != nil {
				return err
			}
		}
		return nil
	})
	return checkedFirst(decode, func() bool { return string(dst) == string(want) }, job)
}

// bloscEncode: one thread encodes; ours at the first level whose chunk is at most
// 2 % larger than the peer's.
func bloscEncode(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range codings() {
		if c.encode == 0 || !b.wants("encode "+c.String()) {
			continue
		}
		s := seriesOf(c.series)
		raw, data, err := b.file(s, pick(b, chunkBytes, 1<<18))
		if err != nil {
			return nil, err
		}
		path, reps := filepath.Join(b.dir, "peer.chunk"), pick(b, 7, 1)
		var w work
		if _, err := c.theirs(p, &w, raw, path, s.typesize, 1)(ctx); err != nil {
			return nil, err
		}
		level, size, equal, err := c.level4(data, s.typesize, int(w.bytes))
		if err != nil {
			return nil, err
		}
		d, err := b.finer().best(ctx, encodeChunk(c.options(level, s.typesize), data, reps), c.theirs(p, &w, raw, path, s.typesize, reps))
		if err != nil {
			return nil, err
		}
		r := against("encode "+c.String(), "B", float64(len(data)*reps), d[0], d[1], c.encode)
		r.met = r.met && equal
		r.note = fmt.Sprintf("our level %d: ratio %.3f, the peer's %.3f", level, ratio(data, size), ratio(data, int(w.bytes)))
		rows = append(rows, r)
	}
	return rows, nil
}

func ratio(data []byte, size int) float64 { return float64(len(data)) / float64(size) }

// level4 returns our first level whose chunk is at most 2 % larger than theirs. If
// there is no such level, it returns the level with the best ratio, and equal is false.
func (c coding) level4(data []byte, typesize, theirs int) (level, size int, equal bool, err error) {
	size = math.MaxInt
	for l := 1; l <= 9; l++ {
		chunk, err := blosc.AppendEncoded(nil, data, c.options(l, typesize))
		if err != nil {
			return 0, 0, false, err
		}
		if len(chunk) < size {
			level, size = l, len(chunk)
		}
		if float64(len(chunk)) <= 1.02*float64(theirs) {
			return l, len(chunk), true, nil
		}
	}
	return level, size, false, nil
}

func encodeChunk(o blosc.EncodeOptions, data []byte, reps int) side {
	var chunk []byte
	return onCPU(func(context.Context) error {
		for range reps {
			var err error
			if chunk, err = blosc.AppendEncoded(chunk[:0], data, o); err != nil {
				return err
			}
		}
		return nil
	})
}
