package peek

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // so that their headers are read
	_ "image/jpeg" // as before
	_ "image/png"  // as before

	"github.com/farread/farread/functions/pack"
)

// picture describes an image that goes into a gulp as it is.
func picture(head []byte) (f Found, ok bool) {
	f = Found{Format: pack.ImageKind(head), Pack: Image}
	if f.Format == "" {
		return f, false
	}
	w, h, ok := 0, 0, false
	switch f.Format {
	case "webp":
		w, h, ok = webpSize(head)
	case "avif":
		w, h, ok = avifSize(head)
	default:
		c, _, err := image.DecodeConfig(bytes.NewReader(head))
		w, h, ok = c.Width, c.Height, err == nil
	}
	if !ok {
		return f, f.Format == "avif" || f.Format == "webp" || len(head) == headLen // a JPEG may have a long preview in front
	}
	f.add("pixels", fmt.Sprintf("%d x %d", w, h))
	return f, true
}

// webpSize reads the first chunk of a WebP, as its container specification and RFC 9649 say.
func webpSize(p []byte) (w, h int, ok bool) {
	const body = 20 // RIFF, its length, WEBP, the chunk's name and its length
	if len(p) < body+10 {
		return 0, 0, false
	}
	b := p[body:]
	switch string(p[12:16]) {
	case "VP8X":
		return 1 + int(uint32(b[4])|uint32(b[5])<<8|uint32(b[6])<<16), 1 + int(uint32(b[7])|uint32(b[8])<<8|uint32(b[9])<<16), true
	case "VP8L":
		n := binary.LittleEndian.Uint32(b[1:])
		return 1 + int(n&0x3fff), 1 + int(n>>14&0x3fff), b[0] == 0x2f
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[8:]) & 0x3fff), bytes.Equal(b[3:6], []byte{0x9d, 0x01, 0x2a})
	}
	return 0, 0, false
}

// avifSize takes the largest of the sizes (boxes "ispe") of an AVIF's items: others are of tiles, of
// alpha or of small copies.
func avifSize(p []byte) (w, h int, ok bool) {
	for i := 0; ; {
		n := bytes.Index(p[i:], []byte("ispe\x00\x00\x00\x00"))
		if n < 0 || i+n+16 > len(p) {
			return w, h, ok
		}
		i += n + 8
		x, y := int(binary.BigEndian.Uint32(p[i:])), int(binary.BigEndian.Uint32(p[i+4:]))
		if x > 0 && y > 0 && x < 1<<20 && y < 1<<20 && x*y > w*h {
			w, h, ok = x, y, true
		}
	}
}
