package functions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sort"
	"sync"
	"time"

	"github.com/farread/farread/objstore"
)

const (
	// meterGrace is how long a store may take for an answer before the time counts as
	// waiting: S3 needs 20 to 200 ms for a first byte, and a small function as long
	// again to be given the processor.
	meterGrace = 250 * time.Millisecond
	// meterFloor is the rate of one body or one write below which the store, and not
	// the upload, is slow: a tenth of the rate by which jobs are estimated.
	meterFloor = 2 << 20
)

// A meter tells how much of a job's time was spent waiting for the stores, and how
// much of the upload was read in the rest. Only these two tell whether a job that did
// not end in time ever can.
type meter struct {
	begun time.Time
	key   string // key of the upload

	mu    sync.Mutex
	size  int64  // size of the upload; -1: unknown
	read  int64  // bytes read of all objects of the uploads' bucket
	waits []span // when calls waited beyond the usual time; spans may overlap
}

// span is a stretch of time.
type span struct{ from, to time.Time }

func newMeter(u Upload) *meter {
	m := &meter{begun: time.Now(), key: u.Key, size: -1}
	if u.Size > 0 {
		m.size = u.Size
	}
	return m
}

// waited counts a call that has just ended. It waited for the store during blocked,
// for n bytes. The least time that such a call takes is not waiting, unless the call
// failed.
func (m *meter) waited(blocked time.Duration, n int64, err error) {
	if !outage(err) {
		blocked -= meterGrace + time.Duration(float64(n)/meterFloor*float64(time.Second))
	}
	if blocked > 0 {
		now := time.Now()
		m.wait(span{now.Add(-blocked), now})
	}
}

func (m *meter) wait(s span) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = append(m.waits, s)
	if len(m.waits)%1024 == 0 {
		m.waits = merged(m.waits)
	}
}

// outage reports whether a call failed because of the store's state, not because
// of the request.
func outage(err error) bool {
	return errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrThrottled) || errors.Is(err, objstore.ErrDenied)
}

// merged are the same times without overlaps.
func merged(all []span) []span {
	sort.Slice(all, func(i, j int) bool { return all[i].from.Before(all[j].from) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// judge explains the error err of a job that had the time of a whole invocation. It
// returns ErrTooLong if the work alone, without the waiting, would take longer than an
// invocation; else the upload has to come again. It has to come again also if less
// than half of the time was work, since too little was measured then. If the upload
// was read more than once, or its size is not known, the rate means nothing: then only
// a job that hardly waited is too long.
func (m *meter) judge(whole time.Duration, err error) error {
	took := time.Since(m.begun)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waits = merged(m.waits)
	work := took
	for _, s := range m.waits {
		if s.from.Before(m.begun) {
			s.from = m.begun
		}
		work -= max(s.to.Sub(s.from), 0)
	}
	long := false
	switch {
	case m.read == 0 || work < whole/2:
	case m.read >= m.size: // true, too, if the size is unknown
		long = work >= whole/10*9
	default:
		long = float64(work)*float64(m.size)/float64(m.read) > float64(whole)
	}
	text := fmt.Sprintf("%d bytes were read in %v, %v of it in waiting for the store", m.read, took.Round(100*time.Millisecond), (took - work).Round(100*time.Millisecond))
	if !long {
		return fmt.Errorf("%s: %w", text, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrTooLong, text, err)
}

// around wraps b so that m measures its calls. uploads tells that b is the uploads'
// bucket.
func (m *meter) around(b objstore.Bucket, uploads bool) objstore.Bucket {
	return &metered{Bucket: b, m: m, uploads: uploads, failed: map[string]time.Time{}}
}

// metered is a bucket that tells a meter how long calls wait.
type metered struct {
	objstore.Bucket

	m       *meter
	uploads bool

	mu     sync.Mutex
	failed map[string]time.Time // keys whose last call failed, and when: the pause before the next call is on purpose
}

// Unwrap lets optional interfaces be found.
func (b *metered) Unwrap() objstore.Bucket { return b.Bucket }

// begin is the start of a call. The pause since a failed call counts as waiting, too.
func (b *metered) begin(key string) time.Time {
	now := time.Now()
	b.mu.Lock()
	at, ok := b.failed[key]
	delete(b.failed, key)
	b.mu.Unlock()
	if ok {
		b.m.wait(span{at, now})
	}
	return now
}

// end ends a call that waited during blocked, for n bytes.
func (b *metered) end(key string, blocked time.Duration, n int64, err error) {
	b.m.waited(blocked, n, err)
	if outage(err) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.failed[key] = time.Now()
	}
}

func (b *metered) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	begun := b.begin(key)
	rc, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		b.end(key, time.Since(begun), 0, err)
		return nil, info, err
	}
	if b.uploads && key == b.m.key {
		b.m.mu.Lock()
		b.m.size = info.Size
		b.m.mu.Unlock()
	}
	return &meteredBody{rc: rc, b: b, key: key, blocked: time.Since(begun)}, info, nil
}

func (b *metered) Head(ctx context.Context, key string) (objstore.Info, error) {
	begun := b.begin(key)
	info, err := b.Bucket.Head(ctx, key)
	b.end(key, time.Since(begun), 0, err)
	return info, err
}

func (b *metered) Delete(ctx context.Context, key string) error {
	begun := b.begin(key)
	err := b.Bucket.Delete(ctx, key)
	b.end(key, time.Since(begun), 0, err)
	return err
}

// DeleteIf is objstore.DeleteIf, measured.
func (b *metered) DeleteIf(ctx context.Context, key, etag string) error {
	begun := b.begin(key)
	err := objstore.DeleteIf(ctx, b.Bucket, key, etag)
	b.end(key, time.Since(begun), 0, err)
	return err
}

// Tags is objstore.Tags, measured.
func (b *metered) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	begun := b.begin(key)
	tags, err := objstore.Tags(ctx, b.Bucket, key, versionID)
	b.end(key, time.Since(begun), 0, err)
	return tags, err
}

