package zoomindex

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// A packetRun says where a packet lies.
type packetRun struct {
	entry, exit int64
	count       int64
	off, len    int64 // offset of the header, length of the payload
}

func (r *packetRun) end() int64 { return r.off + zoomcache.BlockHeaderLen + r.len }

const (
	// runsPage is how many packets a page of runs holds if there are few tracks. If
	// there are many, it holds fewer, down to leastRuns, so that the unfinished pages
	// of all tracks take at most rowBytes. Packets of one size take almost nothing.
	runsPage  = 4096
	leastRuns = 64
	runBytes  = 40 // memory of a packetRun
	// maxWindow and maxPayload bound a packet: no writer makes a longer one.
	maxWindow  = 1 << 28
	maxPayload = 1 << 30
)

// A spacing predicts the distance from a packet to the next one of its track. After
// packet k, counted from 1, there is one summary, and another one for each power of two
// that divides k.
type spacing struct{ base, each int64 }

func (s spacing) after(k int64) int64 {
	return s.base + s.each*int64(bits.TrailingZeros64(uint64(k))+1)
}

// fit takes the spacing of the first packets. The first one is number at.
func fit(runs []packetRun, at int64) spacing {
	var odd, even int64
	for i := 0; i+1 < len(runs) && i < 4; i++ {
		gap := runs[i+1].off - runs[i].end()
		switch bits.TrailingZeros64(uint64(at + int64(i))) {
		case 0:
			odd = gap
		case 1:
			even = gap
		}
	}
	if even == 0 {
		return spacing{base: odd}
	}
	return spacing{base: 2*odd - even, each: even - odd}
}

// runs makes a page of packets. The first one is number at, counted from 1.
func (k *packer) runs(runs []packetRun, at int64, g *guess) ([]byte, error) {
	s := fit(runs, at)
	k.begin()
	for _, v := range [...]int64{at, runs[0].off, s.base, s.each} {
		k.raw = binary.AppendVarint(k.raw, v)
	}
	k.mark()
	next := runs[0].entry
	for _, r := range runs {
		k.raw = binary.AppendVarint(k.raw, r.entry-next)
		next = r.exit + 1
	}
	k.mark()
	for _, r := range runs {
		k.raw = binary.AppendVarint(k.raw, r.exit-r.entry+1-r.count)
	}
	k.mark()
	count, length := int64(0), int64(0)
	for _, r := range runs {
		k.raw = binary.AppendVarint(k.raw, r.count-count)
		count = r.count
	}
	k.mark()
	for _, r := range runs {
		k.raw = binary.AppendVarint(k.raw, r.len-length)
		length = r.len
	}
	k.mark()
	for i := 1; i < len(runs); i++ {
		k.raw = binary.AppendVarint(k.raw, runs[i].off-runs[i-1].end()-s.after(at+int64(i)-1))
	}
	k.mark()
	return k.pack(g)
}

// runs reads a page of packets, which must end before end.
func (u *unpacker) runs(p []byte, pg *index.Page, end int64) ([]packetRun, error) {
	if err := u.open(p); err != nil {
		return nil, err
	}
	ok := true
	next := func() int64 {
		v, good := u.int()
		ok = ok && good
		return v
	}
	at, off, s := next(), next(), spacing{}
	s.base, s.each = next(), next()
	if !ok || pg.Count < 1 || pg.Count > int64(len(u.p)/4) || at < 1 || at > math.MaxInt64-pg.Count {
		return nil, damagedIndex()
	}
	runs := make([]packetRun, pg.Count)
	for i := range runs {
		runs[i].entry = next()
	}
	for i := range runs {
		runs[i].exit = next()
	}
	count, length := int64(0), int64(0)
	for i := range runs {
		count += next()
		runs[i].count = count
	}
	for i := range runs {
		length += next()
		runs[i].len = length
	}
	entry := pg.First
	for i := range runs {
		r := &runs[i]
		if i > 0 {
			off = runs[i-1].end() + s.after(at+int64(i)-1) + next()
		}
		r.off = off
		r.entry += entry
		r.exit += r.entry - 1 + r.count
		if !ok || r.entry < pg.First || r.exit < r.entry || r.exit > pg.Last || r.count < 1 || r.count > maxWindow ||
			r.len < 0 || r.len > maxPayload || off < 0 || off > end-zoomcache.BlockHeaderLen-r.len || i > 0 && (r.entry < runs[i-1].exit || off < runs[i-1].end()) {
			return nil, damagedIndex()
		}
		entry = r.exit + 1
	}
	if len(u.p) > 0 {
		return nil, damagedIndex()
	}
	return runs, nil
}
