package objstoretest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
)

func matches(err, target error) bool { return errors.Is(err, target) }

func writeObjects(t *testing.T, b objstore.Bucket, f Features) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, objstore.Bucket)
	}{
		{"Commit", commit},
		{"Abort", abort},
		{"CancelledWrite", cancelledWrite},
		{"Replace", replace},
		{"IfAbsent", ifAbsent},
		{"PutIfMatch", putIfMatch},
		{"OneWins", oneWins},
		{"Patch", patch},
		{"Rehead", rehead},
		{"ReheadCancelled", reheadCancelled},
		{"Splice", splices},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b) })
	}
	if f.Meta {
		t.Run("Meta", func(t *testing.T) { meta(t, b) })
	}
	if f.MaxHeap > 0 {
		t.Run("BoundedMemory", func(t *testing.T) { boundedMemory(t, b, f.MaxHeap) })
	}
}

func create(t *testing.T, ctx context.Context, b objstore.Bucket, key string, o objstore.PutOptions) objstore.Writer {
	t.Helper()
	w, err := b.Create(ctx, key, o)
	if err != nil {
		t.Fatalf("create %q: %v", key, err)
	}
	t.Cleanup(w.Abort)
	return w
}

func write(t *testing.T, w objstore.Writer, p []byte) {
	t.Helper()
	if n, err := w.Write(p); err != nil || n != len(p) {
		t.Fatalf("write of %d bytes: %d, %v", len(p), n, err)
	}
}

// commit: before Commit nothing is visible, afterwards everything is, and the answer
// describes the object.
func commit(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{0, 10, 6 * mib} {
		key := fmt.Sprintf("commit/%d", size)
		data := noise(11, size)
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		mine := bytes.Clone(data)
		write(t, w, mine)
		for i := range mine {
			mine[i] = 0 // a writer must not keep the caller's buffer
		}
		wantAbsent(t, b, key)
		info, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := wantObject(t, b, key, data)
		if got.ETag != info.ETag || got.VersionID != info.VersionID || info.Size != int64(size) || info.Key != key {
			t.Errorf("commit says %+v, get %+v", info, got)
		}
		w.Abort() // safe after Commit
		if _, err := w.Commit(t.Context()); err == nil {
			t.Error("a second commit succeeds")
		}
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("a write after commit succeeds")
		}
		wantObject(t, b, key, data)
	}
}

func abort(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{0, 10, 13 * mib} {
		key := fmt.Sprintf("abort/%d", size)
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		write(t, w, noise(12, size))
		w.Abort()
		w.Abort()
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("a write after abort succeeds")
		}
		if _, err := w.Commit(t.Context()); err == nil {
			t.Error("a commit after abort succeeds")
		}
		wantAbsent(t, b, key)
	}
}

