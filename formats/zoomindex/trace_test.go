package zoomindex_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("../zoomcache/testdata/original", name))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func reader(p []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))) }

// series is a file of n samples 0, 1, 2 … in one track.
func series(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: "count"}}})
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i)
	}
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// withGap puts a block of an undeclared track with n bytes behind the header.
func withGap(tb testing.TB, p []byte, n int) []byte {
	tb.Helper()
	f, err := zoomcache.Open(tb.Context(), reader(p), zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	t := zoomcache.Track{Number: 99, Codec: zoomcache.Codec{Kind: zoomcache.U8}}
	out, err := t.AppendPacket(bytes.Clone(p[:f.Body()]), &zoomcache.Packet{Values: zoomcache.Values{Kind: zoomcache.U8, N: n, U8: bytes.Repeat([]byte(zoomcache.MarkerPacket), n/8+1)[:n]}})
	if err != nil {
		tb.Fatal(err)
	}
	return append(out, p[f.Body():]...)
}

// TestTraces pins what reads cost: which ranges are asked for, in which order.
func TestTraces(t *testing.T) {
	var tr formattest.Trace
	open := func(name string, p []byte, o zoomcache.Options) *zoomindex.File {
		f, err := zoomindex.Open(t.Context(), tr.Wrap("zoom", reader(p)), o)
		if err != nil {
			t.Fatal(err)
		}
		var windows []string
		plan, err := f.ExplainSummaries(t.Context(), f.Header().Tracks[0].Number, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range plan {
			windows = append(windows, fmt.Sprintf("{%d %d}", q.Off, q.Len))
		}
		tr.Step("open "+name, fmt.Sprintf("%d bytes, %d tracks, blocks from %d on, windows %v", len(p), len(f.Header().Tracks), f.Body(), windows))
		return f
	}
	samples := func(f *zoomindex.File, from, to int64) {
		n := int32(0)
		err := f.EachPacket(t.Context(), 1, from, to, func(p *zoomcache.Packet) error {
			n += p.Count
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("samples [%d, %d]", from, to), fmt.Sprintf("%d of them", n))
	}
	count := func(f *zoomindex.File) {
		r, err := f.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tr.Step("count", fmt.Sprintf("%+v", r))
	}
	long := series(t, 3_000_000)
	f := open("a long file", long, zoomcache.Options{})
	samples(f, 1, 1000)
	samples(f, 1, 3_000_000)
	count(f)
	f = open("a small file", load(t, "p-multitrack.zoom"), zoomcache.Options{})
	count(f)
	f = open("a file with 40 MB that nobody knows", withGap(t, series(t, 12_000), 40<<20), zoomcache.Options{})
	samples(f, 1, 10)
	f = open("a file with 3 MB that nobody knows", withGap(t, series(t, 12_000), 3<<20), zoomcache.Options{})
	samples(f, 1, 1_000_000)
	f = open("long headers", longHeader(t), zoomcache.Options{})
	count(f)
	tr.Golden(t, filepath.Join("testdata", "read.trace"))
}

// longHeader is a file whose headers take more than what Open reads at first.
func longHeader(t *testing.T) []byte {
	t.Helper()
	h := &zoomcache.Header{Major: 3}
	for i := range int32(6) {
		h.Tracks = append(h.Tracks, zoomcache.Track{Number: i, Codec: zoomcache.Codec{Kind: zoomcache.U8}, Rate: zoomcache.Rate{Num: 1, Den: 1}, Name: strings.Repeat("name ", 12_000)})
	}
	p, err := zoomcache.AppendHeader(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = h.Tracks[0].AppendPacket(p, &zoomcache.Packet{Values: zoomcache.Values{Kind: zoomcache.U8, N: 3, U8: []byte("abc")}}); err != nil {
		t.Fatal(err)
	}
	return p
}
