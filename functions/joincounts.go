package functions

import (
	"encoding/json"
	"math"
)

// counts are numbers of rows, of each column of a dataset: one number if all columns have
// as many, or none if that is 0. They are not changed once they are made.
type counts []int64

// of is the number of column i.
func (c counts) of(i int) int64 {
	switch {
	case len(c) == 0:
		return 0
	case len(c) == 1:
		return c[0]
	}
	return c[i]
}

// all has the numbers of n columns.
func (c counts) all(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = c.of(i)
	}
	return out
}

// each makes a number of each column, of as many columns as c or d has.
func (c counts) each(d counts, f func(a, b int64) int64) counts {
	out := make(counts, max(len(c), len(d)))
	for i := range out {
		out[i] = f(c.of(i), d.of(i))
	}
	return out.short()
}

func (c counts) plus(d counts) counts {
	return c.each(d, func(a, b int64) int64 { return a + b })
}

func (c counts) less(d counts) counts {
	return c.each(d, func(a, b int64) int64 { return a - b })
}

// most is the greatest number.
func (c counts) most() int64 {
	most := c.of(0)
	for _, n := range c {
		most = max(most, n)
	}
	return most
}

// fit reports whether these are numbers of rows of so many columns, each at most that of
// total.
func (c counts) fit(total counts, columns int) bool {
	if len(c) > 1 && len(c) != columns {
		return false
	}
	for i := range columns {
		if n := c.of(i); n < 0 || n > total.of(i) {
			return false
		}
	}
	return true
}

// room reports whether a sum of both is a number.
func (c counts) room(d counts) bool {
	for i := range max(len(c), len(d)) {
		if c.of(i) > math.MaxInt64-d.of(i) {
			return false
		}
	}
	return true
}

// short is one number for all columns, if they have the same.
func (c counts) short() counts {
	for _, n := range c {
		if n != c[0] {
			return c
		}
	}
	return c[:min(len(c), 1)]
}

// MarshalJSON writes a number, or a list.
func (c counts) MarshalJSON() ([]byte, error) {
	if len(c) > 1 {
		return json.Marshal([]int64(c))
	}
	return json.Marshal(c.of(0))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *counts) UnmarshalJSON(p []byte) error {
	var list []int64
	if err := json.Unmarshal(p, &list); err == nil {
		*c = counts(list).short()
		return nil
	}
	var n int64
	if err := json.Unmarshal(p, &n); err != nil {
		return err
	}
	*c = counts{n}
	return nil
}
