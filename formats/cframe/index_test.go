package cframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// blockwise reads blocks and nothing between them.
var blockwise = rangeio.Policy{Parallel: 64, MaxLen: 1 << 20}

// indexedFrame writes a frame of n chunks of 16 blocks, with special chunks between, and
// returns its bytes and its data.
func indexedFrame(t *testing.T, n int, o WriteOptions) (p, data []byte) {
	t.Helper()
	o.TypeSize, o.ChunkSize, o.BlockSize = 2, 1024, 64
	o.Encode = blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}
	variants := make([][]byte, 7)
	for i := range variants {
		for k := range 16 {
			variants[i] = append(variants[i], bytes.Repeat(noise(1+(i+k)%7*4, i*16+k), 64)[:64]...)
		}
	}
	p = write(t, o, func(w *Writer) {
		for i := range n {
			c := variants[i%7]
			if i%5 == 3 {
				c = make([]byte, 1024)
			}
			data = append(data, c...)
			must(t, w.WriteChunk(c))
		}
		must(t, w.SetVLMetalayer("v", []byte{1}))
	})
	return p, data
}

// points reads a block of every chunk. It returns the number of planned reads of opening,
// and of chunks that were read from their first byte on.
func points(t *testing.T, p, data, side []byte) (opening, heads int, f *Frame) {
	t.Helper()
	r := &countingReader{Reader: rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), offs: map[int64]bool{}}
	f, err := Open(t.Context(), remote{r}, Options{Policy: blockwise})
	must(t, err)
	if side != nil {
		f.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
			return rangeio.FromReaderAt(bytes.NewReader(side), int64(len(side))), "e", nil
		})
	}
	opening = r.n
	clear(r.offs)
	wants := make([]Want, f.Chunks())
	for i := range wants {
		wants[i] = Want{Chunk: i, Blocks: []int{i % 16}}
	}
	seen := make([]bool, len(wants))
	must(t, f.EachConcurrent(t.Context(), wants, func(w, block int, got []byte) error {
		at := w*1024 + block*64
		if block < 0 {
			at = w * 1024
		}
		if !bytes.Equal(got, data[at:at+len(got)]) {
			return fmt.Errorf("chunk %d, block %d: other bytes", w, block)
		}
		seen[w] = true
		return nil
	}))
	if slices.Contains(seen, false) {
		t.Error("chunks are missing")
	}
	for i := range f.Chunks() {
		if c := f.chunk(i); c.Special == blosc.None && r.offs[c.Off] {
			heads++
		}
	}
	return opening, heads, f
}

// A countingReader counts planned reads, and notes where spans begin.
type countingReader struct {
	rangeio.Reader
	mu   sync.Mutex
	n    int
	offs map[int64]bool
}

func (c *countingReader) note(spans []rangeio.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	for _, s := range spans {
		c.offs[s.Off] = true
	}
}

func (c *countingReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	c.note(spans)
	return c.Reader.ReadRanges(ctx, spans)
}

func (c *countingReader) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	c.note(spans)
	return c.Reader.ReadEach(ctx, spans, done)
}

// remote hides that a reader is local.
type remote struct{ *countingReader }

func (remote) Local() bool { return false }

