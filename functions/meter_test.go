package functions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
)

// TestJudge: how the time and bytes of a job tell the size of its upload.
func TestJudge(t *testing.T) {
	t.Parallel()
	const whole = 100 * time.Second
	s := time.Second
	for name, c := range map[string]struct {
		size, read int64
		took       time.Duration
		waits      []span // from the start, in any order
		long       bool
		waited     time.Duration
	}{
		"nothing was read":              {1000, 0, 100 * s, nil, false, 0},
		"all was read, and worked":      {1000, 1000, 100 * s, nil, true, 0},
		"more than all was read":        {1000, 3000, 100 * s, nil, true, 0},
		"no size is known":              {-1, 10, 100 * s, nil, true, 0},
		"no bytes, and some were read":  {0, 10, 100 * s, nil, true, 0},
		"all was read, waited a little": {1000, 1000, 100 * s, waiting(0, 10), true, 10 * s},
		"all was read, waited more":     {1000, 1000, 100 * s, waiting(0, 11), false, 11 * s},
		"half was read":                 {1000, 500, 100 * s, nil, true, 0},
		"nearly all was read":           {1000, 999, 100 * s, nil, true, 0},
		"just fits":                     {1000, 500, 100 * s, waiting(0, 50), false, 50 * s},
		"just fits not":                 {1000, 499, 100 * s, waiting(0, 50), true, 50 * s},
		"more waiting than work":        {1000, 1, 100 * s, waiting(0, 51), false, 51 * s},
		"overlaps":                      {1000, 400, 100 * s, waiting(10, 40, 0, 20, 15, 30), true, 40 * s},
		"one in another":                {1000, 400, 100 * s, waiting(0, 40, 10, 20), true, 40 * s},
		"that touch":                    {1000, 400, 100 * s, waiting(20, 40, 0, 20), true, 40 * s},
		"two":                           {1000, 600, 100 * s, waiting(50, 70, 0, 20), false, 40 * s},
		"begun before the job":          {1000, 600, 100 * s, waiting(-30, 40), false, 40 * s},
		"all before the job":            {1000, 600, 100 * s, waiting(-30, -10), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(Upload{Key: "k"})
				m.size, m.read = c.size, c.read
				for _, w := range c.waits {
					m.wait(span{m.begun.Add(w.from.Sub(time.Time{})), m.begun.Add(w.to.Sub(time.Time{}))})
				}
				time.Sleep(c.took)
				err := m.judge(whole, context.DeadlineExceeded)
				text := fmt.Sprintf("%d bytes were read in %v, %v of it in waiting for the store", c.read, c.took, c.waited)
				if errors.Is(err, ErrTooLong) != c.long || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), text) {
					t.Errorf("%v, want too long %t, %s", err, c.long, text)
				}
				if err := m.judge(whole, io.EOF); !errors.Is(err, io.EOF) { // other errors are returned as they are
					t.Error(err)
				}
			})
		})
	}
}

// waiting are times in seconds: from, to, from, to …
func waiting(seconds ...int) (all []span) {
	at := func(n int) time.Time { return time.Time{}.Add(time.Duration(n) * time.Second) }
	for i := 0; i < len(seconds); i += 2 {
		all = append(all, span{at(seconds[i]), at(seconds[i+1])})
	}
	return all
}

// total is how long calls waited for the store, as the meter saw it.
func (m *meter) total() (d time.Duration) {
	m.waits = merged(m.waits)
	for _, s := range m.waits {
		d += s.to.Sub(s.from)
	}
	return d
}

// A lazy bucket takes some time for every step of every call, then fails with err.
type lazy struct {
	each time.Duration
	err  error
}

func (l *lazy) step() error {
	time.Sleep(l.each)
	return l.err
}

func (*lazy) Name() string { return "lazy" }

func (l *lazy) Get(context.Context, string, objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if err := l.step(); err != nil {
		return nil, objstore.Info{}, err
	}
	return &lazyBody{l: l}, objstore.Info{Size: 7}, nil
}

func (l *lazy) Head(context.Context, string) (objstore.Info, error) {
	return objstore.Info{}, l.step()
}
func (l *lazy) Delete(context.Context, string) error           { return l.step() }
func (l *lazy) DeleteIf(context.Context, string, string) error { return l.step() }

func (l *lazy) Tags(context.Context, string, string) (map[string]string, error) {
	return nil, l.step()
}

func (l *lazy) List(context.Context, string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for range 2 {
			if err := l.step(); !yield(objstore.Info{}, err) || err != nil {
				return
			}
		}
		time.Sleep(l.each)
	}
}

func (l *lazy) Create(context.Context, string, objstore.PutOptions) (objstore.Writer, error) {
	return &lazyWriter{l: l}, l.step()
}

