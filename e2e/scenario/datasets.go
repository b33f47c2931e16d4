package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// datasets: each kind of upload becomes its dataset, which the library reads by
// ranges and the command line whole.
func datasets(t *testing.T, r *session) {
	t.Helper()
	for name, run := range map[string]func(*testing.T, *session){
		"tar to gulp":        func(t *testing.T, r *session) { t.Helper(); clip(t, r, "pack/clips/wave.tar", tarOf) },
		"zip to gulp":        func(t *testing.T, r *session) { t.Helper(); clip(t, r, "pack/clips/wave.zip", zipOf) },
		"npy to b2nd":        array,
		"jsonl to bloscpack": records,
		"wav to zoom":        recording,
		"csv to zoom":        table,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, r.reader(t))
		})
	}
}

// wantPart runs read, which is to transfer less than half of the object: ranges of it.
func (r *session) wantPart(t *testing.T, of objstore.Info, read func()) {
	t.Helper()
	before := r.counter.Stats().Bytes
	read()
	if n := r.counter.Stats().Bytes - before; n == 0 || 2*n >= of.Size {
		t.Errorf("%s: %d bytes of %d were transferred", of.Key, n, of.Size)
	}
}

// uri returns the URI of an output of an upload.
func (r *session) uri(of objstore.Info, suffix string) string {
	return "s3://" + r.Datasets + "/" + of.Key + suffix
}

