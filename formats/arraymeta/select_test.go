package arraymeta_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/nd"
)

func axis(t *testing.T, c arraymeta.Coord, n int64) arraymeta.Axis {
	t.Helper()
	a, err := c.Axis(n)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func units(text string) map[string]json.RawMessage {
	p, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return map[string]json.RawMessage{"units": p}
}

func float64s(v ...float64) (p []byte) {
	for _, f := range v {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(f))
	}
	return p
}

// axes are those of the tests, by name.
func axes(t *testing.T) map[string]arraymeta.Axis {
	t.Helper()
	return map[string]arraymeta.Axis{
		"days":    axis(t, arraymeta.Coord{DType: "<i8", Start: "0", Step: "1", Attrs: units("days since 2025-01-01")}, 365),
		"hours":   axis(t, arraymeta.Coord{DType: "<M8[h]", Start: "482136", Step: "1"}, 24*365), // 2025-01-01
		"back":    axis(t, arraymeta.Coord{DType: "<i4", Start: "364", Step: "-1", Attrs: units("days since 2025-01-01 00:00:00")}, 365),
		"noon":    axis(t, arraymeta.Coord{DType: "<f8", Start: "0.5", Step: "1", Attrs: units("days since 2025-01-01T00:00:00Z")}, 365),
		"months":  axis(t, arraymeta.Coord{DType: "<M8[M]", Start: "660", Step: "1"}, 24), // 2025-01
		"lat":     axis(t, arraymeta.Coord{DType: "<f4", Start: "90", Step: "-0.5"}, 361),
		"tenths":  axis(t, arraymeta.Coord{DType: "<f4", Start: "10", Step: "0.1"}, 100),
		"levels":  axis(t, arraymeta.Coord{DType: "<f8", Values: float64s(1000, 850, 500, 100)}, 4),
		"mixed":   axis(t, arraymeta.Coord{DType: "<f8", Values: float64s(3, 1, 2)}, 3),
		"gaps":    axis(t, arraymeta.Coord{DType: "<f8", Values: float64s(3, math.NaN(), 2)}, 3),
		"twice":   axis(t, arraymeta.Coord{DType: "<f8", Values: float64s(1, 2, 2, 3)}, 4),
		"station": axis(t, arraymeta.Coord{DType: "|S3", Values: []byte("AAABBBC:D")}, 3),
		"zone":    axis(t, arraymeta.Coord{DType: "<i8", Start: "0", Step: "1", Attrs: units("hours since 2025-01-01 02:00:00 +02:00")}, 24),
		"noleap": axis(t, arraymeta.Coord{DType: "<i8", Start: "0", Step: "1",
			Attrs: map[string]json.RawMessage{"units": raw(`"days since 2025-01-01"`), "calendar": raw(`"noleap"`)}}, 365),
		"empty": axis(t, arraymeta.Coord{DType: "<f8", Values: []byte{}}, 0),
	}
}

