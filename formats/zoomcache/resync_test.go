package zoomcache

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
)

// blocksOf are the blocks of a file, as they are.
func blocksOf(tb testing.TB, f *File, p []byte) (out []string) {
	tb.Helper()
	must(tb, f.EachBlock(tb.Context(), func(b Block, _ *Track, _ []byte) error {
		out = append(out, string(p[b.Off:b.Off+b.Size()]))
		return nil
	}))
	return out
}

// Whatever is done to a few bytes of a file, all blocks that nothing was done to
// are found, and blocks and damage make up the file.
func TestResync(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"p-multitrack.zoom", "p-codec-i16-vbr-d-z.zoom", "p-codec-word-vbr.zoom", "p-tiny-f64.zoom", "p-multi-i16x2.zoom", "p-codec-unit-vbr.zoom", "p-tiny-int.zoom"} {
		good := original(t, name)
		f := openBytes(t, good, Options{})
		whole := blocksOf(t, f, good)
		ends := make([]int64, 0, len(whole)+1)
		at := f.body
		for _, b := range whole {
			ends = append(ends, at)
			at += int64(len(b))
		}
		ends = append(ends, at)
		found := 0
		for range 400 {
			from := f.body + rnd.Int64N(f.size-f.body)
			to := min(from+1+rnd.Int64N(60), f.size)
			middle := make([]byte, rnd.IntN(2)*int(to-from)) // cut out, or overwritten
			if len(middle) == 0 && slices.ContainsFunc(whole, func(b string) bool { return int64(len(b)) == to-from }) {
				continue // a block stands where the end of another was cut out: nobody can tell
			}
			for i := range middle {
				middle[i] = byte(rnd.Uint32())
			}
			bad := slices.Concat(good[:from], middle, good[to:])
			got, damage := resynced(t, bad)
			found += damage
			// Those that nothing was done to, in order.
			for i := range whole {
				if ends[i] < to && ends[i+1] > from {
					continue
				}
				k := slices.Index(got, whole[i])
				if k < 0 {
					t.Fatalf("%s: bytes [%d, %d) became %d: the block at %d is lost", name, from, to, len(middle), ends[i])
				}
				got = got[k+1:]
			}
		}
		if found < 50 {
			t.Errorf("%s: damage was found %d times", name, found)
		}
	}
}

// resynced gives the blocks of a damaged file, and counts the damage. Both
// together make up the file.
func resynced(t *testing.T, p []byte) (out []string, damage int) {
	t.Helper()
	type piece struct{ from, to int64 }
	var pieces []piece
	f := openBytes(t, p, Options{Head: 1, Window: 1, Resync: true, Damaged: func(d Damage) {
		if d.Err == nil || d.From >= d.To {
			t.Errorf("damage %+v", d)
		}
		damage++
		pieces = append(pieces, piece{d.From, d.To})
	}})
	must(t, f.EachBlock(t.Context(), func(b Block, tr *Track, content []byte) error {
		pieces = append(pieces, piece{b.Off, b.Off + b.Size()})
		if tr != nil && !bytes.Equal(content, p[b.Off+BlockHeaderLen:b.Off+b.Size()]) {
			t.Errorf("another content of the block at %d", b.Off)
		}
		out = append(out, string(p[b.Off:b.Off+b.Size()]))
		return nil
	}))
	at := f.body
	for _, x := range pieces {
		if x.from != at {
			t.Fatalf("nothing is known of [%d, %d)", at, x.from)
		}
		at = x.to
	}
	if at != f.size {
		t.Fatalf("nothing is known of what is behind %d", at)
	}
	return out, damage
}

// Verify reports damage, too. If only the content of a block is damaged, only that
// block is passed over.
func TestVerifyDamage(t *testing.T) {
	p := bytes.Clone(original(t, "p-codec-i16-vbr-d-z.zoom"))
	f := openBytes(t, p, Options{})
	var second Block // packet of some size
	n := 0
	must(t, f.EachBlock(t.Context(), func(b Block, _ *Track, _ []byte) error {
		if !b.Summary && b.Count > 0 {
			if n++; n == 2 {
				second = b
			}
		}
		return nil
	}))
	p[second.Off+BlockHeaderLen+10] ^= 0xff
	p = append(p, "tail"...)
	told := 0
	f = openBytes(t, p, Options{Resync: true, Damaged: func(Damage) { told++ }})
	r, err := f.Verify(t.Context(), nil)
	must(t, err)
	want := fmt.Sprint([][2]int64{{second.Off, second.Off + second.Size()}, {f.size - 4, f.size}})
	var got [][2]int64
	for _, d := range r.Damage {
		got = append(got, [2]int64{d.From, d.To})
		var where *formats.Error
		if where = asError(d.Err); where == nil || where.Off < d.From {
			t.Errorf("damage %+v", d)
		}
	}
	if fmt.Sprint(got) != want || told != 2 || r.DamagedBytes != second.Size()+4 {
		t.Errorf("damage %v, %d bytes, told %d times, want %v", got, r.DamagedBytes, told, want)
	}
	samples := int32(0)
	must(t, f.EachPacket(t.Context(), f.h.Tracks[0].Number, FirstOffset, LastOffset, func(p *Packet) error {
		samples += p.Count
		return nil
	}))
	if int64(samples) != r.Tracks[0].Samples || samples == 0 {
		t.Errorf("%d samples, counted %d", samples, r.Tracks[0].Samples)
	}
}

func asError(err error) *formats.Error {
	e, _ := err.(*formats.Error)
	return e
}
