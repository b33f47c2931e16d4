package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// recompute is Recompute of a file in memory with, perhaps, an index beside it.
func recompute(t *testing.T, file, side []byte) (Recomputed, error) {
	t.Helper()
	f := openView(t, file)
	if side != nil {
		f.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
			return rangeio.FromReaderAt(bytes.NewReader(side), int64(len(side))), `"1"`, nil
		})
	}
	return f.Recompute(t.Context(), nil)
}

// TestRecompute: the output of Writer and Builder agrees with the samples, for any size
// of pages and bins. The same holds for an index beside the file.
func TestRecompute(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		for _, o := range []WriteOptions{{}, {NoBins: true}, {MaxMemory: 5000}} {
			x := NewBuilder([]zoomcache.Track{a, b}, o)
			file, s := c.write(t, x)
			r, err := recompute(t, file, nil)
			if err != nil || r.Wrong != 0 || !r.Indexed || r.Samples != int64(2*len(s.off)) || r.Summaries == 0 || r.Spans == 0 {
				t.Fatalf("%s, %+v: %+v, %v", c.name, o, r, err)
			}
		}
		plain, _ := c.write(t, nil)
		side, err := openView(t, plain).BuildIndex(t.Context(), `"1"`, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := recompute(t, plain, side)
		if err != nil || r.Wrong != 0 || !r.Indexed || r.Spans == 0 {
			t.Fatalf("%s, beside: %+v, %v", c.name, r, err)
		}
	}
}

// TestRecomputeFinds: a bit that flips in a summary, a packet or in the pages of the
// index is found, but for those that tell nothing of the samples.
func TestRecomputeFinds(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	c.n = 8000
	c.values = func(r *rand.Rand, _ int) zoomcache.Number { return zoomcache.NewInt(zoomcache.I16, r.Int64N(300)-150) } // whose squares do not wrap
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	tr, err := index.ParseTrailer(file[len(file)-index.TrailerLen:], int64(len(file)), zoomcache.BlockHeaderLen)
	if err != nil {
		t.Fatal(err)
	}
	f := openView(t, file)
	r := rand.New(rand.NewPCG(3, 3))
	tried := 0
	for at := f.Body(); at < tr.Plain; {
		blk, err := zoomcache.ParseBlock(file[at:], at, f.Limits())
		if err != nil {
			t.Fatal(err)
		}
		if blk.Len > 0 {
			q := bytes.Clone(file)
			q[at+zoomcache.BlockHeaderLen+r.Int64N(blk.Len)] ^= byte(1 << r.IntN(8))
			got, err := recompute(t, q, nil)
			if tried++; err == nil && got.Wrong == 0 {
				t.Errorf("a flipped bit in %+v: %+v", blk, got)
			}
		}
		at += blk.Size()
	}
	if tried < 30 {
		t.Errorf("%d blocks", tried)
	}
	for _, at := range []int64{tr.Off, tr.Off + tr.Len - 20, tr.Off + tr.Len - 1, -64, -55, -40, -1} { // of the index, or from the end
		q := bytes.Clone(file)
		if at < 0 {
			at += int64(len(q))
		}
		q[at] ^= 4
		if got, err := recompute(t, q, nil); err != nil || got.Wrong == 0 {
			t.Errorf("a flipped bit at %d of %d, in the index: %+v, %v", at, len(q), got, err)
		}
	}
}

// TestRecomputeFindsIndex: an index of other samples than those of the file is found
// out, though all its checksums are right.
func TestRecomputeFindsIndex(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	c.n = 9000
	plain, _ := c.write(t, nil)
	c.seed++
	other, _ := c.write(t, nil)
	side, err := openView(t, other).BuildIndex(t.Context(), `"1"`, WriteOptions{})
	if err != nil || len(other) != len(plain) {
		t.Fatal(err)
	}
	r, err := recompute(t, plain, side)
	if err != nil || r.Wrong == 0 || !r.Indexed || r.First[0].Off != -1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPlain: without the index a file is the plain one.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		plain, _ := c.write(t, nil)
		file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
		for _, p := range [][]byte{plain, file} {
			var got bytes.Buffer
			if err := openView(t, p).Plain(t.Context(), &got); err != nil || !bytes.Equal(got.Bytes(), plain) {
				t.Fatalf("%s: %d bytes, %d in the plain file, %v", c.name, got.Len(), len(plain), err)
			}
		}
	}
}

// TestLongIndex: if little memory is allowed, parts of the index lie between the
// blocks, and no level is given up. Without these parts the file is the plain one.
func TestLongIndex(t *testing.T) {
	t.Parallel()
	const n = 600_000
	r := rand.New(rand.NewPCG(8, 8))
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(r.Uint64())
	}
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I64}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	write := func(sink zoomcache.Sink, parallel int) []byte {
		var out bytes.Buffer
		w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: sink, Parallel: parallel})
		if err := errors.Join(err, zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	// Pages that are not full take most of less, so that finest bins are given up, some of
	// which lie in the file already.
	scarce := write(NewBuilder(tracks, WriteOptions{MaxMemory: 200 << 10}), 1)
	x := NewBuilder(tracks, WriteOptions{MaxMemory: 400 << 10})
	file, plain := write(x, 1), write(nil, 1)
	if again := write(NewBuilder(tracks, WriteOptions{MaxMemory: 400 << 10}), 4); !bytes.Equal(again, file) {
		t.Error("several goroutines make another file")
	}
	f := openView(t, file)
	ix, err := index.Open(t.Context(), f.r, index.Options{Gap: zoomcache.BlockHeaderLen})
	if err != nil || x.Spilled() == 0 || len(ix.Extents()) < 2 || ix.Verify(t.Context()) != nil {
		t.Fatalf("%d bytes between blocks, %v", x.Spilled(), err)
	}
	for _, p := range [][]byte{file, scarce} {
		var got bytes.Buffer
		if err := openView(t, p).Plain(t.Context(), &got); err != nil || !bytes.Equal(got.Bytes(), plain) {
			t.Errorf("%d bytes, %d in the plain file, %v", got.Len(), len(plain), err)
		}
	}
	if again, err := recompute(t, file, nil); err != nil || again.Wrong != 0 || again.Spans < n/25 {
		t.Errorf("%+v, %v", again, err)
	}
	for range 60 {
		from := 1 + r.Int64N(n)
		to := from + r.Int64N(n-from+1)
		view, err := f.View(t.Context(), 1, from, to, 1+r.IntN(2000))
		if err != nil || !view.Indexed {
			t.Fatal(view.Indexed, err)
		}
		for _, p := range view.Points {
			part := v[p.Entry-1 : p.Exit]
			low, _ := p.Channels[0].Min.Int()
			high, _ := p.Channels[0].Max.Int()
			if low != slices.Min(part) || high != slices.Max(part) {
				t.Fatalf("%+v", p)
			}
		}
	}
	// Whatever is damaged is found by the hash.
	for range 40 {
		q := bytes.Clone(file)
		e := ix.Extents()[r.IntN(len(ix.Extents()))]
		q[e.Off+r.Int64N(e.Len)] ^= 1
		bad, err := index.Open(t.Context(), openView(t, q).r, index.Options{Gap: zoomcache.BlockHeaderLen})
		if err != nil || bad.Verify(t.Context()) == nil {
			t.Errorf("damage is not found: %v", err)
		}
	}
}
