package zarr

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

// A Meta says what an array is. Its fields are not to be changed.
type Meta struct {
	Version int // 2 or 3
	Shape   []int64
	// ChunkShape is the shape of what is read by itself: of the chunks in a shard, if an
	// object is a shard of which a part can be read. Chunks at the edges have it, too.
	ChunkShape []int64
	// ShardShape is the shape of what an object holds, if that is more than a chunk, or nil.
	ShardShape []int64
	// DType is the type of the items as they are read. Types of version 3 have no byte order:
	// they are little-endian here, however they are stored.
	DType dtype.DType
	// Fill is the item of chunks that are not there. FillValue is the same as version 3
	// writes it, or nil if the metadata say that there is none; the item is then zero.
	Fill      []byte
	FillValue json.RawMessage
	// Dims are the names of the axes: distinct, and such as arraymeta.Meta has them. nil: no axis has one.
	Dims []string
	// Renamed says of each axis that is called otherwise in the metadata, or not at all while others
	// are, what it is called in Dims, and why.
	Renamed []string
	// Attrs are the attributes, without the names of axes of version 2.
	Attrs map[string]json.RawMessage

	keys keys
	enc  *encoding // of an object
}

// dimsAttribute has the names of axes in version 2, by xarray's convention.
const dimsAttribute = "_ARRAY_DIMENSIONS"

// NBytes returns the bytes of all items.
func (m *Meta) NBytes() int64 {
	n, err := nd.Prod(m.Shape)
	if item := int64(m.DType.ItemSize()); err != nil || n > math.MaxInt64/item {
		return math.MaxInt64 // excluded by check
	}
	return n * int64(m.DType.ItemSize())
}

// check checks shape, chunks and their sizes, and sets ChunkShape and ShardShape. object is
// the shape of what an object holds.
func (m *Meta) check(object []int64, l formats.Limits) error {
	item := int64(m.DType.ItemSize())
	if item < 1 {
		return unsupported("type", "items of no bytes (%s)", m.DType)
	}
	if len(m.Shape) > nd.MaxDims {
		return fail("shape", formats.ErrTooLarge, "%d axes, at most %d", len(m.Shape), nd.MaxDims)
	}
	if n, err := nd.Prod(m.Shape); err != nil || n > math.MaxInt64/item {
		return corrupt("shape", "%v of items of %d bytes are more than 2^63 bytes", m.Shape, item)
	}
	if err := m.cells("chunks", object, item, l); err != nil {
		return err
	}
	m.ChunkShape = object
	if s := m.enc.shard; s != nil {
		if err := m.enc.checkShards(object, l); err != nil {
			return err
		}
		if m.enc.perm == nil && len(m.enc.bytes) == 0 {
			m.ShardShape, m.ChunkShape = object, s.inner
		}
	}
	return m.cells("chunks", m.ChunkShape, item, l)
}

// cells checks that chunks of a shape can cut the array.
func (m *Meta) cells(part string, chunk []int64, item int64, l formats.Limits) error {
	if len(chunk) != len(m.Shape) {
		return corrupt(part, "%d axes, the array has %d", len(chunk), len(m.Shape))
	}
	for i, c := range chunk {
		if c < 1 || m.Shape[i] > 0 && (m.Shape[i]-1)/c >= math.MaxInt64/c {
			return corrupt(part, "axis %d of %d in chunks of %d", i, m.Shape[i], c)
		}
	}
	n, err := nd.Prod(chunk)
	if err != nil || n > l.MaxDecoded/item {
		return fail(part, formats.ErrTooLarge, "%v of items of %d bytes, over %d bytes", chunk, item, l.MaxDecoded)
	}
	if _, err := nd.NewGrid(m.Shape, chunk); err != nil {
		return corrupt(part, "%v", err)
	}
	return nil
}

// axisNames makes names of axes of those in the metadata. nil is an axis without a name. What is no name, or is one
// a second time, is replaced by one that nobody has; renamed says it.
func axisNames(names []*string, axes int) (dims, renamed []string) {
	given := func(i int) bool { return names[i] != nil && *names[i] != "" }
	some := false
	for i := range names {
		some = some || given(i)
	}
	if !some {
		return nil, nil
	}
	if len(names) != axes {
		return nil, []string{fmt.Sprintf("%d names for %d axes are passed over", len(names), axes)}
	}
	dims, taken := make([]string, axes), map[string]bool{}
	for i := range names {
		if given(i) && !taken[*names[i]] && arraymeta.CheckName(*names[i]) == nil {
			dims[i] = *names[i]
			taken[dims[i]] = true
		}
	}
	for i, d := range dims {
		if d != "" {
			continue
		}
		name, why := fmt.Sprintf("dim_%d", i), "has no name"
		switch {
		case !given(i):
		case arraymeta.CheckName(*names[i]) != nil:
			why = fmt.Sprintf("has a name that cannot be shown, %q,", short(*names[i]))
		default:
			name = fmt.Sprintf("%s_%d", *names[i], i)
			why = fmt.Sprintf("is called %q, as another one is,", short(*names[i]))
		}
		for taken[name] || arraymeta.CheckName(name) != nil {
			if name += "_"; arraymeta.CheckName(name) != nil {
				name = fmt.Sprintf("dim_%d", i)
			}
		}
		taken[name], dims[i] = true, name
		renamed = append(renamed, fmt.Sprintf("axis %d %s and becomes %q", i, why, name))
	}
	return dims, renamed
}

func short(name string) string { return name[:min(len(name), 80)] }
