package b2nd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
)

// scanned puts the items that a scan gives in the order of the box. seen has the place of
// each, once.
func scanned(t *testing.T, a *b2nd.Array, box b2nd.Box, p *predicate.Predicate, each int) (places []int64, items []byte) {
	t.Helper()
	s, err := a.Scan(t.Context(), box, p)
	if err != nil {
		t.Fatal(err)
	}
	size, counts := int64(a.ItemSize()), box.Counts()
	found := map[int64][]byte{}
	var mu sync.Mutex
	for list := s.Chunks(); len(list) > 0; {
		k := min(each, len(list))
		err := s.Each(t.Context(), list[:k], func(p *b2nd.Piece) error {
			mu.Lock()
			defer mu.Unlock()
			at := make([]int64, len(p.N))
			for {
				off, place := p.Off, int64(0)
				for i, k := range at {
					off += k * p.Step[i]
					place = place*counts[i] + p.Out[i] + k
				}
				if i := off / size; p.Mask == nil || p.Mask[i/64]>>(i%64)&1 == 1 {
					if found[place] != nil {
						t.Errorf("item %d twice", place)
					}
					found[place] = bytes.Clone(p.Items[off : off+size])
				}
				i := len(at) - 1
				for ; i >= 0; i-- {
					if at[i]++; at[i] < p.N[i] {
						break
					}
					at[i] = 0
				}
				if i < 0 {
					return nil
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		list = list[k:]
	}
	for place := range found {
		places = append(places, place)
	}
	slices.Sort(places)
	for _, place := range places {
		items = append(items, found[place]...)
	}
	return places, items
}

// TestScan: a scan gives what a search finds, with statistics and without, and all items of
// a box if nothing is compared.
func TestScan(t *testing.T) {
	t.Parallel()
	lines := bufio.NewScanner(bytes.NewReader(load(t, "where/where.jsonl")))
	n := 0
	for ; lines.Scan(); n++ {
		if n%40 != 0 {
			continue
		}
		var l struct{ File, Slice, Where string }
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		plain, err := b2nd.Open(t.Context(), reader(load(t, l.File)), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := b2nd.ParseSlice(l.Slice)
		if err != nil {
			t.Fatal(err)
		}
		box, err := s.Resolve(plain.Shape())
		if err != nil {
			t.Fatal(err)
		}
		p := bind(t, l.Where, plain.DType())
		at, want, _ := found(t, plain, box, p, b2nd.SearchOptions{})
		for _, a := range []*b2nd.Array{plain, withStats(t, load(t, l.File), b2nd.Options{})} {
			if a == nil {
				continue
			}
			places, items := scanned(t, a, box, p, 1+n%5)
			if !bytes.Equal(items, want) || len(places)*8*len(a.Shape()) != len(at) {
				t.Errorf("%s [%s] where %s: %d items, want %d bytes", l.File, l.Slice, l.Where, len(places), len(want))
			}
		}
		size, err := plain.SizeOf(box)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]byte, size)
		if err := plain.ReadSlice(t.Context(), all, box); err != nil {
			t.Fatal(err)
		}
		if _, items := scanned(t, plain, box, nil, 3); !bytes.Equal(items, all) {
			t.Errorf("%s [%s]: other items", l.File, l.Slice)
		}
	}
	if n < 100 {
		t.Errorf("%d lines", n)
	}
}

// TestScanEnds: an error of the function ends a scan, and is returned as it is.
func TestScanEnds(t *testing.T) {
	t.Parallel()
	var l struct{ File string }
	first, _, _ := bytes.Cut(load(t, "where/where.jsonl"), []byte("\n"))
	if err := json.Unmarshal(first, &l); err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), reader(load(t, l.File)), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var sl b2nd.Slice
	box, err := sl.Resolve(a.Shape())
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Scan(t.Context(), box, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	if err := s.Each(t.Context(), s.Chunks(), func(*b2nd.Piece) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
