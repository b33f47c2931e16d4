package objstoretest

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
)

const mib = 1 << 20

// readSet are the objects of the reading tests. Their sizes lie around the least part
// of a multipart upload and above two parts; some keys need escaping.
func readSet() map[string][]byte {
	set := map[string][]byte{
		"read/0":     {},
		"read/1":     noise(1, 1),
		"read/100":   noise(2, 100),
		"read/70001": noise(3, 70_001),
		"read/5M-1":  noise(4, 5*mib-1),
		"read/5M":    noise(5, 5*mib),
		"read/5M+1":  noise(6, 5*mib+1),
		"read/13M":   noise(7, 13*mib),
	}
	for i, key := range []string{
		"a b", "a+b", "a%20b", "100%", "é/ü.jpg", "日本/語", "a&b=c;d", "~tilde'(x)", "x#y", "q?z=1", "tab\tin", "a:b@c", "d/e/f/g.h", "..x/y..z", "e\u0301",
	} {
		set["read/keys/"+key] = noise(100+uint64(i), 300+i)
	}
	return set
}

func readObjects(t *testing.T, b objstore.Bucket, f Features, fill func(*testing.T, map[string][]byte)) {
	t.Helper()
	objects := readSet()
	fill(t, objects)
	if t.Failed() {
		return
	}
	t.Run("Whole", func(t *testing.T) {
		for key, data := range objects {
			wantObject(t, b, key, data)
		}
	})
	t.Run("Ranges", func(t *testing.T) {
		for _, key := range []string{"read/1", "read/100", "read/70001", "read/13M"} {
			ranges(t, b, key, objects[key], f)
		}
	})
	t.Run("Empty", func(t *testing.T) { empty(t, b) })
	t.Run("Head", func(t *testing.T) { heads(t, b, objects, f) })
	t.Run("Absent", func(t *testing.T) {
		_, err := b.Head(t.Context(), "read/absent")
		wantError(t, "head", err, objstore.ErrNotFound)
		for _, r := range []objstore.Range{{}, {Off: 0, Len: 10}, {Off: -10}, {Off: 5}} {
			_, _, err := tryGet(t.Context(), b, "read/absent", objstore.GetOptions{Range: r})
			wantError(t, "get "+r.String(), err, objstore.ErrNotFound)
		}
	})
	if !f.NoETag {
		t.Run("IfMatch", func(t *testing.T) { ifMatch(t, b, objects) })
	}
	t.Run("Cancelled", func(t *testing.T) { cancelledRead(t, b) })
	t.Run("Close", func(t *testing.T) { closing(t, b) })
	t.Run("Concurrent", func(t *testing.T) { concurrent(t, b, objects["read/70001"]) })
}

func ranges(t *testing.T, b objstore.Bucket, key string, data []byte, f Features) {
	t.Helper()
	size := int64(len(data))
	etag := ""
	for _, r := range []objstore.Range{
		{}, {Off: 0, Len: 1}, {Off: 0, Len: size}, {Off: 0, Len: size + 100}, {Off: 0, Len: math.MaxInt64},
		{Off: size / 2}, {Off: size / 2, Len: 1}, {Off: size / 3, Len: size/3 + 1}, {Off: size - 1}, {Off: size - 1, Len: 1},
		{Off: size - 1, Len: 1000}, {Off: size - 1, Len: math.MaxInt64},
		{Off: -1}, {Off: -size}, {Off: -size/2 - 1}, {Off: -size - 1}, {Off: -size - 1_000_000},
	} {
		p, info, err := tryGet(t.Context(), b, key, objstore.GetOptions{Range: r})
		if err != nil {
			t.Errorf("%s [%s]: %v", key, r, err)
			continue
		}
		from, to := r.Resolve(size)
		wantBytes(t, fmt.Sprintf("%s [%s]", key, r), p, data[from:to])
		if info.Key != key || info.Size != size {
			t.Errorf("%s [%s] is described as %+v", key, r, info)
		}
		if etag == "" {
			etag = info.ETag
		}
		if info.ETag != etag || info.ETag == "" != f.NoETag {
			t.Errorf("%s [%s]: ETag %q, before %q", key, r, info.ETag, etag)
		}
	}
	for _, r := range []objstore.Range{{Off: size}, {Off: size, Len: 1}, {Off: size + 1}, {Off: size + 1_000_000, Len: 5}, {Off: math.MaxInt64, Len: 1}} {
		_, _, err := tryGet(t.Context(), b, key, objstore.GetOptions{Range: r})
		wantError(t, fmt.Sprintf("%s [%s]", key, r), err, objstore.ErrBadRange)
	}
	_, _, err := tryGet(t.Context(), b, key, objstore.GetOptions{Range: objstore.Range{Off: 0, Len: -1}})
	wantError(t, "a negative length", err, objstore.ErrInvalid)
}