func cancelledWrite(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{0, 10, 13 * mib} {
		key := fmt.Sprintf("cancelled/%d", size)
		ctx, cancel := context.WithCancel(t.Context())
		w := create(t, ctx, b, key, objstore.PutOptions{})
		write(t, w, noise(13, size))
		cancel()
		_, err := w.Commit(t.Context())
		wantCanceled(t, "commit of a cancelled write", err)
		wantAbsent(t, b, key)
		_, err = b.Create(ctx, key, objstore.PutOptions{})
		if err != nil { // a driver may notice later
			wantCanceled(t, "create under an ended context", err)
		}

		w = create(t, t.Context(), b, key, objstore.PutOptions{})
		write(t, w, noise(13, size))
		_, err = w.Commit(ctx)
		wantCanceled(t, "commit under an ended context", err)
		w.Abort()
		wantAbsent(t, b, key)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := create(t, ctx, b, "cancelled/late", objstore.PutOptions{})
	cancel()
	var err error
	for p, n := make([]byte, mib), 0; err == nil && n < 64; n++ { // a driver may buffer some, but not for ever
		_, err = w.Write(p)
	}
	wantCanceled(t, "write after the context had ended", err)
}

func replace(t *testing.T, b objstore.Bucket) {
	first := put(t, b, "replace/k", noise(14, 1000), objstore.PutOptions{})
	second := put(t, b, "replace/k", noise(15, 2000), objstore.PutOptions{})
	if first.ETag == second.ETag {
		t.Errorf("other bytes, but the same ETag %s", first.ETag)
	}
	wantObject(t, b, "replace/k", noise(15, 2000))
	_, _, err := tryGet(t.Context(), b, "replace/k", objstore.GetOptions{Range: objstore.Range{Len: 10}, IfMatch: first.ETag})
	wantError(t, "the ETag of before", err, objstore.ErrChanged)
}

func ifAbsent(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{5, 13 * mib} {
		key := fmt.Sprintf("absent/%d", size)
		put(t, b, key, noise(16, size), objstore.PutOptions{IfAbsent: true})
		_, err := tryPut(t.Context(), b, key, noise(17, size), objstore.PutOptions{IfAbsent: true})
		wantError(t, "a taken key", err, objstore.ErrExists)
		wantObject(t, b, key, noise(16, size))
	}
	// The key is taken between Create and Commit.
	w := create(t, t.Context(), b, "absent/late", objstore.PutOptions{IfAbsent: true})
	write(t, w, []byte("late"))
	put(t, b, "absent/late", []byte("first"), objstore.PutOptions{})
	_, err := w.Commit(t.Context())
	wantError(t, "a key taken meanwhile", err, objstore.ErrExists)
	wantObject(t, b, "absent/late", []byte("first"))
	if err := b.Delete(t.Context(), "absent/late"); err != nil {
		t.Fatal(err)
	}
	put(t, b, "absent/late", []byte("again"), objstore.PutOptions{IfAbsent: true})
}

func putIfMatch(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{5, 13 * mib} {
		key := fmt.Sprintf("match/%d", size)
		first := put(t, b, key, noise(18, size), objstore.PutOptions{})
		second := put(t, b, key, noise(19, size), objstore.PutOptions{IfMatch: first.ETag})
		_, err := tryPut(t.Context(), b, key, noise(20, size), objstore.PutOptions{IfMatch: first.ETag})
		wantError(t, "an object that moved on", err, objstore.ErrChanged)
		if got := wantObject(t, b, key, noise(19, size)); got.ETag != second.ETag {
			t.Errorf("ETag %s, want %s", got.ETag, second.ETag)
		}
	}
	_, err := tryPut(t.Context(), b, "match/absent", []byte("x"), objstore.PutOptions{IfMatch: `"some"`})
	wantError(t, "an absent object", err, objstore.ErrChanged, objstore.ErrNotFound)
	wantAbsent(t, b, "match/absent")
}

// oneWins: if several conditional writes run at once, exactly one is published.
func oneWins(t *testing.T, b objstore.Bucket) {
	const writers = 8
	seed := uint64(1000) // other bytes in each race: equal ones would keep an ETag made of them
	race := func(key string, o objstore.PutOptions, lost ...error) {
		seed += writers
		ready := make([]objstore.Writer, writers)
		for i := range ready {
			ready[i] = create(t, t.Context(), b, key, o)
			write(t, ready[i], noise(seed+uint64(i), 1000))
		}
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i, w := range ready {
			wg.Go(func() { _, errs[i] = w.Commit(t.Context()) })
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err != nil:
				wantError(t, "a write that lost", err, lost...)
			case won >= 0:
				t.Errorf("%s: writers %d and %d both won", key, won, i)
			default:
				won = i
			}
		}
		if won < 0 {
			t.Fatalf("%s: nobody won: %v", key, errs)
		}
		wantObject(t, b, key, noise(seed+uint64(won), 1000))
	}
	for i := range 5 {
		key := fmt.Sprintf("race/%d", i)
		// S3 answers 409 if another conditional write is under way.
		race(key, objstore.PutOptions{IfAbsent: true}, objstore.ErrExists, objstore.ErrChanged)
		info, err := b.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		race(key, objstore.PutOptions{IfMatch: info.ETag}, objstore.ErrChanged)
	}
}

