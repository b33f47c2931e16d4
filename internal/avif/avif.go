// Package avif recognizes AVIF images by their first bytes.
package avif

import "encoding/binary"

// Is reports whether p begins with a box "ftyp" that names a brand of AVIF, as ISO/IEC
// 14496-12 (4.3) and the AVIF specification (6) say. 512 bytes of a file are enough.
func Is(p []byte) bool {
	if len(p) < 16 || string(p[4:8]) != "ftyp" {
		return false
	}
	const most = 512
	n := min(int64(binary.BigEndian.Uint32(p)), int64(len(p)), most)
	for i := int64(8); i+4 <= n; i += 4 {
		if i == 12 { // version of the first brand
			continue
		}
		if b := string(p[i : i+4]); b == "avif" || b == "avis" {
			return true
		}
	}
	return false
}
