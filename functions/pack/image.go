package pack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/internal/avif"
)

// An imageKind is a kind of image that is packed as it is.
type imageKind struct {
	media string
	is    func(p []byte) bool
	check func(p []byte) error
}

// imageKinds are all of them, the most frequent first.
func imageKinds() [5]imageKind {
	return [...]imageKind{
		{"image/jpeg", isJPEG, checkJPEG},
		{"image/png", isPNG, checkPNG},
		{"image/webp", isWebP, checkWebP},
		{"image/gif", isGIF, checkGIF},
		{"image/avif", avif.Is, checkAVIF},
	}
}

// isImage reports whether p begins as an image does that is packed as it is. 64 bytes
// are enough.
func isImage(p []byte) bool {
	for _, k := range imageKinds() {
		if k.is(p) {
			return true
		}
	}
	return false
}

// checkImage returns the number of the kind of an image, by its bytes alone. It walks the
// segments, chunks or boxes of the image without decoding: each must lie inside p, those
// without which there is no image must be there, and the last one must be the end. Bytes
// after the end are allowed. Other bytes are ErrUnsupported, a broken image is ErrCorrupt.
func checkImage(p []byte) (kind byte, err error) {
	for i, k := range imageKinds() {
		if k.is(p) {
			return byte(i), k.check(p)
		}
	}
	if len(p) == 0 {
		return 0, kit.Unsupported("empty, not a JPEG, PNG, WebP, AVIF or GIF")
	}
	return 0, kit.Unsupported("not a JPEG, PNG, WebP, AVIF or GIF")
}

const pngSignature = "\x89PNG\r\n\x1a\n"

func isPNG(p []byte) bool { return bytes.HasPrefix(p, []byte(pngSignature)) }

// checkPNG walks the chunks of a PNG. Of those without which it cannot be shown (an upper
// case letter first), it compares the checksum.
func checkPNG(p []byte) error {
	const frame = 12 // length, name and checksum
	data := false
	for i, n := len(pngSignature), 0; ; n++ {
		if len(p)-i < frame {
			return kit.Corrupt("PNG ends without IEND")
		}
		size, name := int64(binary.BigEndian.Uint32(p[i:])), string(p[i+4:i+8])
		if size > int64(len(p)-i-frame) {
			return kit.Corrupt("PNG chunk %q at %d has %d bytes, %d are left", name, i, size, len(p)-i-frame)
		}
		body := p[i+8 : i+8+int(size)]
		if name[0]&0x20 == 0 && crc32.ChecksumIEEE(p[i+4:i+8+int(size)]) != binary.BigEndian.Uint32(p[i+8+int(size):]) {
			return kit.Corrupt("PNG chunk %q at %d has another checksum", name, i)
		}
		switch {
		case (name == "IHDR") != (n == 0):
			return kit.Corrupt("PNG has %q as chunk %d", name, n)
		case name == "IHDR" && (size != 13 || binary.BigEndian.Uint32(body) == 0 || binary.BigEndian.Uint32(body[4:]) == 0):
			return kit.Corrupt("PNG without width and height")
		case name == "IDAT":
			data = true
		case name == "IEND" && !data:
			return kit.Corrupt("PNG without an image")
		case name == "IEND":
			return nil
		}
		i += frame + int(size)
	}
}

func isGIF(p []byte) bool {
	return bytes.HasPrefix(p, []byte("GIF87a")) || bytes.HasPrefix(p, []byte("GIF89a"))
}

