package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// slowFiles is a bucket of files on a slow disk: each call of Fill fills one span.
type slowFiles struct {
	objstore.Bucket
	fills, gets atomic.Int64
	fail        bool
}

func (s *slowFiles) Fill(ctx context.Context, key string, spans []rangeio.Span, o objstore.GetOptions) (int, objstore.Info, error) {
	s.fills.Add(1)
	<-time.After(5 * time.Millisecond)
	if s.fail {
		return 0, objstore.Info{}, errors.New("input/output error")
	}
	o.Range = objstore.Range{Off: spans[0].Off, Len: int64(len(spans[0].P))}
	rc, info, err := s.Bucket.Get(ctx, key, o)
	if err != nil {
		return 0, info, err
	}
	_, err = io.ReadFull(rc, spans[0].P)
	return 1, info, errors.Join(err, rc.Close())
}

func (s *slowFiles) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	s.gets.Add(1)
	return s.Bucket.Get(ctx, key, o)
}

// TestSlowFile: what a slow disk leaves over is asked for side by side, without a
// Get, and counted as it was planned; where Fill fails, Get decides.
func TestSlowFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		data := bytes.Repeat([]byte("0123456789"), 20_000)
		if _, err := objstore.Put(t.Context(), mem, "x", bytes.NewReader(data), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, fail := range []bool{false, true} {
			s := &slowFiles{Bucket: mem, fail: fail}
			o, err := objstore.Open(t.Context(), s, "x", objstore.OpenOptions{Head: 1, Policy: rangeio.Policy{MaxLen: 1 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			s.gets.Store(0)
			spans := make([]rangeio.Span, 190)
			for i := range spans {
				spans[i] = rangeio.Span{Off: int64(1001 * (i + 1)), P: make([]byte, 100)}
			}
			before, start := o.Stats(), time.Now()
			if err := o.ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
			for i, s := range spans {
				if !bytes.Equal(s.P, data[s.Off:s.End()]) {
					t.Errorf("span %d holds other bytes", i)
				}
			}
			got := o.Stats()
			if n := got.Requests - before.Requests; n != 190 || got.Bytes-before.Bytes != 19_000 || got.Phases-before.Phases != 1 {
				t.Errorf("fail %t: %d requests, %d bytes, %d phases", fail, n, got.Bytes-before.Bytes, got.Phases-before.Phases)
			}
			fills, gets, most := int64(190), int64(0), 20*time.Millisecond // one, then 64, 64 and 61
			if fail {
				fills, gets, most = 1, 190, 5*time.Millisecond
			}
			if s.fills.Load() != fills || s.gets.Load() != gets || time.Since(start) > most {
				t.Errorf("fail %t: %d fills, %d gets in %v; want %d, %d, %v", fail, s.fills.Load(), s.gets.Load(), time.Since(start), fills, gets, most)
			}
		}
	})
}
