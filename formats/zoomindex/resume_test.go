package zoomindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

func noisyTrack() []zoomcache.Track {
	return []zoomcache.Track{{Number: 4, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Name: "noise", Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
}

func noise(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 9))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// fileOf writes a file of these samples.
func fileOf(tb testing.TB, v []float64, o WriteOptions) []byte {
	tb.Helper()
	var file bytes.Buffer
	w, err := zoomcache.NewWriter(&file, zoomcache.WriteOptions{Tracks: noisyTrack(), Sink: NewBuilder(noisyTrack(), o)})
	if err == nil {
		if err = zoomcache.WriteSamples(w.Track(4), v); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// counted counts what is read.
type counted struct {
	rangeio.Reader
	calls, bytes int64
}

func (c *counted) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	c.calls++
	for _, s := range spans {
		c.bytes += int64(len(s.P))
	}
	return c.Reader.ReadRanges(ctx, spans)
}

// resumed goes on with a file by its index.
func resumed(tb testing.TB, p []byte, more []float64, o WriteOptions) (out []byte, read int64, err error) {
	tb.Helper()
	r := &counted{Reader: readerOf(p)}
	f, err := zoomcache.Open(tb.Context(), r, zoomcache.Options{Head: minHead})
	if err != nil {
		return nil, 0, err
	}
	x := NewBuilder(f.Header().Tracks, o)
	var tail bytes.Buffer
	w, is, err := Resume(tb.Context(), f, r, x, &tail, zoomcache.ResumeOptions{Sink: x})
	if err != nil {
		return nil, r.bytes, err
	}
	for _, l := range is.Last {
		if err := zoomcache.WriteSamples(w.Track(l.Track), l.Values.F64); err != nil {
			return nil, r.bytes, err
		}
	}
	if len(more) > 0 {
		if err := zoomcache.WriteSamples(w.Track(f.Header().Tracks[0].Number), more); err != nil {
			return nil, r.bytes, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, r.bytes, err
	}
	return append(p[:is.Kept:is.Kept], tail.Bytes()...), r.bytes, nil
}

// TestResume: a file that goes on by its index is the file of all at once, byte for byte,
// wherever it was cut, and what is read of it does not grow with it.
func TestResume(t *testing.T) {
	t.Parallel()
	all := noise(3, racetest.Share(600_000, 4))
	want := fileOf(t, all, WriteOptions{})
	for _, n := range []int{1, 1023, 1024, 1025, 5000, len(all) / 2, len(all)/3*2 + 17, len(all) - 1, len(all)} {
		got, read, err := resumed(t, fileOf(t, all[:n], WriteOptions{}), all[n:], WriteOptions{})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("from %d on: %d bytes, want %d: %v", n, len(got), len(want), err)
		}
		if most := int64(n)*8/4 + 60_000; read > most { // the index of noise is a fifth of it
			t.Errorf("from %d on: %d bytes were read", n, read)
		}
	}
}

// TestResumeBetween: parts of the index between the blocks stay in use; nothing is left in
// the file that belongs to no section, and no part is missing.
func TestResumeBetween(t *testing.T) {
	t.Parallel()
	o := WriteOptions{MaxMemory: 160 << 10}
	all := noise(4, racetest.Share(400_000, 2))
	p := fileOf(t, all, o)
	for i := range 4 {
		more := noise(uint64(i), []int{5000, 0, 300, 60_000}[i])
		all = append(all, more...)
		size := int64(len(p))
		var read int64
		var err error
		if p, read, err = resumed(t, p, more, o); err != nil {
			t.Fatal(err)
		}
		if most := int64(600_000); read > most || read > size {
			t.Errorf("%d bytes of %d were read", read, size)
		}
		got, err := recompute(t, p, nil)
		if err != nil || got.Wrong != 0 || !got.Indexed || got.Samples != int64(len(all)) {
			t.Fatalf("%+v, %v", got, err)
		}
		ix, err := index.Open(t.Context(), readerOf(p), index.Options{Gap: zoomcache.BlockHeaderLen})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := index.Open(t.Context(), readerOf(fileOf(t, all, o)), index.Options{Gap: zoomcache.BlockHeaderLen})
		if err != nil || len(ix.Sections) != len(whole.Sections) || len(ix.Extents()) == 0 {
			t.Fatalf("%d sections, want %d, %v", len(ix.Sections), len(whole.Sections), err)
		}
		for k := range ix.Sections {
			if ix.Sections[k].Name != whole.Sections[k].Name {
				t.Errorf("section %v, want %v", ix.Sections[k].Name, whole.Sections[k].Name)
			}
		}
		var plain bytes.Buffer
		if err := openView(t, p).Plain(t.Context(), &plain); err != nil || !bytes.Equal(plain.Bytes(), plainOf(t, all)) {
			t.Errorf("the plain file has %d bytes: %v", plain.Len(), err)
		}
	}
}

// TestResumeAtCheckpoint: files that end with the flush of a checkpoint, behind which a part of the
// index lies that was made without it, and some packets before and behind it, go on.
func TestResumeAtCheckpoint(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Large)
	o := WriteOptions{MaxMemory: 160 << 10}
	all := noise(9, 180*zoomcache.DefaultWatermark)
	parts := map[int64]bool{}
	for n := 110; n < 180; n++ {
		have := all[:n*zoomcache.DefaultWatermark]
		p := fileOf(t, have, o)
		ix, err := index.Open(t.Context(), readerOf(p), index.Options{Gap: zoomcache.BlockHeaderLen})
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for _, e := range ix.Extents() {
			if e.Off < ix.Trailer.Off {
				last = max(last, e.Off)
			}
		}
		parts[last] = true
		more := noise(uint64(n), 3000)
		if p, _, err = resumed(t, p, more, o); err != nil {
			t.Fatal(n, err)
		}
		got, err := recompute(t, p, nil)
		if err != nil || got.Wrong != 0 || !got.Indexed || got.Samples != int64(len(have)+len(more)) {
			t.Fatalf("%d packets: %+v, %v", n, got, err)
		}
		if ix, err = index.Open(t.Context(), readerOf(p), index.Options{Gap: zoomcache.BlockHeaderLen}); err != nil {
			t.Fatal(err)
		}
		if err := ix.Verify(t.Context()); err != nil {
			t.Fatalf("%d packets: %v", n, err)
		}
	}
	if len(parts) < 3 {
		t.Errorf("the last parts lie at %v", parts)
	}
}

func plainOf(t *testing.T, v []float64) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := zoomcache.NewWriter(&file, zoomcache.WriteOptions{Tracks: noisyTrack()})
	if err == nil {
		if err = zoomcache.WriteSamples(w.Track(4), v); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// damageable is a short file with several levels, and what it is with more samples.
func damageable(tb testing.TB, n int) (p []byte, more []float64, want []byte) {
	tb.Helper()
	all := noise(5, n+1200)
	return fileOf(tb, all[:n], WriteOptions{}), all[n:], fileOf(tb, all, WriteOptions{})
}

// TestResumeDamaged: whatever byte of the index is another one, the file goes on right, or is
// refused.
func TestResumeDamaged(t *testing.T) {
	t.Parallel()
	p, more, want := damageable(t, 21_800)
	plain := openView(t, p)
	ix, err := plain.ix.open(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for at, step := ix.Trailer.Plain, int64(racetest.Share(400, 8)); at < int64(len(p)); at += max((int64(len(p))-ix.Trailer.Plain)/step, 1) {
		q := bytes.Clone(p)
		q[at] ^= byte(1 << (at % 8))
		got, _, err := resumed(t, q, more, WriteOptions{})
		switch {
		case err == nil && !bytes.Equal(got, want):
			t.Errorf("byte %d: a wrong file of %d bytes", at, len(got))
		case err != nil && !errors.Is(err, ErrNoResume):
			t.Errorf("byte %d: %v", at, err)
		case err == nil:
			used++
		}
	}
	t.Logf("%d were not looked at", used)
	for n := range int64(40) { // cut short
		q := p[:int64(len(p))-1-n*n*7]
		if _, _, err := resumed(t, q, more, WriteOptions{}); err == nil {
			t.Errorf("%d bytes of %d are taken", len(q), len(p))
		}
	}
	if _, _, err := resumed(t, append(bytes.Clone(p), p[len(p)-100:]...), more, WriteOptions{}); !errors.Is(err, ErrNoResume) {
		t.Errorf("bytes behind the index: %v", err)
	}
}

// TestResumeMoved: a summary or the last packets that are not what the index says are found
// out.
func TestResumeMoved(t *testing.T) {
	t.Parallel()
	p, more, _ := damageable(t, 21_800)
	w, err := openView(t, p).ix.open(t.Context(), openView(t, p))
	if err != nil {
		t.Fatal(err)
	}
	s := stateOf(t, p)
	if len(s.tracks[0].sums) < 4 {
		t.Fatalf("%+v", s)
	}
	for _, off := range append(s.tracks[0].sums, s.cut) {
		if off == 0 {
			continue
		}
		for _, at := range []int64{0, 9, 12, 19, 27, 33} {
			q := bytes.Clone(p)
			q[off+at] ^= 1
			if _, _, err := resumed(t, q, more, WriteOptions{}); !errors.Is(err, ErrNoResume) {
				t.Errorf("header of the block at %d, byte %d: %v (blocks end at %d)", off, at, err, w.Trailer.Plain)
			}
		}
	}
}

// stateOf reads the state in a file.
func stateOf(tb testing.TB, p []byte) *state {
	tb.Helper()
	ix, err := index.Open(tb.Context(), readerOf(p), index.Options{Gap: zoomcache.BlockHeaderLen})
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := ix.Pages(tb.Context(), index.Parts{Section: ix.Section(index.Name{Kind: sectionState}), I: 0, J: 1})
	if err != nil {
		tb.Fatal(err)
	}
	var u unpacker
	if err := u.open(pages[0]); err != nil {
		tb.Fatal(err)
	}
	s, ok := parseState(bytes.Clone(u.p), 1)
	if !ok {
		tb.Fatal("no state")
	}
	return s
}

// withState is the file with another state, as if it were the right one.
func withState(tb testing.TB, p, raw []byte) []byte {
	tb.Helper()
	ix, err := index.Open(tb.Context(), readerOf(p), index.Options{Gap: zoomcache.BlockHeaderLen})
	if err != nil {
		tb.Fatal(err)
	}
	var b index.Builder
	var list []*index.SectionBuilder
	for i := range ix.Sections {
		s := &ix.Sections[i]
		pages, err := ix.Pages(tb.Context(), index.Parts{Section: s, I: 0, J: len(s.Pages)})
		if err != nil {
			tb.Fatal(err)
		}
		to := b.Section(s.Name)
		for k, q := range pages {
			if s.Kind == sectionState {
				q = append(binary.AppendUvarint(nil, uint64(len(raw))), raw...)
			}
			to.Add(s.Pages[k].First, s.Pages[k].Last, s.Pages[k].Count, q)
		}
		list = append(list, to)
	}
	built, err := b.Finish(list, index.Binding{}, ix.Meta)
	if err != nil {
		tb.Fatal(err)
	}
	out := bytes.Clone(p[:ix.Trailer.Off])
	binary.BigEndian.PutUint32(out[len(out)-4:], uint32(built.Len))
	for _, q := range built.Pieces {
		out = append(out, q...)
	}
	out = append(out, p[int64(len(p))-index.TrailerLen-zoomcache.BlockHeaderLen:int64(len(p))-index.TrailerLen]...)
	tr := index.Trailer{Off: ix.Trailer.Off, Len: built.Len, Plain: ix.Trailer.Plain, SHA256: built.SHA256}
	return tr.Append(out)
}

// FuzzResume: whatever the state says, and whatever byte of the file is another one, a file goes on or is
// refused, without a panic; what comes out is a file whose blocks follow each other.
func FuzzResume(f *testing.F) {
	p, more, want := damageable(f, 7400)
	raw := stateOf(f, p).append(nil)
	if got, _, err := resumed(f, withState(f, p, raw), more, WriteOptions{}); err != nil || !bytes.Equal(got, want) {
		f.Fatal("the same state gives another file", err)
	}
	f.Add(raw, uint32(0), byte(0))
	f.Add(raw, uint32(len(p)-70), byte(3))
	f.Add(raw, uint32(60_000), byte(64))
	f.Fuzz(func(t *testing.T, raw []byte, at uint32, flip byte) {
		q := withState(t, p, raw)
		q[int(at)%len(q)] ^= flip
		got, _, err := resumed(t, q, more, WriteOptions{})
		if err != nil {
			return
		}
		z, err := zoomcache.Open(t.Context(), readerOf(got), zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		last := int64(math.MinInt64)
		err = z.EachBlock(t.Context(), func(b zoomcache.Block, _ *zoomcache.Track, _ []byte) error {
			if !b.Summary && b.Count > 0 && int(at)%len(q) >= len(p) && b.Entry <= last {
				t.Errorf("a packet of %d behind %d", b.Entry, last)
			}
			last = max(last, b.Exit)
			return nil
		})
		if err != nil && flip == 0 {
			t.Error(err)
		}
	})
}
