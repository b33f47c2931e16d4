package pack_test

import (
	"testing"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/functions/pack"
)

// TestSourceType: a note of a type is believed only if it differs from the array's type
// in gaps alone.
func TestSourceType(t *testing.T) {
	t.Parallel()
	parse := func(text string) dtype.DType {
		d, err := dtype.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const gaps = "{'names': ['a', 'b'], 'formats': ['|u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}"
	source := parse(gaps)
	note := "\xdb\x00\x00\x00" + string(rune(len(gaps))) + gaps
	for name, c := range map[string]struct {
		layer, data string
		d, want     dtype.DType
	}{
		"said":     {pack.TypeLayer, note, source.Packed(), source},
		"nothing":  {"other", note, source.Packed(), source.Packed()},
		"changed":  {pack.TypeLayer, note, parse("[('a', 'u1'), ('b', '<f8')]"), parse("[('a', 'u1'), ('b', '<f8')]")},
		"plain":    {pack.TypeLayer, note, parse("<i4"), parse("<i4")},
		"short":    {pack.TypeLayer, note[:40], source.Packed(), source.Packed()},
		"no text":  {pack.TypeLayer, "\x80", source.Packed(), source.Packed()},
		"no type":  {pack.TypeLayer, "\xdb\x00\x00\x00\x01?x", source.Packed(), source.Packed()},
		"nonsense": {pack.TypeLayer, "\xdb\x00\x00\x00\x02<<", source.Packed(), source.Packed()},
	} {
		if got := pack.SourceType([]cframe.Metalayer{{Name: c.layer, Data: []byte(c.data)}}, c.d); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
