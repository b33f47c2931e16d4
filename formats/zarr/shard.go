package zarr

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/bufpool"
)

// indexEntry is the length of an entry of a shard's index: offset and length of a chunk.
const indexEntry = 16

// A sharding is the codec "sharding_indexed": many chunks in one object, and an index of
// where they are.
type sharding struct {
	inner   []int64
	enc     *encoding // of a chunk
	grid    nd.Grid   // of the chunks in a shard; checkShards sets it
	big     bool      // numbers of the index are big-endian
	sum     bool      // the index ends in its CRC-32C
	atStart bool
}

// sharding reads the configuration.
func (p *part) sharding(dims, word, depth int) (*sharding, error) {
	var c struct {
		ChunkShape  []int64 `json:"chunk_shape"`
		Codecs      []part  `json:"codecs"`
		IndexCodecs []part  `json:"index_codecs"`
		Location    string  `json:"index_location"`
	}
	if err := p.into(&c); err != nil {
		return nil, err
	}
	if len(c.ChunkShape) != dims || len(c.Codecs) > maxCodecs {
		return nil, corrupt("codecs", "shards with chunks of %d axes, %d codecs", len(c.ChunkShape), len(c.Codecs))
	}
	s := &sharding{inner: c.ChunkShape}
	switch c.Location {
	case "start":
		s.atStart = true
	case "end", "":
	default:
		return nil, corrupt("codecs", "index_location %.20q", c.Location)
	}
	for i, x := range c.IndexCodecs {
		switch {
		case i == 0 && x.Name == "bytes":
			var err error
			if s.big, err = x.bigEndian(8); err != nil {
				return nil, err
			}
		case i == 1 && x.Name == "crc32c":
			s.sum = true
		default: // an index of a length that nobody knows beforehand could not be found
			return nil, unsupported("codecs", "index of a shard by %.100q", x.Name)
		}
	}
	if len(c.IndexCodecs) == 0 {
		return nil, corrupt("codecs", "no codecs of the index of a shard")
	}
	var err error
	s.enc, err = encodingOf(c.Codecs, dims, word, depth+1)
	return s, err
}

// indexLen is the length of the index.
func (s *sharding) indexLen() int64 {
	n := s.grid.Total * indexEntry
	if s.sum {
		n += sumLen
	}
	return n
}

// A place is where a chunk lies in its shard.
type place struct{ off, n int64 }

var nowhere = place{-1, -1}

// index reads the index of a shard of the given size. Nothing is said about a chunk of which
// the index lies; at says it.
func (s *sharding) index(p []byte) ([]place, error) {
	if s.sum {
		var err error
		if p, err = undoSum(p); err != nil {
			return nil, within("index of the shard", err)
		}
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if s.big {
		order = binary.BigEndian
	}
	out := make([]place, s.grid.Total)
	for i := range out {
		off, n := order.Uint64(p[i*indexEntry:]), order.Uint64(p[i*indexEntry+8:])
		if off == math.MaxUint64 && n == math.MaxUint64 {
			out[i] = nowhere
			continue
		}
		out[i] = place{int64(min(off, math.MaxInt64)), int64(min(n, math.MaxInt64))}
	}
	return out, nil
}

// check says whether a chunk at the place can be one, in a shard of size bytes.
func (p place) check(size, most int64) error {
	if p.off > size || p.n > size-p.off {
		return corrupt("", "%d bytes at %d of a shard of %d", p.n, p.off, size)
	}
	if p.n > most {
		return corrupt("", "%d bytes, more than its items can take", p.n)
	}
	return nil
}

// split returns the index of a shard in memory.
func (s *sharding) split(shard []byte) ([]byte, error) {
	n := s.indexLen()
	if int64(len(shard)) < n {
		return nil, corrupt("", "a shard of %d bytes, whose index has %d", len(shard), n)
	}
	if s.atStart {
		return shard[:n], nil
	}
	return shard[int64(len(shard))-n:], nil
}

// decode decodes a whole shard of the given shape.
func (s *sharding) decode(dst, shard []byte, shape []int64, it *items) error {
	raw, err := s.split(shard)
	if err != nil {
		return err
	}
	places, err := s.index(raw)
	if err != nil {
		return err
	}
	inner, err := nd.Prod(s.inner)
	if err != nil {
		return err
	}
	n := int(inner) * it.size
	tmp := bufpool.Get(n)
	defer bufpool.Put(tmp)
	zero := make([]int64, len(shape))
	for i, at := range s.grid.Meet(nd.Whole(shape), zero, shape) {
		if p := places[i]; p == nowhere {
			it.put(tmp)
		} else if err = p.check(int64(len(shard)), s.enc.most(n)); err == nil {
			err = s.enc.decode(tmp, shard[p.off:p.off+p.n], s.inner, it)
		}
		if err != nil {
			return within(innerName(s.at(i)), err)
		}
		nd.CopyBox(dst, shape, slices.Clone(at), tmp, s.inner, zero, s.inner, it.size)
	}
	return nil
}

// at is the place of chunk i in the grid of the shard.
func (s *sharding) at(i int64) []int64 {
	out := make([]int64, len(s.grid.Count))
	for k := len(out) - 1; k >= 0; k-- {
		out[k] = i % s.grid.Count[k]
		i /= s.grid.Count[k]
	}
	return out
}

// number is the reverse of at.
func (s *sharding) number(at []int64) int64 {
	n := int64(0)
	for i, k := range at {
		n = n*s.grid.Count[i] + k
	}
	return n
}
