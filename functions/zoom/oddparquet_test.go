package zoom_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore/memstore"
)

// TestOddParquet: times in every unit, with a zone and without, dates, times of day, decimals and large
// numbers are what pandas reads.
func TestOddParquet(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		p, err := os.ReadFile(filepath.Join("testdata", "oddparquet", name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var want struct {
		Times  map[string][]int64
		Values map[string][]string
	}
	if err := json.Unmarshal(read("expect.json"), &want); err != nil || len(want.Times) != 13 || len(want.Values) != 5 {
		t.Fatalf("%+v, %v", want, err)
	}
	p := read("odd.parquet")
	open := func(o zoom.CSVOptions) zoom.Series {
		s, err := zoom.Open(t.Context(), stored(t, memstore.New(memstore.Config{}), "x.parquet", p), zoom.Options{Table: o})
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		return s
	}
	nanos := func(s zoom.Series) (list []int64) {
		f, tracks := written(t, s, zoom.WriteOptions{})
		zero, _ := f.Header().Origin.UTC()
		for _, at := range tracks[0].Stamps {
			list = append(list, zero.Unix()*1e9+at*(1e9/tracks[0].Rate.Num))
		}
		return list
	}
	for name, times := range want.Times {
		if got := nanos(open(zoom.CSVOptions{Time: name, Columns: []string{"price"}})); !slices.Equal(got, times) {
			t.Errorf("%s: %d, want %d", name, got, times)
		}
	}
	for _, name := range []string{"clock_ms", "clock_us"} {
		s := open(zoom.CSVOptions{Time: name, Columns: []string{"price"}})
		_, list := written(t, s, zoom.WriteOptions{})
		if at := list[0].Stamps; len(at) != 4 || at[2] != 43_200_500*(list[0].Rate.Num/1000) || !strings.Contains(strings.Join(s.About().Warnings, "\n"), "times of day without a date") {
			t.Errorf("%s: %d, %q", name, at, s.About().Warnings)
		}
	}
	s := open(zoom.CSVOptions{Time: "us", Columns: []string{"price", "long", "whole", "big", "ubig"}})
	_, list := written(t, s, zoom.WriteOptions{})
	for _, k := range list {
		got := k.Values
		if k.Codec == "f64" {
			for i, text := range want.Values[k.Name] {
				f, err := strconv.ParseFloat(text, 64)
				g, err2 := strconv.ParseFloat(got[i], 64)
				if err != nil || err2 != nil || f != g {
					t.Errorf("%s: %s, want %s", k.Name, got[i], text)
				}
			}
			continue
		}
		if !slices.Equal(got, want.Values[k.Name]) {
			t.Errorf("%s of %s: %s, want %s", k.Name, k.Codec, got, want.Values[k.Name])
		}
	}
	say := strings.Join(s.About().Warnings, "\n")
	if len(list) != 5 || !strings.Contains(say, `column "long": decimals of up to 21 digits, of which f64 keeps 15 to 17`) || !strings.Contains(say, `column "whole": decimals of up to 38 digits`) || strings.Contains(say, `"price"`) {
		t.Errorf("%d tracks, %s", len(list), say)
	}
}
