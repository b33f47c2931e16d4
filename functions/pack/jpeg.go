package pack

import (
	"bytes"
	"encoding/binary"

	"github.com/farread/farread/functions/internal/kit"
)

// Marker codes: ITU-T T.81, table B.1.
const (
	markSOF0 = 0xC0
	markDHT  = 0xC4
	markJPG  = 0xC8
	markDAC  = 0xCC
	markSOFF = 0xCF
	markRST0 = 0xD0
	markRST7 = 0xD7
	markSOI  = 0xD8
	markEOI  = 0xD9
	markSOS  = 0xDA
	markTEM  = 0x01
)

// isJPEG reports whether p begins as a JPEG does: SOI and the next marker.
func isJPEG(p []byte) bool { return len(p) >= 3 && p[0] == 0xFF && p[1] == markSOI && p[2] == 0xFF }

// checkJPEG walks the markers of a JPEG from SOI to EOI without decoding. Every segment
// must lie inside p, there must be a frame header and a scan, and the last scan must
// end in EOI. Bytes after EOI are allowed, since cameras put previews there. Bytes that
// are not a JPEG at all are ErrUnsupported, a broken JPEG is ErrCorrupt.
func checkJPEG(p []byte) error {
	if !isJPEG(p) {
		return kit.Unsupported("not a JPEG")
	}
	frame, scan := false, false
	for i := 2; ; {
		if i >= len(p) {
			return kit.Corrupt("JPEG ends without EOI")
		}
		if p[i] != 0xFF {
			return kit.Corrupt("JPEG has 0x%02x at %d where a marker should be", p[i], i)
		}
		for i < len(p) && p[i] == 0xFF { // fill bytes
			i++
		}
		if i >= len(p) {
			return kit.Corrupt("JPEG ends without EOI")
		}
		mark := p[i]
		i++
		switch {
		case mark == markEOI:
			if !frame || !scan {
				return kit.Corrupt("JPEG without an image")
			}
			return nil
		case mark == markSOI || mark == 0:
			return kit.Corrupt("JPEG has marker 0x%02x at %d", mark, i-1)
		case mark == markTEM || mark >= markRST0 && mark <= markRST7:
			continue // stand alone
		}
		if len(p)-i < 2 {
			return kit.Corrupt("JPEG ends in a segment's length")
		}
		n := int(binary.BigEndian.Uint16(p[i:]))
		if n < 2 || n > len(p)-i {
			return kit.Corrupt("JPEG segment 0x%02x at %d has %d bytes, %d are left", mark, i-1, n, len(p)-i)
		}
		i += n
		switch {
		case mark == markSOS:
			if !frame {
				return kit.Corrupt("JPEG scan before the frame header")
			}
			scan = true
			i = scanEnd(p, i)
		case mark >= markSOF0 && mark <= markSOFF && mark != markDHT && mark != markJPG && mark != markDAC:
			frame = true
		}
	}
}

// scanEnd returns the end of the entropy-coded data that begin at i: the first marker
// except stuffed zeros and restarts, or the end of p.
func scanEnd(p []byte, i int) int {
	for i < len(p) {
		k := bytes.IndexByte(p[i:], 0xFF)
		if k < 0 || i+k+1 >= len(p) {
			return len(p)
		}
		i += k
		switch c := p[i+1]; {
		case c == 0 || c >= markRST0 && c <= markRST7:
			i += 2
		case c == 0xFF: // fill byte: the next may be the marker's
			i++
		default:
			return i
		}
	}
	return len(p)
}
