package lru

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// item is an entry of the model, or one that left a cache.
type item struct{ Key, Value int }

// model is a cache as plain as can be: the item used last stands last.
type model struct {
	max   int64
	items []item
	costs map[item]int64
	gone  []item
}

func (m *model) find(key int) int {
	return slices.IndexFunc(m.items, func(x item) bool { return x.Key == key })
}

func (m *model) get(key int, use bool) (int, bool) {
	i := m.find(key)
	if i < 0 {
		return 0, false
	}
	x := m.items[i]
	if use {
		m.items = append(slices.Delete(m.items, i, i+1), x)
	}
	return x.Value, true
}

func (m *model) cost() (n int64) {
	for _, x := range m.items {
		n += m.costs[x]
	}
	return n
}

func (m *model) put(x item, cost int64) {
	m.remove(x.Key)
	m.items = append(m.items, x)
	m.costs[x] = cost
	m.trim(m.max)
}

func (m *model) trim(n int64) {
	for m.cost() > n && len(m.items) > 0 {
		m.remove(m.items[0].Key)
	}
}

func (m *model) remove(key int) {
	if i := m.find(key); i >= 0 {
		m.gone = append(m.gone, m.items[i])
		m.items = slices.Delete(m.items, i, i+1)
	}
}

// got is what All yields, in the order of the model.
func got(c *Cache[int, int]) []item {
	all := []item{}
	for k, v := range c.All() {
		all = append(all, item{k, v})
	}
	slices.Reverse(all)
	return all
}

func TestCacheIsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{max: rapid.Int64Range(-1, 12).Draw(rt, "max"), items: []item{}, costs: map[item]int64{}}
		var gone []item
		c := Cache[int, int]{Max: m.max, Gone: func(k, v int) { gone = append(gone, item{k, v}) }}
		keys := rapid.IntRange(0, 7)
		same := func(v int, ok bool, want int, wantOK bool) {
			if v != want || ok != wantOK {
				rt.Fatalf("%d, %t, want %d, %t", v, ok, want, wantOK)
			}
		}
		value := 0 // no two are alike, so that a replaced one is told from its successor
		rt.Repeat(map[string]func(*rapid.T){
			"get": func(rt *rapid.T) {
				k := keys.Draw(rt, "key")
				v, ok := c.Get(k)
				want, wantOK := m.get(k, true)
				same(v, ok, want, wantOK)
			},
			"peek": func(rt *rapid.T) {
				k := keys.Draw(rt, "key")
				v, ok := c.Peek(k)
				want, wantOK := m.get(k, false)
				same(v, ok, want, wantOK)
			},
			"put": func(rt *rapid.T) {
				value++
				x, cost := item{keys.Draw(rt, "key"), value}, rapid.Int64Range(0, 14).Draw(rt, "cost")
				c.Put(x.Key, x.Value, cost)
				m.put(x, cost)
			},
			"remove": func(rt *rapid.T) {
				k := keys.Draw(rt, "key")
				c.Remove(k)
				m.remove(k)
			},
			"trim": func(rt *rapid.T) {
				n := rapid.Int64Range(-1, 12).Draw(rt, "n")
				c.Trim(n)
				m.trim(n)
			},
			"sweep": func(rt *rapid.T) {
				odd := rapid.IntRange(0, 1).Draw(rt, "odd")
				for k := range c.All() {
					if k%2 == odd {
						c.Remove(k)
					}
				}
				for _, x := range slices.Backward(slices.Clone(m.items)) {
					if x.Key%2 == odd {
						m.remove(x.Key)
					}
				}
			},
			"": func(rt *rapid.T) {
				if d := cmp.Diff(m.items, got(&c)); d != "" {
					rt.Fatalf("held (-want +got):\n%s", d)
				}
				if d := cmp.Diff(m.gone, gone); d != "" {
					rt.Fatalf("gone (-want +got):\n%s", d)
				}
				if c.Len() != len(m.items) || c.Cost() != m.cost() || c.Cost() > max(c.Max, 0) {
					rt.Fatalf("%d values of %d, want %d of %d", c.Len(), c.Cost(), len(m.items), m.cost())
				}
			},
		})
	})
}

// TestGoneSeesTheRest: when Gone is called, the cache no longer has the value.
func TestGoneSeesTheRest(t *testing.T) {
	var c Cache[string, int]
	c.Max = 2
	var left []int
	c.Gone = func(string, int) { left = append(left, c.Len()) }
	for _, k := range []string{"a", "b", "c", "b"} {
		c.Put(k, 0, 1)
	}
	c.Remove("b")
	c.Remove("x")
	if d := cmp.Diff([]int{2, 1, 1}, left); d != "" {
		t.Error(d)
	}
	for range c.All() {
		break // and go on no further
	}
}

func TestHitsAllocateNothing(t *testing.T) {
	c := filled(100)
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		c.Get(i % 100)
		c.Peek(i % 100)
		c.Get(-1)
		i += 7
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func filled(n int) *Cache[int, []byte] {
	c := &Cache[int, []byte]{Max: int64(n)}
	for i := range n {
		c.Put(i, nil, 1)
	}
	return c
}

func BenchmarkCache(b *testing.B) {
	for _, x := range []struct {
		name string
		do   func(*Cache[int, []byte], int)
	}{
		{"hit", func(c *Cache[int, []byte], i int) { c.Get(i * 7919 % 256) }},
		{"evict", func(c *Cache[int, []byte], i int) { c.Put(256+i, nil, 1) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			c := filled(256)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				x.do(c, i)
			}
		})
	}
}
