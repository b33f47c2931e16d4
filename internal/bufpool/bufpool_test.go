package bufpool

import (
	"testing"
)

// TestClasses: every length has a class that holds it without waste, lengths
// that are a class's size are of that class, and classes ascend.
func TestClasses(t *testing.T) {
	last, lastSize := 0, 1<<minBits
	for n := range 300_000 {
		c, size := class(n)
		if size < n || n > 1<<minBits && size > n+n/steps+1 {
			t.Fatalf("%d bytes get %d", n, size)
		}
		if back, same := class(size); back != c || same != size {
			t.Fatalf("%d bytes get %d of class %d, which is of class %d", n, size, c, back)
		}
		if c != last && (c != last+1 || size <= lastSize) {
			t.Fatalf("%d bytes: class %d of %d after %d of %d", n, c, size, last, lastSize)
		}
		last, lastSize = c, size
	}
	if c, size := class(1 << maxBits); c != classes-1 || size != 1<<maxBits {
		t.Errorf("the largest class is %d of %d", c, size)
	}
}

func TestPool(t *testing.T) {
	var p Pool
	for range 3 {
		for _, n := range []int{0, 1, 1024, 1025, 5000, 1 << 20} {
			b := p.Get(n)
			if len(b) != n || cap(b) < n || p.loans.Load() != 1 {
				t.Fatalf("%d bytes of %d for %d, %d loans", len(b), cap(b), n, p.loans.Load())
			}
			p.Put(b[:0])
		}
	}
	p.Get(0)
	p.Put(make([]byte, 1500)) // no class has this capacity, so Put drops it
	if b := p.Get(1400); cap(b) != 1536 {
		t.Errorf("capacity %d", cap(b))
	}
}
