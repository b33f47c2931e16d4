package pack

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// kind is a container that uploads come in.
type kind int

const (
	kindNone kind = iota
	kindTar
	kindGzip
	kindZstd
	kindZip
	kindJPEG
	kindNPY
)

func (k kind) String() string {
	return [...]string{"upload", "tar", "tar.gz", "tar.zst", "zip", "jpeg", "npy"}[k]
}

// detect tells what an upload is, by its first bytes. If they say nothing the key
// decides. A wrong suffix does not matter if the content is known.
func detect(head []byte, key string) kind {
	switch {
	case isJPEG(head):
		return kindJPEG
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return kindNPY
	case bytes.HasPrefix(head, []byte{0x1F, 0x8B}):
		return kindGzip
	case bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}), // a zstd frame
		len(head) >= 4 && head[0]&0xF0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2A, 0x4D, 0x18}): // a skippable zstd frame
		return kindZstd
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")), bytes.HasPrefix(head, []byte("PK\x07\x08")):
		return kindZip
	case isTar(head):
		return kindTar
	}
	name := strings.ToLower(path.Base(key))
	switch {
	case strings.HasSuffix(name, ".tar"):
		return kindTar
	case strings.HasSuffix(name, ".tar.gz"), strings.HasSuffix(name, ".tgz"):
		return kindGzip
	case strings.HasSuffix(name, ".tar.zst"), strings.HasSuffix(name, ".tzst"):
		return kindZstd
	case strings.HasSuffix(name, ".zip"):
		return kindZip // after the stub of a self-extracting one, say
	}
	return kindNone
}

// isTar checks the checksum of a first header, which even the oldest tars have. It is
// the sum of the header's bytes, with spaces in the place of the checksum.
func isTar(head []byte) bool {
	const at, n = 148, 8
	if len(head) < tarBlock {
		return false
	}
	sum := int64(0)
	for i, c := range head[:tarBlock] {
		if i >= at && i < at+n {
			c = ' '
		}
		sum += int64(c)
	}
	field := strings.Trim(string(head[at:at+n]), " \x00")
	want, err := strconv.ParseInt(field, 8, 64)
	return err == nil && want == sum
}
