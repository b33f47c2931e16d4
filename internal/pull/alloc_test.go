package pull_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// TestShortReadAllocates: a read of a few parts of a local file allocates little beside
// its window.
func TestShortReadAllocates(t *testing.T) { //nolint:paralleltest // it counts allocations
	r := rangeio.FromReaderAt(bytes.NewReader(make([]byte, 1<<16)), 1<<16)
	ctx := t.Context()
	n := 0
	p := pull.Pull[int]{From: r, Window: 1 << 18, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
		for i := range 12 {
			if err := add(pull.Part[int]{Off: int64(i) << 12, Len: 100, For: i}); err != nil {
				return err
			}
		}
		return nil
	}}
	take := func(pull.Part[int], []byte) error { n++; return nil }
	const runs = 100
	got := testing.AllocsPerRun(runs, func() {
		if err := p.Each(ctx, take); err != nil {
			t.Fatal(err)
		}
	})
	if t.Logf("%.0f allocations", got); got > 12 || n != 12*(runs+1) {
		t.Errorf("%.0f allocations, %d parts", got, n)
	}
}

// TestLongReadAllocates: windows that follow each other use the memory of those before.
func TestLongReadAllocates(t *testing.T) { //nolint:paralleltest // it counts allocations
	const parts, size = 1024, 1 << 10
	r := rangeio.FromReaderAt(bytes.NewReader(make([]byte, parts*size)), parts*size)
	ctx := t.Context()
	n := 0
	p := pull.Pull[int]{From: r, Window: 20 * size, Parallel: 1, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
		for i := range parts {
			if err := add(pull.Part[int]{Off: int64(i) * size, Len: size, For: i}); err != nil {
				return err
			}
		}
		return nil
	}}
	take := func(pull.Part[int], []byte) error { n++; return nil }
	const runs = 20
	got := testing.AllocsPerRun(runs, func() {
		if err := p.Each(ctx, take); err != nil {
			t.Fatal(err)
		}
	})
	if t.Logf("%.0f allocations", got); got > 80 || n != parts*(runs+1) {
		t.Errorf("%.0f allocations, %d parts", got, n)
	}
}
