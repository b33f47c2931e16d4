package zarr

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// A NewArray says what array is written.
type NewArray struct {
	Shape, ChunkShape []int64
	// ShardShape is the shape of what an object holds: so many whole chunks along each axis.
	// nil: each chunk is an object.
	ShardShape []int64
	DType      dtype.DType
	Fill       json.RawMessage // fill value as ParseFill reads it; nil: zero
	Dims       []string        // names of the axes, or nil
	Attrs      map[string]json.RawMessage
}

// WriteOptions tune Write. The zero value is right for most.
type WriteOptions struct {
	Level     int   // of zstd, from 1 (fast) to 9 (small); 0: 3
	Parallel  int   // chunks, or shards, that are read and encoded side by side; 0: 8
	MaxMemory int64 // bytes of buffers; Parallel is lowered to fit; 0: 256 MiB
}

const (
	defaultLevel    = 3
	defaultParallel = 8
	defaultMemory   = 256 << 20
)

// Write writes an array of version 3, with zstd: chunk by chunk, several side by side, in
// bounded memory, and the metadata, without which there is no array, at the end. read reads a
// box of the items in row-major order into dst, as they are in DType, from several goroutines at
// a time. put writes an object; it is called by one goroutine at a time and may not keep p.
// Chunks, and shards, that have nothing but the fill value are not written, as zarr-python does.
//
// If the type has no place in Zarr, the error matches formats.ErrUnsupported; if one chunk or
// shard does not fit into the memory, formats.ErrTooLarge. Errors of read and put are returned
// as they are.
func Write(ctx context.Context, m NewArray, o WriteOptions, read func(ctx context.Context, box nd.Box, dst []byte) error, put func(key string, p []byte) error) error {
	w, err := newWriter(m, o)
	if err != nil {
		return err
	}
	w.read, w.put = read, put
	doc, err := w.document()
	if err != nil {
		return err
	}
	err = par.Do(rangeio.OnePhase(ctx), int(w.objects.Total), w.parallel, w.object)
	if err != nil {
		return err
	}
	return put(doc3, doc)
}

// Shardable reports whether clients read shards of items of a type: zarr-python has no hash for the fill value of items with members,
// or of raw bytes, and looks for one in shards.
func Shardable(d dtype.DType) bool { return d.Kind() != dtype.Struct && !d.Opaque() }

type writer struct {
	NewArray

	level, parallel int
	typ             Type
	it              items
	objects         nd.Grid   // in the array
	shard           *sharding // nil: none
	chunk           int       // bytes of a chunk
	read            func(ctx context.Context, box nd.Box, dst []byte) error

	mu   sync.Mutex
	put  func(key string, p []byte) error
	free []*writeBuffers
}

// writeBuffers are what a goroutine writes with.
type writeBuffers struct {
	raw, part, out, shard []byte
	codec                 codec.Encoder
}

func newWriter(m NewArray, o WriteOptions) (*writer, error) {
	w := &writer{NewArray: m, level: o.Level, parallel: o.Parallel}
	if w.level <= 0 {
		w.level = defaultLevel
	}
	if w.parallel <= 0 {
		w.parallel = defaultParallel
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultMemory
	}
	var err error
	if w.typ, err = TypeOf(m.DType); err != nil {
		return nil, err
	}
	w.it = items{size: m.DType.ItemSize(), word: wordSize(m.DType)}
	if w.it.fill, err = ParseFill(m.DType, m.Fill); err != nil {
		return nil, err
	}
	if m.Dims != nil && arraymeta.Names(m.Dims, len(m.Shape)) == nil {
		w.Dims = nil
	}
	l := formats.DefaultLimits()
	check := Meta{Shape: m.Shape, DType: m.DType, enc: &encoding{}}
	object := m.ChunkShape
	if m.ShardShape != nil {
		if !Shardable(m.DType) {
			return nil, unsupported("shards", "items of %s, of which zarr-python reads no shards: write chunks without them", m.DType)
		}
		object = m.ShardShape
		if len(m.ChunkShape) != len(object) {
			return nil, corrupt("shards", "%v, of chunks of %v", object, m.ChunkShape)
		}
		w.shard = &sharding{inner: m.ChunkShape, sum: true, enc: &encoding{}}
		check.enc.shard = w.shard
	}
	if err := check.check(object, l); err != nil {
		return nil, err
	}
	if w.objects, err = nd.NewGrid(m.Shape, object); err != nil || w.objects.Total > math.MaxInt {
		return nil, corrupt("chunks", "%v: %v", object, err)
	}
	n, _ := nd.Prod(m.ChunkShape) // checked by check
	w.chunk = int(n) * w.it.size
	each := 3 * int64(w.chunk) // items, what of an edge is read, encoded
	if w.shard != nil {
		each += maxShardBytes(w.chunk*int(w.shard.grid.Total), w.shard)
	}
	if each > o.MaxMemory {
		return nil, fail("", formats.ErrTooLarge, "chunks of %v in objects of %v take %d bytes of memory, %d allowed", m.ChunkShape, object, each, o.MaxMemory)
	}
	w.parallel = int(min(int64(w.parallel), o.MaxMemory/max(each, 1)))
	return w, nil
}

// document is the zarr.json.
func (w *writer) document() ([]byte, error) {
	codecs := []Named{w.typ.BytesCodec(), {Name: "zstd", Configuration: map[string]any{"level": w.level, "checksum": false}}}
	object := w.ChunkShape
	if w.shard != nil {
		object = w.ShardShape
		codecs = []Named{{Name: "sharding_indexed", Configuration: map[string]any{
			"chunk_shape": list(w.ChunkShape), "codecs": codecs, "index_location": "end",
			"index_codecs": []Named{{Name: "bytes", Configuration: map[string]string{"endian": "little"}}, {Name: "crc32c"}},
		}}}
	}
	fill := w.typ.Fill
	if !w.it.zero() {
		fill = w.Fill
	}
	attrs := w.Attrs
	if attrs == nil {
		attrs = map[string]json.RawMessage{}
	}
	doc := struct {
		ZarrFormat       int                        `json:"zarr_format"`
		NodeType         string                     `json:"node_type"`
		Shape            []int64                    `json:"shape"`
		DataType         any                        `json:"data_type"`
		ChunkGrid        Named                      `json:"chunk_grid"`
		ChunkKeyEncoding Named                      `json:"chunk_key_encoding"`
		FillValue        any                        `json:"fill_value"`
		Codecs           []Named                    `json:"codecs"`
		DimensionNames   []string                   `json:"dimension_names,omitempty"`
		Attributes       map[string]json.RawMessage `json:"attributes"`
	}{
		3, "array", list(w.Shape), w.typ.Data, Named{"regular", map[string]any{"chunk_shape": list(object)}},
		Named{"default", map[string]string{"separator": "/"}}, fill, codecs, w.Dims, attrs,
	}
	return Marshal(doc)
}

// list is never nil, which JSON would write as null.
func list(s []int64) []int64 { return append([]int64{}, s...) }

func (w *writer) buffers() *writeBuffers {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.free); n > 0 {
		b := w.free[n-1]
		w.free = w.free[:n-1]
		return b
	}
	return &writeBuffers{raw: make([]byte, w.chunk)}
}

// object writes object i.
func (w *writer) object(ctx context.Context, i int) error {
	b := w.buffers()
	defer func() {
		w.mu.Lock()
		w.free = append(w.free, b)
		w.mu.Unlock()
	}()
	at := make([]int64, len(w.Shape))
	for k, n := len(at)-1, int64(i); k >= 0; k-- {
		at[k] = n % w.objects.Count[k]
		n /= w.objects.Count[k]
	}
	var p []byte
	var err error
	if w.shard == nil {
		p, err = w.encode(ctx, b, at)
	} else {
		p, err = w.encodeShard(ctx, b, at)
	}
	if err != nil || p == nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.put(keys{"c", "/"}.of(at), p)
}

// encodeShard returns the shard at the coordinates, or nil if it has nothing but the fill value.
func (w *writer) encodeShard(ctx context.Context, b *writeBuffers, at []int64) ([]byte, error) {
	s := w.shard
	b.shard = b.shard[:0]
	index := make([]byte, 0, s.indexLen())
	for k := range s.grid.Total {
		inner := s.at(k)
		for i := range inner {
			inner[i] += at[i] * s.grid.Count[i]
		}
		p, err := w.encode(ctx, b, inner)
		if err != nil {
			return nil, err
		}
		if p == nil {
			index = binary.LittleEndian.AppendUint64(index, math.MaxUint64)
			index = binary.LittleEndian.AppendUint64(index, math.MaxUint64)
			continue
		}
		index = binary.LittleEndian.AppendUint64(index, uint64(len(b.shard)))
		index = binary.LittleEndian.AppendUint64(index, uint64(len(p)))
		b.shard = append(b.shard, p...)
	}
	if len(b.shard) == 0 {
		return nil, nil
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index, castagnoli))
	b.shard = append(b.shard, index...)
	return b.shard, nil
}

// encode returns the chunk at the coordinates, in memory of b, or nil if it has nothing but the
// fill value, or lies outside of the array.
func (w *writer) encode(ctx context.Context, b *writeBuffers, at []int64) ([]byte, error) {
	lo, hi, n := make([]int64, len(at)), make([]int64, len(at)), make([]int64, len(at))
	whole := true
	size := w.it.size
	for i := range at {
		lo[i] = at[i] * w.ChunkShape[i]
		hi[i] = min(lo[i]+w.ChunkShape[i], w.Shape[i])
		if n[i] = hi[i] - lo[i]; n[i] <= 0 {
			return nil, nil
		}
		whole = whole && n[i] == w.ChunkShape[i]
		size *= int(n[i])
	}
	if whole {
		if err := w.read(ctx, nd.Sub(lo, hi), b.raw); err != nil {
			return nil, err
		}
	} else {
		if b.part == nil {
			b.part = make([]byte, w.chunk)
		}
		part := b.part[:size]
		if err := w.read(ctx, nd.Sub(lo, hi), part); err != nil {
			return nil, err
		}
		w.it.put(b.raw)
		zero := make([]int64, len(at))
		nd.CopyBox(b.raw, w.ChunkShape, zero, part, n, zero, n, w.it.size)
	}
	if w.it.only(b.raw) {
		return nil, nil
	}
	if b.out == nil {
		b.out = make([]byte, w.chunk+w.chunk/128+1<<10) // the most that zstd adds
	}
	k, err := b.codec.Encode(codec.Zstd, w.level, b.out, b.raw, nil)
	if err == nil && k == 0 {
		err = fmt.Errorf("%s: zstd made %d bytes longer", Format, w.chunk)
	}
	return b.out[:k], err
}

// only reports whether p has nothing but the fill value.
func (it *items) only(p []byte) bool {
	n := it.size
	if string(p[:n]) != string(it.fill) {
		return false
	}
	return string(p[n:]) == string(p[:len(p)-n])
}
