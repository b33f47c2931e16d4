// Package index is the form of the indexes that make cold reads cheap: sections
// of pages, each page with a checksum, a directory of them behind, and a trailer
// of 64 bytes that says where the index lies. An index stands inside the file that
// it is about, or beside it as an object of its own, whose name ends in Suffix.
//
// The package knows nothing of what is indexed. A section is named by three
// numbers; its pages are bytes with a first and a last position.
//
// Nothing of an index is trusted: the error for an index that is wrong, damaged or
// about another version of the file matches ErrUnusable, and a reader does without
// the index.
package index

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/farread/farread/formats"
)

const (
	// Format is formats.Error.Format in errors of this package.
	Format = "index"
	// Suffix is appended to the name of a file to get the name of the index
	// beside it.
	Suffix = ".fri"
	// TrailerLen is the length of the trailer, which ends the object that holds an
	// index.
	TrailerLen = 64

	magic     = "frindex\x02" // begins an index
	tag       = "frindTR\x02" // begins a trailer
	footerLen = 12            // directory: stored and decoded length, checksum
	crcLen    = 4             // behind each page
)

// ErrUnusable is matched by errors about an index that is damaged, too large, or
// of another version of the file. Readers then read the file without the index.
var ErrUnusable = errors.New("unusable index")

// ErrNeedless is matched by the error of making an index that would tell readers nothing
// that they do not know without it. It matches formats.ErrUnsupported, too.
var ErrNeedless = fmt.Errorf("no index is needed: %w", formats.ErrUnsupported)

func unusable(text string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), ErrUnusable)
}

// Reason returns the text of an error that matches ErrUnusable, without the words of
// ErrUnusable at its end.
func Reason(err error) string { return strings.TrimSuffix(err.Error(), ": "+ErrUnusable.Error()) }

// A Name tells the sections of an index apart. The format that is indexed gives
// the numbers their meaning.
type Name struct {
	Kind      int64
	Of, Level int64
}

// A Page is a part of a section. First and Last are the first and the last
// position that it covers, and Count is its number of entries.
type Page struct {
	First, Last int64
	Count       int64

	off, len int64 // place in the object, without the checksum
}

// Len is how many bytes the page takes in the object, with its checksum.
func (p *Page) Len() int64 { return p.len + crcLen }

// A Section is a list of pages that lie one behind another in the index, the first
// of them perhaps in stretches of the object in front of it.
type Section struct {
	Name
	Pages []Page
}

// A Trailer has the place of an index.
type Trailer struct {
	Off, Len int64 // offset and length in the object that ends with the trailer
	// Plain is the offset at which the indexed file ends. The index, seals and similar
	// parts lie behind it; spilled pages lie before it.
	Plain  int64
	SHA256 [sha256.Size]byte // hash of the pages before the index, followed by the index
}

// Append appends the trailer, TrailerLen bytes.
func (t *Trailer) Append(dst []byte) []byte {
	dst = append(dst, tag...)
	for _, v := range [...]int64{t.Off, t.Len, t.Plain} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(v))
	}
	return append(dst, t.SHA256[:]...)
}

// ParseTrailer reads a trailer, TrailerLen bytes that end an object of size bytes.
// Between index and trailer there are gap bytes. The error matches ErrUnusable.
func ParseTrailer(p []byte, size, gap int64) (Trailer, error) {
	var t Trailer
	if len(p) != TrailerLen || string(p[:len(tag)]) != tag {
		return t, unusable("there is no trailer")
	}
	p = p[len(tag):]
	for i, v := range [...]*int64{&t.Off, &t.Len, &t.Plain} {
		*v = int64(binary.BigEndian.Uint64(p[8*i:]))
	}
	copy(t.SHA256[:], p[24:])
	room := size - TrailerLen - gap
	if t.Off < 0 || t.Len < int64(len(magic)+footerLen) || t.Plain < 0 || t.Off > room || t.Len != room-t.Off {
		return t, unusable("the trailer puts it at %d, %d bytes, in an object of %d", t.Off, t.Len, size)
	}
	return t, nil
}

// Begins reports whether p begins like an index or a trailer, usable or not.
func Begins(p []byte) bool {
	return bytes.HasPrefix(p, []byte(magic)) || bytes.HasPrefix(p, []byte(tag))
}

// Binding ties an index beside a file to one version of it. The zero value is that of an
// index inside its file. Without an ETag, or with a weak one, nothing would tell that the
// file was replaced by one of the same size: Finish makes no index with such a Binding, and
// Open believes none.
type Binding struct {
	Size int64
	ETag string
}

// Check returns formats.ErrUnsupported if no index can be bound so. To call it before the
// work of making an index saves the work.
func (b Binding) Check() error {
	if why := b.unbound(); why != "" {
		return Refused(why)
	}
	return nil
}

// Refused is the error of Binding.Check for a reason; see Weakness.
func Refused(why string) error {
	return fmt.Errorf("%s, so nothing would tell that it was replaced: put it where it gets a strong one, "+
		"in a bucket or a folder: %w", why, formats.ErrUnsupported)
}

func (b Binding) unbound() string {
	if b == (Binding{}) {
		return ""
	}
	return Weakness("the file", b.ETag)
}

// Weakness says why an ETag does not tell all versions of an object apart: there is none,
// or it is weak. what names the object. It returns "" if the ETag is a strong one.
func Weakness(what, etag string) string {
	switch {
	case etag == "":
		return what + " has no ETag"
	case strings.HasPrefix(etag, "W/"):
		return what + " has only a weak ETag"
	}
	return ""
}

// sum is the checksum of a page, which its place goes into: no page is taken for
// another.
func sum(n Name, page int, p []byte) uint32 {
	var head [32]byte
	for i, v := range [...]int64{n.Kind, n.Of, n.Level, int64(page)} {
		binary.LittleEndian.PutUint64(head[8*i:], uint64(v))
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(head[:], table), table, p)
}

func crcOf(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }
