package zoomcache

import "bytes"

// markerStart begins the markers of packets and of summaries.
var markerStart = []byte("\xe5ZX") //nolint:gochecknoglobals // a constant

// search looks for the next block after damage. more says that it needs more bytes.
// Data may contain a marker, so the bytes must also look like a block.
func (w *walker) search() (more bool) {
	p, last := w.rest()
	for i := 0; ; i++ {
		k := bytes.Index(p[min(i, len(p)):], markerStart)
		if k < 0 {
			break
		}
		i += k
		if len(p)-i < BlockHeaderLen && !last {
			w.pos += int64(i)
			return true
		}
		if w.f.plausible(p[i:], w.pos+int64(i)) {
			w.pos += int64(i)
			w.found()
			return false
		}
	}
	if !last { // the end of p may be the start of a marker
		w.pos += int64(max(len(p)-len(markerStart)+1, 0))
		return true
	}
	w.pos = w.f.size
	w.found()
	return false
}

// found reports the damage that ends at w.pos.
func (w *walker) found() {
	w.tell(Damage{w.lost, w.pos, w.cause})
	w.cause = nil
}

// follows reports whether the bytes behind a block confirm its length: at pos there
// is another block, or the end of the file.
func (f *File) follows(p []byte, pos int64) bool {
	if pos >= f.size {
		return true
	}
	_, err := f.ParseBlock(p, pos)
	return err == nil
}

// plausible reports whether a block of a declared track may begin with p, which
// lies at pos.
func (f *File) plausible(p []byte, pos int64) bool {
	b, err := f.ParseBlock(p, pos)
	if err != nil {
		return false
	}
	t := f.tracks[b.Track]
	switch {
	case t == nil:
		return false
	case b.Summary: // ParseBlock has checked the level
		return b.Len >= int64(t.Codec.Width())*int64(t.Codec.minBody())
	case t.Zlib:
		return b.Len >= 8 // length of the shortest zlib stream
	}
	least, exact := t.payloadSize(int64(b.Count))
	return b.Len == least || b.Len > least && !exact
}
