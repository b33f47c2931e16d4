package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"syscall"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// wholeArray: all of an array of 256 MiB that ours wrote, opened by its path once, into new
// memory each time, by two threads and out of the page cache, by the clock on the wall.
func wholeArray(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, k := range []struct {
		codec blosc.Codec
		level int
	}{{blosc.Zstd, 1}, {blosc.LZ4, 5}} {
		c, err := b.newCube("whole", seriesOf("f32 sine"), part(b, []int64{128, 512, 1024}, []int64{32, 512, 1024}, []int64{16, 64, 64})...)
		if err != nil {
			return nil, err
		}
		c.codec = k.codec
		r, err := c.whole(ctx, b, p, k.level)
		if err != nil {
			return nil, err
		}
		r.job = fmt.Sprintf("array of %s to memory, %s %d + shuffle, f32 sine, two threads on each side, wall clock", mib(c.nbytes), k.codec, k.level)
		rows = append(rows, r)
		if err := os.RemoveAll(c.dir); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (c *cube) whole(ctx context.Context, b *bench, p *python, level int) (row, error) {
	if err := c.pack(ctx, level, 0); err != nil {
		return row{}, err
	}
	a, err := farread.New(farread.Config{}).OpenArray(ctx, c.b2nd(), farread.FrameOptions{Options: b2nd.Options{Parallel: 2}})
	if err != nil {
		return row{}, err
	}
	var w [2]work
	d, err := b.finer().best(ctx, readWhole(a.Array, &w[0]), p.side(&w[1], "whole", c.b2nd(), "2"))
	if err != nil {
		return row{}, err
	}
	if w[0] != w[1] {
		return row{}, fmt.Errorf("the sides read different arrays: %v", w)
	}
	r := against("", "B", float64(c.nbytes), d[0], d[1], 1)
	r.note = "the best of the rounds"
	return r, nil
}

// readWhole reads an array into new memory, in huge pages as NumPy asks for. The sum of its
// items is not part of the measured time, nor is the release of the memory.
func readWhole(a *b2nd.Array, w *work) side {
	return func(ctx context.Context) (time.Duration, error) {
		all := b2nd.Whole(a.Shape())
		n, err := a.SizeOf(all)
		if err != nil {
			return 0, err
		}
		var dst []byte
		d, err := timed(func(ctx context.Context) error {
			dst, err = syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
			if err != nil {
				return err
			}
			if n >= 4<<20 { // from here on NumPy does
				if err := syscall.Madvise(dst, syscall.MADV_HUGEPAGE); err != nil {
					return err
				}
			}
			return a.ReadSlice(ctx, dst, all)
		})(ctx)
		*w = work{frames: 1, bytes: n, sum: crc32.ChecksumIEEE(dst)}
		if dst != nil {
			err = errors.Join(err, syscall.Munmap(dst))
		}
		return d, err
	}
}
