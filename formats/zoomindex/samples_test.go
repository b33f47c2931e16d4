package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// samplesText is what EachPacket gives, as text.
func samplesText(t *testing.T, f *File, from, to int64) string {
	t.Helper()
	var b bytes.Buffer
	err := f.EachPacket(t.Context(), 5, from, to, func(p *zoomcache.Packet) error {
		fmt.Fprintf(&b, "%d %d %d %v:", p.Entry, p.Exit, p.Count, p.Stamps)
		for i := range p.Values.N {
			b.WriteByte(' ')
			b.WriteString(p.Values.Number(i).String())
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// beside is a File of plain bytes with its index beside it.
func beside(t *testing.T, plain []byte) *File {
	t.Helper()
	side, err := openView(t, plain).BuildIndex(t.Context(), `"e"`, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f := openView(t, plain)
	f.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
		return rangeio.FromReaderAt(bytes.NewReader(side), int64(len(side))), `"e"`, nil
	})
	return f
}

// TestSamplesByIndex: samples that an index finds are those that a pass over the
// file finds, packet by packet.
func TestSamplesByIndex(t *testing.T) {
	t.Parallel()
	for _, c := range sampledCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
			a.Number = 5
			file, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
			plain, _ := c.write(t, nil)
			bare, side, inside := openView(t, plain), beside(t, plain), openView(t, file)
			r := rand.New(rand.NewPCG(c.seed, 3))
			lo, hi := s.off[0], s.off[len(s.off)-1]
			for i := range max(racetest.Share(24, 30), 3) {
				from := lo - 3 + r.Int64N(hi-lo+7)
				to := from + r.Int64N(1+(hi-lo)/int64(1+i))
				switch i {
				case 0:
					from = zoomcache.FirstOffset
				case 1:
					to = zoomcache.LastOffset
				}
				want := samplesText(t, bare, from, to)
				for name, f := range map[string]*File{"beside": side, "inside": inside} {
					if d := cmp.Diff(want, samplesText(t, f, from, to)); d != "" {
						t.Fatalf("%s [%d, %d]: %s", name, from, to, d)
					}
				}
			}
			for name, f := range map[string]*File{"beside": side, "inside": inside} {
				list, ok, err := f.Totals(t.Context())
				if err != nil || !ok {
					t.Fatalf("%s: %v, %v", name, ok, err)
				}
				if want, err := bare.Count(t.Context()); err != nil || cmp.Diff(want.Tracks, list) != "" {
					t.Errorf("%s: %v %s", name, err, cmp.Diff(want.Tracks, list))
				}
			}
			if _, ok, err := bare.Totals(t.Context()); ok || err != nil {
				t.Errorf("without an index: %v, %v", ok, err)
			}
		})
	}
}

// TestSamplesOfDamage: if packets differ from the index, they are read as without one.
// Damage is reported with its place, or passed over with Resync. An index of other
// packets does no harm.
func TestSamplesOfDamage(t *testing.T) {
	t.Parallel()
	c := viewCases()[1] // compressed: all damage shows
	c.n = 30_000
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	plain, _ := c.write(t, nil)
	var blocks []zoomcache.Block
	err := openView(t, plain).EachBlock(t.Context(), func(b zoomcache.Block, _ *zoomcache.Track, _ []byte) error {
		if b.Track == 5 && !b.Summary && b.Count > 0 {
			blocks = append(blocks, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range 60 {
		k := 5 + r.IntN(len(blocks)-10)
		hit := blocks[k]
		bad := bytes.Clone(file)
		bad[hit.Off+r.Int64N(hit.Size())] ^= byte(1 + r.IntN(255))
		from, to := blocks[k-3].Entry+7, blocks[k+3].Entry+7
		text := func(p []byte, o zoomcache.Options) (string, int, error) {
			o.Head = minHead
			o.Damaged = func(zoomcache.Damage) {}
			f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), o)
			if err != nil {
				t.Fatal(err)
			}
			out, n := "", 0
			err = f.EachPacket(t.Context(), 5, from, to, func(p *zoomcache.Packet) error {
				out += fmt.Sprintln(p.Entry, p.Exit, p.Values)
				n++
				return nil
			})
			return out, n, err
		}
		for _, resync := range []bool{false, true} {
			got, n, err := text(bad, zoomcache.Options{Resync: resync})
			want, m, wantErr := text(bad[:len(plain)], zoomcache.Options{Resync: resync})
			if got != want || n != m || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("resync %v: %d packets and %v, not %d and %v", resync, n, err, m, wantErr)
			}
			if err != nil && !errors.Is(err, formats.ErrCorrupt) {
				t.Fatal(err)
			}
		}
	}
}

// TestCallersError: an error of the function that takes packets is returned unchanged,
// whatever it is.
func TestCallersError(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	f := openView(t, file)
	for _, want := range []error{errors.New("enough"), index.ErrUnusable} {
		n := 0
		err := f.EachPacket(t.Context(), 5, 50_000, 60_000, func(*zoomcache.Packet) error {
			n++
			return want
		})
		if err != want || n != 1 {
			t.Errorf("%v after %d packets", err, n)
		}
	}
	if _, _, ok, err := f.HasIndex(t.Context()); err != nil || !ok {
		t.Errorf("the index is gone: %v", err)
	}
}
