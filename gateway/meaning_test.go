package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/cframe"
)

// TestMeaning: what an array means comes from its layer, with all digits of 64-bit
// integers; a layer of that name that says something else, or of another shape, is passed
// over.
func TestMeaning(t *testing.T) {
	t.Parallel()
	layer, err := arraymeta.Meta{Dims: []string{"time", "lat"}, Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"K"`)}, Coords: []arraymeta.Coord{
		{Dim: "time", DType: "<M8[ns]", Start: "1740787200000000001", Step: "3600000000000"},
		{Dim: "lat", DType: "<i2", Values: []byte{1, 0, 255, 255}},
	}}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(shape []int64, data []byte) string {
		d := farread.Description{Shape: shape, Metadata: map[string]json.RawMessage{"dimension_names": json.RawMessage(`["a","b"]`)},
			Detail: farread.FrameDetail{VLMetalayers: []cframe.Metalayer{{Name: "other"}, {Name: arraymeta.Layer, Data: data}}}}
		p, err := json.Marshal(meaningOf(&d))
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	want := fmt.Sprintf(`{"dims":["time","lat"],"attrs":{"units":"K"},"coords":[{"dim":"time","dtype":"\u003cM8[ns]","start":"1740787200000000001","step":"3600000000000"},{"dim":"lat","dtype":"\u003ci2","values":%q}]}`,
		base64.StdEncoding.EncodeToString([]byte{1, 0, 255, 255}))
	for _, c := range []struct {
		shape []int64
		data  []byte
		want  string
	}{
		{[]int64{24, 2}, layer, want},
		{[]int64{24, 3}, layer, want[:strings.Index(want, `,{"dim":"lat"`)] + "]}"}, // it has been resized
		{[]int64{24, 3, 1}, layer, `{}`},
		{[]int64{24, 2}, []byte("\xa3xyz"), `{"dims":["a","b"]}`},
		{[]int64{24, 2}, layer[:len(layer)-1], `{"dims":["a","b"]}`},
		{nil, layer, `{}`},
	} {
		if got := of(c.shape, c.data); got != c.want {
			t.Errorf("%v: %s\nwant %s", c.shape, got, c.want)
		}
	}
}
