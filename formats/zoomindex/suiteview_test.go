package zoomindex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// saw is sample off of the series that views are checked with: each value tells its
// place.
func saw(off int64) int32 { return int32(off*7919%100_003) - 50_000 }

// sawFile is a file of n such samples, with its index inside, and the index that
// would lie beside the plain file.
func sawFile(tb testing.TB, n int) (plain, inside, side []byte) {
	tb.Helper()
	for _, indexed := range []bool{false, true} {
		o := zoomcache.WriteOptions{Watermark: 200, Tracks: []zoomcache.Track{
			{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I32}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}}
		if indexed {
			o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
		}
		var b bytes.Buffer
		w, err := zoomcache.NewWriter(&b, o)
		v := make([]int32, n)
		for i := range v {
			v[i] = saw(int64(i + 1))
		}
		if err == nil {
			err = errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close())
		}
		if err != nil {
			tb.Fatal(err)
		}
		plain, inside = inside, b.Bytes()
	}
	f, err := zoomindex.Open(tb.Context(), reader(plain), zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if side, err = f.BuildIndex(tb.Context(), `"1"`, zoomindex.WriteOptions{}); err != nil {
		tb.Fatal(err)
	}
	return plain, inside, side
}

// sawViews looks through windows of a file and reads samples. What it gives says
// what they told of; that it is right is an error of no kind if not.
func sawViews(ctx context.Context, f *zoomindex.File, n int64) ([]byte, error) {
	out := fmt.Appendf(nil, "%d bytes\n", f.Size())
	for _, c := range []struct {
		from, to int64
		width    int
	}{{1, n, 3}, {1, n, 40}, {n / 3, n / 2, 25}, {n / 3, n/3 + 60, 50}, {zoomcache.FirstOffset, zoomcache.LastOffset, 7}} {
		v, err := f.View(ctx, 1, c.from, c.to, c.width)
		if err != nil {
			return nil, err
		}
		told := int64(0)
		for i := range v.Points {
			p := &v.Points[i]
			lo, hi := saw(p.Entry), saw(p.Entry)
			for off := p.Entry; off <= p.Exit; off++ {
				lo, hi = min(lo, saw(off)), max(hi, saw(off))
			}
			if st := &p.Channels[0]; p.Entry < 1 || p.Exit > n || p.Count != p.Exit-p.Entry+1 || i > 0 && p.Entry != v.Points[i-1].Exit+1 ||
				int32(st.Min.Float()) != lo || int32(st.Max.Float()) != hi {
				return nil, fmt.Errorf("point %+v, not %d to %d", p, lo, hi)
			}
			told += max(0, min(p.Exit, c.to)-max(p.Entry, c.from)+1)
		}
		out = fmt.Appendf(out, "view %d of %d\n", told, min(c.to, n)-max(c.from, 1)+1)
	}
	got := int64(0)
	err := f.EachPacket(ctx, 1, n/3, n/2, func(p *zoomcache.Packet) error {
		for i, x := range p.Values.I32 {
			if x != saw(p.Offset(i)) {
				return fmt.Errorf("sample %d is %d", p.Offset(i), x)
			}
		}
		got += int64(p.Count)
		return nil
	})
	return fmt.Appendf(out, "samples %d of %d\n", got, n/2-n/3+1), err
}

// TestSuiteViews: if any part of a file with an index is cut off or damaged, the views
// and samples by the index are right. If the file is whole, they are complete, even if
// its index is damaged.
func TestSuiteViews(t *testing.T) {
	const n = 5000
	plain, inside, side := sawFile(t, n)
	check := func(whole int) func(got []byte) error {
		return func(got []byte) error {
			lines := strings.Split(strings.TrimSpace(string(got)), "\n")
			if len(lines) != 7 {
				return fmt.Errorf("%q", got)
			}
			for _, l := range lines[1:] {
				var told, all int64
				if _, err := fmt.Sscanf(l[strings.IndexByte(l, ' ')+1:], "%d of %d", &told, &all); err != nil || told > all {
					return fmt.Errorf("%q: %w", l, err)
				}
				if told < all && lines[0] == fmt.Sprintf("%d bytes", whole) {
					return fmt.Errorf("only %s", l)
				}
			}
			return nil
		}
	}
	marker := formattest.Range{Off: 0, Len: 8}
	t.Run("inside", func(t *testing.T) {
		formattest.Run(t, formattest.Suite{
			Objects: []formattest.Object{{Name: "x.zoom", Data: inside, Index: []formattest.Range{marker, {Off: len(plain)}}}},
			Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
				f, err := zoomindex.Open(ctx, r[0], zoomcache.Options{Window: 1, Head: 1})
				if err != nil {
					return nil, err
				}
				return func(ctx context.Context) ([]byte, error) { return sawViews(ctx, f, n) }, nil
			},
			Check: check(len(inside)), MaxAlloc: 8 << 20, Stride: 37,
		})
	})
	t.Run("beside", func(t *testing.T) {
		formattest.Run(t, formattest.Suite{
			Objects: []formattest.Object{{Name: "x.zoom", Data: plain, Index: []formattest.Range{marker}}, {Name: "x.zoom" + index.Suffix, Data: side}},
			Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
				f, err := zoomindex.Open(ctx, r[0], zoomcache.Options{Window: 1, Head: 1})
				if err != nil {
					return nil, err
				}
				f.Sidecar(func(context.Context) (rangeio.Reader, string, error) { return r[1], `"1"`, nil })
				return func(ctx context.Context) ([]byte, error) { return sawViews(ctx, f, n) }, nil
			},
			Check: check(len(plain)), MaxAlloc: 8 << 20, Stride: 37,
		})
	})
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}
