package flawedtest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// A Reading reads something of what was opened. It returns what it read by its
// place in the content.
type Reading[T any] func(ctx context.Context, f T) (map[int][]byte, error)

// A Matrix holds a reader of objects against all flaws: whatever the server does,
// opening and reading gives the right bytes, all of one version, or one error that
// can be classified; and once the server is well again what was opened reads right.
type Matrix[T any] struct {
	// Object is a stored object in version 0 to 2, the first of which is called "k".
	Object func(name string, version int) []byte
	// Content is what readings are compared with.
	Content map[int][]byte
	// Open opens k and what belongs to it. o says how patient it may be.
	Open func(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (T, error)
	// Tail says that Open asks for a tail, so that it fails where Case.Open says
	// so; without one, some get along.
	Tail bool
	// Several says that Open makes several requests one after the other, or for several
	// objects. An answer that fits no other one is then ErrBadRange.
	Several  bool
	Readings map[string]Reading[T]
	// Patient is the only reading that waits for a server that stalls: a second or two
	// each, for what one of them shows; and the only one over S3, whose driver ends
	// in the same code as that of HTTP.
	Patient string
	// NoStalls leaves out servers that stall, for readers whose objects are opened and read
	// as those of another Matrix.
	NoStalls bool
}

// versions is how many versions there are of each object.
const versions = 3

// Run makes a subtest of each flaw and reading.
func (m *Matrix[T]) Run(t *testing.T) {
	t.Helper()
	if m.Readings[m.Patient] == nil {
		t.Fatalf("no reading %q", m.Patient)
	}
	for _, k := range Sampled() {
		if k.Stall > 0 && m.NoStalls {
			continue
		}
		for name, read := range m.Readings {
			if k.Stall > 0 && name != m.Patient {
				continue
			}
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				m.read(t, &k, read, false)
			})
		}
		t.Run(k.Name+"/open", func(t *testing.T) {
			t.Parallel()
			m.open(t, &k, false)
		})
		if k.HTTP {
			continue
		}
		t.Run(k.Name+"/S3/"+m.Patient, func(t *testing.T) {
			t.Parallel()
			m.read(t, &k, m.Readings[m.Patient], true)
		})
		t.Run(k.Name+"/S3/open", func(t *testing.T) {
			t.Parallel()
			m.open(t, &k, true)
		})
	}
}

// start starts a server for a case, and says how to open what it has.
func (m *Matrix[T]) start(t *testing.T, k *Case, overS3 bool) (*Server, func() (T, error)) {
	t.Helper()
	s := New(t, func(name string, version int) []byte { return m.Object(name, version%versions) }, nil)
	k.Start(s)
	b := objstore.Hedge(&objstore.Pace{})(s.Open(t, overS3))
	o := objstore.OpenOptions{Stall: k.Stall, Resumes: 3}
	if k.Stall > 0 && k.Read != nil {
		o.Resumes = 1
	}
	return s, func() (T, error) { return m.Open(t.Context(), b, o) }
}

// read reads while the server misbehaves, and again when it is well.
func (m *Matrix[T]) read(t *testing.T, k *Case, read Reading[T], overS3 bool) {
	t.Helper()
	s, open := m.start(t, k, overS3)
	f, err := open()
	if err != nil {
		t.Fatal(err)
	}
	first := map[int][]byte{0: m.Content[0]}
	k.Spoil(s)
	start := time.Now()
	got, err := read(t.Context(), f)
	k.Quick(t, start)
	switch {
	case err == nil && (k.Read == nil || errors.Is(k.Read, ErrEither)):
		RightBytes(t, "flawed", got, first)
	case errors.Is(k.Read, ErrEither):
		OneKind(t, "flawed", err, objstore.ErrChanged)
	case err == nil || k.Read == nil:
		t.Errorf("got %v, want %v", err, k.Read)
	default:
		OneKind(t, "flawed", err, k.Read)
	}
	k.Mend(s)
	for name, again := range m.Readings {
		got, err := again(t.Context(), f)
		if err != nil {
			t.Errorf("%s, the server is well again: %v", name, err)
			continue
		}
		RightBytes(t, name+", the server is well again", got, first)
	}
}

// open opens while the server misbehaves.
func (m *Matrix[T]) open(t *testing.T, k *Case, overS3 bool) {
	t.Helper()
	s, open := m.start(t, k, overS3)
	k.Spoil(s)
	start := time.Now()
	f, err := open()
	k.Quick(t, start)
	s.Set(nil)
	if err != nil && k.Open == nil || m.Tail && err == nil && k.Open != nil {
		t.Errorf("open: %v, want %v", err, k.Open)
	}
	if err != nil {
		want := k.Open
		if m.Several && errors.Is(err, objstore.ErrBadRange) {
			want = nil
		}
		OneKind(t, "open", err, want)
		k.Mend(s)
		if f, err = open(); err != nil {
			t.Fatalf("the server is well again: %v", err)
		}
	}
	for name, read := range m.Readings {
		got, err := read(t.Context(), f)
		switch {
		case errors.Is(err, objstore.ErrBadRange): // the object is shorter than the first answer said
			OneKind(t, name, err, nil)
		case err != nil: // the object was replaced since, or has an ETag again
			OneKind(t, name, err, objstore.ErrChanged)
		default:
			RightBytes(t, name, got, m.Content)
		}
	}
}

// Quick fails the test if a stall that is over with another try took half of the
// reader's patience.
func (c *Case) Quick(t testing.TB, start time.Time) {
	t.Helper()
	if took := time.Since(start); c.Stall > 0 && c.Read == nil && took > c.Stall/2-c.Stall/8 {
		t.Errorf("it took %v", took)
	}
}

// RightBytes fails the test unless what was read is of one of the versions.
func RightBytes(t testing.TB, what string, got, content map[int][]byte) {
	t.Helper()
	good := 0
	for _, all := range content {
		same := len(got) > 0
		for at, p := range got {
			same = same && len(p) > 0 && at+len(p) <= len(all) && bytes.Equal(p, all[at:at+len(p)])
		}
		if same {
			good++
		}
	}
	if good != 1 {
		t.Errorf("%s: wrong bytes, or of two versions", what)
	}
}

// OneKind fails the test unless err is of exactly one kind, and of want if that
// is given.
func OneKind(t testing.TB, what string, err, want error) {
	t.Helper()
	n := 0
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrCorrupt, objstore.ErrInvalid, formats.ErrCorrupt, formats.ErrUnsupported,
		formats.ErrTooLarge, formats.ErrNoEntry, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, s) {
			n++
		}
	}
	if n != 1 || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: want one kind (%v), got %d: %v", what, want, n, err)
	}
}
