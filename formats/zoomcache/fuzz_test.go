package zoomcache

import (
	"bytes"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
)

// small bounds the memory of fuzzing.
func small() formats.Limits {
	return formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 16, MaxMeta: 1 << 20}
}

func FuzzVLC(f *testing.F) {
	for _, p := range [][]byte{{0}, {1}, {0x7f}, {0x81, 0x80, 0x80, 0x80, 0x10}, make80(20), appendBig(nil, new(big.Int).Lsh(big.NewInt(1), 200))} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		v, n := readVLC(p)
		x, m := readBig(p)
		if n != m || n > len(p) {
			t.Fatalf("lengths %d and %d of %d bytes", n, m, len(p))
		}
		if n <= 0 {
			return
		}
		// The shortest form is never longer than what was read, and has the
		// same low bits.
		again := appendBig(nil, x)
		w, k := readVLC(again)
		if w != v || k != len(again) || k > n {
			t.Fatalf("%x reads as %d, %v, which is written %x", p[:n], v, x, again)
		}
		if x.IsInt64() && (x.Int64() != v || !bytes.Equal(appendVLC(nil, v), again)) {
			t.Fatalf("%d and %v differ", v, x)
		}
	})
}

func addOriginals(f *testing.F, add func(p []byte)) {
	f.Helper()
	for _, dir := range []string{"original", "malformed"} {
		names, _ := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if len(names) < 40 {
			f.Fatal("no fixtures")
		}
		for _, name := range names {
			p, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			add(p)
		}
	}
}

func FuzzHeader(f *testing.F) {
	addOriginals(f, func(p []byte) { f.Add(p[:min(len(p), 300)]) })
	f.Fuzz(func(t *testing.T, p []byte) {
		h, n, err := ParseHeader(p, small())
		if err != nil {
			return
		}
		if n > int64(len(p)) {
			t.Fatalf("%d bytes of %d", n, len(p))
		}
		out, err := AppendHeader(nil, h)
		if err != nil {
			t.Fatal(err)
		}
		again, m, err := ParseHeader(out, small())
		if err != nil || m != int64(len(out)) {
			t.Fatal(m, len(out), err)
		}
		if d := cmp.Diff(h, again); d != "" {
			t.Fatal(d)
		}
	})
}

// fuzzTrack makes a track of any codec from two bytes.
func fuzzTrack(kind, flags byte) *Track {
	t := &Track{Number: 1, Codec: Codec{Kind: Kind(kind) % kinds, PCM: flags&1 != 0}, Rate: Rate{1, 1},
		Variable: flags&2 != 0, Delta: flags&4 != 0, Zlib: flags&8 != 0}
	t.Codec.PCM = t.Codec.PCM && t.Codec.valid()
	if flags&16 != 0 {
		t.Codec.Channels = 1 + int(flags>>5)
	}
	return t
}

func FuzzPacket(f *testing.F) {
	addBlocks(f, false)
	f.Fuzz(func(t *testing.T, kind, flags byte, count int32, p []byte) {
		tr := fuzzTrack(kind, flags)
		b := Block{Track: 1, Entry: 5, Exit: 9, Count: count & 0xffff, Len: int64(len(p))}
		var pk Packet
		if tr.DecodePacket(&pk, b, p, small()) != nil {
			return
		}
		if pk.Values.N != int(b.Count)*tr.Codec.Width() || tr.Variable && len(pk.Stamps) != int(b.Count) {
			t.Fatalf("%d values, %d stamps for a count of %d", pk.Values.N, len(pk.Stamps), b.Count)
		}
		for i := range min(pk.Values.N, 100) {
			if v := pk.Values.Number(i); v.Present() == (tr.Codec.Kind == Unit) {
				t.Fatalf("value %d is %v", i, v)
			}
		}
		if tr.deltas() && tr.Codec.Kind.Float() {
			return // rounding
		}
		out, err := tr.AppendPacket(nil, &pk)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBlock(out, 0, small())
		if err != nil {
			t.Fatal(err)
		}
		var back Packet
		if err := tr.DecodePacket(&back, again, out[BlockHeaderLen:], small()); err != nil {
			t.Fatal(err)
		}
		for i := range min(pk.Values.N, 1000) {
			if !pk.Values.Number(i).Equal(back.Values.Number(i)) {
				t.Fatalf("value %d: %v, then %v", i, pk.Values.Number(i), back.Values.Number(i))
			}
		}
	})
}

func FuzzSummary(f *testing.F) {
	addBlocks(f, true)
	f.Fuzz(func(t *testing.T, kind, flags byte, level int32, p []byte) {
		tr := fuzzTrack(kind, flags)
		b := Block{Summary: true, Track: 1, Entry: 5, Exit: 9, Level: level, Len: int64(len(p))}
		var s, back Summary
		if tr.DecodeSummary(&s, b, p) != nil {
			return
		}
		out, err := tr.AppendSummary(nil, &s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseBlock(out, 0, small())
		if err == nil {
			err = tr.DecodeSummary(&back, again, out[BlockHeaderLen:])
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Channels {
			a, b := s.Channels[i], back.Channels[i]
			if !a.First.Equal(b.First) || !a.Last.Equal(b.Last) || !a.Min.Equal(b.Min) || !a.Max.Equal(b.Max) || a.Count != b.Count {
				t.Fatalf("channel %d: %+v, then %+v", i, a, b)
			}
		}
	})
}

// addBlocks gives the packets or the summaries of the originals as seeds.
func addBlocks(f *testing.F, summaries bool) {
	f.Helper()
	addOriginals(f, func(p []byte) {
		h, at, err := ParseHeader(p, formats.Limits{})
		for n := 0; err == nil && at < int64(len(p)) && n < 3; {
			var b Block
			if b, err = ParseBlock(p[at:], at, formats.Limits{}); err != nil || b.Size() > int64(len(p))-at {
				return
			}
			if tr, ok := h.Track(b.Track); ok && b.Summary == summaries {
				flags := byte(0)
				for i, on := range []bool{tr.Codec.PCM, tr.Variable, tr.Delta, tr.Zlib, tr.Codec.Channels > 0} {
					if on {
						flags |= 1 << i
					}
				}
				flags |= byte(max(tr.Codec.Channels, 1)-1) << 5
				f.Add(byte(tr.Codec.Kind), flags, max(b.Count, b.Level), p[at+BlockHeaderLen:at+b.Size()])
				n++
			}
			at += b.Size()
		}
	})
}
