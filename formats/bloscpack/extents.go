package bloscpack

import (
	"cmp"
	"slices"
)

const (
	// maxExtents bounds the separate pieces of a file that are kept to find
	// overlaps: 24 MiB. Chunks that lie side by side, in ascending or descending
	// order, are one piece.
	maxExtents = 1 << 20
	// newExtents are collected before they are sorted in.
	newExtents = 1 << 14
)

// An extent is bytes of a file that belong to chunks.
type extent struct {
	from, to int64
	i        int64 // one of the chunks
}

// extents finds chunks that overlap, once all were added.
type extents struct {
	run    extent   // grows as long as chunks are neighbours
	fresh  []extent // in the order of adding
	sorted []extent // by place, neighbours joined
	err    error
	full   bool // too many pieces: no longer looked at
	bytes  int64
	end    int64
}

// add adds the chunk i that lies in [from, to).
func (x *extents) add(from, to, i int64) {
	x.bytes += to - from
	x.end = max(x.end, to)
	switch {
	case x.full || x.err != nil:
	case from == x.run.to:
		x.run.to = to
	case to == x.run.from:
		x.run.from = from
	default:
		x.push()
		x.run = extent{from, to, i}
	}
}

func (x *extents) push() {
	if x.run.to > x.run.from {
		x.fresh = append(x.fresh, x.run)
	}
	if len(x.fresh) >= newExtents {
		x.merge()
	}
}

// merge sorts the new extents into the known ones.
func (x *extents) merge() {
	all := append(x.sorted, x.fresh...) //nolint:gocritic // sorted is what all becomes
	x.fresh = x.fresh[:0]
	slices.SortFunc(all, func(a, b extent) int { return cmp.Compare(a.from, b.from) })
	out := all[:0]
	for _, e := range all {
		last := len(out) - 1
		switch {
		case last >= 0 && e.from < out[last].to:
			x.err = corrupt("", e.from, "the bytes of item %d and item %d overlap", out[last].i, e.i)
			return
		case last >= 0 && e.from == out[last].to:
			out[last].to = e.to
		default:
			out = append(out, e)
		}
	}
	x.sorted = out
	if len(out) > maxExtents {
		x.full, x.sorted, x.fresh = true, nil, nil
	}
}

// check returns an error if two chunks overlap.
func (x *extents) check() error {
	if x.full || x.err != nil {
		return x.err
	}
	x.push()
	x.run = extent{}
	x.merge()
	return x.err
}
