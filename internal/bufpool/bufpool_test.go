package bufpool_test

import (
	"sync"
	"testing"

	"github.com/farread/farread/internal/bufpool"
	"pgregory.net/rapid"
)

func TestGetSizes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		n     int
		bytes int64
	}{
		{0, 4 << 10}, {1, 4 << 10}, {4096, 4 << 10}, {4097, 8 << 10}, {8192, 8 << 10},
		{1<<20 - 1, 1 << 20}, {1 << 20, 1 << 20}, {1<<20 + 1, 2 << 20},
		{64 << 20, 64 << 20}, {64<<20 + 1, 64<<20 + 1},
	}
	for _, c := range cases {
		var p bufpool.Pool
		b := p.Get(c.n)
		if len(b.B) != c.n {
			t.Errorf("Get(%d): %d bytes", c.n, len(b.B))
		}
		if n, size := p.Loans(); n != 1 || size != c.bytes {
			t.Errorf("Get(%d): %d loans of %d bytes, want 1 of %d", c.n, n, size, c.bytes)
		}
		b.Release()
		if n, size := p.Loans(); n != 0 || size != 0 {
			t.Errorf("Get(%d), Release: still %d loans of %d bytes", c.n, n, size)
		}
	}
}

// TestLoansNeverShareMemory borrows and returns at random and checks that every
// buffer keeps what its borrower wrote.
func TestLoansNeverShareMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p bufpool.Pool
		type loan struct {
			b    *bufpool.Buf
			mark byte
		}
		var loans []loan
		drop := func(i int) {
			l := loans[i]
			for j, v := range l.b.B {
				if v != l.mark {
					t.Fatalf("byte %d of %d is %d, want %d", j, len(l.b.B), v, l.mark)
				}
			}
			l.b.Release()
			loans = append(loans[:i], loans[i+1:]...)
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(loans) > 0 && rapid.Bool().Draw(t, "release") {
				drop(rapid.IntRange(0, len(loans)-1).Draw(t, "which"))
				continue
			}
			l := loan{p.Get(rapid.IntRange(0, 40_000).Draw(t, "size")), byte(i)}
			for j := range l.b.B {
				l.b.B[j] = l.mark
			}
			loans = append(loans, l)
			if n, _ := p.Loans(); n != int64(len(loans)) {
				t.Fatalf("%d loans, want %d", n, len(loans))
			}
		}
		for len(loans) > 0 {
			drop(0)
		}
		if n, size := p.Loans(); n != 0 || size != 0 {
			t.Fatalf("%d loans of %d bytes are left", n, size)
		}
	})
}

func TestReleaseShrunkSlice(t *testing.T) {
	t.Parallel()
	var p bufpool.Pool
	b := p.Get(10_000)
	b.B = b.B[5_000:6_000] // borrowers may cut; the whole comes back
	b.Release()
	if c := p.Get(16 << 10); len(c.B) != 16<<10 {
		t.Errorf("%d bytes after a cut one came back", len(c.B))
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	var p bufpool.Pool
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				b := p.Get((i * 7919) % 30_000)
				for j := range b.B {
					b.B[j] = byte(g)
				}
				for j := range b.B {
					if b.B[j] != byte(g) {
						t.Errorf("goroutine %d reads byte of %d", g, b.B[j])
						return
					}
				}
				b.Release()
			}
		})
	}
	wg.Wait()
	if n, size := p.Loans(); n != 0 || size != 0 {
		t.Errorf("%d loans of %d bytes are left", n, size)
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	var p bufpool.Pool
	b := p.Get(1)
	b.Release()
	mustPanic(t, "second Release", b.Release)
	mustPanic(t, "negative size", func() { p.Get(-1) })
	(*bufpool.Buf)(nil).Release()
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

func BenchmarkGetRelease(b *testing.B) {
	var p bufpool.Pool
	b.ReportAllocs()
	for b.Loop() {
		p.Get(1 << 20).Release()
	}
}
