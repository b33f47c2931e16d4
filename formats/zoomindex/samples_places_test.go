package zoomindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// placing is an Builder that tells of about where packets lie, however few there are,
// in no more than most stretches.
func placing(t zoomcache.Track, most int) *Builder {
	t.Number = 5
	x := NewBuilder([]zoomcache.Track{t, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}}, WriteOptions{})
	x.long = -1
	for _, t := range x.tracks {
		t.at.most = most
	}
	return x
}

// placesOf gives what the index of a file says of about where packets of track 5 lie.
func placesOf(tb testing.TB, f *File) (*openIndex, []stretch, *index.Page) {
	tb.Helper()
	ix, err := f.ix.open(tb.Context(), f)
	if err != nil || ix == nil {
		tb.Fatal("no index", err)
	}
	s := ix.Section(index.Name{Kind: sectionPlace, Of: 5})
	if s == nil {
		return ix, nil, nil
	}
	pages, err := ix.Pages(tb.Context(), index.Parts{Section: s, I: 0, J: 1})
	if err != nil {
		tb.Fatal(err)
	}
	var u unpacker
	list, err := u.places(pages[0], &s.Pages[0], ix.Trailer.Plain)
	if err != nil {
		tb.Fatal(err)
	}
	return ix, list, &s.Pages[0]
}

// placedText is what a reading by places gives, as samplesText does.
func placedText(tb testing.TB, f *File, ix *openIndex, list []stretch, exit, from, to int64) (text string, n int64, done bool) {
	tb.Helper()
	t, err := f.Track(5)
	if err != nil {
		tb.Fatal(err)
	}
	v := &indexView{f: f, t: t, ix: ix, from: from, to: to}
	r := v.around(list, exit)
	if r == nil || r.total > 64<<20 {
		return "", 0, false
	}
	var b bytes.Buffer
	done, err = v.placed(tb.Context(), r, &packetTaker{v: v, fn: func(p *zoomcache.Packet) error {
		fmt.Fprintf(&b, "%d %d %d %v:", p.Entry, p.Exit, p.Count, p.Stamps)
		for i := range p.Values.N {
			b.WriteByte(' ')
			b.WriteString(p.Values.Number(i).String())
		}
		b.WriteByte('\n')
		return nil
	}})
	if err != nil && (done || !index.Unusable(err)) {
		tb.Fatal(err)
	}
	return b.String(), r.total, done
}

// TestPlaces: reads by rough places give the samples that a pass over the file gives,
// even with very few stretches, and Recompute agrees with every stretch.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain, s := c.write(t, nil)
			bare := openView(t, plain)
			r := rand.New(rand.NewPCG(c.seed, 9))
			lo, hi := s.off[0], s.off[len(s.off)-1]
			for _, most := range []int{1, 4, 16, 300} {
				file, _ := c.write(t, placing(c.track, most))
				f := openView(t, file)
				ix, list, pg := placesOf(t, f)
				if list == nil {
					if m := ix.tracks[5]; m.part {
						t.Fatal("no places")
					}
					continue
				}
				if len(list) > most+1 {
					t.Fatalf("%d stretches, at most %d", len(list)-1, most)
				}
				if got, err := recompute(t, file, nil); err != nil || got.Wrong != 0 {
					t.Fatalf("%+v, %v", got, err)
				}
				done := 0
				tries := max(racetest.Share(16, 30), 3)
				for i := range tries {
					from := lo - 3 + r.Int64N(hi-lo+4)
					to := from + r.Int64N(1+(hi-lo)/int64(1+i))
					switch i {
					case 0:
						from, to = zoomcache.FirstOffset, max(to, lo)
					case 1:
						to = zoomcache.LastOffset
					}
					got, n, ok := placedText(t, f, ix, list, pg.Last, from, to)
					if !ok {
						if to >= lo {
							t.Fatalf("most %d: nothing of [%d, %d]", most, from, to)
						}
						continue
					}
					done++
					if want := samplesText(t, bare, from, to); got != want {
						t.Fatalf("most %d, [%d, %d]: other samples, of %d bytes", most, from, to, n)
					}
				}
				if done < tries/2 && hi-lo > 100 {
					t.Errorf("%d of %d readings", done, tries)
				}
			}
		})
	}
}