func patch(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{100, objstore.HeadSize, 13 * mib} {
		key := fmt.Sprintf("patch/%d", size)
		want := noise(21, size)
		head := min(size, objstore.HeadSize)
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		write(t, w, want[:60])
		apply := func(off int, p string) {
			t.Helper()
			if err := w.Patch(int64(off), []byte(p)); err != nil {
				t.Fatalf("patch [%d, +%d): %v", off, len(p), err)
			}
			copy(want[off:], p)
		}
		apply(0, "head")
		apply(58, "++") // up to what was written so far
		wantError(t, "a patch of bytes not yet written", w.Patch(59, []byte("xx")), objstore.ErrInvalid)
		write(t, w, want[60:])
		apply(2, "totals")
		apply(head-3, "end")
		apply(head, "")
		for _, off := range []int{-1, head - 2, head, head + 1, size + 5} {
			wantError(t, fmt.Sprintf("a patch at %d", off), w.Patch(int64(off), []byte("bad")), objstore.ErrInvalid)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantObject(t, b, key, want)
		if err := w.Patch(0, []byte("x")); err == nil {
			t.Error("a patch after commit succeeds")
		}
	}
}

// rehead: the beginning may become longer, before and after other writes.
func rehead(t *testing.T, b objstore.Bucket) {
	for _, c := range []struct{ before, taken, lead, after int }{
		{0, 0, 10, 0},
		{0, 0, 0, 100},
		{100, 32, 32, 0},
		{100, 32, 40, 7},
		{100, 100, 6 * mib, 0},
		{32, 32, mib, 13 * mib},
		{objstore.HeadSize, objstore.HeadSize, objstore.HeadSize, 9 * mib},
		{14 * mib, 32, 6*mib + 5, 0},
		{14 * mib, objstore.HeadSize, objstore.HeadSize + 1, 9 * mib},
		{objstore.HeadSize - 1, 1, 3, 14 * mib},
	} {
		key := fmt.Sprintf("rehead/%d-%d-%d-%d", c.before, c.taken, c.lead, c.after)
		body, lead := noise(24, c.before+c.after), noise(25, c.lead)
		want := append(bytes.Clone(lead), body[c.taken:]...)
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		write(t, w, body[:c.before])
		reheadBad(t, w, min(c.before, objstore.HeadSize))
		if err := w.Rehead(int64(c.taken), lead); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		wantError(t, "a second call", w.Rehead(0, []byte("again")), objstore.ErrInvalid)
		write(t, w, body[c.before:])
		head := min(c.before+c.after, objstore.HeadSize) + c.lead - c.taken
		for _, off := range []int{0, max(c.lead-2, 0), c.lead, head - 3} {
			if off < 0 || off > head-3 {
				continue
			}
			if err := w.Patch(int64(off), []byte("new")); err != nil {
				t.Fatalf("%s: a patch at %d: %v", key, off, err)
			}
			copy(want[off:], "new")
		}
		wantError(t, key+": a patch behind the head", w.Patch(int64(head), []byte("x")), objstore.ErrInvalid)
		wantAbsent(t, b, key)
		info, err := w.Commit(t.Context())
		if err != nil || info.Size != int64(len(want)) {
			t.Fatalf("%s: %+v, %v", key, info, err)
		}
		if got := wantObject(t, b, key, want); got.ETag != info.ETag {
			t.Errorf("%s: ETag %s, and at commit %s", key, got.ETag, info.ETag)
		}
		if err := w.Rehead(0, []byte("x")); err == nil {
			t.Error("a rehead after commit succeeds")
		}
	}
	for _, size := range []int{40, 13 * mib} {
		key := fmt.Sprintf("rehead/aborted-%d", size)
		w := create(t, t.Context(), b, key, objstore.PutOptions{})
		write(t, w, noise(26, size))
		if err := w.Rehead(32, noise(27, 100)); err != nil {
			t.Fatal(err)
		}
		w.Abort()
		if err := w.Rehead(0, []byte("x")); err == nil {
			t.Error("a rehead after abort succeeds")
		}
		wantAbsent(t, b, key)
	}
}

// reheadCancelled: Rehead ends with its context.
func reheadCancelled(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{40, 13 * mib} {
		key := fmt.Sprintf("rehead/cancelled-%d", size)
		ctx, cancel := context.WithCancel(t.Context())
		w := create(t, ctx, b, key, objstore.PutOptions{})
		write(t, w, noise(28, size))
		cancel()
		wantCanceled(t, "a rehead of a cancelled write", w.Rehead(32, noise(29, 100)))
		_, err := w.Commit(t.Context())
		wantCanceled(t, "commit of a cancelled write", err)
		wantAbsent(t, b, key)
	}
}

// reheadBad: a refused Rehead changes nothing.
func reheadBad(t *testing.T, w objstore.Writer, head int) {
	t.Helper()
	for _, c := range []struct{ n, p int }{{-1, 0}, {-1, 5}, {head + 1, head + 1}, {head, head - 1}} {
		if c.p < 0 {
			continue
		}
		wantError(t, fmt.Sprintf("%d bytes for %d", c.p, c.n), w.Rehead(int64(c.n), make([]byte, c.p)), objstore.ErrInvalid)
	}
}

func meta(t *testing.T, b objstore.Bucket) {
	for _, size := range []int{3, 6 * mib} {
		key := fmt.Sprintf("meta/%d", size)
		want := map[string]string{"label": "a cat", "farread-source-etag": `"abc"`, "n": "1"}
		o := objstore.PutOptions{ContentType: "application/x-gulp", Meta: maps.Clone(want)}
		put(t, b, key, noise(22, size), o)
		_, got := get(t, b, key, objstore.GetOptions{Range: objstore.Range{Len: 1}})
		head, err := b.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for call, info := range map[string]objstore.Info{"get": got, "head": head} {
			if !maps.Equal(info.Meta, want) || info.ContentType != o.ContentType {
				t.Errorf("%s of %s: %q %v, want %q %v", call, key, info.ContentType, info.Meta, o.ContentType, want)
			}
		}
	}
}

// boundedMemory: a writer holds a few parts, never the whole object.
func boundedMemory(t *testing.T, b objstore.Bucket, most uint64) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	w := create(t, t.Context(), b, "bounded/k", objstore.PutOptions{})
	p := noise(23, 64<<10)
	for i := range 96 * 16 {
		write(t, w, p)
		if i%64 == 0 {
			if now := heap(); now > before && now-before > most {
				t.Fatalf("%d MiB more on the heap after %d MiB were written", (now-before)/mib, i/16)
			}
		}
	}
	info, err := w.Commit(t.Context())
	if err != nil || info.Size != 96*mib {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := b.Delete(t.Context(), "bounded/k"); err != nil {
		t.Error(err)
	}
}
