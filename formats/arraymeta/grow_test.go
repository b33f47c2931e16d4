package arraymeta_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
)

func axisOf(t *testing.T, typ, units string, values []byte) (arraymeta.Axis, arraymeta.Coord) {
	t.Helper()
	d, err := dtype.Parse(typ)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := arraymeta.NewCoord("x", d, values)
	if !ok {
		t.Fatal(typ)
	}
	if units != "" {
		text, err := json.Marshal(units)
		if err != nil {
			t.Fatal(err)
		}
		c.Attrs = map[string]json.RawMessage{"units": text}
	}
	a, err := c.Axis(int64(len(values) / d.ItemSize()))
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

func i8(v ...int64) (p []byte) {
	for _, x := range v {
		p = binary.LittleEndian.AppendUint64(p, uint64(x))
	}
	return p
}

func f8(v ...float64) (p []byte) {
	for _, x := range v {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
	}
	return p
}

func f4(v ...float32) (p []byte) {
	for _, x := range v {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(x))
	}
	return p
}

// TestFollow: values of another type or unit become those of the coordinate, exactly, or are refused.
func TestFollow(t *testing.T) {
	t.Parallel()
	const since = "days since 2025-01-01"
	for _, c := range []struct {
		typ, units string
		more       string
		moreUnits  string
		values     []byte
		want       []byte
		says       string
	}{
		{"<i8", since, "<i8", since, i8(5, 9), i8(5, 9), ""},
		{"<i8", since, "<i8", "", i8(5, 9), i8(5, 9), ""},
		{"<i8", since, "<i8", "hours since 2025-01-02", i8(0, 48), i8(1, 3), ""},
		{"<i8", since, "<i8", "hours since 2025-01-02", i8(0, 5), nil, "2025-01-02T05:00 does not fit"},
		{"<f8", since, "<i8", "hours since 2025-01-02", i8(0, 6), f8(1, 1.25), ""},
		{"<i8", since, "<M8[ns]", "", i8(1735689600e9, 1735776000e9), i8(0, 1), ""},
		{"<M8[D]", "", "<i8", since, i8(0, 3), i8(20089, 20092), ""},
		{"<M8[D]", "", "<M8[s]", "", i8(86400, 90000), nil, "does not fit"},
		{"<i8", since, "<i8", "days since the flood", i8(5), nil, "units"},
		{"<i8", "m", "<i8", "km", i8(5), nil, `its units are "km", those that are there "m"`},
		{"<f4", "m", "<f8", "m", f8(0.1, 7), f4(0.1, 7), ""},
		{"<f4", "", "<f8", "", f8(1e300), nil, "does not fit"},
		{"|u1", "", "<i8", "", i8(3, 255), []byte{3, 255}, ""},
		{"|u1", "", "<i8", "", i8(3, 256), nil, "value 256 does not fit"},
		{"<i8", "", "<f8", "", f8(3, -4), i8(3, -4), ""},
		{"<i8", "", "<f8", "", f8(3.5), nil, "value 3.5 does not fit"},
		{"<i8", "", "<f8", "", f8(math.NaN()), nil, "does not fit"},
		{"|S4", "", "|S2", "", []byte("abcd"), []byte("ab\x00\x00cd\x00\x00"), ""},
		{"|S2", "", "|S4", "", []byte("abcd"), nil, "|S4"},
		{"|S8", "", "<i8", "", i8(5), nil, "its values are <i8"},
		{"<m8[s]", "", "<i8", "", i8(5), nil, "its values are <i8"},
	} {
		_, to := axisOf(t, c.typ, c.units, make([]byte, 8))
		more, _ := axisOf(t, c.more, c.moreUnits, c.values)
		got, err := to.Follow(more)
		if c.says == "" && (err != nil || string(got) != string(c.want)) {
			t.Errorf("%+v: %x, %v", c, got, err)
		}
		if c.says != "" && (!errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), c.says) || got != nil) {
			t.Errorf("%+v: %x, %v", c, got, err)
		}
	}
}

// TestGrow: a coordinate that grows is the one of all values, or says that they are too many.
func TestGrow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ had, more, all []byte }{
		{i8(1, 2), i8(3, 4, 5), i8(1, 2, 3, 4, 5)},
		{i8(1, 2, 3), i8(4, 5), i8(1, 2, 3, 4, 5)},
		{i8(1, 2), i8(9), i8(1, 2, 9)},
		{i8(1, 9), i8(17), i8(1, 9, 17)},
		{f8(0.1, 0.2), f8(math.NaN()), f8(0.1, 0.2, math.NaN())},
		{nil, i8(4), i8(4)},
	} {
		typ := "<i8"
		if len(c.more) == 8 && binary.LittleEndian.Uint64(c.more) == math.Float64bits(math.NaN()) {
			typ = "<f8"
		}
		_, was := axisOf(t, typ, "m", c.had)
		n := int64(len(c.had) / 8)
		got, ok := was.Grow(n, c.more)
		if !ok || string(got.AppendValues(nil, int64(len(c.all)/8))) != string(c.all) || string(got.Attrs["units"]) != `"m"` {
			t.Errorf("%x behind %x: %+v %v", c.more, c.had, got, ok)
		}
	}
	_, regular := axisOf(t, "<i8", "", i8(0, 1, 2))
	if err := regular.GoesOn(3, 1<<40); err != nil {
		t.Error(err)
	}
	if err := regular.GoesOn(3, math.MaxInt64-3); err != nil {
		t.Error(err)
	}
	_, short := axisOf(t, "|u1", "", []byte{0, 80, 160})
	if err := short.GoesOn(3, 1); !errors.Is(err, nil) {
		t.Error(err)
	}
	if err := short.GoesOn(3, 2); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	_, two := axisOf(t, "<i8", "", i8(0, 5))
	if err := two.GoesOn(2, 1); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("two values make a rule: %v", err)
	}
	if three, ok := two.Grow(2, i8(10)); !ok || three.GoesOn(3, 1) != nil {
		t.Errorf("three values make none: %+v", three)
	}
	_, list := axisOf(t, "<i8", "", i8(0, 1, 5))
	if err := list.GoesOn(3, 1); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	if _, ok := list.Grow(3, make([]byte, arraymeta.MaxValues)); ok {
		t.Error("a layer takes more than it may")
	}
	if _, ok := regular.Grow(1<<40, i8(7)); ok {
		t.Error("a list of 8 TiB")
	}
}
