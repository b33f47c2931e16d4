package zoomindex

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// TestViewResync: if a packet is damaged, views of other stretches do not change. Views
// that need the packet fail with its place or, with Resync, leave out its samples.
// Levels and bins of the index, which have these samples, stay true.
func TestViewResync(t *testing.T) {
	t.Parallel()
	c := viewCases()[1] // compressed: all damage shows
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	file, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	plain, _ := c.write(t, nil)
	var packets []zoomcache.Block
	err := openView(t, plain).EachBlock(t.Context(), func(b zoomcache.Block, _ *zoomcache.Track, _ []byte) error {
		if b.Track == 5 && !b.Summary && b.Count > 0 {
			packets = append(packets, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hit := packets[len(packets)/2]
	left := series{width: s.width}
	for i, off := range s.off {
		if off < hit.Entry || off > hit.Exit {
			left.off, left.v = append(left.off, off), append(left.v, s.v[i*s.width:(i+1)*s.width]...)
		}
	}
	r := rand.New(rand.NewPCG(6, 6))
	open := func(p []byte, resync bool) *File {
		f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), zoomcache.Options{Head: minHead, Resync: resync})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	failed, passed, far := 0, 0, 0
	for i := range 400 {
		bad := bytes.Clone(file)
		if i%2 == 0 {
			bad = bad[:len(plain)]
		}
		bad[hit.Off+zoomcache.BlockHeaderLen+r.Int64N(hit.Len)] ^= byte(1 + r.IntN(255))
		from := hit.Entry - 3000 + r.Int64N(6000)
		to, width := from+r.Int64N(1<<(1+r.IntN(14))), 1+r.IntN(400)
		touches := from <= hit.Exit && to >= hit.Entry
		v, err := open(bad, false).View(t.Context(), 5, from, to, width)
		switch {
		case err != nil:
			var e *formats.Error
			if failed++; !errors.Is(err, formats.ErrCorrupt) || !errors.As(err, &e) || e.Off < hit.Off || !touches {
				t.Fatalf("[%d, %d]: %v", from, to, err)
			}
		case touches && !v.Indexed:
			t.Fatalf("[%d, %d]: no error", from, to)
		default:
			s.check(t, zoomcache.F64, &v, from, to, true)
		}
		if v, err = open(bad, true).View(t.Context(), 5, from, to, width); err != nil {
			t.Fatal(err)
		}
		if touches && v.Level == 0 && v.Bin == 0 {
			left.check(t, zoomcache.F64, &v, from, to, true)
			passed++
			continue
		}
		s.check(t, zoomcache.F64, &v, from, to, true)
		if touches {
			far++
		}
	}
	if failed < 20 || passed < 20 || far < 10 {
		t.Errorf("%d failed, %d passed over it, %d by the index", failed, passed, far)
	}
}

// TestViewOfSummaries: if a file has no samples, views by the index are right, in the
// finest spans that the index has.
func TestViewOfSummaries(t *testing.T) {
	t.Parallel()
	cases := viewCases()
	for _, k := range []int{0, 2, 4, 10, 11, 13}[:racetest.Share(6, 3)] {
		c := cases[k]
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		file, s := c.writeAs(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}), true)
		f := openView(t, file)
		r := rand.New(rand.NewPCG(c.seed, 7))
		lo, hi := s.off[0], s.off[len(s.off)-1]
		for range 60 {
			from := lo + r.Int64N(hi-lo)
			to := from + r.Int64N(hi-from+1)
			v, err := f.View(t.Context(), 5, from, to, 1+r.IntN(500))
			if err != nil || !v.Indexed {
				t.Fatalf("%s: index %v, %v", c.name, v.Indexed, err)
			}
			s.check(t, c.track.Codec.Kind, &v, from, to, true)
		}
		none := 0
		err := f.EachPacket(t.Context(), 5, lo, hi, func(*zoomcache.Packet) error {
			none++
			return nil
		})
		if list, ok, terr := f.Totals(t.Context()); err != nil || terr != nil || !ok || none > 0 || list[0].Samples != 0 || list[0].Exit != hi {
			t.Errorf("%s: %d packets, %+v, %v, %v", c.name, none, list, err, terr)
		}
	}
}