// checkGIF walks the blocks of a GIF.
func checkGIF(p []byte) error {
	const header, image = 13, 10
	if len(p) < header {
		return kit.Corrupt("GIF ends in its header")
	}
	shown := false
	for i := header + gifColours(p[10]); ; {
		if i >= len(p) {
			return kit.Corrupt("GIF ends without its trailer")
		}
		switch p[i] {
		case 0x3B: // trailer
			if !shown {
				return kit.Corrupt("GIF without an image")
			}
			return nil
		case 0x21: // extension: a label, then sub-blocks
			i += 2
		case 0x2C: // image: a descriptor, colours, the size of a code, then sub-blocks
			if len(p)-i <= image {
				return kit.Corrupt("GIF ends in an image")
			}
			i += image + gifColours(p[i+image-1]) + 1
			shown = true
		default:
			return kit.Corrupt("GIF has 0x%02x at %d where a block should be", p[i], i)
		}
		for {
			if i >= len(p) {
				return kit.Corrupt("GIF ends in a block")
			}
			n := int(p[i])
			if i += 1 + n; n == 0 {
				break
			}
		}
	}
}

// gifColours is the length of the table of colours that follows, by the flags before it.
func gifColours(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func isWebP(p []byte) bool {
	return len(p) >= 12 && string(p[:4]) == "RIFF" && string(p[8:12]) == "WEBP"
}

// checkWebP walks the chunks of a WebP: one image, or an extended header and images or
// frames of an animation.
func checkWebP(p []byte) error {
	size := int64(binary.LittleEndian.Uint32(p[4:]))
	if size > int64(len(p)-8) {
		return kit.Corrupt("WebP of %d bytes, %d are there", size, len(p)-8)
	}
	q, shown := p[:8+size], false
	for i := 12; i < len(q); {
		if len(q)-i < 8 {
			return kit.Corrupt("WebP ends in the header of a chunk")
		}
		name, n := string(q[i:i+4]), int64(binary.LittleEndian.Uint32(q[i+4:]))
		if n > int64(len(q)-i-8) {
			return kit.Corrupt("WebP chunk %q at %d has %d bytes, %d are left", name, i, n, len(q)-i-8)
		}
		body := q[i+8 : i+8+int(n)]
		if i == 12 && name != "VP8 " && name != "VP8L" && name != "VP8X" {
			return kit.Corrupt("WebP begins with chunk %q", name)
		}
		switch name {
		case "VP8 ": // the tag of a key frame, then its start code: RFC 6386, 9.1
			if n < 10 || body[0]&1 != 0 || string(body[3:6]) != "\x9d\x01\x2a" {
				return kit.Corrupt("WebP without a key frame")
			}
			shown = true
		case "VP8L":
			if n < 5 || body[0] != 0x2F {
				return kit.Corrupt("WebP without the signature of its image")
			}
			shown = true
		case "VP8X":
			if n < 10 {
				return kit.Corrupt("WebP with an extended header of %d bytes", n)
			}
		case "ANMF":
			shown = true
		}
		i += 8 + int(n+n&1)
	}
	if !shown {
		return kit.Corrupt("WebP without an image")
	}
	return nil
}

// checkAVIF walks the outermost boxes of an AVIF: what it has (meta or moov), and bytes.
func checkAVIF(p []byte) error {
	var names []string
	for i := 0; i < len(p); {
		left := int64(len(p) - i)
		if left < 8 {
			if len(names) >= 3 {
				break // bytes after the end
			}
			return kit.Corrupt("AVIF ends in the header of a box")
		}
		n, name, head := int64(binary.BigEndian.Uint32(p[i:])), string(p[i+4:i+8]), int64(8)
		switch n {
		case 0: // up to the end
			n = left
		case 1:
			if head = 16; left < head {
				return kit.Corrupt("AVIF ends in the header of a box")
			}
			n = int64(min(binary.BigEndian.Uint64(p[i+8:]), 1<<62))
		}
		if n < head || n > left {
			return kit.Corrupt("AVIF box %q at %d has %d bytes, %d are left", name, i, n, left)
		}
		if len(names) < 64 { // more are free space, or films
			names = append(names, name)
		}
		i += int(n)
	}
	switch {
	case !slices.Contains(names, "meta") && !slices.Contains(names, "moov"):
		return kit.Corrupt("AVIF without a description of its image")
	case !slices.Contains(names, "mdat") && !bytes.Contains(p, []byte("idat")): // the latter is a box of meta
		return kit.Corrupt("AVIF without bytes of an image")
	}
	return nil
}
