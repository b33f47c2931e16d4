package bootstrap_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestSeriesOnS3 makes a file longer than a part of an upload from a WAV, and then one
// from a smaller version of it, and reads both back.
func TestSeriesOnS3(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	buckets := map[string]objstore.Bucket{}
	for _, name := range []string{"uploads", "datasets"} {
		b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
		if err != nil {
			t.Fatal(err)
		}
		buckets[name] = b
	}
	h := &functions.Handler{Jobs: map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, nil)},
		Rules:   functions.Rules{{Bucket: "uploads", Job: "zoom", Out: functions.Out{Bucket: "datasets"}}},
		Buckets: func(name string) (objstore.Bucket, error) { return buckets[name], nil }}
	const key = "tides/a b+ü%.wav"
	for seed, n := range []int{8_000_000, 3} { // the second is smaller than a part
		p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 100, 0, 0, 0, 200, 0, 0, 0, 2, 0, 16, 0)
		p = binary.LittleEndian.AppendUint32(append(p, "data"...), uint32(2*n))
		want := make([]int16, n)
		for i := range want {
			want[i] = int16(9000 * math.Sin(float64(i*(seed+1))/700))
			p = binary.LittleEndian.AppendUint16(p, uint16(want[i]))
		}
		info, err := objstore.Put(t.Context(), buckets["uploads"], key, bytes.NewReader(p), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, err := h.Handle(t.Context(), event(key, info, seed+1))
			if err != nil || r.Packed != 1-again || r.Unchanged != again {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		obj, err := objstore.Open(t.Context(), buckets["datasets"], key+zoomcache.Suffix, objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := zoomcache.Open(t.Context(), obj, zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		if err := f.EachPacket(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			for i, v := range p.Values.I16 {
				if at+i >= n || v != want[at+i] {
					t.Fatalf("sample %d: %d", at+i, v)
				}
			}
			at += p.Values.N
			return nil
		}); err != nil || at != n {
			t.Fatalf("%d samples of %d, %v", at, n, err)
		}
	}
}
