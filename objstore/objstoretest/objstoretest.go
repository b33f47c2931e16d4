// Package objstoretest is the conformance suite for buckets, drivers and
// middlewares alike: it tests the contract of objstore.Bucket and objstore.Writer.
// memstore is the reference.
package objstoretest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/objstore"
)

// Features says what a bucket has beyond the contract, or lacks of it. The zero
// value is a plain unversioned bucket.
type Features struct {
	Meta     bool     // keeps content type and user metadata
	Versions bool     // keeps versions
	NoAfter  bool     // objstore.ListAfter begins at a wrong key: a fault of some servers
	ManyKeys int      // objects to write for the paging test, above 1000; 0: leave it out
	BadKeys  []string // refused with ErrInvalid, besides the empty key
	NoETag   bool     // of RunRead: the server sends no ETag
	NoList   bool     // of RunRead: cannot list
	// MaxHeap is how much the heap may grow while 96 MiB are written in small
	// pieces; 0: leave it out. No other test may run beside it.
	MaxHeap uint64
}

// Run holds the bucket that open returns against the whole contract. open is
// called once; the tests write below prefixes of their own and leave objects
// behind.
func Run(t *testing.T, open func(t *testing.T) objstore.Bucket, f Features) {
	t.Helper()
	b := open(t)
	readObjects(t, b, f, func(t *testing.T, objects map[string][]byte) {
		t.Helper()
		for key, data := range objects {
			put(t, b, key, data, objstore.PutOptions{})
		}
	})
	writeObjects(t, b, f)
	t.Run("List", func(t *testing.T) { list(t, b, f) })
	t.Run("Delete", func(t *testing.T) { deletes(t, b) })
	t.Run("BadKeys", func(t *testing.T) { badKeys(t, b, f, false) })
	if f.Versions {
		t.Run("Versions", func(t *testing.T) { versions(t, b) })
	}
}

// RunRead holds a bucket that can only be read against the reading half of the
// contract. open serves the given objects, and must not change them; it is called
// once.
func RunRead(t *testing.T, open func(t *testing.T, objects map[string][]byte) objstore.Bucket, f Features) {
	t.Helper()
	objects := readSet()
	b := open(t, objects)
	readObjects(t, b, f, func(*testing.T, map[string][]byte) {})
	if !f.NoList {
		t.Run("ListAll", func(t *testing.T) { listAll(t, b, objects) })
	}
	t.Run("BadKeys", func(t *testing.T) { badKeys(t, b, f, true) })
}

// sentinels: each error must match exactly one of them.
func sentinels() []error {
	return []error{
		objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrCorrupt, objstore.ErrInvalid, context.Canceled, context.DeadlineExceeded,
	}
}

// wantError checks that err matches one of want and no other sentinel.
func wantError(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	found := false
	for _, w := range want {
		found = found || errors.Is(err, w)
	}
	if !found {
		t.Errorf("%s: want an error that is %v, got: %v", what, want, err)
		return
	}
	var matched []error
	for _, s := range sentinels() {
		if errors.Is(err, s) {
			matched = append(matched, s)
		}
	}
	if len(matched) != 1 {
		t.Errorf("%s: the error is %v at once: %v", what, matched, err)
	}
	var e *objstore.Error
	if !errors.As(err, &e) || e.Op == "" || e.Bucket == "" {
		t.Errorf("%s: want an objstore.Error with operation and bucket, got %#v", what, err)
	}
}

// noisePeriod is a prime, so that no parts of what repeats after it are equal.
const noisePeriod = 1_000_003

// noise is n bytes that depend on seed.
func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	_, _ = rand.NewChaCha8(key).Read(p[:min(n, noisePeriod)]) // never fails
	for at := noisePeriod; at < n; at += noisePeriod {
		copy(p[at:], p[:noisePeriod])
	}
	return p
}

// put writes data in pieces of uneven length.
func put(t *testing.T, b objstore.Bucket, key string, data []byte, o objstore.PutOptions) objstore.Info {
	t.Helper()
	info, err := tryPut(t.Context(), b, key, data, o)
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	if info.Key != key || info.Size != int64(len(data)) || info.ETag == "" {
		t.Errorf("put %q of %d bytes: the answer is %+v", key, len(data), info)
	}
	return info
}

func tryPut(ctx context.Context, b objstore.Bucket, key string, data []byte, o objstore.PutOptions) (objstore.Info, error) {
	w, err := b.Create(ctx, key, o)
	if err != nil {
		return objstore.Info{}, err
	}
	defer w.Abort()
	for n := 1; len(data) > 0; n = n*3 + 7 {
		k := min(n%(3<<20)+1, len(data))
		if m, err := w.Write(data[:k]); err != nil || m != k {
			return objstore.Info{}, errors.Join(err, io.ErrShortWrite)
		}
		data = data[k:]
	}
	return w.Commit(ctx)
}

// get reads a range to its end.
func get(t *testing.T, b objstore.Bucket, key string, o objstore.GetOptions) ([]byte, objstore.Info) {
	t.Helper()
	p, info, err := tryGet(t.Context(), b, key, o)
	if err != nil {
		t.Fatalf("get %q [%s]: %v", key, o.Range, err)
	}
	return p, info
}

func tryGet(ctx context.Context, b objstore.Bucket, key string, o objstore.GetOptions) ([]byte, objstore.Info, error) {
	r, info, err := b.Get(ctx, key, o)
	if err != nil {
		return nil, objstore.Info{}, err
	}
	from, to := o.Range.Resolve(max(info.Size, 0))
	room := min(to-from, 16<<20) + bytes.MinRead // what ReadFrom wants to see the end; not more for a size that is wrong
	buf := bytes.NewBuffer(make([]byte, 0, room))
	_, err = buf.ReadFrom(r)
	return buf.Bytes(), info, cmp.Or(err, r.Close())
}

// wantObject checks that key holds data.
func wantObject(t *testing.T, b objstore.Bucket, key string, data []byte) objstore.Info {
	t.Helper()
	p, info := get(t, b, key, objstore.GetOptions{})
	wantBytes(t, key, p, data)
	if info.Size != int64(len(data)) || info.Key != key {
		t.Errorf("%q of %d bytes is described as %+v", key, len(data), info)
	}
	return info
}

func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes that differ from the %d wanted", what, len(got), len(want))
	}
}

// wantAbsent checks that nothing is visible under key, by read and by list.
func wantAbsent(t *testing.T, b objstore.Bucket, key string) {
	t.Helper()
	_, err := b.Head(t.Context(), key)
	wantError(t, "head of an absent "+key, err, objstore.ErrNotFound)
	_, _, err = tryGet(t.Context(), b, key, objstore.GetOptions{})
	wantError(t, "get of an absent "+key, err, objstore.ErrNotFound)
	for info, err := range b.List(t.Context(), key) {
		if err != nil {
			t.Errorf("list %q: %v", key, err)
		} else {
			t.Errorf("list %q shows %+v", key, info)
		}
	}
}
