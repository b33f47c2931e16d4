package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// A cube is a 3-d array of a series in a .npy.
type cube struct {
	dir, name string
	series    series
	shape     []int64
	nbytes    int64
	codec     blosc.Codec

	chunk, block []int // shapes for our file; nil: the peer's
}

// period is how many bytes of a cube are made before they are repeated: chunks
// are coded one by one, and making a GiB of numbers would take longer than the rest.
const period = 16 << 20

// newCube writes NAME.npy into a folder of its own.
func (b *bench) newCube(name string, s series, shape ...int64) (*cube, error) {
	dir, err := b.sub("cube")
	if err != nil {
		return nil, err
	}
	c := &cube{dir: dir, name: name, series: s, shape: shape, nbytes: int64(s.typesize), codec: blosc.Zstd}
	for _, n := range shape {
		c.nbytes *= n
	}
	t, err := dtype.Parse("<f" + strconv.Itoa(s.typesize))
	if err != nil {
		return nil, err
	}
	head, err := npy.AppendHeader(nil, npy.Header{DType: t, Shape: shape})
	if err != nil {
		return nil, err
	}
	f, err := os.Create(c.npy())
	if err != nil {
		return nil, err
	}
	part := s.bytes(int(min(c.nbytes, period)))
	w := bufio.NewWriter(f)
	_, err = w.Write(head)
	for left := c.nbytes; left > 0 && err == nil; left -= int64(len(part)) {
		_, err = w.Write(part[:min(left, int64(len(part)))])
	}
	return c, errors.Join(err, w.Flush(), f.Close())
}

func (c *cube) npy() string  { return filepath.Join(c.dir, c.name+".npy") }
func (c *cube) b2nd() string { return filepath.Join(c.dir, c.name+".b2nd") }
func (c *cube) peer() string { return filepath.Join(c.dir, "peer.b2nd") }

// peerShapes are the chunks and blocks that the peer has chosen.
func (c *cube) peerShapes(ctx context.Context) (chunk, block []int, err error) {
	f, err := os.Open(c.peer())
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // only read
	a, err := openFile(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	m := a.Meta()
	return m.ChunkShape, m.BlockShape, nil
}

// pack writes the .b2nd by the code of `farread pack`, with so many goroutines
// that encode.
func (c *cube) pack(ctx context.Context, level, parallel int) error {
	dir, err := filestore.New(filestore.Config{Dir: c.dir, NoSync: true}) // the peer does not sync either
	if err != nil {
		return err
	}
	ob, err := objstore.Open(ctx, dir, c.name+".npy", objstore.OpenOptions{})
	if err != nil {
		return err
	}
	arrays, err := pack.Arrays(ctx, ob, pack.ArrayOptions{})
	if err != nil {
		return err
	}
	w, err := dir.Create(ctx, c.name+".b2nd", objstore.PutOptions{})
	if err != nil {
		return err
	}
	defer w.Abort()
	o := b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: c.codec, Level: level}, Parallel: parallel}
	if err := arrays[0].Write(ctx, w, pack.ArrayWrite{Write: o, ChunkShape: c.chunk, BlockShape: c.block}); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}

func (c *cube) packing(level int) side {
	return onCPU(func(ctx context.Context) error { return c.pack(ctx, level, 1) })
}

// level4 returns our first level whose frame is at most 2 % larger than theirs. If
// there is no such level, it returns the level with the smallest frame, and equal is
// false.
func (c *cube) level4(ctx context.Context, theirs int64) (level int, size int64, equal bool, err error) {
	size = math.MaxInt64
	for l := 1; l <= 9; l++ {
		n, err := c.sizeAt(ctx, l)
		if err != nil {
			return 0, 0, false, err
		}
		if n < size {
			level, size = l, n
		}
		if float64(n) <= 1.02*float64(theirs) {
			return l, n, true, nil
		}
	}
	return level, size, false, nil
}

// level1 is level4 for rows in which the level is the peer's, whatever the ratio is.
func (c *cube) level1(ctx context.Context, _ int64) (level int, size int64, equal bool, err error) {
	size, err = c.sizeAt(ctx, 1)
	return 1, size, true, err
}

