// Package formattest is the suite that every format's reader must pass:
// truncated, damaged and failing objects, scrambled and concurrent reads,
// cancelled contexts. A format describes itself in a [Suite]; [Run] does the
// rest.
package formattest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// An Object is one object of a good input.
type Object struct {
	Name string
	Data []byte
	// Index are the ranges whose every bit is flipped, one at a time: headers,
	// offsets, metadata. Nil means all of the object, an empty list none.
	Index []Range
}

// A Range is [Off, Off+Len) of an object. Len 0 means to the end.
type Range struct{ Off, Len int }

// A Read returns everything that the opened input holds, in one slice: the
// decoded payload, and the metadata that are to be compared.
type Read func(ctx context.Context) ([]byte, error)

// A Suite describes a reader.
type Suite struct {
	// Objects are a good input, in the order that Open expects them.
	Objects []Object
	// Open opens an input. The Read it returns must be safe for concurrent use.
	Open func(ctx context.Context, objects []rangeio.Reader) (Read, error)
	// MaxAlloc bounds the bytes that Open and Read together may allocate on
	// damaged input. 0 means 1 MiB and 16 times the size of the good input. Under
	// the race detector the bound is twice that.
	MaxAlloc int64
	// Check judges the result of damaged input that is not an error, and must
	// accept that of the good input. Nil demands the result of the good input,
	// which only formats with checksums can keep. Without checksums a flipped
	// digit may well make another good file: check what can be checked.
	Check func(got []byte) error
	// Stride tests only every n-th truncated length and every n-th bit. Lengths
	// below 64 and the longest are always tested. 0 means 1.
	Stride int
}

// Allowed reports whether err is one that damaged input may give: it matches a
// sentinel of package formats.
func Allowed(err error) bool {
	return errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrTooLarge) ||
		errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrNoEntry)
}

// Run tests the reader, each concern as a subtest. It must not run beside
// parallel tests, whose allocations and goroutines would be counted.
func Run(t *testing.T, s Suite) {
	t.Helper()
	s = s.withDefaults()
	want, err := s.all(t.Context(), s.readers(nil))
	if err != nil {
		t.Fatalf("the good input: %v", err)
	}
	s.check(t, want)
	t.Run("truncated", func(t *testing.T) { s.truncated(t, want) })
	t.Run("flipped", func(t *testing.T) { s.flipped(t, want) })
	t.Run("scrambled", func(t *testing.T) { s.scrambled(t, want) })
	t.Run("concurrent", func(t *testing.T) { s.concurrent(t, want) })
	t.Run("cancelled", func(t *testing.T) { s.cancelled(t, want) })
	t.Run("failing", func(t *testing.T) { s.failing(t, want) })
}

func (s Suite) withDefaults() Suite {
	if s.MaxAlloc == 0 {
		s.MaxAlloc = 1 << 20
		for _, o := range s.Objects {
			s.MaxAlloc += 16 * int64(len(o.Data))
		}
	}
	if racetest.On {
		s.MaxAlloc *= 2
	}
	s.Stride = max(s.Stride, 1)
	return s
}

// check makes sure that Check accepts the good input.
func (s Suite) check(t *testing.T, want []byte) {
	t.Helper()
	if s.Check == nil {
		return
	}
	if err := s.Check(want); err != nil {
		t.Fatalf("check of the good input: %v", err)
	}
}

// readers opens the objects, each passed through wrap if that is not nil.
func (s Suite) readers(wrap func(rangeio.Reader) rangeio.Reader) []rangeio.Reader {
	rs := make([]rangeio.Reader, len(s.Objects))
	for i, o := range s.Objects {
		rs[i] = rangeio.FromReaderAt(bytes.NewReader(o.Data), int64(len(o.Data)))
		if wrap != nil {
			rs[i] = wrap(rs[i])
		}
	}
	return rs
}

func (s Suite) all(ctx context.Context, rs []rangeio.Reader) ([]byte, error) {
	read, err := s.Open(ctx, rs)
	if err != nil {
		return nil, err
	}
	return read(ctx)
}

