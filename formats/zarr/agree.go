package zarr

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Agree holds the consolidated metadata by which arrays of a group were opened against the metadata of each array
// itself: one request an array, side by side. Consolidated metadata that are older than an array would cut it off, or read its chunks as something else: that
// is formats.ErrCorrupt, with the path and what differs. Arrays of which no metadata of their own are found are
// in alone, in order. Of a group without consolidated metadata nothing is read.
func (g *Group) Agree(ctx context.Context, paths []string) (alone []string, err error) {
	if !g.Consolidated {
		return nil, nil
	}
	paths = slices.Sorted(slices.Values(paths))
	none := make([]bool, len(paths))
	const side = 16 // by side
	err = par.Do(rangeio.OnePhase(ctx), len(paths), side, func(ctx context.Context, i int) error {
		var err error
		none[i], err = g.agrees(ctx, paths[i])
		return within(paths[i], err)
	})
	for i, p := range paths {
		if none[i] {
			alone = append(alone, p)
		}
	}
	return alone, err
}

// agrees holds the metadata of an array against those of the group. none reports that it has none of its own.
func (g *Group) agrees(ctx context.Context, p string) (none bool, err error) {
	key := doc3
	if g.version == 2 {
		key = array2Key
	}
	text, err := document(ctx, Below(g.s, p+"/"), key, maxDoc)
	if errors.Is(err, formats.ErrNoEntry) || errors.Is(err, ErrMaybeAbsent) {
		return true, nil
	}
	if err != nil {
		return false, within(key, err)
	}
	own, err := (&Group{s: g.s, o: g.o, version: g.version, docs: map[string]twoDocs{p: {text, g.docs[p].attrs}}}).array(p)
	if err != nil {
		return false, within(key, err)
	}
	said, err := g.array(p)
	if err != nil {
		return false, err
	}
	if what := own.meta.differs(said.meta); what != "" {
		return false, corrupt(key, "%s in the metadata of the group, which are to be consolidated again", what)
	}
	return false, nil
}

// differs says what of the items and of where they are differs in another description; "": nothing.
func (m *Meta) differs(said *Meta) string {
	switch {
	case !slices.Equal(m.Shape, said.Shape):
		return fmt.Sprintf("shape %v, and %v", m.Shape, said.Shape)
	case m.DType.String() != said.DType.String():
		return fmt.Sprintf("items of %s, and %s", m.DType, said.DType)
	case !slices.Equal(m.ChunkShape, said.ChunkShape) || !slices.Equal(m.ShardShape, said.ShardShape):
		return fmt.Sprintf("chunks of %v, and %v", m.ChunkShape, said.ChunkShape)
	case !slices.Equal(m.Fill, said.Fill):
		return fmt.Sprintf("fill value %s, and %s", m.FillValue, said.FillValue)
	case m.keys != said.keys:
		return fmt.Sprintf("keys of chunks such as %q, and %q", m.keys.of(make([]int64, len(m.Shape))), said.keys.of(make([]int64, len(m.Shape))))
	case !reflect.DeepEqual(m.enc, said.enc):
		return "other codecs than"
	}
	return ""
}
