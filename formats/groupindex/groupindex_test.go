package groupindex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/groupindex"
)

func sample() groupindex.Index {
	return groupindex.Index{
		Attrs: map[string]json.RawMessage{"title": json.RawMessage(`"x"`)},
		Arrays: map[string]groupindex.Array{
			"t.b2nd":     {Size: 10, ETag: `"a"`, DType: "<f4", Shape: []int64{365, 4}, ChunkShape: []int{100, 4}, BlockShape: []int{10, 4}, Dims: []string{"time", "x"}, Layers: map[string][]byte{"farread": {1, 2}}, NaN: true},
			"sub/u.b2nd": {Size: 1, ETag: `"b"`, DType: "<i8", Shape: []int64{}, ChunkShape: []int{}, BlockShape: []int{}},
			"e.b2nd":     {Size: 1, ETag: `"b"`, DType: "<i8", Shape: []int64{0, 3}, ChunkShape: []int{0, 0}, BlockShape: []int{0, 0}, Refused: "why"},
		},
	}
}

// TestIndex: what is written is read again, and equal content gives equal bytes.
func TestIndex(t *testing.T) {
	t.Parallel()
	p, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	x, err := groupindex.Decode(p)
	if err != nil || cmp.Diff(sample(), x) != "" {
		t.Fatal(err, cmp.Diff(sample(), x))
	}
	if q, err := x.Encode(); err != nil || !bytes.Equal(p, q) {
		t.Error("other bytes", err)
	}
	a := x.Arrays["t.b2nd"]
	if !a.Current(10, `"a"`) || a.Current(11, `"a"`) || a.Current(10, `"b"`) || a.Current(10, "") {
		t.Error("current")
	}
	a.ETag = `W/"a"`
	if a.Current(10, a.ETag) {
		t.Error("a weak ETag")
	}
}

// TestBad: what contradicts itself or leads elsewhere is refused.
func TestBad(t *testing.T) {
	t.Parallel()
	p, err := sample().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for change, want := range map[string]error{
		`"farread_group": 1|"farread_group": 2`: formats.ErrUnsupported,
		`"t.b2nd"|"../t.b2nd"`:                  formats.ErrCorrupt,
		`"t.b2nd"|"/t.b2nd"`:                    formats.ErrCorrupt,
		`"t.b2nd"|"a\\\\t.b2nd"`:                formats.ErrCorrupt,
		`"t.b2nd"|"a\u0000"`:                    formats.ErrCorrupt,
		`"<f4"|"<q9"`:                           formats.ErrCorrupt,
		`   365,|   -365,`:                      formats.ErrCorrupt,
		`   365,|   9223372036854775807,`:       formats.ErrCorrupt,
		`   365,|`:                              formats.ErrCorrupt,
		`    100,|    2147483647,`:              formats.ErrCorrupt,
		`    100,|    0,`:                       formats.ErrCorrupt,
		`    10,|    101,`:                      formats.ErrCorrupt,
		`    "time",|`:                          formats.ErrCorrupt,
		`"size": 10|"size": -1`:                 formats.ErrCorrupt,
		`{|`:                                    formats.ErrCorrupt,
	} {
		from, to, _ := strings.Cut(change, "|")
		q := bytes.Replace(p, []byte(from), []byte(to), 1)
		if bytes.Equal(p, q) {
			q = bytes.Replace(p, []byte(strings.TrimLeft(from, " ")), []byte(to), 1)
		}
		if bytes.Equal(p, q) {
			t.Fatalf("%q is not there:\n%s", from, p)
		}
		if _, err := groupindex.Decode(q); !errors.Is(err, want) {
			t.Errorf("%s: %v", change, err)
		}
	}
}

// FuzzDecode: no bytes make it panic, and what is read can be written again.
func FuzzDecode(f *testing.F) {
	p, err := sample().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add([]byte(`{"farread_group":1,"arrays":{"a.b2nd":{"dtype":"<f4","shape":[1],"chunkshape":[1],"blockshape":[1]}}}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		x, err := groupindex.Decode(p)
		if err != nil {
			return
		}
		if _, err := x.Encode(); err != nil && !errors.Is(err, formats.ErrTooLarge) && !strings.Contains(err.Error(), "json") {
			t.Fatal(err)
		}
	})
}
