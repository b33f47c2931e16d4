package bloscpack

import (
	"testing"

	"pgregory.net/rapid"
)

// TestExtents holds the search for overlaps against a map of bytes.
func TestExtents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x extents
		taken := map[int64]bool{}
		overlap, bytes := false, int64(0)
		at := int64(0)
		for i := range rapid.IntRange(0, 60).Draw(t, "chunks") {
			n := rapid.Int64Range(1, 5).Draw(t, "length")
			switch rapid.IntRange(0, 3).Draw(t, "where") {
			case 0: // behind the one before
			case 1:
				at = rapid.Int64Range(0, 1000).Draw(t, "at")
			case 2:
				at = max(at-rapid.Int64Range(1, 12).Draw(t, "back"), 0)
			default:
				at += rapid.Int64Range(1, 5).Draw(t, "gap")
			}
			for k := at; k < at+n; k++ {
				overlap = overlap || taken[k]
				taken[k] = true
			}
			x.add(at, at+n, int64(i))
			bytes += n
			at += n
		}
		if err := x.check(); (err != nil) != overlap {
			t.Fatalf("%v, overlap %t", err, overlap)
		}
		if x.bytes != bytes {
			t.Fatalf("%d bytes, want %d", x.bytes, bytes)
		}
	})
}

// TestExtentsBounded: beyond the largest number of pieces extents looks no longer, and
// pieces that join do not count.
func TestExtentsBounded(t *testing.T) {
	var x extents
	for i := range int64(maxExtents + 3*newExtents) {
		x.add(2*i+1, 2*i+2, i)
	}
	if err := x.check(); err != nil || !x.full || x.sorted != nil {
		t.Errorf("full %t, %d kept, %v", x.full, len(x.sorted), err)
	}
	x = extents{}
	for i := range int64(4 * newExtents) { // every other one, then those between
		x.add(2*i, 2*i+1, i)
	}
	for i := range int64(4 * newExtents) {
		x.add(2*i+1, 2*i+2, i)
	}
	if err := x.check(); err != nil || len(x.sorted) != 1 {
		t.Errorf("%d pieces, %v", len(x.sorted), err)
	}
	x = extents{}
	for i := range int64(10 * newExtents) { // downwards
		x.add(1<<40-10*i-10, 1<<40-10*i, i)
	}
	if len(x.fresh)+len(x.sorted) != 0 {
		t.Errorf("%d pieces for neighbours", len(x.fresh)+len(x.sorted))
	}
	x.add(1<<40-5, 1<<40+5, 77)
	if x.check() == nil {
		t.Error("no overlap")
	}
}
