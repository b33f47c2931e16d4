package cframe

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/formats"
)

// A Metalayer is metadata with a name. Data are usually msgpack, see
// NewMetalayer and AppendJSON.
type Metalayer struct {
	Name string
	Data []byte
}

// Limits of the format (blosc2.h).
const (
	maxMetalayers   = 16
	maxVLMetalayers = 8192
	maxNameLen      = 31
)

// parseLayers parses a section of metalayers that begins at b[at]: the marker of
// an array of three, a number that is ignored, a map of names to positions, and
// an array of contents. Positions count from b[0]. Header and trailer have this
// same layout. part is for errors, and most bounds the number of metalayers.
// Contents alias b.
//
// If two layers have the same name, the first one is kept, as in C. Contents
// must not be longer together than b, so overlapping contents are refused.
func parseLayers(part string, b []byte, at, most int) ([]Metalayer, error) {
	bad := func(off int, format string, args ...any) ([]Metalayer, error) {
		return nil, corrupt(part, int64(off), format, args...)
	}
	need := func(off, n int) bool { return off <= len(b) && n <= len(b)-off }
	if !need(at, 7) || b[at] != 0x93 || b[at+1] != 0xcd || b[at+4] != 0xde {
		return bad(at, "no map of metalayers")
	}
	n := int(binary.BigEndian.Uint16(b[at+5:]))
	if n > most {
		return bad(at+5, "%d metalayers, at most %d", n, most)
	}
	pos := at + 7
	type entry struct {
		name string
		off  int64
	}
	entries := make([]entry, 0, min(n, len(b)/6))
	for range n {
		if !need(pos, 1) || b[pos]&0xe0 != 0xa0 || !need(pos, 1+int(b[pos]&0x1f)+5) {
			return bad(pos, "no name of a metalayer")
		}
		k := int(b[pos] & 0x1f)
		name := string(b[pos+1 : pos+1+k])
		if pos += 1 + k; b[pos] != 0xd2 {
			return bad(pos, "marker %#02x, want 0xd2", b[pos])
		}
		entries = append(entries, entry{name, be32(b[pos+1:])})
		pos += 5
	}
	if !need(pos, 3) || b[pos] != 0xdc || int(binary.BigEndian.Uint16(b[pos+1:])) != n {
		return bad(pos, "no array of %d contents", n)
	}
	out := make([]Metalayer, 0, n)
	seen := make(map[string]bool, n)
	room := int64(len(b) - pos - 3)
	for _, e := range entries {
		if e.off < int64(pos) || e.off > int64(len(b)-5) || b[e.off] != 0xc6 {
			return bad(pos, "metalayer %q at %d", e.name, e.off)
		}
		size := int64(binary.BigEndian.Uint32(b[e.off+1:]))
		if room -= 5 + size; size > int64(len(b))-e.off-5 || room < 0 {
			return bad(int(e.off), "metalayer %q of %d bytes", e.name, size)
		}
		if !seen[e.name] {
			seen[e.name] = true
			out = append(out, Metalayer{e.name, b[e.off+5 : e.off+5+size : e.off+5+size]})
		}
	}
	return out, nil
}

// checkMeta refuses n bytes of metadata above the limit. It is called before
// memory is allocated for them.
func checkMeta(part string, n int64, l formats.Limits) error {
	if n > l.MaxMeta || n > math.MaxInt {
		return tooLarge(part, -1, "%d bytes of metadata, %d allowed", n, l.MaxMeta)
	}
	return nil
}