func (b *metered) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		begun := b.begin(prefix)
		for info, err := range b.Bucket.List(ctx, prefix) {
			b.end(prefix, time.Since(begun), 0, err)
			if !yield(info, err) {
				return
			}
			begun = time.Now()
		}
		b.end(prefix, time.Since(begun), 0, nil)
	}
}

func (b *metered) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	begun := b.begin(key)
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil {
		b.end(key, time.Since(begun), 0, err)
		return nil, err
	}
	return &meteredWriter{Writer: w, b: b, key: key, blocked: time.Since(begun)}, nil
}

// meteredBody adds up how long its reader waits. It tells the meter when it is closed,
// and at each error.
type meteredBody struct {
	rc      io.ReadCloser
	b       *metered
	key     string
	blocked time.Duration
	n       int64
}

func (r *meteredBody) Read(p []byte) (int, error) {
	begun := time.Now()
	n, err := r.rc.Read(p)
	r.blocked += time.Since(begun)
	r.n += int64(n)
	if r.b.uploads && n > 0 {
		r.b.m.mu.Lock()
		r.b.m.read += int64(n)
		r.b.m.mu.Unlock()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.tell(err)
	}
	return n, err
}

func (r *meteredBody) Close() error {
	r.tell(nil)
	return r.rc.Close()
}

func (r *meteredBody) tell(err error) {
	r.b.end(r.key, r.blocked, r.n, err)
	r.blocked, r.n = 0, 0
}

// meteredWriter does the same for writes. A call may wait for the bytes of earlier
// calls.
type meteredWriter struct {
	objstore.Writer

	b       *metered
	key     string
	blocked time.Duration
	n       int64
	told    bool
}

func (w *meteredWriter) Write(p []byte) (int, error) {
	begun := time.Now()
	n, err := w.Writer.Write(p)
	w.blocked += time.Since(begun)
	w.n += int64(n)
	if err != nil {
		w.tell(err)
	}
	return n, err
}

func (w *meteredWriter) Commit(ctx context.Context) (objstore.Info, error) {
	begun := time.Now()
	info, err := w.Writer.Commit(ctx)
	w.blocked += time.Since(begun)
	w.tell(err)
	return info, err
}

func (w *meteredWriter) Abort() {
	w.tell(nil)
	w.Writer.Abort()
}

func (w *meteredWriter) tell(err error) {
	if !w.told {
		w.told = true
		w.b.end(w.key, w.blocked, w.n, err)
	}
}