type lazyBody struct {
	l      *lazy
	closed bool
}

func (b *lazyBody) Read(p []byte) (int, error) {
	if err := b.l.step(); err != nil {
		return 0, err
	}
	return min(len(p), 4<<20), nil
}

func (b *lazyBody) Close() error {
	b.closed = true
	return errClosed
}

var errClosed = errors.New("closed")

type lazyWriter struct {
	objstore.Writer

	l       *lazy
	aborted bool
}

func (w *lazyWriter) Write(p []byte) (int, error) { return len(p), w.l.step() }

func (w *lazyWriter) Commit(context.Context) (objstore.Info, error) {
	return objstore.Info{}, w.l.step()
}
func (w *lazyWriter) Abort() { w.aborted = true }

// TestMetered: how much each call of a bucket adds to the waiting time. An answer may
// take a quarter of a second, and 2 MiB of a body or a write a second. A call that
// fails because of the store's state, and the pause before the next one, count in
// full.
func TestMetered(t *testing.T) {
	t.Parallel()
	const each, grace = 10 * time.Second, 250 * time.Millisecond
	work := func() { time.Sleep(time.Minute) }
	read := func(b objstore.Bucket, n int) error {
		rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
		for range n {
			if err != nil {
				return err
			}
			work()
			_, err = rc.Read(make([]byte, 4<<20))
		}
		if err == nil && !errors.Is(rc.Close(), errClosed) {
			t.Error("not closed")
		}
		return err
	}
	write := func(b objstore.Bucket, n int) (objstore.Writer, error) {
		w, err := b.Create(t.Context(), "k", objstore.PutOptions{})
		for range n {
			if err != nil {
				return nil, err
			}
			work()
			_, err = w.Write(make([]byte, 4<<20))
		}
		return w, err
	}
	for name, c := range map[string]struct {
		do   func(b objstore.Bucket) error
		want time.Duration
		fail time.Duration // step that is refused
	}{
		"head":   {func(b objstore.Bucket) error { _, err := b.Head(t.Context(), "k"); return err }, each - grace, each},
		"delete": {func(b objstore.Bucket) error { return b.Delete(t.Context(), "k") }, each - grace, each},
		"delete if": {func(b objstore.Bucket) error { return objstore.DeleteIf(t.Context(), b, "k", "e") },
			each - grace, each},
		"tags": {func(b objstore.Bucket) error { _, err := objstore.Tags(t.Context(), b, "k", ""); return err }, each - grace, each},
		"list": {func(b objstore.Bucket) error {
			for _, err := range b.List(t.Context(), "k") {
				if err != nil {
					return err
				}
				work()
			}
			return nil
		}, 3 * (each - grace), each},
		"first of a list": {func(b objstore.Bucket) error {
			for _, err := range b.List(t.Context(), "k") {
				return err
			}
			return nil
		}, each - grace, each},
		"get":  {func(b objstore.Bucket) error { return read(b, 0) }, each - grace, each},
		"body": {func(b objstore.Bucket) error { return read(b, 3) }, 4*each - grace - 6*time.Second, each},
		"commit": {func(b objstore.Bucket) error {
			w, err := write(b, 3)
			if err == nil {
				work()
				_, err = w.Commit(t.Context())
				w.Abort()
			}
			return err
		}, 5*each - grace - 6*time.Second, each},
		"abort": {func(b objstore.Bucket) error {
			w, err := write(b, 3)
			if err == nil {
				w.Abort()
			}
			return err
		}, 4*each - grace - 6*time.Second, each},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMeter(Upload{Key: "k"})
				if err := c.do(m.around(&lazy{each: each}, true)); err != nil {
					t.Error(err)
				}
				if got := m.total(); got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
				for _, refusal := range []error{objstore.ErrThrottled, objstore.ErrUnavailable, objstore.ErrDenied} {
					m = newMeter(Upload{Key: "k"})
					b := m.around(&lazy{each: each, err: refusal}, true)
					for n := range 2 {
						time.Sleep(3 * time.Second) // the second time before the call is repeated
						if err := c.do(b); !errors.Is(err, refusal) {
							t.Error(err)
						}
						if got, want := m.total(), time.Duration(n+1)*c.fail+time.Duration(n)*3*time.Second; got != want {
							t.Errorf("%v: %v, want %v", refusal, got, want)
						}
					}
				}
				m = newMeter(Upload{Key: "k"})
				if err := c.do(m.around(&lazy{each: grace, err: objstore.ErrNotFound}, true)); !errors.Is(err, objstore.ErrNotFound) || m.total() != 0 {
					t.Errorf("%v: %v", err, m.total())
				}
			})
		})
	}
}

