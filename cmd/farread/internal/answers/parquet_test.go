package answers

import (
	"bytes"
	"errors"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// TestParquet: a row for each cell, labels for the axes that have some, and nothing where no
// item was.
func TestParquet(t *testing.T) {
	t.Parallel()
	i2, err := dtype.Parse(">i2")
	if err != nil {
		t.Fatal(err)
	}
	a := &analyze.Answers{
		Shape: []int64{2, 2}, Axes: []analyze.Axis{{Name: ".path", Labels: []string{"/a", "/b"}, With: []analyze.Axis{{Name: ".code", Labels: []string{"200", "404"}}}}, {}},
		Results: []analyze.Result{{Stat: analyze.Stat{Name: "min"}, Type: i2, Shape: []int64{2, 2}, Items: []byte{0xff, 0xfe, 0, 0, 0, 7, 1, 0}, None: []bool{false, true, false, false}}},
	}
	var out bytes.Buffer
	if err := Write(&out, Parquet, a, 1<<20, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.Read[struct {
		Path string `parquet:".path"`
		Code string `parquet:".code"`
		I1   int64  `parquet:"i1"`
		Min  *int16 `parquet:"min"`
	}](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || len(rows) != 4 {
		t.Fatal(err, rows)
	}
	for i, want := range []struct {
		path string
		i1   int64
		min  int16
	}{{"/a", 0, -2}, {"/a", 1, 0}, {"/b", 0, 7}, {"/b", 1, 256}} {
		r := rows[i]
		if r.Path != want.path || r.Code != []string{"200", "404"}[i/2] || r.I1 != want.i1 || (r.Min == nil) != (i == 1) || r.Min != nil && *r.Min != want.min {
			t.Errorf("row %d: %+v, want %+v", i, r, want)
		}
	}
	a.Axes = nil
	if a.Results[0].Type, err = dtype.Parse("<M8[Y]"); err != nil {
		t.Fatal(err)
	}
	if err := Write(&out, Parquet, a, 1<<20, nil); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
