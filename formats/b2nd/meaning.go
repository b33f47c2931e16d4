package b2nd

import (
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/cframe"
)

// Meaning returns what the metalayers of an array of the shape say it means, as arraymeta.Find
// has it, and the layers that say something else. It makes no request.
func Meaning(layers []cframe.Metalayer, shape []int64, l formats.Limits) (m arraymeta.Meta, rest []cframe.Metalayer) {
	stored := make([]arraymeta.Stored, len(layers))
	for i, x := range layers {
		stored[i] = arraymeta.Stored{Name: x.Name, Data: x.Data, JSON: func() ([]byte, error) { return x.JSON(cframe.JSONLimits{Bytes: 1 << 16}) }}
	}
	m, used := arraymeta.Find(stored, shape, l)
	for i, x := range layers {
		if !slices.Contains(used, i) {
			rest = append(rest, x)
		}
	}
	return m, rest
}
