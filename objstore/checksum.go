package objstore

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // a checksum that S3 keeps, not a signature
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
)

// A Checksum is the store's sum of all bytes of an object. The zero value is none.
type Checksum struct {
	Name string // "crc32", "crc32c", "crc64nvme", "sha1", "sha256" or "sha512"; others are not compared
	Sum  string // the bytes of the sum, most significant first; neither hex nor base64
}

// nvme is the polynomial of CRC-64/NVME, in the bit order of hash/crc64. S3 computes
// this sum for objects that were uploaded without one.
const nvme = 0x9a6c9329ac4bc9b5

// start begins the sum of an object. It returns nil if there is nothing to compare the
// sum with.
func (c Checksum) start() hash.Hash {
	var h hash.Hash
	switch c.Name {
	case "crc32":
		h = crc32.NewIEEE()
	case "crc32c":
		h = crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case "crc64nvme":
		h = crc64.New(crc64.MakeTable(nvme))
	case "sha1":
		h = sha1.New() //nolint:gosec // as above
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	}
	if h == nil || h.Size() != len(c.Sum) {
		return nil
	}
	return h
}

// compare compares the sum of all received bytes with the sum that the store gave.
func (c Checksum) compare(h hash.Hash) error {
	if got := h.Sum(nil); !bytes.Equal(got, []byte(c.Sum)) {
		return fmt.Errorf("%s of the bytes is %x, the store says %x: %w", c.Name, got, c.Sum, ErrCorrupt)
	}
	return nil
}

// whole compares the sum of an object that came in one piece.
func (c Checksum) whole(p []byte) error {
	h := c.start()
	if h == nil {
		return nil
	}
	_, _ = h.Write(p) // a hash returns no error
	return c.compare(h)
}