// TestSelect: labels become the positions that xarray's label slices have.
func TestSelect(t *testing.T) {
	t.Parallel()
	all := axes(t)
	for text, want := range map[string]string{
		"days=2025-03-01":                         "59",
		"days=2025-03-01:2025-04-01":              "59:91", // both ends
		"days=2025-04-01:2025-03-01":              "59:91",
		"days=2025-03":                            "59:90",
		"days=2025-12-30:":                        "363:365",
		"days=:2025-01-02":                        "0:2",
		"days=2024:2030":                          "0:365",
		"days='2025-03-01'":                       "59",
		"hours=2025-01-02":                        "24:48",
		"hours=2025-01-02T06":                     "30",
		"hours=2025-01-02 06:00":                  "30",
		"hours=2025-01-02T06:00:00Z":              "30",
		"hours=2025-01-02T06:00:2025-01-02T08:30": "30:33",
		"hours=2025-01-02T06:2025-01-02":          "30:48",
		"back=2025-03-01:2025-04-01":              "274:306",
		"back=2025-12-30:":                        "1:365", // from there on, the way the axis runs
		"back=:2025-12-30":                        "0:2",
		"noon=2025-03-01":                         "59:60", // an item of the day, at noon
		"noon=2025-03-01T12":                      "59",
		"months=2025-03":                          "2",
		"months=2025-03-01":                       "2",
		"months=2025":                             "0:12",
		"months=2025-02-10:2025-03-10":            "2:3",
		"lat=40:60":                               "60:101",
		"lat=60:40":                               "60:101",
		"lat=40":                                  "100",
		"lat=-90:-89.5":                           "359:361",
		"lat=89.9:":                               "1:361",
		"lat=89.9:1000":                           "0:1",
		"tenths=10.1":                             "1",
		"tenths=10.1:10.3":                        "1:4",
		"levels=850":                              "1",
		"levels=900:100":                          "1:4",
		"mixed=1":                                 "1",
		"gaps=2":                                  "2",
		"twice=2":                                 "1:3",
		"station=BBB":                             "1",
		"station=C:D":                             "2",
		"station=AAA:BBB":                         "0:2",
		"zone=2025-01-01T01":                      "1",
		"noleap=59":                               "59",
		"lat=40.2 nearest":                        "100",
		"lat=1000 nearest":                        "0",
		"days=2025-03-01T15:00 nearest":           "60",
		"days=1999 nearest":                       "0",
		"mixed=1.4 nearest":                       "1",
		"levels=700 nearest":                      "1",
	} {
		text, nearest := strings.CutSuffix(text, " nearest")
		s, err := arraymeta.ParseSelection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		name := s.Dims()[0]
		got, err := s.Slice([]string{name}, func(int) (arraymeta.Axis, error) { return all[name], nil }, nearest)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n := []int64{all[name].Len()}
		box, err := got.Resolve(n)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		have := fmt.Sprint(box.Start[0])
		if len(box.OutShape) == 1 {
			have += fmt.Sprintf(":%d", box.Stop[0])
		}
		if have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}

func TestSelectRefused(t *testing.T) {
	t.Parallel()
	all := axes(t)
	for text, want := range map[string]struct {
		err  error
		text string
	}{
		"days=2026":                   {nd.ErrIndex, "2025-01-01 … 2025-12-31"},
		"days=2026-01-01:2027":        {nd.ErrIndex, "2025-01-01 … 2025-12-31"},
		"days=yesterday":              {nd.ErrSyntax, "no time"},
		"days=2025-02-30":             {nd.ErrSyntax, "no time"},
		"days=12":                     {nd.ErrSyntax, "no time"},
		"noon=2025-03-01T11":          {nd.ErrIndex, "between 2025-02-28T12:00 and 2025-03-01T12:00"},
		"lat=40.2":                    {nd.ErrIndex, "between 40.5 and 40"},
		"lat=40.1:40.2":               {nd.ErrIndex, "90 … -90"},
		"lat=north":                   {nd.ErrSyntax, "no number"},
		"lat=NaN":                     {nd.ErrSyntax, "no number"},
		"lat=1:2:3":                   {nd.ErrSyntax, "no number"},
		"mixed=1:2":                   {nd.ErrSyntax, "neither ascending nor descending"},
		"gaps=2:3":                    {nd.ErrSyntax, "neither"},
		"station=XXX":                 {nd.ErrIndex, "AAA … C:D"},
		"empty=1":                     {nd.ErrIndex, "nothing"},
		"lat=1, lat=2":                {nd.ErrSyntax, "twice"},
		"lat=":                        {nd.ErrSyntax, "want NAME=LABEL"},
		"=5":                          {nd.ErrSyntax, "want NAME=LABEL"},
		"lat=1, x":                    {nd.ErrSyntax, "x"},
		"lat=1, 2, 3":                 {nd.ErrSyntax, "2 positions for 0 axes"},
		"other=1":                     {nd.ErrSyntax, "dimensions are"},
		strings.Repeat("a=1,", 40000): {nd.ErrSyntax, "characters"},
	} {
		s, err := arraymeta.ParseSelection(text)
		if err == nil {
			name := s.Dims()[0]
			dims := []string{name}
			if name == "other" {
				dims = []string{"lat"}
			}
			_, err = s.Slice(dims, func(int) (arraymeta.Axis, error) { return all[name], nil }, false)
		}
		if !errors.Is(err, want.err) || !strings.Contains(fmt.Sprint(err), want.text) {
			t.Errorf("%.40s: %v, want %v with %q", text, err, want.err, want.text)
		}
	}
}

// Positions go to the axes without a label.
func TestSelectMixed(t *testing.T) {
	t.Parallel()
	all := axes(t)
	dims := []string{"days", "levels", "lat", "lon"}
	for text, want := range map[string][]int64{
		"lat=40:60, 3":              {1, 4, 41, 8},
		"3, lat=40:60":              {1, 4, 41, 8},
		"..., lat=40:60, ::2":       {365, 4, 41, 4},
		"days=2025-03-01, lat=40":   {1, 4, 1, 8},
		"1:3, 1:2, lat=0, 0:5":      {2, 1, 1, 5},
		"[levels=850, ..., -1]":     {365, 1, 361, 1},
		"lat=0,":                    {365, 4, 1, 8},
		"..., days=2025-01-01, 2:4": {1, 4, 361, 2},
	} {
		s, err := arraymeta.ParseSelection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := s.Slice(dims, func(i int) (arraymeta.Axis, error) { return all[dims[i]], nil }, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		box, err := got.Resolve([]int64{365, 4, 361, 8})
		if err != nil || !slices.Equal(box.Counts(), want) {
			t.Errorf("%s: %v, %v", text, box.Counts(), err)
		}
	}
}

func TestAxisText(t *testing.T) {
	t.Parallel()
	all := axes(t)
	for name, want := range map[string]string{
		"days": "2025-01-01 … 2025-12-31 by day", "hours": "2025-01-01 … 2025-12-31T23:00 by hour", "noon": "2025-01-01T12:00 … 2025-12-31T12:00 by day",
		"months": "2025-01-01 … 2026-12-01 by month", "lat": "90 … -90 by -0.5", "tenths": "10 … 19.9 by 0.1", "levels": "1000 … 100 by ", "station": "AAA … C:D by ",
		"zone": "2025-01-01 … 2025-01-01T23:00 by hour", "noleap": "0 … 364 by 1", "empty": "nothing by ", "gaps": "3 … 2 by ", "back": "2025-12-31 … 2025-01-01 by ",
	} {
		if got := all[name].Range() + " by " + all[name].Step(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := all["days"].Number(59); got != 1740787200 {
		t.Errorf("%v", got)
	}
}

func FuzzSelect(f *testing.F) {
	f.Add("days=2025-03-01:2025-04-01", "days since 2025-01-01", int64(0), int64(1))
	f.Add("days=2025-03-01T12:30", "hours since 1900-1-1 0:0:0.5 +01:30", int64(-5), int64(7))
	f.Add("x, days=1e300", "", int64(1), int64(-1))
	f.Fuzz(func(t *testing.T, text, unit string, start, step int64) {
		if step == 0 {
			return
		}
		c := arraymeta.Coord{Dim: "days", DType: "<i8", Start: json.Number(fmt.Sprint(start)), Step: json.Number(fmt.Sprint(step)), Attrs: units(unit)}
		m := arraymeta.Meta{Dims: []string{"days"}, Coords: []arraymeta.Coord{c}}
		if _, err := m.Append(nil); err != nil {
			return
		}
		a, err := c.Axis(10)
		if err != nil || start > math.MaxInt64/2 || start < math.MinInt64/2 || step > 1<<50 || step < -1<<50 {
			return
		}
		a.Range()
		a.Step()
		s, err := arraymeta.ParseSelection(text)
		if err != nil {
			if !errors.Is(err, nd.ErrSyntax) {
				t.Fatal(err)
			}
			return
		}
		for _, nearest := range []bool{false, true} {
			got, err := s.Slice(m.Dims, func(int) (arraymeta.Axis, error) { return a, nil }, nearest)
			if err == nil {
				_, err = got.Resolve([]int64{10})
			}
			if err != nil && !errors.Is(err, nd.ErrSyntax) && !errors.Is(err, nd.ErrIndex) {
				t.Fatal(err)
			}
		}
	})
}

// TestQuotedNames: names in quotes may have what separates names and labels; others are as they were.
func TestQuotedNames(t *testing.T) {
	dims := []string{"a=b", "x, y", "it's", "wind speed", "u:v", "p/q"}
	x := axis(t, arraymeta.Coord{DType: "<i8", Start: "0", Step: "10"}, 5)
	for text, want := range map[string]string{
		`'a=b'=20`:                  "2,:,:,:,:,:",
		`"x, y" = 10:30, 'a=b' = 0`: "0,1:4,:,:,:,:",
		`"it's"=40`:                 ":,:,4,:,:,:",
		`it's=40`:                   ":,:,4,:,:,:",
		`wind speed=10, u:v=20`:     ":,:,:,1,2,:",
		`p/q="30",1`:                "1,:,:,:,:,3",
		`['a=b'=10, "p/q"=0:10, "x, y"="40", ...]`: "1,4,:,:,:,0:2",
	} {
		s, err := arraymeta.ParseSelection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := s.Slice(dims, func(int) (arraymeta.Axis, error) { return x, nil }, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		parsed, err := nd.ParseSlice(want)
		if err != nil {
			t.Fatal(err)
		}
		shape := []int64{5, 5, 5, 5, 5, 5}
		a, err := got.Resolve(shape)
		b, err2 := parsed.Resolve(shape)
		if err != nil || err2 != nil || !slices.Equal(a.Start, b.Start) || !slices.Equal(a.Counts(), b.Counts()) {
			t.Errorf("%s: %v, want %v; %v", text, a, b, err)
		}
	}
	s, err := arraymeta.ParseSelection("a=b=3")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Slice(dims, nil, false); err == nil || !strings.Contains(err.Error(), `dimensions are 'a=b', 'x, y', "it's", wind speed, u:v, p/q`) {
		t.Error(err)
	}
}
