package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/bufpool"
)

// TestEach: each frame of the reference tools comes chunk by chunk, or block by block,
// as AppendChunk gives it. Bad bytes in it are an error of this package, or other data.
func TestEach(t *testing.T) { //nolint:paralleltest // it counts the buffers of the process
	loans, chunks := bufpool.Loans(), 0
	for _, x := range manifest(t) {
		f, err := openFixture(t, &x, cframe.Options{})
		if err != nil || f.Refused() != nil {
			continue
		}
		if x.Kind != "malformed" {
			chunks += inOrder(t, x.File, f)
		} else if err := f.Each(t.Context(), 0, f.Chunks(), ignore); err != nil {
			ours(t, x.File, err)
		}
		if x.Kind == "sframe" {
			continue
		}
		p := load(t, x.File)
		for i := 97; i < len(p); i += 1 + len(p)/20 {
			flipped := bytes.Clone(p)
			flipped[i] ^= 0x10
			if f, err := cframe.Open(t.Context(), reader(flipped), cframe.Options{}); err == nil {
				ours(t, x.File, f.Each(t.Context(), 0, f.Chunks(), ignore))
			}
		}
	}
	if n := bufpool.Loans(); n != loans || chunks < 50 {
		t.Errorf("%d buffers were not given back, %d chunks", n-loans, chunks)
	}
}

func ignore(int, int, []byte) error { return nil }

func ours(t *testing.T, name string, err error) {
	t.Helper()
	var e *formats.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("%s: %v", name, err)
	}
}

func inOrder(t *testing.T, name string, f *cframe.Frame) int {
	t.Helper()
	got, last, lastBlock := make([][]byte, f.Chunks()), -1, -1
	err := f.Each(t.Context(), 0, f.Chunks(), func(chunk, block int, p []byte) error {
		switch {
		case !f.Info().VLBlocks && (block != -1 || chunk != last+1),
			f.Info().VLBlocks && (chunk != last || block != lastBlock+1) && (chunk != last+1 || block != 0):
			t.Errorf("%s: block %d of chunk %d after %d of %d", name, block, chunk, lastBlock, last)
		}
		last, lastBlock = chunk, block
		got[chunk] = append(got[chunk], p...)
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for i, p := range got {
		want, err := f.AppendChunk(t.Context(), nil, i)
		if err != nil || !bytes.Equal(p, want) {
			t.Errorf("%s: chunk %d: %d bytes, %d wanted, %v", name, i, len(p), len(want), err)
		}
	}
	if plan, err := f.ExplainEach(t.Context(), 0, f.Chunks()); err != nil || len(plan) > f.Chunks()*2 {
		t.Errorf("%s: %d requests planned for %d chunks, %v", name, len(plan), f.Chunks(), err)
	}
	return len(got)
}

func TestInOrderEnds(t *testing.T) {
	t.Parallel()
	f := open(t, "cframe/delta_multi.b2frame", cframe.Options{})
	for _, r := range [][2]int{{-1, 1}, {0, f.Chunks() + 1}, {1, 0}} {
		_, explainErr := f.ExplainEach(t.Context(), r[0], r[1])
		if err := f.Each(t.Context(), r[0], r[1], ignore); !errors.Is(err, formats.ErrNoEntry) || !errors.Is(explainErr, formats.ErrNoEntry) {
			t.Errorf("%v: %v, %v", r, err, explainErr)
		}
	}
	stop := errors.New("stop")
	if err := f.Each(t.Context(), 0, f.Chunks(), func(int, int, []byte) error { return stop }); err != stop { // the very same
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Each(ctx, 0, f.Chunks(), ignore); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
