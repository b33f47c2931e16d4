package rangeio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/farread/farread/rangeio"
	"github.com/farread/farread/rangeio/rangeiotest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		off  int64
		n    int
		size int64
		ok   bool
	}{
		{0, 0, 0, true}, {0, 10, 10, true}, {10, 0, 10, true}, {9, 1, 10, true},
		{0, 1, 0, false}, {0, 11, 10, false}, {11, 0, 10, false}, {-1, 0, 10, false}, {-1, 5, 10, false},
		{math.MaxInt64, 1, 10, false}, {math.MaxInt64 - 1, 1, math.MaxInt64, true}, {math.MaxInt64, 1, math.MaxInt64, false},
	} {
		err := rangeio.Check([]rangeio.Span{{Off: 0}, {Off: c.off, P: make([]byte, c.n)}}, c.size)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, rangeio.ErrOutside) {
			t.Errorf("[%d, +%d) of %d: %v", c.off, c.n, c.size, err)
		}
	}
}

// TestSizeTooLarge: a file that is shorter than it was said to be is an error,
// and no end.
func TestSizeTooLarge(t *testing.T) {
	t.Parallel()
	r := rangeio.FromReaderAt(bytes.NewReader(object(100)), 120)
	if err := r.ReadRanges(t.Context(), at(0, 100)); err != nil {
		t.Error(err)
	}
	for _, spans := range [][]rangeio.Span{at(90, 20), at(110, 5)} {
		if err := r.ReadRanges(t.Context(), spans); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("want ErrUnexpectedEOF, got %v", err)
		}
	}
}

func TestSectionPanicsOutside(t *testing.T) {
	t.Parallel()
	r := rangeiotest.New(object(100), rangeio.Policy{})
	for _, c := range []struct {
		off, n int64
		panics bool
	}{{0, 100, false}, {100, 0, false}, {50, 50, false}, {0, 101, true}, {101, 0, true}, {-1, 5, true}, {5, -1, true}, {math.MaxInt64, math.MaxInt64, true}} {
		func() {
			defer func() {
				if got := recover() != nil; got != c.panics {
					t.Errorf("section [%d, +%d): panics %t, want %t", c.off, c.n, got, c.panics)
				}
			}()
			if got := rangeio.Section(r, c.off, c.n).Size(); got != c.n {
				t.Errorf("section [%d, +%d) has %d bytes", c.off, c.n, got)
			}
		}()
	}
}

func TestWithContext(t *testing.T) {
	t.Parallel()
	data := object(100)
	r := rangeiotest.New(data, rangeio.Policy{})
	a := rangeio.WithContext(t.Context(), r)
	for _, c := range []struct {
		off     int64
		n, want int
		err     error
	}{
		{0, 10, 10, nil}, {90, 10, 10, nil}, {0, 100, 100, nil}, {90, 20, 10, io.EOF}, {100, 1, 0, io.EOF}, {100, 0, 0, io.EOF},
		{1000, 5, 0, io.EOF}, {-1, 5, 0, rangeio.ErrOutside}, {50, 0, 0, nil},
	} {
		p := make([]byte, c.n)
		n, err := a.ReadAt(p, c.off)
		if n != c.want || !errors.Is(err, c.err) {
			t.Errorf("ReadAt %d+%d: %d, %v; want %d, %v", c.off, c.n, n, err, c.want, c.err)
		} else if n > 0 && !bytes.Equal(p[:n], data[c.off:][:n]) {
			t.Errorf("ReadAt %d+%d: other bytes", c.off, c.n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	bound := rangeio.WithContext(ctx, r)
	cancel()
	if n, err := bound.ReadAt(make([]byte, 5), 0); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the context had ended: %d, %v", n, err)
	}
}
