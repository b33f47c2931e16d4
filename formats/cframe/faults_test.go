package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
)

// A frame on a server that misbehaves: 10 chunks that do not compress, so that
// all versions have the same offsets and only the bytes differ.
const (
	faultyChunks = 10
	faultyChunk  = 30_000
	faultyBlock  = 4_000
)

func faultyData(version int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultyChunks*faultyChunk)
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	return p
}

func faultyFrame(version int) []byte {
	var o repeated
	w, err := cframe.NewWriter(&o, cframe.WriteOptions{ChunkSize: faultyChunk, BlockSize: faultyBlock,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, BlockSize: faultyBlock}})
	for p := faultyData(version); len(p) > 0 && err == nil; p = p[faultyChunk:] {
		// A little of it compresses, or there would be no block starts.
		clear(p[:100])
		clear(p[faultyChunk-300 : faultyChunk])
		err = w.WriteChunk(p[:faultyChunk])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	out := make([]byte, o.size)
	if _, err := o.ReadAt(out, 0); err != nil {
		panic(err)
	}
	return out
}

// faultyReads are the ways of reading; each returns what it read by its place
// in the data.
var faultyReads = map[string]func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error){
	"blocks": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		var mu sync.Mutex
		got := map[int][]byte{}
		err := f.Read(ctx, []cframe.Want{{Chunk: 4, Blocks: []int{1, 5}}, {Chunk: 6, Blocks: []int{2}}}, func(want, block int, p []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got[(4+2*want)*faultyChunk+block*faultyBlock] = bytes.Clone(p)
			return nil
		})
		return got, err
	},
	"chunk": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p, err := f.ReadChunk(ctx, nil, 4)
		return map[int][]byte{4 * faultyChunk: p}, err
	},
	"bytes": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p := make([]byte, 70_000)
		return map[int][]byte{100_000: p}, f.ReadBytes(ctx, p, 100_000)
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

// TestFaults: whatever the server does, opening a frame and reading it gives the
// right bytes, all of one version, or one error that can be classified; and once
// the server is well again the same frame reads right.
func TestFaults(t *testing.T) {
	t.Parallel()
	frames, versions := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		frames[v] = faultyFrame(v)
		f, err := cframe.Open(t.Context(), reader(frames[v]), cframe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		versions[v] = make([]byte, f.Info().NBytes)
		if err := f.ReadBytes(t.Context(), versions[v], 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range flawedtest.Cases() {
		start := func(t *testing.T) (*flawedtest.Server, func() (*cframe.Frame, error)) {
			t.Helper()
			s := flawedtest.New(t, func(_ string, version int) []byte { return frames[version%len(frames)] }, nil)
			k.Start(s)
			b := s.Bucket(t)
			return s, func() (*cframe.Frame, error) {
				o := objstore.OpenOptions{Head: 8 << 10, Tail: 4 << 10, Stall: k.Stall, Resumes: 3}
				if k.Stall > 0 && k.Read != nil {
					o.Resumes = 1
				}
				obj, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					return nil, err
				}
				return cframe.Open(t.Context(), obj, cframe.Options{Tail: 4 << 10, Policy: starts})
			}
		}
		for name, read := range faultyReads {
			if k.Stall > 0 && name != "blocks" {
				continue // a second or two each, for what the blocks show
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
			if (err != nil) != (k.Open != nil) {
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
func faultyRead(t *testing.T, k *flawedtest.Case, f *cframe.Frame, read func(context.Context, *cframe.Frame) (map[int][]byte, error), versions map[int][]byte) {
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
