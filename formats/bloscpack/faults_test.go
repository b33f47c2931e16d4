package bloscpack_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
)

// A file on a server that misbehaves: items that do not compress, so that all
// versions have the same offsets and only the bytes differ.
const (
	faultyItems = 10
	faultyItem  = 30_000
)

func faultyFile(version int) ([]byte, []byte) {
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultyItems*faultyItem)
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	var o output
	w, err := bloscpack.NewWriter(&o, bloscpack.WriteOptions{Variable: true, Checksum: bloscpack.CRC32})
	for i := 0; i < len(p) && err == nil; i += faultyItem {
		err = w.WriteItem(p[i : i+faultyItem])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return o.b, p
}

// faultyReads are the ways of reading; each returns what it read by its place
// in the data.
var faultyReads = map[string]func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error){
	"item": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		p, err := f.AppendItem(ctx, nil, 4)
		return map[int][]byte{4 * faultyItem: p}, err
	},
	"items": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		items, err := f.ReadItems(ctx, 5, 8)
		return map[int][]byte{5 * faultyItem: bytes.Join(items, nil)}, err
	},
	"chunks": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		p := make([]byte, faultyItems*faultyItem)
		_, err := f.ReadChunks(ctx, p, 0, f.Len())
		return map[int][]byte{0: p}, err
	},
	"headers": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		// What it reads decides where the item is read from.
		e, err := f.Entry(ctx, 7)
		if err != nil {
			return nil, err
		}
		if e.NBytes != faultyItem {
			return map[int][]byte{0: {}, 1: {1}}, nil
		}
		p, err := f.AppendItem(ctx, nil, 7)
		return map[int][]byte{7 * faultyItem: p}, err
	},
}

// rightBytes fails the test unless what was read is of one of the versions.
func rightBytes(t *testing.T, what string, got map[int][]byte, versions map[int][]byte) {
	t.Helper()
	good := 0
	for _, all := range versions {
		same := len(got) > 0
		for at, p := range got {
			same = same && bytes.Equal(p, all[at:at+len(p)])
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
// right bytes, all of one version, or one error that can be classified; and once
// the server is well again the same file reads right.
func TestFaults(t *testing.T) {
	t.Parallel()
	files, versions := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		files[v], versions[v] = faultyFile(v)
	}
	for _, k := range flawedtest.Cases() {
		start := func(t *testing.T) (*flawedtest.Server, func() (*bloscpack.File, error)) {
			t.Helper()
			s := flawedtest.New(t, func(_ string, version int) []byte { return files[version%len(files)] }, nil)
			k.Start(s)
			b := s.Bucket(t)
			return s, func() (*bloscpack.File, error) {
				o := objstore.OpenOptions{Head: 8 << 10, Also: objstore.Range{Off: 9 << 10, Len: 4 << 10}, Stall: k.Stall, Resumes: 3}
				if k.Stall > 0 && k.Read != nil {
					o.Resumes = 1
				}
				obj, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					return nil, err
				}
				return bloscpack.Open(t.Context(), obj, bloscpack.Options{Head: 8 << 10, Window: 100_000})
			}
		}
		for name, read := range faultyReads {
			if k.Stall > 0 && name != "items" {
				continue // a second or two each, for what the items show
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
					oneKind(t, name, err, objstore.ErrChanged) // it was replaced since, or has an ETag again
					continue
				}
				rightBytes(t, name, got, versions)
			}
		})
	}
}

// faultyRead reads while the server misbehaves, from a frame of version 0.
func faultyRead(t *testing.T, k *flawedtest.Case, f *bloscpack.File, read func(context.Context, *bloscpack.File) (map[int][]byte, error), versions map[int][]byte) {
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
