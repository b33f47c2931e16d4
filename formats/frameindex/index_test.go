package frameindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// chunks returns n encoded chunks of many kinds, 22 of them different. Some have their blocks out of order, as
// encoders with threads write them.
func chunks(tb testing.TB, n int) (out [][]byte) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 1<<14)
	for i := range n {
		if i >= 22 {
			out = append(out, out[i-22])
			continue
		}
		for k := range raw {
			raw[k] = byte(r.IntN(1 << (1 + k>>11)))
		}
		o := blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 2, BlockSize: 512}
		var c []byte
		var err error
		switch i % 11 {
		case 3:
			o.Level = blosc.LevelStore
		case 4:
			o.Codec, o.Dict = blosc.Zstd, true
		case 5:
			o.Blosc1 = true
		case 6:
			o.BlockSize = 4096
		case 7:
			c, err = blosc.AppendEncodedVL(nil, [][]byte{raw[:700], raw[:20], raw[3000:]}, blosc.EncodeOptions{Codec: blosc.LZ4})
		case 8:
			c, err = blosc.AppendSpecial(nil, blosc.Value, 4000, 8, 4000, []byte("12345678"))
		case 9:
			c, err = blosc.AppendSpecial(nil, blosc.Zeros, 4000, 8, 4000, nil)
		}
		if c == nil && err == nil {
			c, err = blosc.AppendEncoded(nil, raw, o)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if i%11 == 2 {
			swap(c)
		}
		if i%11 == 10 {
			c = nil // not stored
		}
		out = append(out, c)
	}
	return out
}

// swap exchanges the starts of blocks, so that they are in no order.
func swap(c []byte) {
	le := binary.LittleEndian
	a, b := le.Uint32(c[32:]), le.Uint32(c[32+40:])
	le.PutUint32(c[32:], b)
	le.PutUint32(c[32+40:], a)
}

func reader(p []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))) }

func options(n int) Options {
	return Options{Options: index.Options{Bind: index.Binding{Size: 9, ETag: "e"}}, Header: Sum{1, 2}, Offsets: &Sum{3}, Chunks: n}
}

func build(tb testing.TB, list [][]byte) []byte {
	tb.Helper()
	var b Builder
	for _, c := range list {
		b.Add(HeadOf(c))
	}
	ix, err := b.Finish(State{Sum{1, 2}, Sum{3}}, index.Binding{Size: 9, ETag: "e"})
	if err != nil {
		tb.Fatal(err)
	}
	return index.Beside(ix, 0)
}

// TestReadBack: heads come back byte for byte, in one planned read, whatever chunks are
// wanted, and the second time without a read.
func TestReadBack(t *testing.T) {
	t.Parallel()
	const n = 3000
	list := chunks(t, n)
	p := build(t, list)
	o := options(n)
	o.Tail = 1
	c := &counting{Reader: reader(p)}
	x, err := Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.starts.Pages) < 4 {
		t.Fatalf("only %d pages", len(x.starts.Pages))
	}
	every := make([]int, n)
	for i := range every {
		every[i] = i
	}
	for _, want := range [][]int{{0}, {2999}, {17, 17, 18, 1500, 2999}, every} {
		for again := range 2 {
			before, held := c.n, x.Held(want)
			k := 0
			err := x.Heads(t.Context(), want, func(i int, head []byte) error {
				if i != k || !bytes.Equal(head, HeadOf(list[want[i]])) {
					t.Fatalf("chunk %d: head %d, %x", want[i], i, head)
				}
				k++
				return nil
			})
			if err != nil || k != len(want) || held != (c.n == before) || again == 1 && !held || c.n > before+1 {
				t.Fatalf("%d of %d heads, held %t, %d reads, %v", k, len(want), held, c.n-before, err)
			}
		}
	}
	if err := x.Verify(t.Context()); err != nil || x.HeldBytes() < int64(len(p))/2 || x.Size() != int64(len(p)) {
		t.Errorf("%v, %d bytes held, %d of %d", err, x.HeldBytes(), x.Size(), len(p))
	}
	stop := errors.New("stop")
	if err := x.Heads(t.Context(), every, func(int, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	for _, o := range []Options{{Options: o.Options, Header: Sum{1, 3}, Chunks: n}, {Options: o.Options, Header: Sum{1, 2}, Chunks: n + 1},
		{Options: o.Options, Header: Sum{1, 2}, Offsets: &Sum{4}, Chunks: n}, {Header: Sum{1, 2}, Chunks: n}} {
		if _, err := Open(t.Context(), reader(p), o); !errors.Is(err, index.ErrUnusable) {
			t.Errorf("of another frame: %v", err)
		}
	}
}

// A counting reader counts planned reads.
type counting struct {
	rangeio.Reader
	n int
}

func (c *counting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	c.n++
	return c.Reader.ReadRanges(ctx, spans)
}

// TestSize: a block takes about two bytes.
func TestSize(t *testing.T) {
	t.Parallel()
	const n, blocks = 500, 64
	var b Builder
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		c := make([]byte, 32+4*blocks)
		copy(c, []byte{5, 1, 0x15, 4})
		le := binary.LittleEndian
		le.PutUint32(c[4:], blocks<<14)
		le.PutUint32(c[8:], 1<<14)
		at := len(c)
		for i := range blocks {
			le.PutUint32(c[32+4*i:], uint32(at))
			at += 6000 + r.IntN(2000)
		}
		le.PutUint32(c[12:], uint32(at))
		if HeadOf(c) == nil {
			t.Fatal("no head")
		}
		b.Add(c)
	}
	if got := float64(b.Len()) / n / blocks; got > 2.1 {
		t.Errorf("%.2f bytes a block", got)
	}
}

