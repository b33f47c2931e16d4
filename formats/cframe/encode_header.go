package cframe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/farread/farread/formats/blosc"
)

// ErrRefused is matched by errors of the caller: the format cannot hold the
// data, or the options of a writer forbid it. The call wrote nothing, and the
// writer can still be used.
var ErrRefused = errors.New("cannot be written")

func refuse(part, format string, args ...any) error {
	return fail(part, -1, ErrRefused, format, args...)
}

// checkLayer refuses a name that the format cannot hold, or that readers would
// change: C ends a name at a zero byte, and Python decodes it as UTF-8. size is
// the length of the layer's data.
func checkLayer(part, name string, size int) error {
	switch {
	case len(name) > maxNameLen:
		return refuse(part, "name %q of %d bytes, at most %d", name, len(name), maxNameLen)
	case !utf8.ValidString(name):
		return refuse(part, "name %q is no UTF-8", name)
	case int64(size) > math.MaxInt32:
		return refuse(part, "%q: %d bytes", name, size)
	}
	for i := range len(name) {
		if name[i] == 0 {
			return refuse(part, "name %q holds a zero byte", name)
		}
	}
	return nil
}

// checkLayers checks all layers of a header or trailer. most bounds their
// number.
func checkLayers(part string, layers []Metalayer, most int) error {
	if len(layers) > most {
		return refuse(part, "%d layers, at most %d", len(layers), most)
	}
	seen := make(map[string]bool, len(layers))
	for _, m := range layers {
		if err := checkLayer(part, m.Name, len(m.Data)); err != nil {
			return err
		}
		if seen[m.Name] {
			return refuse(part, "two layers named %q", m.Name)
		}
		seen[m.Name] = true
	}
	return nil
}

// layersLen returns the number of bytes that appendLayers appends.
func layersLen(layers []Metalayer) int64 {
	n := int64(7 + 3)
	for _, m := range layers {
		n += int64(1 + len(m.Name) + 5 + 5 + len(m.Data))
	}
	return n
}

// appendLayers appends a section of metalayers. Positions count from b[base].
// The distance to the contents counts from the section's first byte in a header
// (skip is 0), from its second byte in a trailer (skip is 1).
func appendLayers(b []byte, base int, layers []Metalayer, skip int) []byte {
	n := uint16(len(layers))
	at := len(b)
	b = append(b, 0x93, 0xcd, 0, 0, 0xde)
	b = binary.BigEndian.AppendUint16(b, n)
	offs := make([]int, len(layers))
	for i, m := range layers {
		b = append(b, 0xa0|byte(len(m.Name)))
		b = append(b, m.Name...)
		b = append(b, 0xd2, 0, 0, 0, 0)
		offs[i] = len(b) - 4
	}
	// 8192 names of 31 bytes overflow the distance, but no reader uses it.
	binary.BigEndian.PutUint16(b[at+2:], uint16((len(b)-at-skip)&0xffff))
	b = append(b, 0xdc)
	b = binary.BigEndian.AppendUint16(b, n)
	for i, m := range layers {
		binary.BigEndian.PutUint32(b[offs[i]:], uint32(len(b)-base))
		b = append(b, 0xc6)
		b = binary.BigEndian.AppendUint32(b, uint32(len(m.Data)))
		b = append(b, m.Data...)
	}
	return b
}

