//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestJoinedSeries: a series of a rule with append, whose minutes came shuffled and twice, has
// for the independent program the values and stamps of all minutes in their order, and the
// blocks that it would write of them; the record of uploads is one more packet that it passes over.
func TestJoinedSeries(t *testing.T) {
	const minutes, rows = 12, 700
	dir := t.TempDir()
	var want []*series
	for i, name := range []string{"tide", "rare"} {
		s := tracksOf(1, "f64", zoomcache.Rate{Num: 1_000_000_000, Den: 1}, func(int) string { return name })[0]
		s.track.Number, s.track.Variable = int32(i+1), true
		want = append(want, s)
	}
	r := rand.New(rand.NewPCG(9, 9))
	var files []string
	for n := range minutes {
		var text strings.Builder
		text.WriteString("time,tide,rare\n")
		for i := range rows {
			ms := int64(n*rows+i) * 40
			tide := float64(r.IntN(9999))
			if n%3 == 1 {
				tide /= 16
			}
			want[0].add(zoomcache.Values{F64: []float64{tide}}, ms*1_000_000)
			fmt.Fprintf(&text, "2026-11-27T07:%02d:%02d.%03dZ,%g,", ms/60_000, ms/1000%60, ms%1000, tide)
			if r.IntN(4) == 0 {
				want[1].add(zoomcache.Values{F64: []float64{float64(i)}}, ms*1_000_000)
				fmt.Fprint(&text, i)
			}
			text.WriteString("\n")
		}
		files = append(files, text.String())
	}
	in, out := memstore.New(memstore.Config{Name: "uploads"}), memstore.New(memstore.Config{Name: "datasets"})
	h := &functions.Handler{Jobs: map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, nil)},
		Rules: functions.Rules{{Bucket: "uploads", Job: "zoom", Append: true, To: "all.zoom", Out: functions.Out{Bucket: "datasets"}}},
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{"uploads": in, "datasets": out}[name], nil
		}}
	for _, n := range r.Perm(minutes) {
		key := fmt.Sprintf("%02d.csv", n)
		if _, err := objstore.Put(t.Context(), in, key, strings.NewReader(files[n]), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, err := h.Handle(t.Context(), fmt.Appendf(nil, `{"bucket":"uploads","key":%q}`, key))
			if err != nil || r.Packed != 1-again || r.Unchanged != again {
				t.Fatalf("%s: %+v, %v, %v", key, r, err, r.Err)
			}
		}
	}
	o, err := objstore.Open(t.Context(), out, "all.zoom", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, o.Size())
	if _, err := o.ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "all.zoom")
	if err := os.WriteFile(file, p, 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, program(t), "verify", file)
	got := zoomJobs(t, []pyJob{zoomRead(file, "", []zoomcache.Track{want[0].track, want[1].track})})[0]
	if got.Error != "" || len(got.Tracks) != 2 || got.Undeclared < 3 || !bytes.Contains(p, []byte("fruplds\x01")) {
		t.Fatalf("%s, %d tracks, %d packets of others", got.Error, len(got.Tracks), got.Undeclared)
	}
	same(t, []zoomTrack{want[0].want(), want[1].want()}, []zoomTrack{got.Tracks[0].only(), got.Tracks[1].only()})
}
