package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// files is a bucket that fills spans itself, or fails to.
type files struct {
	objstore.Bucket
	fills, gets atomic.Int64
	fail        bool
	changed     bool // what it fills from is another object
}

func (s *files) Fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (info objstore.Info, err error) {
	s.fills.Add(1)
	if s.fail {
		return info, errors.New("input/output error")
	}
	for _, span := range spans {
		o.Range = objstore.Range{Off: span.Off, Len: int64(len(span.P))}
		var rc io.ReadCloser
		if rc, info, err = s.Bucket.Get(ctx, key, o); err != nil {
			return info, err
		}
		_, err = io.ReadFull(rc, span.P)
		if err = errors.Join(err, rc.Close()); err != nil {
			return info, err
		}
	}
	if s.changed {
		info.Size++
		for _, span := range spans {
			clear(span.P)
		}
	}
	return info, nil
}

func (s *files) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	s.gets.Add(1)
	return s.Bucket.Get(ctx, key, o)
}

// TestFilled: spans of a file are filled by one call, without a Get, and counted as they
// were planned; if Fill fails, or fills from another object, Get decides. More than 1
// MiB is read by Gets.
func TestFilled(t *testing.T) {
	t.Parallel()
	mem := memstore.New(memstore.Config{})
	data := bytes.Repeat([]byte("0123456789"), 200_000)
	put(t, mem, "x", data)
	for _, c := range []struct {
		name          string
		b             *files
		length, fills int64
	}{
		{"filled", &files{}, 100, 1},
		{"failed", &files{fail: true}, 100, 1},
		{"changed", &files{changed: true}, 100, 1},
		{"much", &files{}, 10_001, 0},
	} {
		s := c.b
		s.Bucket = mem
		o, err := objstore.Open(t.Context(), s, "x", objstore.OpenOptions{Head: 1, Policy: rangeio.Policy{MaxLen: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		s.gets.Store(0)
		spans := make([]rangeio.Span, 190)
		for i := range spans {
			spans[i] = rangeio.Span{Off: int64(10_003 * (i + 1)), P: make([]byte, c.length)}
		}
		before := o.Stats()
		if err := o.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		for i, s := range spans {
			if !bytes.Equal(s.P, data[s.Off:s.End()]) {
				t.Errorf("%s: span %d holds other bytes", c.name, i)
			}
		}
		got := o.Stats()
		if n := got.Requests - before.Requests; n != 190 || got.Bytes-before.Bytes != 190*c.length || got.Phases-before.Phases != 1 {
			t.Errorf("%s: %d requests, %d bytes, %d phases", c.name, n, got.Bytes-before.Bytes, got.Phases-before.Phases)
		}
		gets := int64(190)
		if c.name == "filled" {
			gets = 0
		}
		if s.fills.Load() != c.fills || s.gets.Load() != gets {
			t.Errorf("%s: %d fills, %d gets; want %d, %d", c.name, s.fills.Load(), s.gets.Load(), c.fills, gets)
		}
	}
}
