package zoomcache_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
)

// A file on a server that misbehaves: random bytes, so that all versions have the
// same length and only values differ.
const faultySamples = 300_000

// faultyFile is a file, and its samples with the text of its summaries behind
// them.
func faultyFile(version int) (file, content []byte) {
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultySamples)
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.U8}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}})
	if err == nil {
		err = errors.Join(zoomcache.Append(w.Track(1), p), w.Close())
	}
	if err != nil {
		panic(err)
	}
	f, err := zoomcache.Open(context.Background(), reader(b.Bytes()), zoomcache.Options{})
	if err != nil {
		panic(err)
	}
	got, err := faultyReads["summaries"](context.Background(), f)
	if err != nil {
		panic(err)
	}
	return b.Bytes(), append(p, got[faultySamples]...)
}

func samplesAt(ctx context.Context, f *zoomcache.File, from, to int64) (map[int][]byte, error) {
	var out []byte
	err := f.Samples(ctx, 1, from, to, func(p *zoomcache.Packet) error {
		if p.Offset(0) != from+int64(len(out)) {
			return fmt.Errorf("samples from %d on, want %d", p.Offset(0), from+int64(len(out)))
		}
		out = append(out, p.Values.U8...)
		return nil
	})
	return map[int][]byte{int(from) - 1: out}, err
}

// faultyReads are the ways of reading; each returns what it read by its place in
// the content.
var faultyReads = map[string]func(ctx context.Context, f *zoomcache.File) (map[int][]byte, error){
	"all": func(ctx context.Context, f *zoomcache.File) (map[int][]byte, error) {
		return samplesAt(ctx, f, 1, faultySamples)
	},
	"window": func(ctx context.Context, f *zoomcache.File) (map[int][]byte, error) {
		return samplesAt(ctx, f, 150_001, 180_000)
	},
	"summaries": func(ctx context.Context, f *zoomcache.File) (map[int][]byte, error) {
		var out []byte
		err := f.Summaries(ctx, 1, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
			out = fmt.Appendf(out, "%+v\n", *s)
			return nil
		})
		return map[int][]byte{faultySamples: out}, err
	},
}

// rightBytes fails the test unless what was read is of one of the versions.
func rightBytes(t *testing.T, what string, got map[int][]byte, versions map[int][]byte) {
	t.Helper()
	good := 0
	for _, all := range versions {
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

// oneKind fails the test unless err is of exactly one kind, and of want if that
// is given.
func oneKind(t *testing.T, what string, err, want error) {
	t.Helper()
	n := 0
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrInvalid, formats.ErrCorrupt, formats.ErrUnsupported,
		formats.ErrTooLarge, formats.ErrNoEntry, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, s) {
			n++
		}
	}
	if n != 1 || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: want one kind (%v), got %d: %v", what, want, n, err)
	}
}

// TestFaults: whatever the server does, opening a file and reading it gives the
// right values, all of one version, or one error that can be classified, never
// damage to be passed over; and once the server is well again the same file reads
// right.
func TestFaults(t *testing.T) {
	t.Parallel()
	files, versions := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		files[v], versions[v] = faultyFile(v)
	}
	for _, k := range flawedtest.Cases() {
		start := func(t *testing.T) (*flawedtest.Server, func() (*zoomcache.File, error)) {
			t.Helper()
			s := flawedtest.New(t, func(_ string, version int) []byte { return files[version%len(files)] }, nil)
			k.Start(s)
			b := s.Bucket(t)
			return s, func() (*zoomcache.File, error) {
				o := objstore.OpenOptions{Head: 8 << 10, Also: objstore.Range{Off: 9 << 10, Len: 4 << 10}, Stall: k.Stall, Resumes: 3}
				if k.Stall > 0 && k.Read != nil {
					o.Resumes = 1
				}
				obj, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					return nil, err
				}
				return zoomcache.Open(t.Context(), obj, zoomcache.Options{Head: 8 << 10, Window: 100_000, Resync: true,
					Damaged: func(d zoomcache.Damage) {
						if d.From < int64(len(files[0])) { // else a longer version, with bytes behind it
							t.Errorf("damage %+v", d)
						}
					}})
			}
		}
		for name, read := range faultyReads {
			if k.Stall > 0 && name != "window" {
				continue // a second or two each, for what the window shows
			}
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, open := start(t)
				f, err := open()
				if err != nil {
					t.Fatal(err)
				}
				k.Spoil(s)
				faultyRead(t, &k, f, read, versions)
				k.Mend(s)
				for name, again := range faultyReads {
					got, err := again(t.Context(), f)
					if err != nil {
						t.Errorf("%s, the server is well again: %v", name, err)
						continue
					}
					rightBytes(t, name+", the server is well again", got, map[int][]byte{0: versions[0]})
				}
			})
		}
		t.Run(k.Name+"/open", func(t *testing.T) {
			t.Parallel()
			s, open := start(t)
			k.Spoil(s)
			f, err := open()
			s.Set(nil)
			if err != nil && k.Open == nil { // without a tail, some get along
				t.Errorf("open: %v, want %v", err, k.Open)
			}
			if err != nil {
				oneKind(t, "open", err, k.Open)
				k.Mend(s)
				if f, err = open(); err != nil {
					t.Fatalf("the server is well again: %v", err)
				}
			}
			for name, read := range faultyReads {
				got, err := read(t.Context(), f)
				if err != nil {
					oneKind(t, name, err, nil) // it was replaced since, has an ETag again, or another size than was said
					continue
				}
				rightBytes(t, name, got, versions)
			}
		})
	}
}

// faultyRead reads while the server misbehaves, from a file of version 0.
func faultyRead(t *testing.T, k *flawedtest.Case, f *zoomcache.File, read func(context.Context, *zoomcache.File) (map[int][]byte, error), versions map[int][]byte) {
	t.Helper()
	got, err := read(t.Context(), f)
	switch {
	case err == nil && (k.Read == nil || errors.Is(k.Read, flawedtest.ErrEither)):
		rightBytes(t, "flawed", got, map[int][]byte{0: versions[0]})
	case errors.Is(k.Read, flawedtest.ErrEither):
		oneKind(t, "flawed", err, objstore.ErrChanged)
	case err == nil || k.Read == nil:
		t.Errorf("got %v, want %v", err, k.Read)
	default:
		oneKind(t, "flawed", err, k.Read)
	}
}
