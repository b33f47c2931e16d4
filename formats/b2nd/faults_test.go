package b2nd_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

var faultyShape = []int64{20, 100, 150}

// faultyItems hardly compress, so that all versions have the same offsets and
// only the bytes differ.
func faultyItems(version int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(version), 5))
	p := make([]byte, 20*100*150)
	for i := range p {
		if i%150 > 3 { // a little does, or there would be no block starts
			p[i] = byte(rnd.Uint32())
		}
	}
	return p
}

// TestFaults: whatever the server does, a slice has the right items or one error
// that can be classified; the cache of blocks is not spoiled by it, and once the
// server is well again the same array reads right.
func TestFaults(t *testing.T) {
	t.Parallel()
	files, box := map[int][]byte{}, b2nd.Box{}
	m := b2nd.Meta{Shape: faultyShape, ChunkShape: []int{10, 50, 75}, BlockShape: []int{2, 25, 75}, DType: "|u1"}
	for v := range 3 {
		files[v] = slices.Clip(build(t, m, faultyItems(v), b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}))
	}
	s, err := b2nd.ParseSlice("3:17:5, ::-30, 60:90")
	if err == nil {
		box, err = s.Resolve(faultyShape)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[int][]byte{}
	for v := range 3 {
		n := len(slice(t, open(t, files[0]), box))
		want[v] = make([]byte, n)
		cutInto(want[v], faultyItems(v), faultyShape, 1, box)
	}
	for _, k := range flawedtest.Sampled() {
		for scheme, overS3 := range map[string]bool{"http": false, "s3": true} {
			if overS3 && k.HTTP {
				continue
			}
			t.Run(k.Name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				srv := flawedtest.New(t, func(_ string, version int) []byte { return files[version%len(files)] }, nil)
				k.Start(srv)
				faultySlice(t, &k, srv, srv.Open(t, overS3), box, want)
			})
		}
	}
}

// faultySlice reads from a server that misbehaves, from one that is well again,
// and what was opened from one that misbehaved.
func faultySlice(t *testing.T, k *flawedtest.Case, srv *flawedtest.Server, bucket objstore.Bucket, box b2nd.Box, want map[int][]byte) {
	t.Helper()
	far := func() (*b2nd.Array, error) {
		o := objstore.OpenOptions{Head: 8 << 10, Tail: 4 << 10, Stall: k.Stall, Resumes: 3, Policy: rangeio.Lean()}
		if k.Stall > 0 && k.Read != nil {
			o.Resumes = 1
		}
		obj, err := objstore.Open(t.Context(), objstore.Hedge(&objstore.Pace{})(bucket), "k", o)
		if err != nil {
			return nil, err
		}
		a, err := b2nd.Open(t.Context(), obj, b2nd.Options{Tail: 4 << 10})
		if err != nil {
			return nil, err
		}
		return a.WithCache(1 << 20), nil
	}
	a, err := far()
	if err != nil {
		t.Fatal(err)
	}
	k.Spoil(srv)
	p, err := trySlice(t.Context(), a, box)
	switch {
	case err == nil && (k.Read == nil || errors.Is(k.Read, flawedtest.ErrEither)):
		if !bytes.Equal(p, want[0]) {
			t.Error("other items")
		}
	case errors.Is(k.Read, flawedtest.ErrEither):
		flawedtest.OneKind(t, "slice", err, objstore.ErrChanged)
	case err == nil || k.Read == nil:
		t.Errorf("got %v, want %v", err, k.Read)
	default:
		flawedtest.OneKind(t, "slice", err, k.Read)
	}
	k.Mend(srv)
	if p, err := trySlice(t.Context(), a, box); err != nil || !bytes.Equal(p, want[0]) {
		t.Errorf("the server is well again: other items, %v", err)
	}
	k.Spoil(srv)
	b, err := far()
	srv.Set(nil)
	if err != nil {
		flawedtest.OneKind(t, "slice", err, k.Open)
		return
	}
	p, err = trySlice(t.Context(), b, box)
	if err != nil {
		kind := objstore.ErrChanged // it was replaced since, or has an ETag again
		if errors.Is(err, objstore.ErrBadRange) && k.Pinned {
			kind = objstore.ErrBadRange
		}
		flawedtest.OneKind(t, "slice", err, kind)
	} else if !bytes.Equal(p, want[0]) && !bytes.Equal(p, want[1]) && !bytes.Equal(p, want[2]) {
		t.Error("opened from a server that misbehaves: items of no version")
	}
}
