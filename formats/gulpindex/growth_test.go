package gulpindex_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/rangeio"
)

// A synthetic chunk has frames of 7 to 17 KB, which are computed, and no bytes.
type synthetic struct {
	ids, frames int     // frames: of each id
	starts      []int64 // of each id, and the end
	mixed       bool    // file order is not that of the ids' bytes
}

func synthesize(ids, frames int) synthetic {
	s := synthetic{ids: ids, frames: frames, starts: make([]int64, ids+1)}
	for k := range ids {
		at := s.starts[k]
		for i := range frames {
			n := size(k*frames + i)
			at += n + -n&3
		}
		s.starts[k+1] = at
	}
	return s
}

func (s synthetic) Len() int { return s.ids }

func (s synthetic) ID(k int) string {
	if s.mixed {
		return fmt.Sprintf("clip-%d", k) // 10 before 2
	}
	return fmt.Sprintf("clip-%08d", k)
}

// MetaPlace has 60 bytes of meta_data behind 25 for each frame.
func (s synthetic) MetaPlace(k int) (off, n int64, known bool) {
	return int64(k)*int64(s.frames*25+120) + int64(s.frames)*25 + 40, 60, true
}

func scatter(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func size(n int) int64 { return 7<<10 + int64(scatter(uint64(n)+1)%(10<<10)) }

func (s synthetic) Places(k int) iter.Seq[gulp.FrameInfo] {
	return func(yield func(gulp.FrameInfo) bool) {
		off := s.starts[k]
		for i := range s.frames {
			n := size(k*s.frames + i)
			if !yield(gulp.FrameInfo{Off: off, Pad: int(-n & 3), Size: n}) {
				return
			}
			off += n + -n&3
		}
	}
}

func (s synthetic) Totals() gulp.Totals {
	return gulp.Totals{IDs: int64(s.ids), Frames: int64(s.ids) * int64(s.frames), DataBytes: s.starts[s.ids]}
}

// A counted reader counts the calls of ReadRanges, and their bytes.
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

type noBytes struct {
	rangeio.Reader
	size int64
}

func (n noBytes) Size() int64 { return n.size }

// countUp returns s with ids whose numbers have no leading zeros.
func countUp(s synthetic) synthetic {
	s.mixed = true
	return s
}

// find opens the index p and finds one frame by its id. It returns the reads and the
// bytes of that.
func find(tb testing.TB, s synthetic, p []byte) (reads, n int64) {
	tb.Helper()
	r := &counted{Reader: reader(p)}
	x, err := gulpindex.Open(tb.Context(), r, noBytes{reader(nil), s.Totals().DataBytes}, pairOf(s), gulpindex.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	k, i := s.ids/3, s.frames/2
	c, err := x.Select(tb.Context(), s.ID(k), i, i+1)
	if err != nil {
		tb.Fatal(err)
	}
	got, err := c.Frame(s.ID(k), i)
	if err != nil {
		tb.Fatal(err)
	}
	j := 0
	for want := range s.Places(k) {
		if j == i && got != want {
			tb.Errorf("frame %d of id %d: %+v, want %+v", i, k, got, want)
		}
		j++
	}
	return r.calls, r.bytes
}

func pairOf(s synthetic) gulpindex.Pair {
	return gulpindex.Pair{Data: gulpindex.Version{Size: s.Totals().DataBytes, ETag: "d"}, Meta: gulpindex.Version{Size: 1, ETag: "m"}}
}

// TestGrowth holds the size of indexes and the cost of one frame against the bounds: 5
// bytes a frame; of 20,000 frames one read; of more two, with 59 KB at the most. So 4 KB
// of 64 are left for the heads of the two objects.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		synthetic

		reads int64
	}{
		{synthesize(20, 50), 1}, {synthesize(200, 100), 1}, {synthesize(800, 25), 1},
		{synthesize(1000, 100), 2}, {synthesize(100_000, 1), 2}, {synthesize(1, 300_000), 2},
		{countUp(synthesize(200, 100)), 1}, {countUp(synthesize(1000, 100)), 2},
	} {
		t.Run(fmt.Sprintf("%d/%d/%v", tc.ids, tc.frames, tc.mixed), func(t *testing.T) {
			t.Parallel()
			p, err := gulpindex.Build(tc.synthetic, pairOf(tc.synthetic))
			if err != nil {
				t.Fatal(err)
			}
			if each := float64(len(p)) / float64(tc.Totals().Frames); each > 5 {
				t.Errorf("%.2f bytes a frame", each)
			} else {
				t.Logf("%d bytes, %.2f a frame", len(p), each)
			}
			if reads, n := find(t, tc.synthetic, p); reads > tc.reads || n > 59_000 {
				t.Errorf("%d reads of %d bytes, want at most %d", reads, n, tc.reads)
			}
		})
	}
}

// BenchmarkGrowth prints the size of indexes and what one frame by its id reads of them.
func BenchmarkGrowth(b *testing.B) {
	for _, per := range []int{100, 1} {
		for frames := 1000; frames <= 10_000_000; frames *= 10 {
			s := synthesize(frames/per, per)
			b.Run(fmt.Sprintf("frames=%d/ids=%d", frames, s.ids), func(b *testing.B) {
				var p []byte
				var err error
				for b.Loop() {
					if p, err = gulpindex.Build(s, pairOf(s)); err != nil {
						b.Fatal(err)
					}
				}
				reads, n := find(b, s, p)
				b.ReportMetric(float64(len(p))/float64(frames), "B/frame")
				b.ReportMetric(float64(reads), "reads")
				b.ReportMetric(float64(n), "B/read")
			})
		}
	}
}
