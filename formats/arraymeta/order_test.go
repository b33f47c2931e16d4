package arraymeta_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
)

// TestContinue: values go on in the order of those that are there, or are refused by their number; what is in no order takes any.
func TestContinue(t *testing.T) {
	t.Parallel()
	const since = "days since 2025-01-01"
	const nat = math.MinInt64
	for _, c := range []struct {
		typ, units string
		had, more  []byte
		says       string
	}{
		{"<i8", since, i8(0, 1, 2), i8(3, 4), ""},
		{"<i8", since, i8(0, 1, 5), i8(6, 9), ""},
		{"<i8", since, i8(0, 1, 2), i8(2, 3), "value 2025-01-03, number 1 of the 2 to append, does not come behind 2025-01-03"},
		{"<i8", since, i8(0, 1, 5), i8(6, 8, 7), "value 2025-01-08, number 3 of the 3 to append, does not come behind 2025-01-09"},
		{"<i8", since, i8(0, 1, 1, 5), i8(5, 6), ""},
		{"<i8", since, i8(0, 1, 1, 5), i8(5, 4), "values before it go up"},
		{"<i8", since, i8(0, 4, 1), i8(0, 9, 2), ""},
		{"<i8", since, i8(4), i8(5), ""},
		{"<i8", since, i8(4), i8(3), "values before it go up"},
		{"<i8", "", i8(4), i8(3, 2), ""},
		{"<i8", "", i8(4), i8(3, 4), "number 2"},
		{"<i8", "", i8(4), i8(4), "none is there twice"},
		{"<i8", "", nil, i8(3, 9, 4), ""},
		{"<i8", "", i8(4, 4), i8(4, 5), ""},
		{"<i8", "", i8(4, 4), i8(3, 5), "number 2"},
		{"<i8", "", i8(9, 8), i8(7, 5), ""},
		{"<i8", "", i8(9, 8), i8(8), "values before it go down"},
		{"<i8", "", i8(9, 8, 1), i8(2), "values before it go down"},
		{"<i8", "", i8(9, 8, 1), nil, ""},
		{"<u8", "", i8(1, -3), i8(-2), ""}, // beyond int64
		{"<u8", "", i8(1, -2), i8(-2), "does not come behind"},
		{"<f8", "", f8(0.5, 0.25), f8(0.125), ""},
		{"<f8", "", f8(0.5, 0.25), f8(math.NaN()), "value NaN, number 1 of the 1 to append, has no place"},
		{"<f8", "", f8(0.5, math.NaN()), f8(0.5), ""},
		{"<f8", "", f8(0.5, math.Inf(1)), f8(3), "does not come behind +Inf"},
		{"<M8[D]", "", i8(3, nat), i8(1), ""},
		{"<M8[D]", "", i8(3, 9), i8(nat), "no time"},
		{"<m8[s]", "", i8(3, 9), i8(nat), "has no place"},
		{"<m8[s]", "", i8(-3, -1), i8(0, 2), ""},
		{"|S8", "", []byte("b0000000a0000000"), []byte("a0000000"), ""},
	} {
		had, coord := axisOf(t, c.typ, c.units, c.had)
		more, err := coord.AxisOf(int64(len(c.more)/8), had.Type(), c.more)
		if err != nil {
			t.Fatal(err)
		}
		err = had.Continue(had.Order(), more)
		if c.says == "" && err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if c.says != "" && (!errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