// TestPlacesNarrow: if packets have random sizes, a read takes at most a few packets
// too many, although there are far fewer stretches than packets.
func TestPlacesNarrow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	p := places{most: maxPlaces}
	var runs []packetRun
	off := int64(100)
	for i := range int64(200_000) {
		n := 7000 + r.Int64N(200)
		if i/30_000%2 == 1 {
			n = 900 + r.Int64N(60)
		}
		x := packetRun{entry: 1 + 1024*i, exit: 1024 * (i + 1), count: 1024, off: off, len: n}
		runs = append(runs, x)
		off = x.end() + 60
		p.add(&x)
	}
	list := slices.Clone(p.end(&runs[len(runs)-1]))
	var k packer
	page, err := k.places(list)
	if err != nil || len(page) > 4<<10 {
		t.Errorf("a page of %d bytes, %v", len(page), err)
	}
	v := &indexView{ix: &openIndex{Index: &index.Index{}}}
	most, sum := int64(0), int64(0)
	const tries = 2000
	for range tries {
		i := r.IntN(len(runs) - 60)
		v.from, v.to = runs[i].entry+r.Int64N(1024), runs[i+50].entry+r.Int64N(1024)
		a := v.around(list, runs[len(runs)-1].exit)
		extra := a.total - (runs[i+50].end() - runs[i].off)
		if extra < 0 {
			t.Fatalf("[%d, %d]: %d bytes too few", v.from, v.to, -extra)
		}
		most, sum = max(most, extra), sum+extra
	}
	t.Logf("%d stretches in %d bytes; %d bytes too many on average, at most %d", len(list)-1, len(page), sum/tries, most)
	if most > 96<<10 || sum/tries > 20<<10 {
		t.Errorf("%d bytes too many on average, at most %d", sum/tries, most)
	}
}

// header is that of a packet.
func header(b *zoomcache.Block) []byte {
	p := binary.BigEndian.AppendUint32([]byte(zoomcache.MarkerPacket), uint32(b.Track))
	p = binary.BigEndian.AppendUint64(p, uint64(b.Entry))
	p = binary.BigEndian.AppendUint64(p, uint64(b.Exit))
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(p, uint32(b.Count)), uint32(b.Len))
}

// TestPlacesTrap: samples that look like packets of the track are not read as packets.
func TestPlacesTrap(t *testing.T) {
	t.Parallel()
	track := zoomcache.Track{Number: 5, Codec: zoomcache.Codec{Kind: zoomcache.U8}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}
	r := rand.New(rand.NewPCG(2, 3))
	var file bytes.Buffer
	x := placing(track, 1)
	w, err := zoomcache.NewWriter(&file, zoomcache.WriteOptions{Tracks: []zoomcache.Track{track, {Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}}, Watermark: -1, Sink: x})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 0, 200_000)
	for len(all) < 190_000 {
		n := 900 + r.IntN(400)
		v := make([]byte, n)
		for i := range v {
			v[i] = byte(r.Uint32())
		}
		if r.IntN(3) == 0 { // a header that the packet in front of some range may have
			h := zoomcache.Block{Track: 5, Entry: int64(len(all)) + r.Int64N(1000) - 500, Count: 1 + r.Int32N(200), Len: int64(r.IntN(300))}
			h.Exit = h.Entry + int64(h.Count) - 1
			at := r.IntN(n - 400)
			copy(v[at:], header(&h))
			if r.IntN(2) == 0 { // with a block behind it
				h.Entry, h.Exit = h.Exit+1, h.Exit+3000
				copy(v[at+zoomcache.BlockHeaderLen+int(h.Len):], header(&h))
			}
		}
		all = append(all, v...)
		if err := zoomcache.WriteSamples(w.Track(5), v); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := openView(t, file.Bytes())
	ix, list, pg := placesOf(t, f)
	five, err := f.Track(5)
	if err != nil {
		t.Fatal(err)
	}
	done, refused := 0, 0
	for range 3000 {
		from := 1 + r.Int64N(int64(len(all)))
		to := min(from+r.Int64N(3000), int64(len(all)))
		v := &indexView{f: f, t: five, ix: ix, from: from, to: to}
		var got []byte
		ok, err := v.placed(t.Context(), v.around(list, pg.Last), &packetTaker{v: v, fn: func(p *zoomcache.Packet) error {
			got = append(got, p.Values.U8...)
			return nil
		}})
		switch {
		case err != nil && (ok || !index.Unusable(err)):
			t.Fatal(err)
		case !ok:
			refused++
		case !bytes.Equal(got, all[from-1:to]):
			t.Fatalf("[%d, %d]: other samples", from, to)
		default:
			done++
		}
		got = got[:0]
		err = f.EachPacket(t.Context(), 5, from, to, func(p *zoomcache.Packet) error {
			got = append(got, p.Values.U8...)
			return nil
		})
		if err != nil || !bytes.Equal(got, all[from-1:to]) {
			t.Fatalf("Samples [%d, %d]: %v", from, to, err)
		}
	}
	t.Logf("%d readings, %d where it was not clear", done, refused)
	if done == 0 || refused == 0 {
		t.Errorf("%d readings, %d where it was not clear", done, refused)
	}
}

