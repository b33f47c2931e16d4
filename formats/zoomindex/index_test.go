package zoomindex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// TestIndexInside: cutting at the end of the plain file leaves it byte for byte,
// and readers of the file see no difference.
func TestIndexInside(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
		plain, _ := c.write(t, nil)
		tr, err := index.ParseTrailer(file[len(file)-index.TrailerLen:], int64(len(file)), zoomcache.BlockHeaderLen)
		if err != nil || !bytes.Equal(file[:tr.Plain], plain) {
			t.Fatalf("%s: %+v, %v", c.name, tr, err)
		}
		if sha256.Sum256(file[tr.Off:tr.Off+tr.Len]) != tr.SHA256 {
			t.Errorf("%s: hash", c.name)
		}
		with, err := openView(t, file).Verify(t.Context(), nil)
		if err != nil || with.Undeclared != 2 {
			t.Fatalf("%s: %+v, %v", c.name, with, err)
		}
		without, err := openView(t, plain).Verify(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(without.Tracks, with.Tracks); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestDamagedIndex: if the index of a file is damaged anywhere, a view is the same as
// without an index.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	for _, k := range []int{0, 4, 13}[:racetest.Share(3, 3)] {
		c := viewCases()[k]
		c.n = 6000
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		file, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
		plain, _ := c.write(t, nil)
		r := rand.New(rand.NewPCG(7, uint64(k)))
		lo, hi := s.off[0], s.off[len(s.off)-1]
		unused := 0
		for range 500 {
			q := bytes.Clone(file)
			at := len(plain) + r.IntN(len(q)-len(plain))
			q[at] ^= byte(1 + r.IntN(255))
			from := lo + r.Int64N(hi-lo)
			to := from + r.Int64N(hi-from+1)
			f := openView(t, q)
			v, err := f.View(t.Context(), 5, from, to, 1+r.IntN(300))
			if err != nil {
				t.Fatalf("byte %d: %v", at-len(plain), err)
			}
			if !v.Indexed {
				unused++
			}
			s.check(t, c.track.Codec.Kind, &v, from, to, true)
		}
		if unused == 0 {
			t.Error("no damage was noticed")
		}
	}
}

// TestStaleSidecar: an index of another version of the file is ignored.
func TestStaleSidecar(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	c.n = 9000
	plain, _ := c.write(t, nil)
	side, err := openView(t, plain).BuildIndex(t.Context(), `"1"`, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		etag string
		side []byte
		want bool
	}{{`"1"`, side, true}, {`"2"`, side, false}, {`"1"`, side[:len(side)-1], false}, {`"1"`, nil, false}} {
		f := openView(t, plain)
		f.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
			if tc.side == nil {
				return nil, "", nil
			}
			return rangeio.FromReaderAt(bytes.NewReader(tc.side), int64(len(tc.side))), tc.etag, nil
		})
		v, err := f.View(t.Context(), 5, zoomcache.FirstOffset, zoomcache.LastOffset, 4)
		if err != nil || v.Indexed != tc.want || len(v.Points) == 0 {
			t.Errorf("%s: %+v, %v", tc.etag, v, err)
		}
	}
}

// TestCoarseIndex: if an index may take little memory it gives up the finest levels,
// and the remaining ones give the same views.
func TestCoarseIndex(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	whole, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	small, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{MaxMemory: 4000}))
	if len(small) >= len(whole)-4000 {
		t.Errorf("%d bytes, %d with all bins", len(small), len(whole))
	}
	f := openView(t, small)
	for _, width := range []int{1, 7, 40, 500} {
		v, err := f.View(t.Context(), 5, 1, int64(c.n), width)
		if err != nil || !v.Indexed {
			t.Fatal(v.Indexed, err)
		}
		s.check(t, zoomcache.I16, &v, 1, int64(c.n), true)
	}
}

// TestViewBignums: integers beyond 64 bits have no index, and true bounds.
func TestViewBignums(t *testing.T) {
	t.Parallel()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.Integer}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: NewBuilder(tracks, WriteOptions{}), Watermark: 10})
	if err != nil {
		t.Fatal(err)
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 90)
	list := make([]*big.Int, 100)
	for i := range list {
		list[i] = big.NewInt(int64(i))
	}
	list[50] = huge
	if err := errors.Join(zoomcache.WriteSamples(w.Track(1), list), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(out.Bytes()), int64(out.Len())), zoomcache.Options{Integers: true})
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.View(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, 4)
	if err != nil || v.Indexed || len(v.Points) != 4 {
		t.Fatalf("%+v, %v", v, err)
	}
	if got := v.Points[2].Channels[0].Max.Big(); got.Cmp(huge) != 0 {
		t.Errorf("greatest %v", got)
	}
	if got := v.Points[1].Channels[0].Max.Big(); got.Cmp(big.NewInt(49)) != 0 {
		t.Errorf("greatest %v", got)
	}
}

// TestViewWithoutSamples: of a file that holds summaries only these are shown.
func TestViewWithoutSamples(t *testing.T) {
	t.Parallel()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, NoRaw: true, Watermark: 10})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float64, 1000)
	for i := range v {
		v[i] = float64(i)
	}
	if err := errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := openView(t, out.Bytes()).View(t.Context(), 1, 1, 1000, 20)
	if err != nil || got.Level != 3 || len(got.Points) < 10 {
		t.Fatalf("level %d, %d points, %v", got.Level, len(got.Points), err)
	}
	last := got.Points[len(got.Points)-1]
	if last.Exit != 1000 || last.Channels[0].Max.Float() != 999 {
		t.Errorf("%+v", last)
	}
}

// FuzzIndexPage: whatever a page is, it is read or refused.
func FuzzIndexPage(f *testing.F) {
	var k packer
	for _, bin := range []bool{true, false} {
		c := newSheet(layout{zoomcache.F64, 1, bin}, false)
		for i := range int64(40) {
			c.add(i*10, i*10+9, 10, []stat{{n: 10, valid: 9, min: f64Key(-1), max: f64Key(float64(i)), sum: 3, sq: 9}})
		}
		p, err := k.page(c, &guess{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(p), int64(40), int64(0), int64(399), byte(zoomcache.F64))
	}
	p, err := k.runs([]packetRun{{1, 10, 10, 50, 80}, {11, 20, 10, 200, 80}, {21, 22, 2, 400, 16}}, 1, &guess{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(p), int64(3), int64(1), int64(22), byte(zoomcache.I16))
	f.Fuzz(func(t *testing.T, p []byte, n, first, last int64, kind byte) {
		if len(p) > 1<<16 || last < first {
			return
		}
		pg := &index.Page{First: first, Last: last, Count: n}
		var u unpacker
		for _, bin := range []bool{true, false} {
			c := &cells{width: 2}
			if u.page(layout{zoomcache.Kind(kind) % kinds, 2, bin}, p, pg, c) == nil {
				for i := range c.len() {
					if c.entry[i] < first || c.exit[i] > last || c.entry[i] > c.exit[i] {
						t.Fatal("a span outside")
					}
				}
				_ = u.ends(layout{zoomcache.Kind(kind) % kinds, 2, bin}, p, c, c.len())
			}
		}
		runs, err := u.runs(p, pg, math.MaxInt64/2)
		for _, r := range runs {
			if err == nil && (r.entry < first || r.exit > last || r.off < 0) {
				t.Fatal("a packet outside")
			}
		}
	})
}
