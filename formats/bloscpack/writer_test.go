package bloscpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farread/farread/rangeio"
)

// sink is an Output as a store's writer is one: what is changed must have been
// written, and lie in the head. It keeps what a file would hold after each call.
type sink struct {
	b     []byte
	grown int64
	re    bool
	fail  int // the call that fails, from 1
	n     int
	each  func(b []byte) // after each call
}

var errSink = errors.New("disk full")

func (s *sink) call() error {
	if s.n++; s.n == s.fail {
		return errSink
	}
	return nil
}

func (s *sink) did() {
	if s.each != nil {
		s.each(s.b)
	}
}

func (s *sink) Write(p []byte) (int, error) {
	if err := s.call(); err != nil {
		return 0, err
	}
	s.b = append(s.b, p...)
	s.did()
	return len(p), nil
}

func (s *sink) head() int64 { return min(int64(len(s.b))-s.grown, MaxHead) + s.grown }

func (s *sink) Patch(off int64, p []byte) error {
	if err := s.call(); err != nil {
		return err
	}
	if off < 0 || off+int64(len(p)) > s.head() {
		return fmt.Errorf("patch [%d, +%d) outside the head", off, len(p))
	}
	copy(s.b[off:], p)
	s.did()
	return nil
}

func (s *sink) Rehead(n int64, p []byte) error {
	if err := s.call(); err != nil {
		return err
	}
	if s.re || n < 0 || n > s.head() || int64(len(p)) < n {
		return fmt.Errorf("%d bytes for %d of %d", len(p), n, s.head())
	}
	s.b = append(p, s.b[n:]...)
	s.re, s.grown = true, int64(len(p))-n
	s.did()
	return nil
}

// tester is a test of package testing or of rapid.
type tester interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func openBytes(tb tester, b []byte) *File {
	tb.Helper()
	f, err := Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestThin(t *testing.T) {
	t.Parallel()
	for _, variable := range []bool{true, false} {
		var s sink
		w, err := NewWriter(&s, WriteOptions{Variable: variable, Metadata: map[string]any{"dtype": "varchar"}, ChunkSize: 7})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 {
			p := fmt.Appendf(nil, "item %d", i)
			if variable {
				err = w.WriteItem(p)
			} else {
				_, err = w.Write(p)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f := openBytes(t, s.b)
		if f.Len() != w.Len() || f.Aborted() {
			t.Errorf("%d chunks, aborted %t; %d written", f.Len(), f.Aborted(), w.Len())
		}
		got, err := f.AppendItem(t.Context(), nil, 17)
		if err != nil || variable && string(got) != "item 17" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