// TestPlacesLimits: numbers at their limits neither wrap nor divide by nothing.
func TestPlacesLimits(t *testing.T) {
	t.Parallel()
	for _, entries := range [][]int64{
		{math.MinInt64, math.MinInt64, 0, math.MaxInt64 - 1, math.MaxInt64}, {5, 5, 5, 5, 5}, {math.MinInt64, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}, {0},
	} {
		for most := 1; most < 4; most++ {
			p := places{most: most}
			var last packetRun
			runs := []packetRun{}
			for i, e := range entries {
				last = packetRun{entry: e, exit: e, count: 1, off: int64(i) * 1000, len: int64(10 + i*100)}
				runs = append(runs, last)
				p.add(&last)
			}
			list := p.end(&last)
			var k packer
			page, err := k.places(list)
			if err != nil {
				t.Fatal(err)
			}
			var u unpacker
			pg := &index.Page{First: entries[0], Last: entries[len(entries)-1], Count: int64(len(list) - 1)}
			got, err := u.places(page, pg, 1<<40)
			if err != nil || !slices.Equal(got, list) {
				t.Fatalf("%v: %v, %v", entries, got, err)
			}
			check := &placeCheck{list: got, at: -1}
			for i := range runs {
				if !check.next(&runs[i]) {
					t.Fatalf("%v, most %d: packet %d is not in %+v", entries, most, i, got)
				}
			}
		}
	}
}

// FuzzPlaces: the rough places in an index may be anything, as long as their first and
// last offset are right. A read gives the samples of the range, or none.
func FuzzPlaces(f *testing.F) {
	c := viewCases()[1]
	c.n = 9000
	file, _ := c.write(f, placing(c.track, 6))
	plain, _ := c.write(f, nil)
	whole, err := Open(f.Context(), readerOf(file), zoomcache.Options{Head: minHead})
	if err != nil {
		f.Fatal(err)
	}
	ix, list, pg := placesOf(f, whole)
	bare, err := Open(f.Context(), readerOf(plain), zoomcache.Options{Head: minHead})
	if err != nil {
		f.Fatal(err)
	}
	var k packer
	if _, err := k.places(list); err != nil {
		f.Fatal(err)
	}
	f.Add(slices.Clone(k.raw), int64(len(list)-1), int64(2500), int64(4000))
	f.Add(slices.Clone(k.raw), int64(len(list)-1), int64(1), int64(9000))
	f.Add(binary.AppendVarint(slices.Clone(k.raw[:20]), math.MaxInt64), int64(3), int64(1), int64(9000))
	f.Fuzz(func(t *testing.T, raw []byte, count, from, to int64) {
		if from > to || len(raw) > 1<<12 {
			return
		}
		u, page := &unpacker{}, *pg
		page.Count = count
		list, err := u.places(append(binary.AppendUvarint(nil, uint64(len(raw))), raw...), &page, ix.Trailer.Plain)
		if err != nil {
			if !index.Unusable(err) {
				t.Fatal(err)
			}
			return
		}
		if got, _, done := placedText(t, whole, ix, list, pg.Last, from, to); done && got != samplesText(t, bare, from, to) {
			t.Fatalf("[%d, %d]: other samples", from, to)
		}
		if n := bufpool.Loans(); n != 0 {
			t.Fatalf("%d buffers are still lent", n)
		}
	})
}

