package formats

import (
	"bytes"
	"testing"
)

// TestCacheIsOneBudget: files share it, what was used last stays, and what does not fit
// drives nothing out.
func TestCacheIsOneBudget(t *testing.T) {
	t.Parallel()
	c := NewCache(10)
	if one, other := c.NewName(), c.NewName(); one == other {
		t.Errorf("%q twice", one)
	}
	a, b, big := CacheKey{File: "a"}, CacheKey{File: "b"}, CacheKey{File: "big"}
	p := []byte("aaaa")
	c.Put(a, p)
	p[0] = 'x' // the cache has a copy
	c.Put(b, []byte("bbbb"))
	c.Put(big, make([]byte, 11))
	if got := c.Get(a); string(got) != "aaaa" || c.Size() != 8 {
		t.Errorf("%q, %d bytes", got, c.Size())
	}
	c.Put(CacheKey{File: "b", Kind: "other"}, []byte("cccc"))
	if c.Get(b) != nil || c.Get(a) == nil || c.Get(big) != nil || c.Size() != 8 {
		t.Errorf("a %q, b %q, big %q, %d bytes", c.Get(a), c.Get(b), c.Get(big), c.Size())
	}
	given := make([]byte, 4, 9)
	c.Give(big, given) // counts with its spare room, and drives all else out
	c.Give(a, make([]byte, 1, 11))
	if got := c.Get(big); len(got) != 4 || &got[0] != &given[0] || c.Get(a) != nil || c.Size() != 9 {
		t.Errorf("%d bytes given, %d held", len(got), c.Size())
	}
	none := NewCache(0)
	none.Give(a, nil)
	none.Put(a, nil)
	none.Put(a, []byte("a"))
	if none.Get(a) != nil || none.Size() != 0 || none.Max() != 0 || !bytes.Equal(none.Get(b), nil) {
		t.Error("a cache of nothing keeps something")
	}
}
