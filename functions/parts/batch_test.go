package parts_test

import (
	"fmt"
	"testing"

	"github.com/farread/farread/functions/parts"
)

// TestBatches: batches hold what is missing, once, in order, and are as many and as large
// as they should be.
func TestBatches(t *testing.T) {
	t.Parallel()
	all := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	const mib = 1 << 20
	for _, c := range []struct {
		parts, missing int // the last ones
		each           int64
		batches, size  int
	}{
		{1000, 1000, mib, 16, 64},
		{1000, 10, mib, 1, 10},
		{1000, 1000, 64 * mib, 250, 4},
		{40000, 40000, 64 * mib, 10000, 4},
		{40000, 40000, 1 << 30, 40000, 1},
		{9000, 9000, 1 << 30, 9000, 1},
		{0, 0, 1, 0, 0},
	} {
		p := &parts.Plan{Parts: c.parts, Bytes: int64(c.parts) * c.each}
		list, err := parts.Batches(p, all(c.parts)[c.parts-c.missing:], 0)
		if err != nil || len(list) != c.batches || len(list) > 0 && list[0].To-list[0].From != c.size {
			t.Errorf("%+v: %d batches, %v", c, len(list), err)
			continue
		}
		next := c.parts - c.missing
		for _, b := range list {
			if b.From != next {
				t.Fatalf("%+v: %v", c, b)
			}
			next = b.To
		}
		if next != c.parts {
			t.Errorf("%+v: up to %d", c, next)
		}
	}
	list, err := parts.Batches(&parts.Plan{Parts: 10, Bytes: 10}, []int{1, 2, 3, 7, 9}, 0)
	if err != nil || fmt.Sprint(list) != "[{1 4} {7 8} {9 10}]" {
		t.Errorf("with gaps: %v, %v", list, err)
	}
	list, err = parts.Batches(&parts.Plan{Parts: 10, Bytes: 10}, all(10), 4)
	if err != nil || fmt.Sprint(list) != "[{0 4} {4 8} {8 10}]" {
		t.Errorf("of 4 bytes: %v, %v", list, err)
	}
	if _, err := parts.Batches(&parts.Plan{Parts: parts.MaxParts + 1, Bytes: 1}, nil, 0); err == nil {
		t.Error("too many parts")
	}
	if got := parts.Spelled([]int{0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}); got != "0-2, 4, 6, 8, 10, 12, 14, 16, …" {
		t.Error(got)
	}
}