// damaged reads with object k replaced and judges the outcome.
func (s Suite) damaged(t testing.TB, k int, data, want []byte, what string) (failed bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	rs := s.readers(nil)
	rs[k] = rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data)))
	got, n, err := s.measured(t.Context(), rs)
	// The count is of the whole process: only bytes that every one of several tries
	// allocates are the reader's own.
	for tries := 0; n > s.MaxAlloc && tries < 3; tries++ {
		_, again, _ := s.measured(t.Context(), rs)
		n = min(n, again)
	}
	if n > s.MaxAlloc {
		t.Errorf("%s: %d bytes allocated, limit %d", what, n, s.MaxAlloc)
	}
	switch {
	case err != nil && !Allowed(err):
		t.Errorf("%s: error of no known class: %v", what, err)
	case err == nil && s.Check != nil:
		if err := s.Check(got); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%s: other bytes and no error", what)
	}
	return err != nil
}

// measured reads everything and counts the bytes allocated on the way.
func (s Suite) measured(ctx context.Context, rs []rangeio.Reader) ([]byte, int64, error) {
	before := allocated()
	got, err := s.all(ctx, rs)
	return got, allocated() - before, err
}

// allocated is the bytes that were allocated since the start. ReadMemStats counts
// exactly. runtime/metrics would add bytes that each P allocated long ago, at the
// moment at which a collection makes them known.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// small is a length up to which Stride skips nothing: headers.
const small = 64

func (s Suite) truncated(t *testing.T, want []byte) {
	for k, o := range s.Objects {
		for n := range o.Data {
			if n >= small && n != len(o.Data)-1 && n%s.Stride != 0 {
				continue
			}
			s.damaged(t, k, o.Data[:n:n], want, fmt.Sprintf("%s cut to %d of %d", o.Name, n, len(o.Data)))
		}
	}
}

func (s Suite) flipped(t *testing.T, want []byte) {
	tried, failed := 0, 0
	for k, o := range s.Objects {
		index := o.Index
		if index == nil {
			index = []Range{{}}
		}
		p := bytes.Clone(o.Data)
		for _, r := range index {
			end := len(p)
			if r.Len > 0 {
				end = r.Off + r.Len
			}
			for bit := r.Off * 8; bit < end*8; bit += s.Stride {
				p[bit/8] ^= 1 << (bit % 8)
				tried++
				if s.damaged(t, k, p, want, fmt.Sprintf("%s bit %d of byte %d flipped", o.Name, bit%8, bit/8)) {
					failed++
				}
				p[bit/8] ^= 1 << (bit % 8)
			}
		}
	}
	if tried > 0 && failed == 0 {
		t.Errorf("none of %d flipped bits was noticed", tried)
	}
	t.Logf("%d of %d flipped bits were noticed", failed, tried)
}

func (s Suite) scrambled(t *testing.T, want []byte) {
	for seed := range uint64(8) {
		got, err := s.all(t.Context(), s.readers(func(r rangeio.Reader) rangeio.Reader { return Scramble(r, seed) }))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("seed %d: %d bytes, want %d, %v", seed, len(got), len(want), err)
		}
	}
}

// concurrent reads one opened input from 8 goroutines; the race detector has
// the last word.
func (s Suite) concurrent(t *testing.T, want []byte) {
	read, err := s.Open(t.Context(), s.readers(nil))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 3 {
				got, err := read(t.Context())
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, want %d, %v", len(got), len(want), err)
				}
			}
		})
	}
	wg.Wait()
}

// calls is how many planned reads the good input takes.
func (s Suite) calls(t *testing.T) int {
	c := &breaker{at: -1}
	if _, err := s.all(t.Context(), s.readers(c.wrap)); err != nil {
		t.Fatal(err)
	}
	return c.n
}