// sizeAt packs at a level and returns the length of the frame.
func (c *cube) sizeAt(ctx context.Context, level int) (int64, error) {
	if err := c.pack(ctx, level, 0); err != nil {
		return 0, err
	}
	info, err := os.Stat(c.b2nd())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// npyToB2nd: a local .npy into a local array, zstd at the peer's level 1 with
// shuffle: both in our chunks and blocks, and both in the peer's, at an equal ratio; and
// each in its own, as who names no shapes gets it: there both are at level 1, and the ratio
// is what the shapes make of it. The best round counts on both sides.
func npyToB2nd(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, name := range []string{"f32 sine", "f64 walk"} {
		if !b.wants("npy to b2nd, zstd 1 + shuffle, " + name) {
			continue
		}
		s := seriesOf(name)
		planes := part(b, 256, 96, 0) // 64 MiB of bytes for any type
		c, err := b.newCube("in", s, pick(b, []int64{int64(planes / s.typesize), 512, 512}, []int64{8, 64, 64})...)
		if err != nil {
			return nil, err
		}
		rs, err := c.allShapes(ctx, b, p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, rs...)
		if err := os.RemoveAll(c.dir); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (c *cube) allShapes(ctx context.Context, b *bench, p *python) ([]row, error) {
	chunk, block := b2nd.DefaultShapes(c.shape, c.series.typesize)
	ours, err := c.toB2nd(ctx, b, p, 0.9, c.level4, commas(chunk), commas(block))
	if err != nil {
		return nil, err
	}
	own, err := c.toB2nd(ctx, b, p, 0.8, c.level1)
	if err != nil {
		return nil, err
	}
	if c.chunk, c.block, err = c.peerShapes(ctx); err != nil {
		return nil, err
	}
	theirs, err := c.toB2nd(ctx, b, p, 0.95, c.level4)
	if err != nil {
		return nil, err
	}
	name := "npy to b2nd, zstd 1 + shuffle, " + c.series.name
	ours.job = fmt.Sprintf("%s, both in our chunks %v, blocks %v", name, chunk, block)
	theirs.job = fmt.Sprintf("%s, both in the peer's chunks %v, blocks %v", name, c.chunk, c.block)
	own.job = name + ", each in its own"
	return []row{ours, theirs, own}, nil
}

// toB2nd is a row of npyToB2nd. choose says at which level ours packs, beside a frame of
// the peer's of so many bytes. shapes are the peer's chunks and blocks, if not its own.
func (c *cube) toB2nd(ctx context.Context, b *bench, p *python, goal float64, choose func(context.Context, int64) (int, int64, bool, error), shapes ...string) (row, error) {
	var w work
	theirs := p.side(&w, append([]string{"to_array", c.npy(), c.peer(), "zstd", "1"}, shapes...)...)
	if _, err := theirs(ctx); err != nil {
		return row{}, err
	}
	info, err := os.Stat(c.peer())
	if err != nil {
		return row{}, err
	}
	level, size, equal, err := choose(ctx, info.Size())
	if err != nil {
		return row{}, err
	}
	d, err := b.best(ctx, c.packing(level), theirs)
	if err != nil {
		return row{}, err
	}
	r := against("", "B", float64(c.nbytes), d[0], d[1], goal)
	r.met = r.met && equal
	r.note = fmt.Sprintf("our level %d: ratio %.3f, the peer's %.3f", level, float64(c.nbytes)/float64(size), float64(c.nbytes)/float64(info.Size()))
	return r, nil
}

func commas(ns []int) string {
	s := make([]string, len(ns))
	for i, n := range ns {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

// A cut is a kind of slice, n of which are read in a row.
type cut struct {
	name string
	n    int
	goal float64 // for the array opened by its path
	text func(at [3]int64) string
}

func cuts(b *bench) []cut {
	return []cut{
		{"10x10x10", pick(b, 100, 5), 1.2, func(at [3]int64) string {
			return fmt.Sprintf("%d:%d,%d:%d,%d:%d", at[0], at[0]+10, at[1], at[1]+10, at[2], at[2]+10)
		}},
		{"plane [i,:,:]", pick(b, 30, 2), 1.5, func(at [3]int64) string { return fmt.Sprintf("%d,:,:", at[0]) }},
		{"column [:,j,k]", pick(b, 3, 1), 1.1, func(at [3]int64) string { return fmt.Sprintf(":,%d,%d", at[1], at[2]) }},
	}
}

// keys are n slices of an array of the given shape, here and there.
func (c cut) keys(shape []int64) []string {
	keys := make([]string, c.n)
	for i := range keys {
		var at [3]int64
		for k := range at {
			const step = 7919 // a prime, so that all places are met
			at[k] = int64(i+1) * step * int64(k+1) % (shape[k] - 10)
		}
		keys[i] = c.text(at)
	}
	return keys
}

// localSlices: parts of an array of 1 GiB that ours wrote, opened once, by one
// thread, out of the page cache.
func localSlices(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	c, err := b.newCube("cube", seriesOf("f32 sine"), part(b, []int64{512, 512, 1024}, []int64{32, 512, 1024}, []int64{16, 64, 64})...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(c.dir) }() // 0.6 GB that no other job needs
	if err := c.pack(ctx, 1, 0); err != nil {
		return nil, err
	}
	if err := os.Remove(c.npy()); err != nil {
		return nil, err
	}
	var rows []row
	for _, k := range cuts(b) {
		if !b.wants("slice " + k.name) {
			continue
		}
		r, err := b.slice(ctx, p, c, k)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

func (b *bench) slice(ctx context.Context, p *python, c *cube, k cut) ([]row, error) {
	f, err := os.Open(c.b2nd())
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	file, err := openFile(ctx, f)
	if err != nil {
		return nil, err
	}
	byPath, err := farread.New(farread.Config{}).OpenArray(ctx, c.b2nd(), farread.FrameOptions{Options: b2nd.Options{Parallel: 1}})
	if err != nil {
		return nil, err
	}
	keys := k.keys(c.shape)
	var w [3]work
	d, err := b.interleave(ctx, readSlices(file, keys, &w[0]), p.side(&w[1], append([]string{"slices", c.b2nd()}, keys...)...), readSlices(byPath.Array, keys, &w[2]))
	if err != nil {
		return nil, err
	}
	if w[0] != w[1] || w[1] != w[2] {
		return nil, fmt.Errorf("the sides read different slices: %v", w)
	}
	name := fmt.Sprintf("slice %s of a local array of %s, zstd 1, f32 sine, os.File", k.name, mib(c.nbytes))
	return []row{
		against(name, "slices", float64(k.n), d[0], d[1], 0),
		against("same, opened by its path as an object", "slices", float64(k.n), d[2], d[1], k.goal),
	}, nil
}

// openFile opens an array in an open file.
func openFile(ctx context.Context, f *os.File) (*b2nd.Array, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return b2nd.Open(ctx, rangeio.FromReaderAt(f, info.Size()), b2nd.Options{Parallel: 1})
}

// add counts a slice that was read.
func (w *work) add(p []byte) {
	w.frames++
	w.bytes += int64(len(p))
	w.sum = crc32.Update(w.sum, crc32.IEEETable, p)
}

// readSlices reads slices one after the other into the same memory. The sums of their
// items are not part of the measured time.
func readSlices(a *b2nd.Array, keys []string, w *work) side {
	return func(ctx context.Context) (time.Duration, error) {
		*w = work{}
		boxes, most := make([]b2nd.Box, len(keys)), int64(0)
		for i, k := range keys {
			s, err := b2nd.ParseSlice(k)
			if err != nil {
				return 0, err
			}
			if boxes[i], err = s.Resolve(a.Shape()); err != nil {
				return 0, err
			}
			n, err := a.SizeOf(boxes[i])
			if err != nil {
				return 0, err
			}
			most = max(most, n)
		}
		dst := make([]byte, most)
		read := func(i int) (int, error) {
			n, err := a.SizeOf(boxes[i])
			if err != nil {
				return 0, err
			}
			return int(n), a.ReadSlice(ctx, dst[:n], boxes[i])
		}
		for i := range boxes {
			n, err := read(i)
			if err != nil {
				return 0, err
			}
			w.add(dst[:n])
		}
		return onCPU(func(context.Context) error {
			for i := range boxes {
				if _, err := read(i); err != nil {
					return err
				}
			}
			return nil
		})(ctx)
	}
}
