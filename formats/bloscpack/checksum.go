package bloscpack

import (
	"bytes"
	"crypto/md5" // the format's choice: against accidents, not against forgers
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/adler"
)

// A Checksum is a kind of digest. A digest follows each chunk and, in version
// 3, the metadata. The values are the numbers that files use.
type Checksum uint8

// The checksums of the format.
const (
	None Checksum = iota
	Adler32
	CRC32
	MD5
	SHA1
	SHA224
	SHA256
	SHA384
	SHA512
)

// checksums has the name of each checksum and the length of its digest in
// bytes. The Python tool's documentation says 32 bytes for adler32; the files
// have 4.
var checksums = [...]struct {
	name string
	size int
}{{"none", 0}, {"adler32", 4}, {"crc32", 4}, {"md5", 16}, {"sha1", 20}, {"sha224", 28}, {"sha256", 32}, {"sha384", 48}, {"sha512", 64}}

// maxDigest is the length of the longest digest.
const maxDigest = sha512.Size

// Valid reports whether the format has the checksum c.
func (c Checksum) Valid() bool { return int(c) < len(checksums) }

// String returns the name in lower case, or "checksum N" if c is not Valid.
func (c Checksum) String() string {
	if !c.Valid() {
		return fmt.Sprintf("checksum %d", uint8(c))
	}
	return checksums[c].name
}

// Size returns the length of a digest in bytes. It is 0 for None, and if c is
// not Valid.
func (c Checksum) Size() int {
	if !c.Valid() {
		return 0
	}
	return checksums[c].size
}

// ParseChecksum returns the checksum with a name as String writes it. It also
// takes "None", as the Python tool spells it. For any other name the error
// matches formats.ErrUnsupported.
func ParseChecksum(text string) (Checksum, error) {
	if text == "None" {
		return None, nil
	}
	for i := range checksums {
		if checksums[i].name == text {
			return Checksum(i), nil
		}
	}
	return None, fmt.Errorf("checksum %q: %w", text, formats.ErrUnsupported)
}

// AppendSum appends the digest of p to dst in the byte order of files: Adler32
// and CRC32 are little-endian, the others have their usual order. It appends
// nothing for None, and if c is not Valid.
func (c Checksum) AppendSum(dst, p []byte) []byte {
	switch c {
	case Adler32:
		return binary.LittleEndian.AppendUint32(dst, adler.Sum(p))
	case CRC32:
		return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(p))
	case MD5:
		d := md5.Sum(p)
		return append(dst, d[:]...)
	case SHA1:
		d := sha1.Sum(p)
		return append(dst, d[:]...)
	case SHA224:
		d := sha256.Sum224(p)
		return append(dst, d[:]...)
	case SHA256:
		d := sha256.Sum256(p)
		return append(dst, d[:]...)
	case SHA384:
		d := sha512.Sum384(p)
		return append(dst, d[:]...)
	case SHA512:
		d := sha512.Sum512(p)
		return append(dst, d[:]...)
	case None:
	}
	return dst
}

// verify compares the digest of p with the stored one.
func (c Checksum) verify(p, stored []byte) error {
	var room [maxDigest]byte
	got := c.AppendSum(room[:0], p)
	if bytes.Equal(got, stored) {
		return nil
	}
	// The clones keep room on the stack when digests agree, which is the usual
	// case.
	return fmt.Errorf("%s is %x, stored is %x: %w", c, bytes.Clone(got), bytes.Clone(stored), formats.ErrCorrupt)
}
