package zoomindex

import (
	"encoding/binary"
	"math"

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
type metaParser struct {
	p   []byte
	bad bool
}

func (d *metaParser) int() int64 {
	v, n := binary.Varint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *metaParser) uint() int64 {
	v := d.key()
	if v > math.MaxInt64 {
		d.bad, d.p = true, nil
		return 0
	}
	return int64(v)
}

// key reads 64 bits.
func (d *metaParser) key() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *metaParser) bytes(n int64) []byte {
	if n > int64(len(d.p)) {
		d.bad, d.p = true, nil
		return nil
	}
	p := d.p[:n]
	d.p = d.p[n:]
	return p
}

// parseMeta reads the bytes of meta into a map by track number.
func parseMeta(p []byte) (map[int32]*trackMeta, bool) {
	d := &metaParser{p: p}
	if d.uint() != metaVersion {
		return nil, false
	}
	n := d.uint()
	if n > int64(len(d.p)) {
		return nil, false
	}
	out := make(map[int32]*trackMeta, n)
	for range n {
		number := d.int()
		m := &trackMeta{ident: string(d.bytes(d.uint()))}
		if flags := d.bytes(1); len(flags) == 1 {
			m.variable, m.part, m.gaps = flags[0]&metaVariable != 0, flags[0]&metaPart != 0, flags[0]&metaGaps != 0
		}
		c := &m.count
		c.Track, c.Packets, c.Empty, c.Samples = int32(number), d.uint(), d.uint(), d.uint()
		levels := d.uint()
		d.bad = d.bad || levels > zoomcache.MaxLevel || number != int64(c.Track) || c.Empty > c.Packets
		if d.bad {
			return nil, false
		}
		if levels > 0 {
			c.Levels = make([]int64, levels)
		}
		for i := range c.Levels {
			c.Levels[i] = d.uint()
		}
		c.Entry, c.Exit = d.int(), d.int()
		out[c.Track] = m
	}
	return out, !d.bad && len(d.p) == 0 && int64(len(out)) == n
}