// TestIndexInFrame: an index inside is found with the end of the frame. A short one is in
// memory then; the pages of a long one, behind the chunks, take one read. Nothing else
// about the frame changes, and Compact makes a new one.
func TestIndexInFrame(t *testing.T) {
	for _, n := range []int{40, 4000} {
		plain, data := indexedFrame(t, n, WriteOptions{})
		p, _ := indexedFrame(t, n, WriteOptions{Index: WithIndex})
		if !bytes.Equal(plain[fixedLen:fixedLen+1000], p[fixedLen:fixedLen+1000]) {
			t.Error("other chunks")
		}
		opening, _, _ := points(t, plain, data, nil)
		with, heads, f := points(t, p, data, nil)
		info, err := f.Index(t.Context())
		if err != nil || info.Size == 0 || !info.Inside || info.Unused != nil || with != opening || heads != 0 {
			t.Errorf("%d chunks: %+v, %v; %d reads to open, %d without; %d heads", n, info, err, with, opening, heads)
		}
		ix := f.heads.used()
		if spilled := ix.Outside() > 0; spilled != (n == 4000) || ix.HeldBytes() > f.HeldBytes() {
			t.Errorf("%d chunks: %d bytes lie outside", n, ix.Outside())
		}
		t.Logf("%d chunks: %d bytes, an index of %d, %.2f a block", n, len(p), info.Size, float64(info.Size)/float64(n*16))
		vl, err := f.VLMetalayers(t.Context())
		if must(t, err); len(vl) != 1 || vl[0].Name != "v" {
			t.Errorf("vlmetalayers %v", vl)
		}
		rep, err := f.Verify(t.Context(), nil)
		if err != nil || rep.Dead != 0 || rep.Index != info {
			t.Errorf("%+v, %v", rep, err)
		}
		s := &sink{}
		must(t, Compact(t.Context(), s, f))
		if !bytes.Equal(s.b[atSlots:], p[atSlots:]) {
			t.Error("a copy has other bytes")
		}
	}
}

// TestStaleInPlace: a chunk that is replaced by one of the same size changes no number in
// header and offsets, but with the trailer the fingerprint is gone.
func TestStaleInPlace(t *testing.T) {
	p, data := indexedFrame(t, 40, WriteOptions{Index: WithIndex})
	f, err := openBytes(t.Context(), p)
	must(t, err)
	stored, err := f.AppendStored(t.Context(), nil, 5)
	must(t, err)
	x, err := blosc.ParseIndex(stored)
	must(t, err)
	starts := x.Starts()
	turned := bytes.Clone(stored[:32+4*len(starts)]) // the same blocks in reverse
	var want []byte
	for i := range starts {
		off, n := x.Block(len(starts) - 1 - i)
		copy(turned[32+4*i:], []byte{byte(len(turned)), byte(len(turned) >> 8), 0, 0})
		turned = append(turned, stored[off:off+n]...)
		want = append(want, data[5*1024+(len(starts)-1-i)*64:][:64]...)
	}
	copy(p[f.chunk(5).Off:], turned)
	copy(data[5*1024:], want)
	clear(p[len(p)-17:])
	_, _, f = points(t, p, data, nil)
	if info, err := f.Index(t.Context()); err != nil || info.Size != 0 || !errors.Is(info.Unused, index.ErrUnusable) {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestIndexDamaged: whichever byte of the index is damaged, all blocks are right.
func TestIndexDamaged(t *testing.T) {
	for n, step := range map[int]int{40: 3, 4000: 9973} {
		p, data := indexedFrame(t, n, WriteOptions{Index: WithIndex})
		f, err := openBytes(t.Context(), p)
		must(t, err)
		from := f.heads.used().Trailer().Off
		for _, e := range f.heads.used().Extents() {
			from = min(from, e.Off)
		}
		unused := 0
		for i := int(from); i < len(p)-endLen; i += step {
			if int64(i) >= f.info.indexOff() && int64(i) < f.heads.used().Trailer().Off {
				continue // offsets, and the names of layers
			}
			q := bytes.Clone(p)
			q[i] ^= 1 << (i % 8)
			_, _, g := points(t, q, data, nil)
			info, err := g.Index(t.Context())
			if err != nil || info.Unused != nil && !errors.Is(info.Unused, index.ErrUnusable) {
				t.Fatal(info, err)
			}
			r, err := g.Verify(t.Context(), nil)
			if info.Unused != nil {
				unused++
			} else if r.Index.Unused == nil && !errors.Is(err, formats.ErrCorrupt) || r.Index.Unused != nil && (err != nil || r.Index.Size > 0 || r.NBytes != int64(len(data))) {
				t.Errorf("byte %d: in use, and verified: %+v, %v", i, r, err)
			}
		}
		if n == 40 && unused < 20 {
			t.Errorf("%d chunks: %d times unused", n, unused)
		}
	}
}

// TestIndexAndChunkDamaged: Verify tells of both, and what the chunks say is the error.
func TestIndexAndChunkDamaged(t *testing.T) {
	p, data := indexedFrame(t, 40, WriteOptions{Index: WithIndex})
	f, err := openBytes(t.Context(), p)
	must(t, err)
	at := int(f.heads.used().Trailer().Off)
	for ; at < len(p); at++ { // a byte of the index that opening does not read
		p[at] ^= 1
		g, err := openBytes(t.Context(), p)
		must(t, err)
		if g.KnownIndex().Size > 0 {
			break
		}
		p[at] ^= 1
	}
	g, err := openBytes(t.Context(), p)
	must(t, err)
	r, err := g.Verify(t.Context(), nil)
	if err != nil || !errors.Is(r.Index.Unused, index.ErrUnusable) || r.NBytes != int64(len(data)) {
		t.Errorf("a page is damaged: %+v, %v", r, err)
	}
	c, err := f.Chunk(t.Context(), 30)
	must(t, err)
	p[c.Off+4] ^= 1 // of its size
	g, err = openBytes(t.Context(), p)
	must(t, err)
	r, err = g.Verify(t.Context(), nil)
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), chunkName(30)) || !errors.Is(r.Index.Unused, index.ErrUnusable) {
		t.Errorf("a chunk, too: %+v, %v", r, err)
	}
}