// TestPlacesWrong: wrong rough places do not change the samples, and Recompute finds
// them.
func TestPlacesWrong(t *testing.T) {
	t.Parallel()
	c := viewCases()[1]
	plain, _ := c.write(t, nil)
	file, _ := c.write(t, placing(c.track, 8))
	_, list, pg := placesOf(t, openView(t, file))
	bare := openView(t, plain)
	side := func(list []stretch) []byte {
		whole, err := openView(t, plain).BuildIndex(t.Context(), `"1"`, WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ix, err := index.Open(t.Context(), readerOf(whole), index.Options{Bind: index.Binding{Size: int64(len(plain)), ETag: `"1"`}})
		if err != nil {
			t.Fatal(err)
		}
		var b index.Builder
		var all []*index.SectionBuilder
		for i := range ix.Sections {
			s := &ix.Sections[i]
			pages, err := ix.Pages(t.Context(), index.Parts{Section: s, I: 0, J: len(s.Pages)})
			if err != nil {
				t.Fatal(err)
			}
			to := b.Section(s.Name)
			for k, p := range pages {
				to.Add(s.Pages[k].First, s.Pages[k].Last, s.Pages[k].Count, p)
			}
			all = append(all, to)
		}
		var k packer
		page, err := k.places(list)
		if err != nil {
			t.Fatal(err)
		}
		to := b.Section(index.Name{Kind: sectionPlace, Of: 5})
		to.Add(pg.First, pg.Last, int64(len(list)-1), page)
		// A kind that no reader knows is passed over.
		odd := b.Section(index.Name{Kind: 99, Of: 5})
		odd.Add(1, 2, 3, []byte("what is it"))
		made, err := b.Finish(append(all, odd, to), index.Binding{Size: int64(len(plain)), ETag: `"1"`}, ix.Meta)
		if err != nil {
			t.Fatal(err)
		}
		return index.Beside(made, int64(len(plain)))
	}
	if r, err := recompute(t, plain, side(list)); err != nil || r.Wrong != 0 || !r.Indexed {
		t.Fatalf("as it is: %+v, %v", r, err)
	}
	for what, spoil := range map[string]func(l []stretch){
		"place":  func(l []stretch) { l[2].off++ },
		"entry":  func(l []stretch) { l[2].entry-- },
		"line":   func(l []stretch) { l[1].up = 0; l[1].down = 0 },
		"step":   func(l []stretch) { l[1].step /= 2 },
		"bytes":  func(l []stretch) { l[1].own-- },
		"end":    func(l []stretch) { l[len(l)-1].off -= 50 },
		"begins": func(l []stretch) { l[0].off += 8 },
	} {
		bad := slices.Clone(list)
		spoil(bad)
		p := side(bad)
		if r, err := recompute(t, plain, p); err != nil || r.Wrong == 0 {
			t.Errorf("%s: nothing is found: %+v, %v", what, r, err)
		}
		f := openView(t, plain)
		f.Sidecar(func(context.Context) (rangeio.Reader, string, error) { return readerOf(p), `"1"`, nil })
		ix, err := f.ix.open(t.Context(), f)
		if err != nil || ix == nil {
			t.Fatal(what, err)
		}
		for from := int64(1); from < 30_000; from += 1700 {
			got, _, done := placedText(t, f, ix, bad, pg.Last, from, from+900)
			if done && got != samplesText(t, bare, from, from+900) {
				t.Errorf("%s: other samples from %d on", what, from)
			}
		}
	}
}
