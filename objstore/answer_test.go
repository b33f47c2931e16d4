package objstore_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/farread/farread/objstore"
)

// TestCheckAnswer: which answers match the range that was asked for, and which part of
// the body is that range.
func TestCheckAnswer(t *testing.T) {
	t.Parallel()
	whole, from, tail := objstore.Range{}, func(off, n int64) objstore.Range { return objstore.Range{Off: off, Len: n} }, objstore.Range{Off: -10}
	for name, c := range map[string]struct {
		asked   objstore.Range
		status  int
		header  string
		length  int64
		size, n int64 // 0, 0: refused
	}{
		"whole":                     {whole, 200, "", 100, 100, 100},
		"whole, no length":          {whole, 200, "", -1, 0, 0},
		"start of a whole":          {from(0, 10), 200, "", 100, 100, 10},
		"a whole that is shorter":   {from(0, 10), 200, "", 7, 7, 7},
		"whole for the middle":      {from(1, 10), 200, "", 100, 0, 0},
		"whole for a longer tail":   {tail, 200, "", 9, 9, 9},
		"whole for its tail":        {tail, 200, "", 10, 10, 10},
		"whole for a shorter tail":  {tail, 200, "", 11, 0, 0},
		"a tail has no length":      {objstore.Range{Off: -10, Len: 5}, 200, "", 8, 8, 8},
		"part":                      {from(5, 10), 206, "bytes 5-14/100", 10, 100, 10},
		"part, no length":           {from(5, 10), 206, "bytes 5-14/100", -1, 100, 10},
		"part, cut at the end":      {from(95, 10), 206, "bytes 95-99/100", 5, 100, 5},
		"tail":                      {tail, 206, "bytes 90-99/100", 10, 100, 10},
		"begins later":              {from(0, 10), 206, "bytes 1-9/10", -1, 0, 0},
		"ends earlier":              {from(0, 10), 206, "bytes 0-8/10", -1, 10, 9},
		"body that ends earlier":    {from(0, 10), 206, "bytes 0-9/10", 9, 10, 9},
		"empty body":                {from(0, 10), 206, "bytes 0-9/10", 0, 10, 0},
		"a body that is longer":     {from(0, 10), 206, "bytes 0-9/10", 11, 0, 0},
		"no part":                   {from(0, 1), 206, "", 1, 0, 0},
		"no number":                 {from(0, 1), 206, "bytes 0-x/10", 1, 0, 0},
		"no first":                  {from(0, 1), 206, "bytes x-0/10", 1, 0, 0},
		"no size":                   {from(0, 1), 206, "bytes 0-0/*", 1, 0, 0},
		"no unit":                   {from(0, 1), 206, "0-0/10", 1, 0, 0},
		"no slash":                  {from(0, 1), 206, "bytes 0-0", 1, 0, 0},
		"no dash":                   {from(0, 1), 206, "bytes 0/10", 1, 0, 0},
		"turned, behind the end":    {from(5, 1), 206, "bytes 5-4/5", 0, 0, 0},
		"longer than the object is": {from(0, 11), 206, "bytes 0-10/10", 11, 0, 0},
	} {
		size, n, err := objstore.CheckAnswer(c.asked, c.status, c.header, c.length)
		if size != c.size || n != c.n || (err != nil) != (c.size == 0) || err != nil && !errors.Is(err, objstore.ErrBadRange) {
			t.Errorf("%s: size %d, %d bytes, %v", name, size, n, err)
		}
		if strings.HasPrefix(name, "no ") && (err == nil || !strings.Contains(err.Error(), "Content-Range")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRange: what a range means of an object, and how HTTP spells it.
func TestRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r        objstore.Range
		size     int64
		from, to int64
		http     string
	}{
		{objstore.Range{}, 6, 0, 6, ""},
		{objstore.Range{Off: -4}, 6, 2, 6, "bytes=-4"},
		{objstore.Range{Off: -7}, 6, 0, 6, "bytes=-7"},
		{objstore.Range{Off: 1}, 6, 1, 6, "bytes=1-"},
		{objstore.Range{Off: 1, Len: 4}, 6, 1, 5, "bytes=1-4"},
		{objstore.Range{Off: 1, Len: 5}, 6, 1, 6, "bytes=1-5"},
		{objstore.Range{Off: 1, Len: 6}, 6, 1, 6, "bytes=1-6"},
		{objstore.Range{Off: 0, Len: 1}, 6, 0, 1, "bytes=0-0"},
		{objstore.Range{Off: 9, Len: 1}, 6, 6, 6, "bytes=9-9"},
		{objstore.Range{Off: 1, Len: math.MaxInt64}, 6, 1, 6, "bytes=1-"},
		{objstore.Range{Off: 1, Len: math.MaxInt64 - 1}, 6, 1, 6, "bytes=1-9223372036854775806"},
	} {
		from, to := c.r.Resolve(c.size)
		if http := c.r.HTTP(); from != c.from || to != c.to || http != c.http {
			t.Errorf("%+v of %d: [%d, %d), %q", c.r, c.size, from, to, http)
		}
	}
}

// TestStatusError: each status that is no success says what the caller should do.
func TestStatusError(t *testing.T) {
	t.Parallel()
	for want, statuses := range map[error][]int{
		objstore.ErrNotFound:    {404, 410},
		objstore.ErrDenied:      {401, 403, 407},
		objstore.ErrChanged:     {409, 412},
		objstore.ErrBadRange:    {416},
		objstore.ErrThrottled:   {429, 503},
		objstore.ErrUnavailable: {408, 500, 501, 502, 504, 599},
		objstore.ErrInvalid:     {301, 400, 405, 411, 413, 414, 415, 417, 499},
	} {
		for _, s := range statuses {
			if err := objstore.StatusError(s); !errors.Is(err, want) {
				t.Errorf("%d: %v, want %v", s, err, want)
			}
		}
	}
}

// TestCacheCounts: hits are the blocks that were there, the last block is as long as
// the object has it, and a read that is too large for the cache says how it failed.
func TestCacheCounts(t *testing.T) {
	t.Parallel()
	data := randomBytes(1 << 20)[:1<<20-1000]
	obj, g, c := gated(t, data)
	g.on.Store(false)
	read := func(off int64, n int, hits int64) {
		t.Helper()
		before := c.Stats().CacheHits
		p := make([]byte, n)
		if _, err := obj.ReadAt(p, off); err != nil || string(p) != string(data[off:][:n]) {
			t.Errorf("%d at %d: %v", n, off, err)
		}
		if got := c.Stats().CacheHits - before; got != hits {
			t.Errorf("%d at %d: %d hits, want %d", n, off, got, hits)
		}
	}
	const block = objstore.DefaultBlock
	read(2*block+5, 10, 0)
	read(2*block+5, 10, 1)
	read(3*block-5, 10, 1) // the next one is not there yet
	read(3*block-5, 10, 2)
	read(int64(len(data))-100, 50, 0)
	cache := objstore.NewCache(1<<20, 0)
	last, err := objstore.Open(t.Context(), g, "k", objstore.OpenOptions{Head: 1, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := last.ReadAt(make([]byte, 10), int64(len(data))-100); err != nil || cache.Size() != int64(len(data))%block {
		t.Errorf("%d bytes are kept, %v", cache.Size(), err)
	}
	g.on.Store(true)
	g.pass <- objstore.ErrDenied // to the read, or to what is read ahead of it
	g.pass <- objstore.ErrDenied
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // ends what is read ahead of the large read
	if _, err := obj.WithContext(ctx).ReadAt(make([]byte, 700_000), 200_000); !errors.Is(err, objstore.ErrDenied) {
		t.Errorf("a large read: %v", err)
	}
}
