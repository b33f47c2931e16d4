package functions_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

const seriesKey = "tides/a b+c.wav"

// tide is a WAV of a few samples that seed decides.
func tide(tb testing.TB, seed int) []byte {
	tb.Helper()
	n := 5 + seed%7
	p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 100, 0, 0, 0, 200, 0, 0, 0, 2, 0, 16, 0)
	p = append(p, "data"...)
	p = binary.LittleEndian.AppendUint32(p, uint32(2*n))
	for i := range n {
		p = binary.LittleEndian.AppendUint16(p, uint16(seed*100+i))
	}
	return p
}

// TestSeriesStorm is TestStorm for series.
func TestSeriesStorm(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds(20) {
				in, out := stores()
				storm(t, play{seriesKey, zoomcache.Format, tide, checkSeries}, in, jittery{out}, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// checkSeries: one file, made of what the source holds now.
func checkSeries(t *testing.T, in, out objstore.Bucket) {
	t.Helper()
	ctx := context.Background()
	const key = seriesKey + zoomcache.Suffix
	if got := keys(out, ""); !cmp.Equal(got, []string{key}) {
		t.Fatalf("outputs %q", got)
	}
	src, err := in.Head(ctx, seriesKey)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := objstore.Open(ctx, out, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := functions.SourceOf(obj.Info().Meta); of.ETag != src.ETag || of.VersionID != src.VersionID || of.Key != seriesKey {
		t.Errorf("made of %+v, not of %+v", of, src)
	}
	f, err := zoomcache.Open(ctx, obj, zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	if err := f.EachPacket(ctx, 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
		for _, v := range p.Values.I16 {
			got = binary.LittleEndian.AppendUint16(got, uint16(v))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := body(t, in, seriesKey)[44:]; !bytes.Equal(got, want) {
		t.Errorf("samples %x, want %x", got, want)
	}
}