// TestMeteredBytes: bytes of all objects of the uploads' bucket count as read. The
// size is the one that the upload turned out to have.
func TestMeteredBytes(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int64{0: -1, 1: 1, -5: -1, 99: 99} {
		if m := newMeter(Upload{Size: size}); m.size != want {
			t.Errorf("size %d: %d", size, m.size)
		}
	}
	m := newMeter(Upload{Key: "k", Size: 3})
	for _, c := range []struct {
		key        string
		uploads    bool
		size, read int64
	}{{"k", false, 3, 0}, {"other", true, 3, 10}, {"k", true, 7, 20}} {
		rc, _, err := m.around(&lazy{}, c.uploads).Get(t.Context(), c.key, objstore.GetOptions{})
		if err == nil {
			_, err = io.ReadFull(rc, make([]byte, 10))
		}
		if err != nil || m.size != c.size || m.read != c.read {
			t.Errorf("%+v: size %d, read %d, %v", c, m.size, m.read, err)
		}
	}
}

// TestMeteredPause: the pause before a repeated call counts once.
func TestMeteredPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, l := newMeter(Upload{}), &lazy{each: time.Millisecond, err: objstore.ErrThrottled}
		b := m.around(l, true)
		for n := range 5 {
			if _, err := b.Head(t.Context(), "k"); !errors.Is(err, l.err) {
				t.Error(err)
			}
			time.Sleep(time.Second)
			if n == 0 {
				l.err = nil
			}
		}
		if got := m.total(); got != time.Second+time.Millisecond {
			t.Error(got)
		}
	})
}

// TestMeteredMany: a meter holds about a thousand waits, however many there are.
func TestMeteredMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(Upload{})
		b := m.around(&lazy{each: time.Second}, true)
		most := 0
		for range 5000 {
			if _, err := b.Head(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			m.wait(span{m.begun, time.Now()})
			most = max(most, len(m.waits))
		}
		if most > 1024 || most < 100 {
			t.Errorf("%d waits are held", most)
		}
	})
}

// TestMeteredEnds: bodies and writes that fail in the middle are reported at once, and
// only once. The end of a body is not a failure.
func TestMeteredEnds(t *testing.T) {
	t.Parallel()
	const each = 10 * time.Second
	synctest.Test(t, func(t *testing.T) {
		for err, want := range map[error]time.Duration{
			io.EOF:                      0, // told when the body is closed
			objstore.ErrUnavailable:     3 * each,
			io.ErrUnexpectedEOF:         3*each - meterGrace - 2*time.Second,
			objstore.ErrInvalid:         3*each - meterGrace - 2*time.Second,
			context.DeadlineExceeded:    3*each - meterGrace - 2*time.Second,
			fmt.Errorf("x: %w", io.EOF): 0,
		} {
			m, l := newMeter(Upload{}), &lazy{each: each}
			b := m.around(l, true)
			rc, _, gerr := b.Get(t.Context(), "k", objstore.GetOptions{})
			if gerr == nil {
				_, gerr = rc.Read(make([]byte, 4<<20))
			}
			if gerr != nil {
				t.Fatal(gerr)
			}
			l.err = err
			if _, got := rc.Read(make([]byte, 1)); !errors.Is(got, err) {
				t.Error(got)
			}
			if got := m.total(); got != want {
				t.Errorf("%v: %v, want %v", err, got, want)
			}
			closed := m.total()
			time.Sleep(time.Minute)
			_ = rc.Close()
			if want > 0 && m.total() != closed {
				t.Errorf("%v: told twice: %v", err, m.total())
			}
			if want == 0 && m.total() != 3*each-meterGrace-2*time.Second {
				t.Errorf("%v: %v when it is closed", err, m.total())
			}
		}
		for name, end := range map[string]func(w objstore.Writer) error{
			"write":  func(w objstore.Writer) error { _, err := w.Write(make([]byte, 1)); return err },
			"commit": func(w objstore.Writer) error { _, err := w.Commit(t.Context()); return err },
		} {
			m, l := newMeter(Upload{}), &lazy{each: each}
			w, err := m.around(l, false).Create(t.Context(), "k", objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if l.err = objstore.ErrThrottled; !errors.Is(end(w), l.err) || m.total() != 2*each {
				t.Errorf("%s: %v, want %v", name, m.total(), 2*each)
			}
			time.Sleep(time.Minute)
			w.Abort()
			if inner := w.(*meteredWriter).Writer.(*lazyWriter); !inner.aborted || m.total() != 2*each {
				t.Errorf("%s: aborted %t, %v", name, inner.aborted, m.total())
			}
		}
	})
}
