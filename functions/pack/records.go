package pack

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/functions/internal/kit"
)

// Records is the way in which an upload is cut into records.
type Records string

// The ways of Records.
const (
	ByContent Records = ""       // content and name decide; they never choose records with lengths in front
	Lines     Records = "lines"  // a line is a record
	JSONL     Records = "jsonl"  // lines, and the metadata say that each is JSON, which is not checked
	Files     Records = "files"  // a file of an archive, or of a folder, is a record
	U32LE     Records = "u32le"  // the length of each record is before it, in 4 bytes, the lowest first
	U32BE     Records = "u32be"  // as U32LE, with the highest byte first
	U64LE     Records = "u64le"  // as U32LE, in 8 bytes
	U64BE     Records = "u64be"  // as U32BE, in 8 bytes
	Varint    Records = "varint" // 7 bits a byte, the lowest first, as protobuf's delimited messages have it
	Chunks    Records = "chunks" // there are none: pieces of one size
)

// array is for a .npy under a rule for Bloscpack: chunks of items, with the metadata
// that the bloscpack tool gives arrays.
const array Records = "numpy"

// AllRecords lists the ways that a rule or a flag may name, all but ByContent.
func AllRecords() []Records {
	return []Records{Lines, JSONL, Files, U32LE, U32BE, U64LE, U64BE, Varint, Chunks}
}

// ParseRecords reads the way that a rule or a flag names; "" is ByContent.
func ParseRecords(text string) (Records, error) {
	if r := Records(text); r == ByContent || slices.Contains(AllRecords(), r) {
		return r, nil
	}
	return ByContent, fmt.Errorf("records %q are not one of %v", text, AllRecords())
}

func (r Records) String() string {
	if r == ByContent {
		return "items"
	}
	return string(r)
}

// prefixed reports whether each record has its length in front.
func (r Records) prefixed() bool { return r.width() > 0 || r == Varint }

// width returns the bytes of a length. It is 0 if they vary, or if there are no
// lengths.
func (r Records) width() int {
	switch r {
	case U32LE, U32BE:
		return 4
	case U64LE, U64BE:
		return 8
	case ByContent, Lines, JSONL, Files, Varint, Chunks, array:
	}
	return 0
}

// AppendPrefix appends the length that stands before a record of n bytes, which has
// to fit. For ways without a length it appends nothing.
func (r Records) AppendPrefix(dst []byte, n int) []byte {
	switch r {
	case U32LE:
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	case U32BE:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	case U64LE:
		return binary.LittleEndian.AppendUint64(dst, uint64(n))
	case U64BE:
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	case Varint:
		return binary.AppendUvarint(dst, uint64(n))
	case ByContent, Lines, JSONL, Files, Chunks, array:
	}
	return dst
}

// recordBuffer is the buffer from which shorter records are passed on without a copy.
const recordBuffer = 256 << 10

// A recorder cuts a stream by the lengths in it.
type recorder struct {
	*cutter

	r    *bufio.Reader
	at   int64  // bytes of r that were read
	left int64  // bytes left in r; -1: unknown
	buf  []byte // memory for a record that is larger than r's buffer
}

// records cuts r, of size bytes (-1: unknown), by the length before each record.
// Errors name the record, counted from 0 as items are, and where its length lies.
func (c *cutter) records(r io.Reader, size int64) error {
	x := recorder{cutter: c, r: bufio.NewReaderSize(r, recordBuffer), left: size}
	for {
		start := x.at
		err := x.next()
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			if kit.IsFormat(err) {
				err = kit.Fail(c.by.String(), fmt.Sprintf("record %d", c.n), start, err)
			}
			return err
		}
	}
}

// next passes on a record. It returns errEnough at the end.
func (x *recorder) next() error {
	n, err := x.length()
	switch {
	case err != nil:
		return err
	case x.left >= 0 && n > uint64(x.left):
		return kit.Corrupt("length %d, and %d bytes are left", n, x.left)
	case n > uint64(x.limit):
		return kit.TooLarge("length %d, over %d", n, x.limit)
	}
	k := int(n)
	if k <= recordBuffer {
		p, err := x.r.Peek(k)
		if err != nil {
			return x.short(err, len(p), k)
		}
		if err := x.item(p); err != nil {
			return err
		}
		_, _ = x.r.Discard(k) // was there
	} else if err := x.long(k); err != nil {
		return err
	}
	x.pass(k)
	return nil
}

// long passes on a record of k bytes, more than the buffer. If r may have fewer
// bytes, its memory is at most twice the bytes that it has read.
func (x *recorder) long(k int) error {
	have := 0
	for have < k {
		if len(x.buf) < k && have == len(x.buf) {
			n := k
			if x.left < 0 {
				n = min(k, max(2*have, 4*recordBuffer))
			}
			more := make([]byte, n)
			copy(more, x.buf[:have])
			x.buf = more
		}
		n, err := io.ReadFull(x.r, x.buf[have:min(k, len(x.buf))])
		if have += n; err != nil {
			return x.short(err, have, k)
		}
	}
	return x.item(x.buf[:k])
}

func (x *recorder) pass(n int) {
	x.at += int64(n)
	if x.left >= 0 {
		x.left -= int64(n)
	}
}

// short is the error of a stream that ended after have bytes of a record of k.
func (x *recorder) short(err error, have, k int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return kit.Corrupt("length %d, and %d bytes are left", k, have)
	}
	return err
}

// length reads the length of the next record. It returns errEnough at the end.
func (x *recorder) length() (uint64, error) {
	if x.by == Varint {
		return x.varint()
	}
	w := x.by.width()
	p, err := x.r.Peek(w)
	switch {
	case errors.Is(err, io.EOF) && len(p) == 0:
		return 0, errEnough
	case errors.Is(err, io.EOF):
		return 0, kit.Corrupt("truncated: %d of the %d bytes of a length", len(p), w)
	case err != nil:
		return 0, err
	}
	var n uint64
	switch x.by {
	case U32LE:
		n = uint64(binary.LittleEndian.Uint32(p))
	case U32BE:
		n = uint64(binary.BigEndian.Uint32(p))
	case U64LE:
		n = binary.LittleEndian.Uint64(p)
	default:
		n = binary.BigEndian.Uint64(p)
	}
	_, _ = x.r.Discard(w) // was there
	x.pass(w)
	return n, nil
}

// varint reads a length of 7 bits a byte. It refuses a length that takes more bytes
// than needed, since it could not be written back as it was.
func (x *recorder) varint() (uint64, error) {
	var n uint64
	for i := range binary.MaxVarintLen64 {
		b, err := x.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && i == 0:
			return 0, errEnough
		case errors.Is(err, io.EOF):
			return 0, kit.Corrupt("truncated: a length without its end")
		case err != nil:
			return 0, err
		}
		x.pass(1)
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7F) << (7 * i)
		if b < 0x80 {
			if b == 0 && i > 0 {
				return 0, kit.Unsupported("a length of %d bytes where fewer would do", i+1)
			}
			return n, nil
		}
	}
	return 0, kit.Corrupt("a length over 64 bits")
}
