package zoom_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/rangeio"
)

// packTable writes a table and opens what was written.
func packTable(tb testing.TB, text string, o zoom.WriteOptions) (*zoomindex.File, zoom.Written) {
	tb.Helper()
	s, err := series(tb, "x.csv", []byte(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	done, err := zoom.Write(context.Background(), &b, s, o)
	if err != nil {
		tb.Fatal(err)
	}
	f, err := zoomindex.Open(context.Background(), rangeio.FromReaderAt(bytes.NewReader(b.Bytes()), int64(b.Len())), zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f, done
}

// TestPacketsEndAtGaps: no packet goes across a time without samples, so neither do the
// stored summaries of one packet. If there are gaps everywhere, packets are still long
// enough.
func TestPacketsEndAtGaps(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("time,temp,pump\n")
	for i := range 40_000 {
		at := i
		if i >= 30_000 {
			at += 12_000
		}
		pump := fmt.Sprint(i % 7)
		if i > 5100 && i < 5300 { // one of them alone is silent
			pump = ""
		}
		fmt.Fprintf(&b, "%d,%d.5,%s\n", at, i%100, pump)
	}
	f, _ := packTable(t, b.String(), zoom.WriteOptions{})
	for track, gaps := range map[int32][][2]int64{1: {{29_999, 42_000}}, 2: {{29_999, 42_000}, {5100, 5300}}} {
		n := 0
		err := f.EachSummary(t.Context(), track, 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
			n++
			for _, g := range gaps {
				if s.Entry <= g[0] && s.Exit >= g[1] {
					t.Errorf("track %d: a summary of [%d, %d] goes over the gap %v", track, s.Entry, s.Exit, g)
				}
			}
			return nil
		})
		if err != nil || n > 40_000/1024+4 {
			t.Errorf("%d packets, %v", n, err)
		}
	}
	if r, err := f.Recompute(t.Context(), nil); err != nil || r.Wrong > 0 || !r.Indexed {
		t.Errorf("%+v, %v", r, err)
	}

	b.Reset()
	b.WriteString("time,v\n")
	for i := range 50_000 {
		fmt.Fprintf(&b, "%d,%d\n", i+i/10*500, i)
	}
	f, done := packTable(t, b.String(), zoom.WriteOptions{NoIndex: true})
	r, err := f.Count(t.Context())
	if err != nil || r.Tracks[0].Packets-r.Tracks[0].Empty > 50_000/zoomRowsAGap+50 || done.Size > 50_000*20 {
		t.Errorf("%+v of %d bytes, %v", r, done.Size, err)
	}
}

// zoomRowsAGap is what the package promises.
const zoomRowsAGap = 100

// TestGapsKeepSamples: whatever the gaps, every sample of a table is in the file, once and
// in order.
func TestGapsKeepSamples(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		b.WriteString("t,a,b\n")
		want := [2][]int64{}
		at := int64(0)
		for i := range rapid.IntRange(1, 1500).Draw(rt, "rows") {
			if at++; rapid.IntRange(0, 60).Draw(rt, "gap?") == 0 {
				at += rapid.SampledFrom([]int64{9, 11, 400, 900_000_000}).Draw(rt, "gap")
			}
			fmt.Fprintf(&b, "%d", at)
			for k := range want {
				if i%(5+3*k) == 4 {
					b.WriteString(",")
					continue
				}
				want[k] = append(want[k], at)
				fmt.Fprintf(&b, ",%d", i)
			}
			b.WriteString("\n")
		}
		if len(want[0]) == 0 {
			return
		}
		f, _ := packTable(t, b.String(), zoom.WriteOptions{})
		for k := range want {
			var got []int64
			err := f.EachPacket(t.Context(), int32(k+1), zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
				got = append(got, p.Stamps...)
				return nil
			})
			if err != nil || !slices.Equal(got, want[k]) {
				rt.Fatalf("track %d: %d samples of %d, %v", k+1, len(got), len(want[k]), err)
			}
		}
		if r, err := f.Recompute(t.Context(), nil); err != nil || r.Wrong > 0 {
			rt.Fatalf("%+v, %v", r, err)
		}
	})
}

// TestWidthWhateverRate: a view of a track of variable rate has about as many points as it
// was asked for, or all samples, whatever the rate and however uneven.
func TestWidthWhateverRate(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"0.004", "60"} {
		var b strings.Builder
		b.WriteString("time,v\n")
		var seconds float64
		if _, err := fmt.Sscan(step, &seconds); err != nil {
			t.Fatal(err)
		}
		for i := range 60_000 {
			fmt.Fprintf(&b, "%.4f,%d\n", (float64(i)+0.3*float64(i%3))*seconds, i%1000)
		}
		f, _ := packTable(t, b.String(), zoom.WriteOptions{})
		for _, width := range []int{100, 1200, 5000, 20_000} {
			v, err := f.View(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, width)
			if n := len(v.Points); err != nil || n > width || n < width*9/10 {
				t.Errorf("step %s s: %d points of %d, %v", step, n, width, err)
			}
		}
	}
}
