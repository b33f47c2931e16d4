package draft_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/s3store"
)

func open(t *testing.T, b objstore.Bucket, key string) *draft.File {
	t.Helper()
	o, err := objstore.Open(t.Context(), b, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := draft.Open(t.Context(), o, draft.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func put(t *testing.T, b objstore.Bucket, key string, p []byte) {
	t.Helper()
	if _, err := objstore.Put(t.Context(), b, key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	r, _, err := b.Get(t.Context(), key, objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLikeFile: any reads, writes and truncations give what they give with bytes in memory.
func TestLikeFile(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := memstore.New(memstore.Config{})
		want := make([]byte, r.IntN(300))
		for i := range want {
			want[i] = byte(1 + r.IntN(255))
		}
		put(t, b, "k", want)
		old := bytes.Clone(want)
		f := open(t, b, "k")
		for range 1 + r.IntN(30) {
			switch off := r.IntN(len(want) + 20); r.IntN(3) {
			case 0:
				p := make([]byte, r.IntN(60))
				for i := range p {
					p[i] = byte(1 + r.IntN(255))
				}
				if n, err := f.WriteAt(p, int64(off)); err != nil || n != len(p) {
					t.Fatal(n, err)
				}
				if more := off + len(p) - len(want); more > 0 {
					want = append(want, make([]byte, more)...)
				}
				copy(want[off:], p)
			case 1:
				if err := f.Truncate(int64(off)); err != nil {
					t.Fatal(err)
				}
				want = append(want, make([]byte, max(off-len(want), 0))...)[:off]
			default:
				p := make([]byte, r.IntN(80))
				n, err := f.ReadAt(p, int64(off))
				rest := want[min(off, len(want)):]
				if k := min(len(rest), len(p)); n != k || !bytes.Equal(p[:n], rest[:k]) || (n < len(p)) != errors.Is(err, io.EOF) {
					t.Fatalf("seed %d: read at %d: %d bytes, %v", seed, off, n, err)
				}
			}
		}
		if f.Size() != int64(len(want)) {
			t.Fatalf("seed %d: size %d, not %d", seed, f.Size(), len(want))
		}
		if !bytes.Equal(stored(t, b, "k"), old) {
			t.Fatal("the object changed before Commit")
		}
		if _, _, err := f.Commit(t.Context(), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stored(t, b, "k"), want) {
			t.Fatalf("seed %d: other bytes", seed)
		}
	}
}

// TestOneWins: of two drafts of one version the second fails, and the first is not lost.
func TestOneWins(t *testing.T) {
	b := memstore.New(memstore.Config{})
	put(t, b, "k", []byte("base"))
	one, two := open(t, b, "k"), open(t, b, "k")
	for i, f := range []*draft.File{one, two} {
		if _, err := f.WriteAt([]byte{'1' + byte(i)}, f.Size()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := one.Commit(t.Context(), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := two.Commit(t.Context(), objstore.PutOptions{}); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("the second: %v", err)
	}
	if got := stored(t, b, "k"); string(got) != "base1" {
		t.Errorf("%q", got)
	}
}

// TestNothingLeft: no temporary file stays.
func TestNothingLeft(t *testing.T) {
	b := memstore.New(memstore.Config{})
	put(t, b, "k", []byte("base"))
	o, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f, err := draft.Open(t.Context(), o, draft.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("more"), 4); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestS3Copies: a real server copies what did not change, and sends are what did, with the
// first 5 MiB.
func TestS3Copies(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	const mib = 1 << 20
	want := make([]byte, 30*mib)
	r := rand.NewChaCha8([32]byte{3})
	_, _ = r.Read(want) // never fails
	put(t, b, "k", want)
	f := open(t, b, "k")
	tail := bytes.Repeat([]byte("tail"), 1000)
	want = append(want, tail...)
	copy(want, "header")
	for off, p := range map[int64][]byte{0: []byte("header"), 30 * mib: tail} {
		if _, err := f.WriteAt(p, off); err != nil {
			t.Fatal(err)
		}
	}
	_, c, err := f.Commit(t.Context(), objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Copied != 25*mib || c.Sent != 5*mib+int64(len(tail)) {
		t.Errorf("%+v", c)
	}
	if !bytes.Equal(stored(t, b, "k"), want) {
		t.Error("other bytes")
	}
}
