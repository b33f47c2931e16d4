package bloscpack

import (
	"cmp"
	"slices"
)

const (
	// maxExtents bounds the extents that are kept to find overlaps; they take 24
	// MiB at most. Adjacent chunks that are added one after another, in
	// ascending or descending order, are one extent.
	maxExtents = 1 << 20
	// newExtents is how many new extents are collected before they are merged
	// into the sorted list.
	newExtents = 1 << 14
)

// An extent is a range [from, to) of a file that chunks fill without a gap.
type extent struct {
	from, to int64
	i        int64 // number of one of the chunks
}

// extents collects the places of chunks; check then reports whether any
// overlap.
type extents struct {
	run    extent   // the last extent: grows while new chunks touch it
	fresh  []extent // not sorted yet
	sorted []extent // sorted by from, touching extents joined
	err    error
	full   bool // more than maxExtents: the check is given up
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

// merge merges fresh into sorted, and sets err if two extents overlap.
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
