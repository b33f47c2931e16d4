package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/farread/farread/internal/filter"
)

// filterBlock is the block of the filters' rows: it stays in the second cache
// beside its result.
const filterBlock = 256 << 10

// A filtering is one line of the table: an inverse filter, its name in c-blosc2,
// and the goal.
type filtering struct {
	name, peer string
	width      int
	undo       func(dst, src []byte, width int)
	goal       float64
}

func filterings() []filtering {
	return []filtering{
		{"unshuffle", "blosc2_unshuffle", 2, filter.Unshuffle, 1},
		{"unshuffle", "blosc2_unshuffle", 4, filter.Unshuffle, 1},
		{"unshuffle", "blosc2_unshuffle", 8, filter.Unshuffle, 1},
		{"bit-unshuffle", "blosc2_bitunshuffle", 2, filter.BitUnshuffle, 2},
		{"bit-unshuffle", "blosc2_bitunshuffle", 4, filter.BitUnshuffle, 2},
		{"bit-unshuffle", "blosc2_bitunshuffle", 8, filter.BitUnshuffle, 2},
	}
}

// random writes noise into a file: the filters' time does not depend on data.
func (b *bench) random(n int) (string, []byte, error) {
	p := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(p) //nolint:errcheck // it never fails
	path := filepath.Join(b.dir, "noise.raw")
	return path, p, os.WriteFile(path, p, 0o600)
}

// bloscFilter undoes a filter on the same block again and again, on one thread. The
// peer's functions are called from Python; the time of such a call without bytes is
// subtracted.
func bloscFilter(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	path, src, err := b.random(filterBlock)
	if err != nil {
		return nil, err
	}
	result, reps := filepath.Join(b.dir, "peer.block"), pick(b, 1300, 10)
	var rows []row
	for _, f := range filterings() {
		if !b.wants(f.String()) {
			continue
		}
		dst := make([]byte, len(src))
		var w work
		d, err := b.finer().interleave(ctx, f.loop(dst, src, reps), p.side(&w, "filter", f.peer, strconv.Itoa(f.width), path, result, strconv.Itoa(reps)))
		if err != nil {
			return nil, err
		}
		theirs, err := os.ReadFile(result)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(theirs, dst) {
			return nil, errors.New("the sides differ in " + f.String())
		}
		r := against(f.String(), "B", float64(len(src)*reps), d[0], d[1], f.goal)
		rows = append(rows, r)
	}
	return rows, nil
}

func (f filtering) String() string {
	return fmt.Sprintf("%s, items of %d bytes, 256 KiB block", f.name, f.width)
}

func (f filtering) loop(dst, src []byte, reps int) side {
	return onCPU(func(context.Context) error {
		for range reps {
			f.undo(dst, src, f.width)
		}
		return nil
	})
}