// TestIndexChoice: a cheap index is made where it is cheap. A frame that c-blosc2 could
// not edit with one gets none.
func TestIndexChoice(t *testing.T) {
	has := func(n int, c IndexChoice, layers int, block int) bool {
		o := WriteOptions{ChunkSize: 1 << 14, BlockSize: block, Index: c, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}
		if block < 1<<14 {
			o.Encode = blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}}
		}
		p := write(t, o, func(w *Writer) {
			for i := range n {
				must(t, w.WriteChunk(append(noise(1<<13, i), make([]byte, 1<<13)...)))
			}
			for i := range layers {
				must(t, w.SetVLMetalayer(fmt.Sprint(i), nil))
			}
		})
		f, err := openBytes(t.Context(), p)
		must(t, err)
		info, err := f.Index(t.Context())
		must(t, err)
		return info.Size > 0
	}
	for _, c := range []struct {
		n      int
		choice IndexChoice
		layers int
		block  int
		want   bool
	}{
		{0, WithIndex, 0, 1 << 14, false},
		{1, WithIndex, 0, 1 << 14, true},
		{1, CheapIndex, 0, 1 << 14, false},
		{20, CheapIndex, 0, 1 << 14, true},
		{20, NoIndex, 0, 1 << 14, false},
		{20, CheapIndex, 15, 1 << 14, true},
		{20, WithIndex, 16, 1 << 14, false},
		{20, CheapIndex, 0, 64, false},
		{20, WithIndex, 0, 64, true},
	} {
		if got := has(c.n, c.choice, c.layers, c.block); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for _, err := range []error{
		func() error {
			w, err := NewWriter(&sink{}, WriteOptions{})
			must(t, err)
			return w.SetVLMetalayer(IndexLayer, nil)
		}(),
	} {
		if !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	}
}

