package zoomcache

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// recompute is RecomputeSummaries of a file in memory.
func recompute(t *testing.T, file []byte) (Recomputed, error) {
	t.Helper()
	var r Recomputed
	err := openBytes(t, file, Options{Head: minHead}).RecomputeSummaries(t.Context(), &r, nil, nil)
	return r, err
}

// TestRecomputeFixtures: the summaries that the original wrote agree with the samples.
func TestRecomputeFixtures(t *testing.T) {
	t.Parallel()
	summaries, skipped := int64(0), int64(0)
	files, _ := manifest(t)
	for i := range files {
		if files[i].File == bigFixture {
			continue
		}
		r, err := recompute(t, original(t, files[i].File))
		if err != nil || r.Wrong != 0 {
			t.Errorf("%s: %+v, %v", files[i].File, r, err)
		}
		summaries, skipped = summaries+r.Summaries, skipped+r.Skipped
	}
	if summaries == 0 || skipped > summaries/4 {
		t.Errorf("%d summaries, %d skipped", summaries, skipped)
	}
}

// TestRecomputeFinds: a bit that flips in a summary or a packet is found.
func TestRecomputeFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	v := make([]int16, 8000)
	for i := range v {
		v[i] = int16(r.IntN(300) - 150) // whose squares do not wrap
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, WriteOptions{Tracks: []Track{{Number: 5, Codec: Codec{Kind: I16}, Rate: Rate{1000, 1}}}, Watermark: 500})
	if err := errors.Join(err, WriteSamples(w.Track(5), v), w.Close()); err != nil {
		t.Fatal(err)
	}
	file := out.Bytes()
	tried := 0
	err = openBytes(t, file, Options{}).EachBlock(t.Context(), func(b Block, _ *Track, _ []byte) error {
		if b.Len == 0 {
			return nil
		}
		q := bytes.Clone(file)
		q[b.Off+BlockHeaderLen+r.Int64N(b.Len)] ^= byte(1 << r.IntN(8))
		got, err := recompute(t, q)
		if tried++; err == nil && got.Wrong == 0 {
			t.Errorf("a flipped bit in %+v: %+v", b, got)
		}
		return nil
	})
	if err != nil || tried < 30 {
		t.Errorf("%d blocks, %v", tried, err)
	}
}
