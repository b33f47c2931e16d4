package pull_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/pull"
)

// TestPiecesAhead: pieces are written in order, each while the next one is read; the first
// error ends that, and what was read before it is written.
func TestPiecesAhead(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	none := time.Duration(0)
	for _, c := range []struct {
		name        string
		pieces      []byte
		read, write byte // fails
		end         time.Duration
		wrote       string
		took        time.Duration
		err         error
	}{
		{name: "none"},
		{name: "one", pieces: []byte{3}, wrote: "\x03", took: 2 * time.Second},
		{name: "many", pieces: []byte{1, 5, 2, 9, 1}, wrote: "\x01\x05\x02\x09\x01", took: 6 * time.Second},
		{name: "no first", pieces: []byte{1, 2}, read: 1, took: time.Second, err: bad},
		{name: "no third", pieces: []byte{1, 2, 3, 4}, read: 3, wrote: "\x01\x02", took: 3 * time.Second, err: bad},
		{name: "full", pieces: []byte{1, 2, 3, 4}, write: 2, wrote: "\x01", took: 3 * time.Second, err: bad},
		{name: "no last", pieces: []byte{1, 2}, write: 2, wrote: "\x01", took: 3 * time.Second, err: bad},
		{name: "full and no next", pieces: []byte{1, 2, 3}, read: 3, write: 2, wrote: "\x01", took: 3 * time.Second, err: bad},
		{name: "ended", pieces: []byte{1, 2, 3, 4}, end: 2500 * time.Millisecond, wrote: "\x01\x02", took: 3 * time.Second, err: context.DeadlineExceeded},
		{name: "over", pieces: []byte{1}, end: -1, took: none, err: context.DeadlineExceeded},
		{name: "over with none", end: -1, err: context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if c.end != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.end)
				defer cancel()
			}
			var wrote []byte
			reading := false
			start := time.Now()
			err := pull.Ahead(ctx, slices.Values(c.pieces), 0, func(n byte) int64 { return int64(n) },
				func(ctx context.Context, n byte, p []byte) error {
					reading = true
					defer func() { reading = false }()
					if len(p) != int(n) {
						t.Errorf("%s: %d bytes for %d", c.name, len(p), n)
					}
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(time.Second):
					}
					p[0] = n
					if n == c.read {
						return bad
					}
					return nil
				},
				func(p []byte) error {
					time.Sleep(time.Second)
					if p[0] == c.write {
						return bad
					}
					wrote = append(wrote, p[0])
					return nil
				})
			if !errors.Is(err, c.err) || c.err == nil && err != nil || string(wrote) != c.wrote || time.Since(start) != c.took || reading {
				t.Errorf("%s: wrote %v in %v, %v, still reading %t; want %v in %v, %v", c.name, wrote, time.Since(start), err, reading, []byte(c.wrote), c.took, c.err)
			}
		})
	}
}