func clip(t *testing.T, r *session, key string, archive func(*testing.T, []file) []byte) {
	t.Helper()
	images := frames(t, 12)
	up := r.put(t, key, archive(t, images))
	r.made(t, r.datasets, up, ".gmeta")
	uri := r.uri(up, ".gulp")
	g, err := r.client.OpenGulp(t.Context(), uri, farread.GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if g.Len() != 3 || g.Totals().Frames != int64(len(images)) {
		t.Errorf("%d ids, %+v", g.Len(), g.Totals())
	}
	for i, f := range images {
		id, k := folderOf(f.name), i%framesOfID
		got, err := g.AppendFrame(t.Context(), nil, id, k)
		if err != nil || !bytes.Equal(got, f.data) {
			t.Errorf("%s, frame %d: %d bytes that differ from the %d uploaded, %v", id, k, len(got), len(f.data), err)
		}
	}
	if out := r.cli(t, "get", uri, "--id", folderOf(images[5].name), "--frames", "1", "-o", "-"); !bytes.Equal(out, images[5].data) {
		t.Errorf("farread get: another frame of %d bytes", len(out))
	}
	r.cli(t, "verify", uri)
}

func array(t *testing.T, r *session) {
	t.Helper()
	shape := []int64{64, 128, 128}
	file, values := volume(t, 0, shape...)
	up := r.put(t, "pack/npy/storm.npy", file)
	out := r.made(t, r.datasets, up, pack.ArraySuffix)
	uri := r.uri(up, pack.ArraySuffix)
	r.wantPart(t, out, func() { r.wantArray(t, uri, shape, values) })
	if out := r.cli(t, "get", uri, "-o", "-"); !bytes.Equal(out, values) {
		t.Errorf("farread get: %d bytes that differ from the %d uploaded", len(out), len(values))
	}
	r.cli(t, "verify", uri)
}

// wantArray reads a plane of an array.
func (r *session) wantArray(t *testing.T, uri string, shape []int64, values []byte) {
	t.Helper()
	a, err := r.client.OpenArray(t.Context(), uri, farread.FrameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := a.Meta(); !slices.Equal(m.Shape, shape) || m.DType != "<f4" {
		t.Errorf("%s: %s of shape %v", uri, m.DType, m.Shape)
	}
	cut, err := b2nd.ParseSlice("7")
	if err != nil {
		t.Fatal(err)
	}
	plane, err := cut.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, int64(len(values))/shape[0])
	if err := a.ReadSlice(t.Context(), got, plane); err != nil || !bytes.Equal(got, values[7*len(got):8*len(got)]) {
		t.Errorf("%s: a plane of it differs, %v", uri, err)
	}
}

func records(t *testing.T, r *session) {
	t.Helper()
	const n = 5000
	lines := make([]string, 0, n)
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"i":%d,"what":%q}`, i, strings.Repeat("ö", i%40)))
	}
	up := r.put(t, "pack/logs/day.jsonl", []byte(strings.Join(lines, "\n")+"\n"))
	out := r.made(t, r.datasets, up, bloscpack.Suffix)
	uri := r.uri(up, bloscpack.Suffix)
	r.wantPart(t, out, func() {
		f, err := r.client.OpenBloscpack(t.Context(), uri, farread.BloscpackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() != n {
			t.Errorf("%d records, not %d", f.Len(), n)
		}
		for _, i := range []int64{0, 1234, n - 1} {
			if got, err := f.AppendItem(t.Context(), nil, i); err != nil || string(got) != lines[i] {
				t.Errorf("record %d is %.80q, %v", i, got, err)
			}
		}
	})
	f, err := r.client.OpenBloscpack(t.Context(), uri, farread.BloscpackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := f.Each(t.Context(), 0, f.Len(), func(i int64, p []byte) error {
		if string(p) != lines[i] {
			return fmt.Errorf("record %d is %.80q, not %.80q", i, p, lines[i])
		}
		seen++
		return nil
	}); err != nil || seen != n {
		t.Errorf("%d records are those of the upload, not %d: %v", seen, n, err)
	}
	if out := r.cli(t, "get", uri, "--item", "4321", "-o", "-"); string(out) != lines[4321] {
		t.Errorf("farread get --item: %.80q", out)
	}
	r.cli(t, "verify", uri)
}

func recording(t *testing.T, r *session) {
	t.Helper()
	samples := make([]int16, 60_000)
	for i := range samples {
		samples[i] = int16(9000 * math.Sin(float64(i)/700))
	}
	samples[41_234] = 20_000
	up := r.put(t, "zoom/heart.wav", wav(samples))
	out := r.made(t, r.datasets, up, zoomcache.Suffix)
	f, err := r.client.OpenZoom(t.Context(), r.uri(up, zoomcache.Suffix), farread.ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int16
	if err := f.EachPacket(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
		got = append(got, p.Values.I16...)
		return nil
	}); err != nil || !slices.Equal(got, samples) {
		t.Errorf("%d samples that differ from the %d uploaded, %v", len(got), len(samples), err)
	}
	r.wantPart(t, out, func() { r.wantSpike(t, r.uri(up, zoomcache.Suffix), 20_000) })
}

func table(t *testing.T, r *session) {
	t.Helper()
	var text, back strings.Builder
	text.WriteString("time,level\n")
	back.WriteString("offset,seconds,value\n")
	for i := range 4000 {
		level := i % 321
		if i == 2345 {
			level = 999
		}
		fmt.Fprintf(&text, "%d,%d\n", i*60, level)
		fmt.Fprintf(&back, "%d,%[1]d,%d\n", i*60, level)
	}
	up := r.put(t, "zoom/tide.csv", []byte(text.String()))
	r.made(t, r.datasets, up, zoomcache.Suffix)
	// All of it comes back.
	whole := filepath.Join(t.TempDir(), "tide.csv")
	r.cli(t, "unpack", r.uri(up, zoomcache.Suffix), whole)
	if got, err := os.ReadFile(whole); err != nil || string(got) != back.String() {
		t.Errorf("farread unpack: other values, %v: %.200q", err, got)
	}
	r.wantSpike(t, r.uri(up, zoomcache.Suffix), 999)
}

// wantSpike looks at a series from afar, through the library and the command line:
// its one highest sample is in one of the points.
func (r *session) wantSpike(t *testing.T, uri string, top float64) {
	t.Helper()
	f, err := r.client.OpenZoom(t.Context(), uri, farread.ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.View(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, 100)
	if err != nil {
		t.Fatal(err)
	}
	high := math.Inf(-1)
	for _, p := range v.Points {
		high = max(high, p.Channels[0].Max.Float())
	}
	var shown struct{ Points []struct{ Max float64 } }
	if err := json.Unmarshal(r.cli(t, "view", uri, "--track", "1", "--width", "100", "--format", "json", "-o", "-"), &shown); err != nil {
		t.Fatal(err)
	}
	cli := math.Inf(-1)
	for _, p := range shown.Points {
		cli = max(cli, p.Max)
	}
	if high != top || cli != top {
		t.Errorf("%s: the highest sample is %g, the library sees %g and the command line %g", uri, top, high, cli)
	}
	r.cli(t, "verify", uri)
}
