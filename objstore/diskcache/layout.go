package diskcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"reflect"
	"time"

	"github.com/farread/farread/objstore"
)

// errDamaged marks a file, or a part of one, that is not what the cache writes.
var errDamaged = errors.New("damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An identity names the bytes of a version of an object.
type identity struct {
	Place    string `json:"place"`
	Key      string `json:"key"`
	ETag     string `json:"etag,omitempty"`
	Version  string `json:"version,omitempty"`
	Size     int64  `json:"size"`
	Time     int64  `json:"time"` // Unix nanoseconds
	Encoding string `json:"encoding,omitempty"`
}

func identityOf(place string, in objstore.Info) identity {
	return identity{Place: place, Key: in.Key, ETag: in.ETag, Version: in.VersionID, Size: in.Size, Time: in.ModTime.UnixNano(), Encoding: in.ContentEncoding}
}

// objectDir is the folder of an object. Names are hashed: keys may be longer than names
// of files, and have any characters.
func objectDir(place, key string) string {
	sum := sha256.Sum256([]byte(place + "\x00" + key))
	name := hex.EncodeToString(sum[:16])
	return objects + "/" + name[:2] + "/" + name[2:]
}

func (id identity) dir() string { return objectDir(id.Place, id.Key) }

// prefix begins the names of the segments of a version.
func (id identity) prefix() string {
	sum := sha256.Sum256(id.encode())
	return hex.EncodeToString(sum[:8]) + "-"
}

func (id identity) encode() []byte {
	p, err := json.Marshal(id)
	if err != nil {
		panic(err) // texts and numbers always have a JSON
	}
	return p
}

// A segment begins with its magic number, a random salt, the length of the JSON of its
// identity, the CRC-32C of all that and of the JSON, and the JSON. Numbers are little
// endian.
const (
	segMagic  = "frseg\x01\r\n"
	saltLen   = 8
	headLen   = 8 + saltLen + 4 + 4
	maxIdent  = 64 << 10
	lastMagic = "frlast\x01\n"
)

func appendHead(p []byte, salt [saltLen]byte, id identity) []byte {
	ident := id.encode()
	from := len(p)
	p = append(p, segMagic...)
	p = append(p, salt[:]...)
	p = binary.LittleEndian.AppendUint32(p, uint32(len(ident)))
	sum := crc32.Update(crc32.Checksum(p[from:], castagnoli), castagnoli, ident)
	p = binary.LittleEndian.AppendUint32(p, sum)
	return append(p, ident...)
}

// readHead reads the head of a segment, and returns where its pieces begin.
func readHead(r io.ReaderAt) (salt [saltLen]byte, id identity, n int64, err error) {
	var fixed [headLen]byte
	if _, err := r.ReadAt(fixed[:], 0); err != nil {
		return salt, id, 0, fmt.Errorf("head of a segment: %w: %w", errDamaged, err)
	}
	size := binary.LittleEndian.Uint32(fixed[8+saltLen:])
	if string(fixed[:8]) != segMagic || size > maxIdent {
		return salt, id, 0, fmt.Errorf("head of a segment: %w", errDamaged)
	}
	ident := make([]byte, size)
	if _, err := r.ReadAt(ident, headLen); err != nil {
		return salt, id, 0, fmt.Errorf("head of a segment: %w: %w", errDamaged, err)
	}
	sum := crc32.Update(crc32.Checksum(fixed[:headLen-4], castagnoli), castagnoli, ident)
	if sum != binary.LittleEndian.Uint32(fixed[headLen-4:]) || json.Unmarshal(ident, &id) != nil || id.Size <= 0 {
		return salt, id, 0, fmt.Errorf("head of a segment: %w", errDamaged)
	}
	copy(salt[:], fixed[8:])
	return salt, id, headLen + int64(size), nil
}

// A piece is a run of bytes of the object. In a segment it has its offset (8 bytes), its
// length (4), the CRC-32C of its bytes (4), and that of the salt and of these 16 bytes
// (4); then come the bytes.
type piece struct {
	off int64
	len int32
	crc uint32
	pos int64 // of its bytes in the segment
}

const pieceHead = 20

func putPiece(p []byte, salt [saltLen]byte, x piece) {
	binary.LittleEndian.PutUint64(p, uint64(x.off))
	binary.LittleEndian.PutUint32(p[8:], uint32(x.len))
	binary.LittleEndian.PutUint32(p[12:], x.crc)
	binary.LittleEndian.PutUint32(p[16:], sumOf(p, salt))
}

func sumOf(p []byte, salt [saltLen]byte) uint32 {
	return crc32.Update(crc32.Checksum(salt[:], castagnoli), castagnoli, p[:16])
}

// parsePiece reads the head of a piece of an object of a size. ok is false if it is not
// one, as after the last piece of a segment.
func parsePiece(p []byte, salt [saltLen]byte, size int64) (x piece, ok bool) {
	x = piece{off: int64(binary.LittleEndian.Uint64(p)), len: int32(binary.LittleEndian.Uint32(p[8:])), crc: binary.LittleEndian.Uint32(p[12:])}
	ok = binary.LittleEndian.Uint32(p[16:]) == sumOf(p, salt) &&
		x.len > 0 && x.len <= maxPiece && x.off >= 0 && x.off < size && int64(x.len) <= size-x.off
	return x, ok
}

// readPieces calls f for each piece of a segment of n bytes, from the position from on, and
// returns where the first one begins that is torn or damaged, or the end. It does not look
// at the bytes of pieces. f returns false to end.
func readPieces(r io.ReaderAt, from, n int64, salt [saltLen]byte, size int64, f func(piece) bool) int64 {
	var buf [4 << 10]byte // heads of small pieces lie close together
	var held []byte
	var at int64 // of held
	for from+pieceHead <= n {
		if from < at || from+pieceHead > at+int64(len(held)) {
			k, _ := r.ReadAt(buf[:min(int64(len(buf)), n-from)], from) // an error shows as a short read
			if k < pieceHead {
				return from
			}
			held, at = buf[:k], from
		}
		x, ok := parsePiece(held[from-at:], salt, size)
		x.pos = from + pieceHead
		if !ok || int64(x.len) > n-x.pos {
			return from
		}
		if !f(x) {
			return from
		}
		from = x.pos + int64(x.len)
	}
	return from
}

// last is the Info of an object as an Open saw it. Asked is the version that was asked
// for.
type last struct {
	Place string            `json:"place"`
	Key   string            `json:"key"`
	Asked string            `json:"asked,omitempty"`
	ETag  string            `json:"etag,omitempty"`
	ID    string            `json:"version,omitempty"`
	Size  int64             `json:"size"`
	Time  time.Time         `json:"time"`
	Type  string            `json:"type,omitempty"`
	Code  string            `json:"encoding,omitempty"`
	Meta  map[string]string `json:"meta,omitempty"`
}

func (l *last) info() objstore.Info {
	return objstore.Info{Key: l.Key, Size: l.Size, ETag: l.ETag, VersionID: l.ID, ModTime: l.Time, ContentType: l.Type, ContentEncoding: l.Code, Meta: l.Meta}
}

func lastOf(place, asked string, in objstore.Info) last {
	return last{Place: place, Key: in.Key, Asked: asked, ETag: in.ETag, ID: in.VersionID, Size: in.Size, Time: in.ModTime, Type: in.ContentType, Code: in.ContentEncoding, Meta: in.Meta}
}

func lastName(asked string) string {
	sum := sha256.Sum256([]byte(asked))
	return "last-" + hex.EncodeToString(sum[:8])
}

// encode is a magic number, the CRC-32C of the JSON, and the JSON. It is nil if JSON would
// change a text, or cannot have the date.
func (l *last) encode() []byte {
	ident, err := json.Marshal(l)
	if err != nil {
		return nil
	}
	p := binary.LittleEndian.AppendUint32([]byte(lastMagic), crc32.Checksum(ident, castagnoli))
	p = append(p, ident...)
	if back, err := parseLast(p); err != nil || !back.equal(l) || len(p) > maxLast {
		return nil
	}
	return p
}

func (l *last) equal(b *last) bool {
	x, y := *l, *b
	same := x.Time.Equal(y.Time) && maps.Equal(x.Meta, y.Meta)
	x.Time, y.Time, x.Meta, y.Meta = time.Time{}, time.Time{}, nil, nil
	return same && reflect.DeepEqual(x, y)
}

func parseLast(p []byte) (l last, err error) {
	rest, ok := bytes.CutPrefix(p, []byte(lastMagic))
	if !ok || len(rest) < 4 || crc32.Checksum(rest[4:], castagnoli) != binary.LittleEndian.Uint32(rest) ||
		json.Unmarshal(rest[4:], &l) != nil || l.Size <= 0 {
		return last{}, fmt.Errorf("description of an object: %w", errDamaged)
	}
	return l, nil
}