// appendHeader appends the header with the content in and its metalayers.
// in.HeaderLen must be headerLen(layers).
func appendHeader(b []byte, in *Info, layers []Metalayer) []byte {
	base := len(b)
	b = append(b, make([]byte, fixedLen)...)
	h := b[base:]
	copy(h, magic)
	for _, m := range markers {
		h[m.off] = m.b
	}
	h[atSlots] = filterSlots
	h[atThreads+1], h[atThreads+4] = 1, 1 // numbers of threads: 1, so that files are the same on every machine
	h[atFrameType] = 0
	if in.Sparse {
		h[atFrameType] = typeSparse
	}
	h[atCodec], h[atUDCodec], h[atCodecMeta] = min(byte(in.Codec), pluginCodec), byte(in.Codec), in.CodecMeta
	h[atCodec] |= byte(in.Level << 4)
	h[atOther] = byte(in.SplitMode-1) & 3
	if in.UseDict {
		h[atOther2] = flagUseDict
	}
	for i, f := range in.Filters {
		h[atFilters+i], h[atFilterMeta+i] = byte(f.ID), f.Meta
	}
	binary.BigEndian.PutUint32(h[atTypeSize:], uint32(in.TypeSize))
	putTotals(h, in)
	return appendLayers(b, base, layers, 0)
}

// putTotals writes the fields that an edit may change to the fixed part h of a
// header.
func putTotals(h []byte, in *Info) {
	binary.BigEndian.PutUint32(h[atHeaderLen:], uint32(in.HeaderLen))
	binary.BigEndian.PutUint64(h[atFrameLen:], uint64(in.FrameLen))
	binary.BigEndian.PutUint64(h[atNBytes:], uint64(in.NBytes))
	binary.BigEndian.PutUint64(h[atCBytes:], uint64(in.CBytes))
	binary.BigEndian.PutUint32(h[atBlockSize:], uint32(in.BlockSize))
	binary.BigEndian.PutUint32(h[atChunkSize:], uint32(in.ChunkSize))
	flags := byte(in.Version) | offsets64<<4
	if in.VariableChunks {
		flags |= flagVariable
	}
	if in.VLBlocks {
		flags |= flagVLBlocks
	}
	h[atFlags] = flags
	h[atHasVL] = 0xc2
	if in.HasVL {
		h[atHasVL] = 0xc3
	}
}

// headerLen returns the length of a header with these metalayers.
func headerLen(layers []Metalayer) int64 { return fixedLen + layersLen(layers) }

// trailerLen returns the length of a trailer. The Data of its layers are
// encoded chunks.
func trailerLen(layers []Metalayer) int64 { return 2 + layersLen(layers) + endLen }

// appendTrailer appends the trailer. The Data of its layers are encoded chunks.
func appendTrailer(b []byte, layers []Metalayer) []byte {
	base := len(b)
	b = append(b, 0x94, 0x01)
	b = appendLayers(b, base, layers, 1)
	n := len(b) - base + endLen
	b = append(b, 0xce)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = append(b, 0xd8, 0)
	return append(b, make([]byte, 16)...)
}

// checkTrailer refuses layers that a trailer cannot hold.
func checkTrailer(layers []Metalayer) error {
	if err := checkLayers("vlmetalayers", layers, maxVLMetalayers); err != nil {
		return err
	}
	if n := trailerLen(layers); n > math.MaxInt32 {
		return refuse("vlmetalayers", "a trailer of %d bytes", n)
	}
	return nil
}

// encodeVL encodes a vlmetalayer as a chunk, with the options that
// python-blosc2 uses.
func encodeVL(name string, data []byte) (Metalayer, error) {
	if err := checkLayer("vlmetalayers", name, len(data)); err != nil {
		return Metalayer{}, err
	}
	if name == IndexLayer {
		return Metalayer{}, refuse("vlmetalayers", "%q is the name of the index", name)
	}
	chunk, err := blosc.AppendEncoded(nil, data, blosc.EncodeOptions{Codec: blosc.Zstd})
	if err != nil {
		return Metalayer{}, fmt.Errorf("%s: vlmetalayer %q: %w", Format, name, err)
	}
	return Metalayer{Name: name, Data: chunk}, nil
}

// setLayer replaces the layer of the same name by m, or appends m.
func setLayer(layers []Metalayer, m Metalayer) []Metalayer {
	for i := range layers {
		if layers[i].Name == m.Name {
			layers[i] = m
			return layers
		}
	}
	return append(layers, m)
}
