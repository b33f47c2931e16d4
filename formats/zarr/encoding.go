package zarr

import (
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/bufpool"
)

// An encoding says how a chunk becomes bytes.
type encoding struct {
	perm  []int     // axis i of the encoded chunk is axis perm[i] of the chunk; nil: all as they are
	swap  bool      // words are stored in the other order than in DType
	shard *sharding // what stands in place of the codec "bytes"; nil: the items
	big   bool      // the codec "bytes", of the shards, too, says big-endian
	bytes []step    // codecs from bytes to bytes, in the order of encoding
}

// maxDepth bounds shards in shards.
const maxDepth = 4

// encodingOf reads the codecs of version 3: from array to array, then one from array to bytes,
// then from bytes to bytes.
func encodingOf(list []part, dims, word, depth int) (*encoding, error) {
	e := &encoding{}
	i := 0
	for ; i < len(list) && list[i].Name == "transpose"; i++ {
		if err := e.transpose(&list[i], dims); err != nil {
			return nil, err
		}
	}
	if i == len(list) {
		return nil, corrupt("codecs", "none makes bytes of an array")
	}
	switch p := &list[i]; p.Name {
	case "bytes", "endian":
		big, err := p.bigEndian(word)
		if err != nil {
			return nil, err
		}
		e.swap, e.big = big && word > 1, big
	case "sharding_indexed":
		if depth >= maxDepth {
			return nil, fail("codecs", formats.ErrTooLarge, "shards in shards, over %d deep", maxDepth)
		}
		var err error
		if e.shard, err = p.sharding(dims, word, depth); err != nil {
			return nil, err
		}
		e.big = e.shard.enc.big
	case "vlen-utf8", "vlen-bytes":
		return nil, refusedType(p.Name)
	default:
		return nil, unsupported("codecs", "%.100q where an array becomes bytes", p.Name)
	}
	for _, p := range list[i+1:] {
		s, err := stepOf(&p)
		if err != nil {
			return nil, err
		}
		e.bytes = append(e.bytes, s)
	}
	return e, nil
}

// transpose adds a codec "transpose".
func (e *encoding) transpose(p *part, dims int) error {
	var c struct {
		Order []int `json:"order"`
	}
	if err := p.into(&c); err != nil {
		return err
	}
	sorted := slices.Clone(c.Order)
	slices.Sort(sorted)
	for i, k := range sorted {
		if i != k || len(sorted) != dims {
			return corrupt("codecs", "transpose by %v of %d axes", c.Order, dims)
		}
	}
	if len(sorted) != dims {
		return corrupt("codecs", "transpose by %v of %d axes", c.Order, dims)
	}
	if e.perm == nil {
		e.perm = c.Order
		return nil
	}
	next := make([]int, dims)
	for i, k := range c.Order {
		next[i] = e.perm[k]
	}
	e.perm = next
	return nil
}

// bigEndian reads the order of a codec "bytes".
func (p *part) bigEndian(word int) (bool, error) {
	var c struct {
		Endian string `json:"endian"`
	}
	if err := p.into(&c); err != nil {
		return false, err
	}
	switch {
	case c.Endian == "big":
		return true, nil
	case c.Endian == "little" || c.Endian == "" && word == 1:
		return false, nil
	}
	return false, corrupt("codecs", "bytes with the order %.20q", c.Endian)
}

// permuted is a shape as its items are stored.
func (e *encoding) permuted(shape []int64) []int64 {
	if e.perm == nil {
		return shape
	}
	out := make([]int64, len(shape))
	for i, k := range e.perm {
		out[i] = shape[k]
	}
	return out
}

// checkShards checks the shapes of chunks in shards, and how much an index may have.
func (e *encoding) checkShards(shape []int64, l formats.Limits) error {
	s := e.shard
	if s == nil {
		return nil
	}
	stored := e.permuted(shape)
	for i, c := range s.inner {
		if c < 1 || stored[i]%c != 0 {
			return corrupt("chunks", "shards of %v in chunks of %v", stored, s.inner)
		}
	}
	grid, err := nd.NewGrid(stored, s.inner)
	if err != nil || grid.Total > min(l.MaxEntries, l.MaxMeta/indexEntry) {
		return fail("chunks", formats.ErrTooLarge, "%d chunks in a shard", grid.Total)
	}
	s.grid = grid
	return s.enc.checkShards(s.inner, l)
}

// A items is what a decoder has to know of the items.
type items struct {
	size, word int
	fill       []byte
}

// zero reports whether the fill value is zero.
func (it *items) zero() bool {
	return !slices.ContainsFunc(it.fill, func(b byte) bool { return b != 0 })
}

// put fills dst with the fill value.
func (it *items) put(dst []byte) {
	if it.zero() {
		clear(dst)
		return
	}
	for n := copy(dst, it.fill); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// decode decodes an encoded chunk of the given shape into dst, which has its length.
func (e *encoding) decode(dst, src []byte, shape []int64, it *items) error {
	target := dst
	if e.perm != nil {
		target = bufpool.Get(len(dst))
		defer bufpool.Put(target)
	}
	if e.shard != nil {
		p := src
		if len(e.bytes) > 0 {
			var err error
			if p, err = undoAll(e.bytes, src, maxShardBytes(len(dst), e.shard)); err != nil {
				return err
			}
		}
		if err := e.shard.decode(target, p, e.permuted(shape), it); err != nil {
			return err
		}
	} else {
		if err := undoInto(target, e.bytes, src); err != nil {
			return err
		}
		if e.swap {
			swap(target, it.word)
		}
	}
	if e.perm != nil {
		strides := make([]int64, len(shape))
		stored := nd.Strides(e.permuted(shape), it.size)
		for i, k := range e.perm {
			strides[k] = stored[i]
		}
		nd.Copy(dst, 0, nd.Strides(shape, it.size), target, 0, strides, shape, it.size)
	}
	return nil
}