// TestDamaged: a flipped bit anywhere, and a shorter or longer object, is an index that
// cannot be used, never another head.
func TestDamaged(t *testing.T) {
	t.Parallel()
	list := chunks(t, 24)
	p := build(t, list)
	for i := range p {
		q := bytes.Clone(p)
		q[i] ^= 1 << (i % 8)
		judge(t, q, list)
	}
	for _, q := range [][]byte{nil, p[:len(p)-1], p[1:], p[:64], append(bytes.Clone(p), 0)} {
		judge(t, q, list)
	}
}

// judge reads an index that may be damaged. Each head must be the one of the chunk.
func judge(tb testing.TB, p []byte, list [][]byte) {
	tb.Helper()
	x, err := Open(tb.Context(), reader(p), options(len(list)))
	if err == nil {
		every := make([]int, len(list))
		for i := range every {
			every[i] = i
		}
		err = x.Heads(tb.Context(), every, func(i int, head []byte) error {
			if list[i] != nil && !bytes.Equal(head, HeadOf(list[i])) {
				tb.Fatalf("chunk %d: %x", i, head)
			}
			return nil
		})
	}
	if err != nil && !errors.Is(err, index.ErrUnusable) && !errors.Is(err, formats.ErrTooLarge) {
		tb.Fatal(err)
	}
}

// FuzzPage: whatever a page holds, its heads are heads that would come back the same, or
// the page is damaged.
func FuzzPage(f *testing.F) {
	var last header
	var p []byte
	for _, c := range chunks(f, 22) {
		p = last.appendHead(p, HeadOf(c))
	}
	f.Add(p)
	f.Add([]byte{0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, p []byte) {
		d := pageOf(p)
		var heads [][]byte
		for len(d.P) > 0 {
			head, ok := d.next()
			if !ok {
				break
			}
			heads = append(heads, slices.Clone(head))
		}
		var last header
		var again []byte
		for _, h := range heads {
			if len(h) > 0 && len(HeadOf(h)) != len(h) {
				t.Fatalf("%x is no head", h)
			}
			again = last.appendHead(again, h)
		}
		d = pageOf(again)
		for i, h := range heads {
			if got, ok := d.next(); !ok || !bytes.Equal(got, h) {
				t.Fatalf("head %d: %x, want %x", i, got, h)
			}
		}
	})
}

// FuzzIndex: checksums are right, and meta and page anything. No read hangs or panics.
func FuzzIndex(f *testing.F) {
	var last header
	var p []byte
	for _, c := range chunks(f, 5) {
		p = last.appendHead(p, HeadOf(c))
	}
	meta := append(append([]byte{metaVersion, 5, 1, 2}, make([]byte, 14)...), append([]byte{3}, make([]byte, 15)...)...)
	f.Add(p, meta, int64(0), int64(4), int64(5), int64(1))
	f.Fuzz(func(t *testing.T, p, meta []byte, first, last, count, kind int64) {
		if first > last || count < 0 {
			return
		}
		var b index.Builder
		s := b.Section(index.Name{Kind: kind})
		s.Add(first, last, count, p)
		ix, err := b.Finish([]*index.SectionBuilder{s}, options(5).Bind, meta)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(t.Context(), reader(index.Beside(ix, 0)), options(5))
		if err == nil {
			err = x.Heads(t.Context(), []int{0, 1, 2, 3, 4}, func(int, []byte) error { return nil })
		}
		if err != nil && !errors.Is(err, index.ErrUnusable) {
			t.Fatal(err)
		}
	})
}
