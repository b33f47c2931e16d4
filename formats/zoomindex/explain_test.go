package zoomindex

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// A notedReader notes the spans that are read.
type notedReader struct {
	rangeio.Reader
	spans *[]rangeio.Span
}

func (r notedReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	*r.spans = append(*r.spans, spans...)
	return r.Reader.ReadRanges(ctx, spans)
}

// TestPlans: a plan lists the reads that are then made, and makes none of them itself.
func TestPlans(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	c.n = 800_000 // of which the index is longer than what is read to open it
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
	a.Number = 5
	file, _ := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
	plain, _ := c.write(t, nil)
	whys := map[string]int{}
	for name, f := range map[string]*File{"inside": openView(t, file), "beside": beside(t, plain), "none": openView(t, plain)} {
		var last []rangeio.Span
		noted, err := Open(t.Context(), notedReader{f.r, &last}, zoomcache.Options{Head: minHead})
		if err != nil {
			t.Fatal(err)
		}
		if side := f.ix.side; side != nil {
			noted.Sidecar(func(ctx context.Context) (rangeio.Reader, string, error) {
				r, etag, err := side(ctx)
				return notedReader{r, &last}, etag, err
			})
		}
		f = noted
		if _, _, _, err := f.HasIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		for range 60 {
			from := 1 + r.Int64N(600_000)
			to, width := from+r.Int64N(1<<(4+r.IntN(14))), 1+r.IntN(1000)
			for what, try := range map[string]struct {
				plan func() ([]rangeio.Planned, error)
				read func() error
			}{
				"view": {func() ([]rangeio.Planned, error) { return f.ExplainView(t.Context(), 5, from, to, width) }, func() error {
					_, err := f.View(t.Context(), 5, from, to, width)
					return err
				}},
				"samples": {func() ([]rangeio.Planned, error) { return f.ExplainPackets(t.Context(), 5, from, to) }, func() error {
					return f.EachPacket(t.Context(), 5, from, to, func(*zoomcache.Packet) error { return nil })
				}},
			} {
				last = nil
				list, err := try.plan()
				if err != nil {
					t.Fatal(err)
				}
				if len(last) > 0 {
					t.Fatalf("%s, %s: the plan read %v", name, what, last)
				}
				if err := try.read(); err != nil {
					t.Fatal(err)
				}
				planned, done := "", ""
				for _, p := range list {
					planned += fmt.Sprintf(" %d+%d", p.Off, p.Len)
					whys[p.Why]++
					if beside := name == "beside" && p.Why != "packets"; (p.Object == index.Suffix) != beside || p.Object != "" && !beside || p.Phase != 1 {
						t.Fatalf("%s, %s: %+v", name, what, p)
					}
				}
				for _, s := range last {
					done += fmt.Sprintf(" %d+%d", s.Off, len(s.P))
				}
				if planned != done && (name != "none" || !strings.HasPrefix(planned, done)) { // a pass may end early
					t.Fatalf("%s, %s [%d, %d] in %d: planned%s, read%s", name, what, from, to, width, planned, done)
				}
			}
		}
	}
	if len(whys) < 3 {
		t.Errorf("planned were %v only", whys)
	}
}

// TestPlansOfPasses: without an index a range without bounds takes two passes, as the
// plan says. Reads that may turn out to be unneeded are marked as estimated.
func TestPlansOfPasses(t *testing.T) {
	t.Parallel()
	for _, c := range viewCases()[4 : 4+racetest.Share(4, 4)] {
		c.n = 800_000
		plain, _ := c.write(t, nil)
		var read []rangeio.Span
		f, err := Open(t.Context(), notedReader{readerOf(plain), &read}, zoomcache.Options{Head: minHead, Window: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := f.HasIndex(t.Context()); err != nil {
			t.Fatal(err)
		}
		const from = 300_000
		for _, x := range []struct {
			from, to  int64
			passes    int
			estimated [2]bool
		}{
			{zoomcache.FirstOffset, zoomcache.LastOffset, 2, [2]bool{}},
			{from, zoomcache.LastOffset, 2, [2]bool{false, true}},
			{from, from + 10, 1, [2]bool{!c.track.Variable}},
		} {
			read = nil
			plan, err := f.ExplainView(t.Context(), 5, x.from, x.to, 10)
			if err != nil || len(read) > 0 {
				t.Fatalf("%s: %v, read %v", c.name, err, read)
			}
			if _, err := f.View(t.Context(), 5, x.from, x.to, 10); err != nil {
				t.Fatal(err)
			}
			planned, done := "", ""
			for i, p := range plan {
				pass := 0
				if i >= len(plan)/x.passes {
					pass = 1
				}
				planned += fmt.Sprintf(" %d+%d", p.Off, p.Len)
				if p.Phase != pass+1 || p.Estimated != x.estimated[pass] || p.Why != "blocks" {
					t.Errorf("%s [%d, %d]: request %d of %d: %+v", c.name, x.from, x.to, i, len(plan), p)
				}
			}
			for _, s := range read {
				done += fmt.Sprintf(" %d+%d", s.Off, len(s.P))
			}
			if planned != done && (!x.estimated[x.passes-1] || !strings.HasPrefix(planned, done)) {
				t.Errorf("%s [%d, %d]: planned%s, read%s", c.name, x.from, x.to, planned, done)
			}
		}
	}
}