// cancelled cancels the context during each planned read in turn.
func (s Suite) cancelled(t *testing.T, want []byte) {
	before := runtime.NumGoroutine()
	for at := range s.calls(t) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &breaker{at: at, stop: cancel}
		got, err := s.all(ctx, s.readers(c.wrap))
		cancel()
		if !errors.Is(err, context.Canceled) && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("cancelled in read %d: %d bytes, %v", at, len(got), err)
		}
	}
	settled(t, before)
}

var errInjected = errors.New("injected failure")

// failing fails each planned read in turn, with its buffers full of garbage.
func (s Suite) failing(t *testing.T, _ []byte) {
	before := runtime.NumGoroutine()
	for at := range s.calls(t) {
		for _, cause := range []error{errInjected, io.EOF, io.ErrUnexpectedEOF} {
			c := &breaker{at: at, err: cause}
			if _, err := s.all(t.Context(), s.readers(c.wrap)); !errors.Is(err, cause) {
				t.Errorf("read %d failed with %v, got %v", at, cause, err)
			}
		}
	}
	settled(t, before)
}

// settled waits for goroutines that were told to end. A leak shows as a test
// that never ends, with its stack.
func settled(t *testing.T, before int) {
	t.Helper()
	for runtime.NumGoroutine() > before {
		if t.Context().Err() != nil {
			return
		}
		runtime.Gosched()
	}
}

// A breaker counts planned reads and breaks one of them.
type breaker struct {
	mu   sync.Mutex
	n    int
	at   int // which read breaks
	err  error
	stop func() // called instead of failing, if not nil
}

func (b *breaker) wrap(r rangeio.Reader) rangeio.Reader { return broken{r, b} }

// broke counts a read, and says whether and how it breaks.
func (b *breaker) broke(spans []rangeio.Span) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	if b.n-1 != b.at {
		return nil
	}
	if b.stop != nil {
		b.stop()
		return nil
	}
	for _, s := range spans {
		for i := range s.P {
			s.P[i] = 0xA5
		}
	}
	return b.err
}

type broken struct {
	rangeio.Reader
	b *breaker
}

func (r broken) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if err := r.b.broke(spans); err != nil {
		return err
	}
	return r.Reader.ReadRanges(ctx, spans)
}

func (r broken) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if err := r.b.broke(spans); err != nil {
		return err
	}
	return r.Reader.ReadEach(ctx, spans, done)
}

// Scramble returns a Reader over r that keeps every promise of rangeio.Reader
// and nothing more: spans are filled in random order, each from its end in small
// pieces, and ReadEach calls done from several goroutines at a time.
func Scramble(r rangeio.Reader, seed uint64) rangeio.Reader { return &scrambled{r: r, seed: seed} }

type scrambled struct {
	r    rangeio.Reader
	mu   sync.Mutex
	seed uint64
}

func (s *scrambled) Size() int64 { return s.r.Size() }

// random is a source of its own for each call.
func (s *scrambled) random() *rand.Rand {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seed++
	return rand.New(rand.NewPCG(s.seed, 1))
}

func (s *scrambled) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return s.ReadEach(ctx, spans, func(int) error { return nil })
}

func (s *scrambled) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if err := rangeio.Check(spans, s.r.Size()); err != nil {
		return err
	}
	rnd := s.random()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, i := range rnd.Perm(len(spans)) {
		if err := s.pieces(ctx, rnd, spans[i]); err != nil {
			cancel(err)
			break
		}
		wg.Go(func() {
			if err := done(i); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// pieces fills a span from the back in pieces: at most 64, so that large spans end
// soon.
func (s *scrambled) pieces(ctx context.Context, rnd *rand.Rand, span rangeio.Span) error {
	for end := len(span.P); end > 0; {
		n := min(end, 1+rnd.IntN(8)+len(span.P)/64)
		end -= n
		piece := rangeio.Span{Off: span.Off + int64(end), P: span.P[end : end+n]}
		if err := s.r.ReadRanges(ctx, []rangeio.Span{piece}); err != nil {
			return err
		}
	}
	return nil
}
