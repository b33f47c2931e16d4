package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
)

func keysOf(t *testing.T, b objstore.Bucket, prefix string) []string {
	t.Helper()
	var keys []string
	for info, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func list(t *testing.T, b objstore.Bucket, f Features) {
	// Orders by folders would place these names differently: '-' and '.' sort before
	// '/', '0' behind it. No key is the folder of another one, since a file system
	// cannot have both.
	keys := []string{"a-b/c", "a.b", "a/b", "a/b.c", "a/b-c/d", "a0", "aa/b", "ab", "B", "é", "z z", "日"}
	slices.Sort(keys)
	for i, k := range keys {
		put(t, b, "list/"+k, noise(40, i), objstore.PutOptions{})
	}
	for _, prefix := range []string{"list/", "list/a", "list/a/", "list/a/b", "list/a-", "list/a.b", "list/z", "list/é", "list/\u65e5", "list/none", "list/a/b/none", "lis"} {
		var want []string
		for _, k := range keys {
			if k = "list/" + k; strings.HasPrefix(k, prefix) {
				want = append(want, k)
			}
		}
		if got := keysOf(t, b, prefix); !slices.Equal(got, want) {
			t.Errorf("list %q: %q, want %q", prefix, got, want)
		}
	}
	for info, err := range b.List(t.Context(), "list/") {
		if err != nil {
			t.Fatal(err)
		}
		h, err := b.Head(t.Context(), info.Key)
		if err != nil || info.ETag != h.ETag || info.Size != h.Size || info.ModTime.IsZero() {
			t.Errorf("list shows %+v, head %+v, %v", info, h, err)
		}
	}
	n := 0
	for _, err := range b.List(t.Context(), "list/") {
		if n++; n == 2 || err != nil {
			break
		}
	}
	if n != 2 {
		t.Errorf("list broken off after 2 gave %d", n)
	}
	seq := b.List(t.Context(), "list/")
	for range 2 { // the sequence can be used again
		n = 0
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != len(keys) {
			t.Errorf("list gave %d of %d", n, len(keys))
		}
	}
	if !f.NoAfter {
		listAfter(t, b, keys)
	}
	listFolder(t, b, keys, f.NoAfter)
	cancelledList(t, b)
	if f.ManyKeys > 0 {
		t.Run("ManyKeys", func(t *testing.T) { manyKeys(t, b, f.ManyKeys) })
	}
}

// listAll checks a bucket that was filled from outside.
func listAll(t *testing.T, b objstore.Bucket, objects map[string][]byte) {
	want := slices.Sorted(maps.Keys(objects))
	if got := keysOf(t, b, ""); !slices.Equal(got, want) {
		t.Errorf("list: %q, want %q", got, want)
	}
	cancelledList(t, b)
}

// listAfter lists from behind each key, and from behind names that are not keys.
func listAfter(t *testing.T, b objstore.Bucket, keys []string) {
	t.Helper()
	for _, after := range append([]string{"", "!", "a", "a/b.", "zzzz", "日本"}, keys...) {
		var want, got []string
		for _, k := range keys {
			if k > after {
				want = append(want, "list/"+k)
			}
		}
		for info, err := range objstore.ListAfter(t.Context(), b, "list/", "list/"+after) {
			if err != nil {
				t.Fatalf("list after %q: %v", after, err)
			}
			got = append(got, info.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("list after %q: %q, want %q", after, got, want)
		}
	}
}

// listFolder lists folders from each entry on. It does the same with a bucket that
// hides its own ways to list. If noAfter says that the store cannot begin at a key, it
// lists from the first entry only.
func listFolder(t *testing.T, b objstore.Bucket, keys []string, noAfter bool) {
	t.Helper()
	for _, prefix := range []string{"list/", "list/a/", "list/a/b-c/", "list/none/"} {
		var want []string
		for _, k := range keys {
			if rest, ok := strings.CutPrefix("list/"+k, prefix); ok {
				if i := strings.IndexByte(rest, '/'); i >= 0 {
					rest = rest[:i+1]
				}
				want = append(want, prefix+rest)
			}
		}
		slices.Sort(want)
		want = slices.Compact(want)
		for name, b := range map[string]objstore.Bucket{"own": b, "folded": struct{ objstore.Bucket }{b}} {
			for i, after := range append([]string{""}, want...) {
				if noAfter && after != "" && name == "own" {
					break
				}
				var got []string
				for e, err := range objstore.ListFolder(t.Context(), b, prefix, after) {
					if err != nil {
						t.Fatalf("%s: folder %q after %q: %v", name, prefix, after, err)
					}
					if e.Folder != strings.HasSuffix(e.Key, "/") || e.Folder == (e.ETag != "") {
						t.Errorf("%s: folder %q: %+v", name, prefix, e)
					}
					got = append(got, e.Key)
				}
				if !slices.Equal(got, want[i:]) {
					t.Errorf("%s: folder %q after %q: %q, want %q", name, prefix, after, got, want[i:])
				}
			}
		}
	}
	for _, err := range objstore.ListFolder(t.Context(), b, "list/", "") {
		if err != nil {
			t.Error(err)
		}
		break // a caller may stop
	}
}

func cancelledList(t *testing.T, b objstore.Bucket) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range b.List(ctx, "") {
		if last != nil {
			t.Error("list goes on after an error")
		}
		last = err
	}
	wantCanceled(t, "list under an ended context", last)
}

// manyKeys lists more keys than a page of S3 has.
func manyKeys(t *testing.T, b objstore.Bucket, n int) {
	want := make([]string, n)
	var wg sync.WaitGroup
	next := make(chan string)
	for range 8 {
		wg.Go(func() {
			for key := range next {
				if _, err := tryPut(t.Context(), b, key, []byte(key), objstore.PutOptions{}); err != nil {
					t.Errorf("put %q: %v", key, err)
				}
			}
		})
	}
	for i := range want {
		want[i] = fmt.Sprintf("many/%d/%05d", i%3, i)
		next <- want[i]
	}
	close(next)
	wg.Wait()
	slices.Sort(want)
	if got := keysOf(t, b, "many/"); !slices.Equal(got, want) {
		t.Errorf("list gave %d keys of %d, or in another order", len(got), n)
	}
	seen := 0
	for _, err := range b.List(t.Context(), "many/") {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 1 { // stop on the first page
			break
		}
	}
}

func deletes(t *testing.T, b objstore.Bucket) {
	for _, key := range []string{"delete/absent", "delete/no/such/folder"} {
		if err := b.Delete(t.Context(), key); err != nil {
			t.Errorf("delete of an absent key: %v", err)
		}
	}
	put(t, b, "delete/a/b", []byte("x"), objstore.PutOptions{})
	put(t, b, "delete/a/c", []byte("y"), objstore.PutOptions{})
	if err := b.Delete(t.Context(), "delete/a/b"); err != nil {
		t.Fatal(err)
	}
	wantAbsent(t, b, "delete/a/b")
	wantObject(t, b, "delete/a/c", []byte("y"))
	if err := b.Delete(t.Context(), "delete/a"); err != nil { // no object has this key
		t.Errorf("delete of a part of a key: %v", err)
	}
	wantObject(t, b, "delete/a/c", []byte("y"))
	deletesIf(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCanceled(t, "delete under an ended context", b.Delete(ctx, "delete/a/c"))
	wantObject(t, b, "delete/a/c", []byte("y"))
}

// deletesIf: a bucket that knows conditional deletes obeys the condition; another one
// says that it does not, and deletes nothing.
func deletesIf(t *testing.T, b objstore.Bucket) {
	first := put(t, b, "delete/if/a", []byte("first"), objstore.PutOptions{})
	second := put(t, b, "delete/if/a", []byte("second"), objstore.PutOptions{})
	err := objstore.DeleteIf(t.Context(), b, "delete/if/a", first.ETag)
	wantError(t, "delete of another object", err, objstore.ErrChanged, objstore.ErrInvalid)
	wantObject(t, b, "delete/if/a", []byte("second"))
	if errors.Is(err, objstore.ErrInvalid) {
		return
	}
	wantError(t, "delete without an ETag", objstore.DeleteIf(t.Context(), b, "delete/if/a", ""), objstore.ErrInvalid)
	for range 2 { // the second time it is absent
		if err := objstore.DeleteIf(t.Context(), b, "delete/if/a", second.ETag); err != nil {
			t.Errorf("delete of the very object: %v", err)
		}
	}
	wantAbsent(t, b, "delete/if/a")
}

func badKeys(t *testing.T, b objstore.Bucket, f Features, readOnly bool) {
	for _, key := range slices.Concat([]string{""}, f.BadKeys) {
		_, _, err := tryGet(t.Context(), b, key, objstore.GetOptions{})
		wantError(t, fmt.Sprintf("get %q", key), err, objstore.ErrInvalid)
		_, err = b.Head(t.Context(), key)
		wantError(t, fmt.Sprintf("head %q", key), err, objstore.ErrInvalid)
		if readOnly {
			continue
		}
		_, err = tryPut(t.Context(), b, key, []byte("x"), objstore.PutOptions{})
		wantError(t, fmt.Sprintf("put %q", key), err, objstore.ErrInvalid)
		wantError(t, fmt.Sprintf("delete %q", key), b.Delete(t.Context(), key), objstore.ErrInvalid)
	}
}

func versions(t *testing.T, b objstore.Bucket) {
	first := put(t, b, "versions/k", noise(50, 1000), objstore.PutOptions{})
	second := put(t, b, "versions/k", noise(51, 2000), objstore.PutOptions{})
	if first.VersionID == "" || first.VersionID == second.VersionID {
		t.Fatalf("versions %q and %q", first.VersionID, second.VersionID)
	}
	pinned := func(when string) {
		t.Helper()
		for i, info := range []objstore.Info{first, second} {
			o := objstore.GetOptions{VersionID: info.VersionID, IfMatch: info.ETag, Range: objstore.Range{Off: 10, Len: 900}}
			p, got := get(t, b, "versions/k", o)
			wantBytes(t, when+": version "+info.VersionID, p, noise(uint64(50+i), 1000*(i+1))[10:910])
			if got.VersionID != info.VersionID || got.ETag != info.ETag || got.Size != info.Size {
				t.Errorf("%s: version %q: %+v, want %+v", when, info.VersionID, got, info)
			}
		}
	}
	pinned("both there")
	if _, got := get(t, b, "versions/k", objstore.GetOptions{}); got.VersionID != second.VersionID {
		t.Errorf("the newest is %q, want %q", got.VersionID, second.VersionID)
	}
	if err := b.Delete(t.Context(), "versions/k"); err != nil {
		t.Fatal(err)
	}
	wantAbsent(t, b, "versions/k")
	pinned("after delete")
	put(t, b, "versions/k", []byte("third"), objstore.PutOptions{IfAbsent: true})
	_, _, err := tryGet(t.Context(), b, "versions/k", objstore.GetOptions{VersionID: "00000000-no-such-version"})
	wantError(t, "an unknown version", err, objstore.ErrNotFound, objstore.ErrInvalid)
}
