package b2nd_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
)

// fillLayer is the metalayer of an array with a fill value.
func fillLayer(t *testing.T, fill string) cframe.Metalayer {
	t.Helper()
	p, err := arraymeta.Meta{Fill: json.RawMessage(fill)}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return cframe.Metalayer{Name: arraymeta.Layer, Data: p}
}

// TestStatisticsOfFill: statistics count the fill value of the array, NaN too, and say so; searches
// for it and for zero find all items, whatever is counted.
func TestStatisticsOfFill(t *testing.T) {
	t.Parallel()
	const n, chunk = 4000, 256
	values := make([]float32, n) // zeros, sevens and NaN come in runs, so that blocks are skipped
	items := make([]byte, 0, 4*n)
	for i := range values {
		values[i] = []float32{0, 7, float32(math.NaN()), float32(i), 7}[i/100%5]
		items = binary.LittleEndian.AppendUint32(items, math.Float32bits(values[i]))
	}
	for fill, is := range map[string]func(v float32) bool{
		"":      func(v float32) bool { return v == 0 },
		"0":     func(v float32) bool { return v == 0 },
		"7":     func(v float32) bool { return v == 7 },
		`"NaN"`: func(v float32) bool { return v != v }, //nolint:gocritic // NaN
		`"?"`:   func(v float32) bool { return v == 0 }, // no float: not used
	} {
		o := b2nd.WriteOptions{Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}}
		if fill != "" {
			o.VLMetalayers = []cframe.Metalayer{fillLayer(t, fill)}
		}
		m := b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{chunk}, BlockShape: []int{32}, DType: "<f4"}
		p := build(t, m, items, o)
		o.Index = cframe.NoIndex
		for k, a := range []*b2nd.Array{open(t, p), withStats(t, build(t, m, items, o), b2nd.Options{})} {
			what := fmt.Sprintf("fill %s, beside %d", fill, k)
			s, err := a.Statistics(t.Context())
			if err != nil || s == nil || (s.Fill() != nil) != (fill == "7" || fill == `"NaN"`) {
				t.Fatalf("%s: %v, %v", what, s, err)
			}
			want := int64(0)
			for _, v := range values {
				if is(v) {
					want++
				}
			}
			if got := statLists(t, a)[0][0].Fill; got != want {
				t.Errorf("%s: counts %d, want %d", what, got, want)
			}
			if r, err := a.Verify(t.Context(), nil); err != nil || r.Statistics != 1 {
				t.Errorf("%s: %+v, %v", what, r, err)
			}
			for where, match := range map[string]func(v float32) bool{
				"v == 7": func(v float32) bool { return v == 7 },
				"v == 0": func(v float32) bool { return v == 0 },
				"v != 7": func(v float32) bool { return v != 7 },
				"v < 1":  func(v float32) bool { return v < 1 },
			} {
				_, got, r := found(t, a, b2nd.Whole(a.Shape()), bind(t, where, a.DType()), b2nd.SearchOptions{})
				count := 0
				for _, v := range values {
					if match(v) {
						count++
					}
				}
				if len(got) != 4*count || r.Unused != "" {
					t.Errorf("%s: %s: %d items, want %d; %+v", what, where, len(got)/4, count, r)
				}
			}
		}
	}
}

// TestFillChanges: a commit that gives an array another fill value keeps no counts of the old
// one. With Statistics it makes them anew.
func TestFillChanges(t *testing.T) {
	t.Parallel()
	const n = 4000
	items := numbers(n, 4)
	m := b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{256}, BlockShape: []int{32}, DType: "<u4"}
	p := build(t, m, items, b2nd.WriteOptions{Index: cframe.WithIndex, VLMetalayers: []cframe.Metalayer{fillLayer(t, "9")}})
	for _, c := range []struct {
		fill string
		all  bool
		want []byte
		none bool
	}{{"9", false, []byte{9, 0, 0, 0}, false}, {"0", false, nil, true}, {"5", false, nil, true}, {"5", true, []byte{5, 0, 0, 0}, false}} {
		f := &file{b: append([]byte{}, p...)}
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Statistics: c.all})
		if err != nil {
			t.Fatal(err)
		}
		x := fillLayer(t, c.fill)
		if err := errors.Join(e.Frame().SetVLMetalayer(x.Name, x.Data), e.Commit(), e.Close()); err != nil {
			t.Fatal(err)
		}
		a := open(t, f.b)
		s, err := a.Statistics(t.Context())
		if err != nil || (s == nil) != c.none || s != nil && string(s.Fill()) != string(c.want) {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
		if r, err := a.Verify(t.Context(), nil); err != nil || (r.Statistics == 0) != c.none {
			t.Errorf("%+v: %+v, %v", c, r, err)
		}
	}
}
