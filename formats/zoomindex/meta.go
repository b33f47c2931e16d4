package zoomindex

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/formats/internal/varint"
	"github.com/farread/farread/formats/zoomcache"
)

// metaVersion is the version of the list of tracks in an index.
const metaVersion = 2

// A trackMeta is the index's entry for a track: the properties by which the track is
// recognised, whether there are sections for it, and its totals in the file.
type trackMeta struct {
	ident    string
	variable bool
	part     bool
	gaps     bool // spans end at gaps
	count    zoomcache.TrackCount
}

// is reports whether the entry describes this track.
func (m *trackMeta) is(t *zoomcache.Track) bool {
	return m.ident == t.Codec.Ident() && m.variable == t.Variable
}

const (
	metaVariable = 1 << iota
	metaPart
	metaGaps
)

// meta lists the tracks.
func (x *Builder) meta() []byte {
	m := binary.AppendUvarint(nil, metaVersion)
	m = binary.AppendUvarint(m, uint64(len(x.tracks)))
	for _, t := range x.tracks {
		flags := byte(0)
		if t.t.Variable {
			flags |= metaVariable
		}
		if !t.out && t.any {
			flags |= metaPart
			if t.gaps {
				flags |= metaGaps
			}
		}
		ident := t.t.Codec.Ident()
		m = binary.AppendVarint(m, int64(t.t.Number))
		m = append(binary.AppendUvarint(m, uint64(len(ident))), ident...)
		m = append(m, flags)
		c := &t.count
		for _, n := range [...]int64{c.Packets, c.Empty, c.Samples, int64(len(c.Levels))} {
			m = binary.AppendUvarint(m, uint64(n))
		}
		for _, n := range c.Levels {
			m = binary.AppendUvarint(m, uint64(n))
		}
		m = binary.AppendVarint(m, c.Entry)
		m = binary.AppendVarint(m, c.Exit)
	}
	return m
}

// A metaParser reads numbers until one is wrong.
type metaParser struct{ varint.Reader }

func (d *metaParser) uint() int64 {
	v := d.Uint()
	if v > math.MaxInt64 {
		d.Fail()
		return 0
	}
	return int64(v)
}

// parseMeta reads the bytes of meta into a map by track number.
func parseMeta(p []byte) (map[int32]*trackMeta, bool) {
	d := &metaParser{varint.Reader{P: p}}
	if d.uint() != metaVersion {
		return nil, false
	}
	n := d.uint()
	if n > int64(len(d.P)) {
		return nil, false
	}
	out := make(map[int32]*trackMeta, n)
	for range n {
		number := d.Int()
		m := &trackMeta{ident: string(d.Bytes(uint64(d.uint())))}
		if flags := d.Bytes(uint64(1)); len(flags) == 1 {
			m.variable, m.part, m.gaps = flags[0]&metaVariable != 0, flags[0]&metaPart != 0, flags[0]&metaGaps != 0
		}
		c := &m.count
		c.Track, c.Packets, c.Empty, c.Samples = int32(number), d.uint(), d.uint(), d.uint()
		levels := d.uint()
		d.Bad = d.Bad || levels > zoomcache.MaxLevel || number != int64(c.Track) || c.Empty > c.Packets
		if d.Bad {
			return nil, false
		}
		if levels > 0 {
			c.Levels = make([]int64, levels)
		}
		for i := range c.Levels {
			c.Levels[i] = d.uint()
		}
		c.Entry, c.Exit = d.Int(), d.Int()
		out[c.Track] = m
	}
	return out, !d.Bad && len(d.P) == 0 && int64(len(out)) == n
}