// TestSidecar: an index beside the frame is looked for once, by a read of many chunks. One
// of another version is not used. An error of opening it is one of the read.
func TestSidecar(t *testing.T) {
	p, data := indexedFrame(t, 4000, WriteOptions{})
	f, err := openBytes(t.Context(), p)
	must(t, err)
	side, err := f.BuildIndex(t.Context(), "e", nil)
	must(t, err)
	_, plain, _ := points(t, p, data, nil)
	_, with, g := points(t, p, data, side)
	if info, err := g.Index(t.Context()); err != nil || info != (IndexInfo{Size: int64(len(side))}) {
		t.Errorf("%+v, %v", info, err)
	}
	if plain != 3200 || with != 0 {
		t.Errorf("%d chunks were read for their block starts, %d without the index", with, plain)
	}
	if rep, err := g.Verify(t.Context(), nil); err != nil || rep.Index.Size == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	other, _ := indexedFrame(t, 3999, WriteOptions{})
	f, err = openBytes(t.Context(), other)
	must(t, err)
	wrong, err := f.BuildIndex(t.Context(), "e", nil)
	must(t, err)
	_, _, g = points(t, p, data, wrong)
	if info, err := g.Index(t.Context()); err != nil || info.Size > 0 || !errors.Is(info.Unused, index.ErrUnusable) {
		t.Errorf("of another frame: %+v, %v", info, err)
	}

	calls := 0
	g, err = Open(t.Context(), remote{&countingReader{Reader: rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), offs: map[int64]bool{}}}, Options{Policy: blockwise})
	must(t, err)
	g.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
		if calls++; calls == 1 {
			return nil, "", errSink
		}
		return nil, "", nil
	})
	read := func(n int) error {
		wants := make([]Want, n)
		for i := range wants {
			wants[i] = Want{Chunk: i, Blocks: []int{1}}
		}
		return g.EachConcurrent(t.Context(), wants, func(int, int, []byte) error { return nil })
	}
	if err := errors.Join(read(3), read(10)); err != nil || calls != 0 {
		t.Error(err, calls)
	}
	if err := read(40); !errors.Is(err, errSink) {
		t.Error(err)
	}
	if err := errors.Join(read(40), read(40)); err != nil || calls != 2 {
		t.Error(err, calls)
	}
}

// TestVerifyReadsIndexOnce: Verify compares the index with its hash, the offsets and the
// chunks, and reads no byte of it twice, also where its pages lie behind the chunks. Nothing
// is held afterwards.
func TestVerifyReadsIndexOnce(t *testing.T) {
	p := lateFrame(t, 12_000, WithIndex)
	r := &bytesReader{Reader: rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), times: make([]int, len(p))}
	f, err := Open(t.Context(), r, Options{Tail: 16 << 10})
	must(t, err)
	ix := f.heads.used()
	if ix == nil || !ix.HasPlaces() || ix.Outside() == 0 {
		t.Fatal("no index with places outside")
	}
	before := ix.HeldBytes()
	parts := append(ix.Extents(), index.Extent{Off: ix.Trailer().Off, Len: ix.Trailer().Len})
	r.from = parts[0].Off // reads that begin before are about chunks, the last of which may seem longer than it is
	rep, err := f.Verify(t.Context(), nil)
	if must(t, err); rep.Index.Size != ix.Size() {
		t.Fatalf("%+v", rep)
	}
	for _, e := range parts {
		for off := e.Off; off < e.Off+e.Len; off++ {
			if r.times[off] != 1 {
				t.Fatalf("byte %d of [%d, %d) was read %d times", off, e.Off, e.Off+e.Len, r.times[off])
			}
		}
	}
	if after := ix.HeldBytes(); after != before {
		t.Errorf("%d bytes are held, %d before", after, before)
	}
}

// A bytesReader counts how often each byte was read, by reads that begin at from or behind it.
type bytesReader struct {
	rangeio.Reader
	from  int64
	mu    sync.Mutex
	times []int
}

func (c *bytesReader) note(spans []rangeio.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range spans {
		for i := range s.P {
			if s.Off < c.from {
				break
			}
			c.times[int(s.Off)+i]++
		}
	}
}

func (c *bytesReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	c.note(spans)
	return c.Reader.ReadRanges(ctx, spans)
}

func (c *bytesReader) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	c.note(spans)
	return c.Reader.ReadEach(ctx, spans, done)
}
