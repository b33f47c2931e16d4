package zstdenc

import "math/bits"

// A sequence is literals, then a match: 3 and the distance, or 1 to 3 for a distance that
// repeats.
type sequence struct {
	lit, match                     uint16
	offset                         uint32
	litCode, offsetCode, matchCode byte
}

// putCount writes how many sequences there are.
func putCount(p []byte, at, n int) int {
	if n < 128 {
		p[at] = byte(n)
		return at + 1
	}
	if n < 0x7f00 {
		p[at], p[at+1] = byte(n>>8)|128, byte(n)
		return at + 2
	}
	n -= 0x7f00
	p[at], p[at+1], p[at+2] = 255, byte(n), byte(n>>8)
	return at + 3
}

// putCoded writes sequences, of which there is at least one, by tables of each kind.
func putCoded(p []byte, at int, t *sharedTables, tables *[3]*fseEncoder, seqs []sequence) int {
	lit, offset, match := tables[litLengths], tables[offsets], tables[matchLengths]
	i := len(seqs) - 1
	li, oi, mi := lit.begin(seqs[i].litCode), offset.begin(seqs[i].offsetCode), match.begin(seqs[i].matchCode)
	q, at := seqs[i].extra(t, bitQueue{}, p, at)
	for i--; i >= 0; i-- {
		s := &seqs[i]
		q, oi = offset.next(q, oi, s.offsetCode)
		q, mi = match.next(q, mi, s.matchCode)
		q, li = lit.next(q, li, s.litCode)
		q, at = q.flush(p, at) // of up to 26 bits and 7
		q, at = s.extra(t, q, p, at)
	}
	q = match.end(q, mi)
	q = offset.end(q, oi)
	return lit.end(q, li).close(p, at)
}

// extra writes the bits that follow the codes, of up to 16 for each kind.
func (s *sequence) extra(t *sharedTables, q bitQueue, p []byte, at int) (bitQueue, int) {
	lc, mc, o := t.litCodes[s.litCode&63], t.matchCodes[s.matchCode&63], s.offsetCode
	q = q.add(uint64(uint32(s.lit)-lc.base), uint(lc.extra)).add(uint64(uint32(s.match)-mc.base), uint(mc.extra))
	return q.add(uint64(s.offset)-1<<(o&31), uint(o)).flush(p, at)
}

// putSequences codes sequences by the tables that the format defines.
func putSequences(p []byte, at int, seqs []sequence) int {
	at = putCount(p, at, len(seqs))
	if len(seqs) == 0 {
		return at
	}
	p[at] = 0
	t := shared()
	for i := range seqs {
		t.encode(&seqs[i])
	}
	return putCoded(p, at+1, t, &[3]*fseEncoder{&t.preset[0], &t.preset[1], &t.preset[2]}, seqs)
}

// How the symbols of a kind are coded, as the format numbers it.
const (
	modePreset = 0
	modeSingle = 1
	modeOwn    = 2
)

// sequenceCoder codes sequences by tables that are made for them where this is worth it.
type sequenceCoder struct {
	count  [3][64]uint32
	tables [3]fseEncoder
}

// put writes sequences and how they are coded.
func (c *sequenceCoder) put(p []byte, at int, seqs []sequence) int {
	at = putCount(p, at, len(seqs))
	if len(seqs) == 0 {
		return at
	}
	t := shared()
	c.count = [3][64]uint32{}
	for i := range seqs {
		s := &seqs[i]
		t.encode(s)
		c.count[litLengths][s.litCode&63]++
		c.count[offsets][s.offsetCode&63]++
		c.count[matchLengths][s.matchCode&63]++
	}
	modes := at
	p[modes], at = 0, at+1
	var tables [3]*fseEncoder
	for kind := range tables {
		var mode byte
		mode, at = c.choose(p, at, t, kind, len(seqs))
		p[modes] |= mode << (6 - 2*kind)
		if tables[kind] = &c.tables[kind]; mode == modePreset {
			tables[kind] = &t.preset[kind]
		}
	}
	return putCoded(p, at, t, &tables, seqs)
}

// choose decides how the symbols of one kind are coded, and describes it.
func (c *sequenceCoder) choose(p []byte, at int, t *sharedTables, kind, total int) (mode byte, end int) {
	count := c.count[kind][:]
	n := 64
	for count[n-1] == 0 {
		n--
	}
	count = count[:n]
	kinds, preset, own := 0, uint64(0), uint64(0)
	all := uint64(log2(uint32(total)))
	for s, k := range count {
		if k == 0 {
			continue
		}
		kinds++
		preset += uint64(k) * uint64(t.bits[kind][s])
		own += uint64(k) * (all - uint64(log2(k)))
	}
	switch {
	case kinds == 1 && total > 2:
		p[at] = byte(n - 1)
		c.tables[kind].single(byte(n - 1))
		return modeSingle, at + 1
	case preset <= own+uint64(kinds+2)*5<<8: // a description takes about five bits for each symbol
		return modePreset, at
	}
	log := uint(max(bits.Len(uint(total-1))-3, bits.Len(uint(kinds-1))+1, minLog))
	log = min(log, [3]uint{9, 8, 9}[kind])
	var norm [64]int16
	normalize(norm[:n], count, total, log)
	c.tables[kind].build(log, norm[:n])
	return modeOwn, describe(p, at, log, norm[:n])
}