func empty(t *testing.T, b objstore.Bucket) {
	for _, r := range []objstore.Range{{}, {Len: 1}, {Len: 65536}, {Off: -1}, {Off: -65536}} {
		p, info, err := tryGet(t.Context(), b, "read/0", objstore.GetOptions{Range: r})
		if err != nil || len(p) > 0 || info.Size != 0 || info.Key != "read/0" {
			t.Errorf("[%s] of an empty object: %d bytes, %+v, %v", r, len(p), info, err)
		}
	}
	for _, r := range []objstore.Range{{Off: 1}, {Off: 1, Len: 1}} {
		_, _, err := tryGet(t.Context(), b, "read/0", objstore.GetOptions{Range: r})
		wantError(t, "a range behind an empty object", err, objstore.ErrBadRange)
	}
}

func heads(t *testing.T, b objstore.Bucket, objects map[string][]byte, f Features) {
	for key, data := range objects {
		h, err := b.Head(t.Context(), key)
		if err != nil {
			t.Errorf("head %q: %v", key, err)
			continue
		}
		if h.Key != key || h.Size != int64(len(data)) || h.ETag == "" != f.NoETag || h.ModTime.IsZero() {
			t.Errorf("head %q of %d bytes: %+v", key, len(data), h)
		}
		_, g := get(t, b, key, objstore.GetOptions{Range: objstore.Range{Len: 1}})
		if g.ETag != h.ETag || g.VersionID != h.VersionID || g.ContentType != h.ContentType || !g.ModTime.Equal(h.ModTime) {
			t.Errorf("%q: get says %+v, head %+v", key, g, h)
		}
	}
}

func ifMatch(t *testing.T, b objstore.Bucket, objects map[string][]byte) {
	for _, key := range []string{"read/0", "read/100", "read/13M"} {
		_, info := get(t, b, key, objstore.GetOptions{Range: objstore.Range{Len: 1}})
		for _, r := range []objstore.Range{{}, {Len: 10}, {Off: -10}} {
			p, _ := get(t, b, key, objstore.GetOptions{Range: r, IfMatch: info.ETag})
			from, to := r.Resolve(int64(len(objects[key])))
			wantBytes(t, key+" pinned", p, objects[key][from:to])
			_, _, err := tryGet(t.Context(), b, key, objstore.GetOptions{Range: r, IfMatch: `"another"`})
			wantError(t, fmt.Sprintf("%s [%s] with another ETag", key, r), err, objstore.ErrChanged)
		}
	}
}

func cancelledRead(t *testing.T, b objstore.Bucket) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := b.Get(ctx, "read/13M", objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = io.Copy(io.Discard, r)
	wantCanceled(t, "read after the context had ended", err)
	if err := r.Close(); err != nil {
		t.Errorf("close after the context had ended: %v", err)
	}
	_, _, err = tryGet(ctx, b, "read/100", objstore.GetOptions{})
	wantCanceled(t, "get under an ended context", err)
	_, err = b.Head(ctx, "read/100")
	wantCanceled(t, "head under an ended context", err)
	if p, _ := get(t, b, "read/100", objstore.GetOptions{}); len(p) != 100 {
		t.Errorf("the next get has %d bytes", len(p))
	}
}

// wantCanceled does not check what wantError checks in errors of bodies, since a reader
// wraps those itself.
func wantCanceled(t *testing.T, what string, err error) {
	t.Helper()
	var also []error
	for _, s := range sentinels() {
		if s != context.Canceled && matches(err, s) {
			also = append(also, s)
		}
	}
	if !matches(err, context.Canceled) || len(also) > 0 {
		t.Errorf("%s: want context.Canceled alone, got: %v", what, err)
	}
}

func closing(t *testing.T, b objstore.Bucket) {
	r, _, err := b.Get(t.Context(), "read/13M", objstore.GetOptions{Range: objstore.Range{Off: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("a read into nothing: %d, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("close with the body unread: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("read after close: %d bytes, %v", n, err)
	}
}

func concurrent(t *testing.T, b objstore.Bucket, data []byte) {
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 8 {
				r := objstore.Range{Off: int64(g*4000 + i), Len: 5000}
				p, _, err := tryGet(t.Context(), b, "read/70001", objstore.GetOptions{Range: r})
				from, to := r.Resolve(int64(len(data)))
				if err != nil || !slices.Equal(p, data[from:to]) {
					t.Errorf("[%s]: %d bytes, %v", r, len(p), err)
				}
			}
		})
	}
	wg.Wait()
}
