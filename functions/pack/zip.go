package pack

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// Record layouts and their signatures: PKWARE's APPNOTE 6.3.10, section 4.3.
const (
	zipLocalSig   = 0x04034b50
	zipCentralSig = 0x02014b50
	zipEndSig     = 0x06054b50
	zip64EndSig   = 0x06064b50
	zip64LocSig   = 0x07064b50
	zipLocalLen   = 30
	zipCentralLen = 46
	zipEndLen     = 22
	zip64EndLen   = 56
	zip64LocLen   = 20
	// zipTail covers the end record with the longest comment, and the zip64
	// locator before it.
	zipTail = zipEndLen + math.MaxUint16 + zip64LocLen + zip64EndLen

	zipEncrypted = 1 << 0
	zipStrong    = 1 << 6
	zipUTF8      = 1 << 11
	zipMasked    = 1 << 13

	zipStored  = 0
	zipDeflate = 8

	// zipPart is how many bytes of the archive one request reads. With it a large
	// archive costs less than one request for each 8 MiB, including those that open it.
	zipPart = 9 << 20
	// zipPeek is zipPart for a caller who needs only the beginnings of files.
	zipPeek = 64 << 10
)

// errEnough ends the reading of a file early. The rest of the file is neither
// fetched nor checked.
var errEnough = errors.New("enough")

// zipMember is an entry of the central directory.
type zipMember struct {
	name          string // clean
	off           int64  // offset of the local header
	packed, size  int64
	crc           uint32
	method, flags uint16
	named         uint16 // length of the name as stored
}

// zipped reads a zip by its central directory. It reads the files in the order of their
// places, in few large requests.
type zipped struct {
	obj     *objstore.Object
	about   About
	l       Limits
	members []zipMember // members in the order of their offsets
	dir     int64       // offset of the directory: files end before it
}

func (z *zipped) About() About { return z.about }

// Names costs nothing: the directory is read.
func (z *zipped) Names(context.Context) ([]string, error) {
	names := make([]string, len(z.members))
	for i := range z.members {
		names[i] = z.members[i].name
	}
	return names, nil
}

// openZip reads the central directory: one request for the end, if Open has not kept
// it, one for a zip64 record, and one for each 9 MiB of directory.
func openZip(ctx context.Context, obj *objstore.Object, about About, l Limits) (*zipped, error) {
	z := &zipped{obj: obj, about: about, l: l}
	d, err := z.end(ctx)
	if err != nil {
		return nil, z.fail("end of the directory", -1, err)
	}
	if err := z.directory(ctx, d); err != nil {
		return nil, err
	}
	return z, nil
}

type zipEnd struct{ off, len, count int64 }

// end finds the directory.
func (z *zipped) end(ctx context.Context) (zipEnd, error) {
	size := z.obj.Size()
	n := min(size, zipTail)
	tail := make([]byte, n)
	if err := readFull(ctx, z.obj, tail, size-n); err != nil {
		return zipEnd{}, err
	}
	le := binary.LittleEndian
	at := -1
	for i := len(tail) - zipEndLen; i >= 0; i-- {
		if le.Uint32(tail[i:]) == zipEndSig && i+zipEndLen+int(le.Uint16(tail[i+20:])) == len(tail) {
			at = i
			break
		}
	}
	if at < 0 {
		return zipEnd{}, kit.Corrupt("truncated: no end of the directory")
	}
	e := tail[at:]
	d := zipEnd{count: int64(le.Uint16(e[10:])), len: int64(le.Uint32(e[12:])), off: int64(le.Uint32(e[16:]))}
	disk, dirDisk, here := uint32(le.Uint16(e[4:])), uint32(le.Uint16(e[6:])), int64(le.Uint16(e[8:]))
	endAt := size - n + int64(at)
	if loc := at - zip64LocLen; loc >= 0 && le.Uint32(tail[loc:]) == zip64LocSig {
		off := int64(min(le.Uint64(tail[loc+8:]), math.MaxInt64))
		if le.Uint32(tail[loc+16:]) > 1 {
			return zipEnd{}, kit.Unsupported("an archive of several disks")
		}
		if off > endAt-zip64LocLen-zip64EndLen {
			return zipEnd{}, kit.Corrupt("zip64 record at %d lies outside", off)
		}
		rec := make([]byte, zip64EndLen)
		if err := readFull(ctx, z.obj, rec, off); err != nil {
			return zipEnd{}, err
		}
		if le.Uint32(rec) != zip64EndSig {
			return zipEnd{}, kit.Corrupt("no zip64 record at %d", off)
		}
		big := func(p []byte) int64 { return int64(min(le.Uint64(p), math.MaxInt64)) }
		disk, dirDisk, here = le.Uint32(rec[16:]), le.Uint32(rec[20:]), big(rec[24:])
		d = zipEnd{count: big(rec[32:]), len: big(rec[40:]), off: big(rec[48:])}
		endAt = off
	}
	switch {
	case disk != 0 || dirDisk != 0 || here != d.count:
		return zipEnd{}, kit.Unsupported("an archive of several disks")
	case d.off > endAt || d.len > endAt-d.off:
		return zipEnd{}, kit.Corrupt("directory [%d, +%d) lies outside", d.off, d.len)
	case d.count > z.l.Entries:
		return zipEnd{}, kit.TooLarge("%d entries, over %d", d.count, z.l.Entries)
	case d.count > d.len/zipCentralLen:
		return zipEnd{}, kit.Corrupt("%d entries in a directory of %d bytes", d.count, d.len)
	case d.off+d.len != endAt:
		// Bytes before the archive (a self-extracting one) would shift every offset.
		// They are refused.
		return zipEnd{}, kit.Unsupported("%d bytes that belong to no part of the archive", endAt-d.off-d.len)
	}
	return d, nil
}

// directory reads the lines of the central directory and checks that the files
// lie one after the other.
func (z *zipped) directory(ctx context.Context, d zipEnd) error {
	z.dir = d.off
	z.members = make([]zipMember, 0, d.count)
	if d.len > 0 {
		body := z.obj.NewReader(ctx, objstore.ReadOptions{Off: d.off, Len: d.len, Part: min(zipPart, d.len)})
		defer body.Close()
		in := &tap{r: body}
		r := bufio.NewReaderSize(in, 64<<10)
		var total int64
		for i := range d.count {
			m, ok, err := z.line(r)
			if err != nil {
				return z.fail(fmt.Sprintf("directory entry %d", i), -1, in.blame(err))
			}
			if total += m.size; total > z.l.Bytes || total < 0 {
				return z.fail(fmt.Sprintf("%q", m.name), m.off, kit.TooLarge("more than %d bytes unpacked", z.l.Bytes))
			}
			if ok {
				z.members = append(z.members, m)
			}
		}
	}
	sort.Slice(z.members, func(i, j int) bool { return z.members[i].off < z.members[j].off })
	end := int64(0)
	for i := range z.members {
		m := &z.members[i]
		if m.off < end {
			return z.fail(fmt.Sprintf("%q", m.name), m.off, kit.Corrupt("overlaps the file before it"))
		}
		if m.off > z.dir-zipLocalLen || m.packed > z.dir-zipLocalLen-m.off {
			return z.fail(fmt.Sprintf("%q", m.name), m.off, kit.Corrupt("%d bytes reach into the directory at %d", m.packed, z.dir))
		}
		end = m.off + zipLocalLen + int64(m.named) + m.packed
	}
	return nil
}

// line reads one entry. ok is false for a folder.
func (z *zipped) line(r io.Reader) (zipMember, bool, error) {
	var h [zipCentralLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return zipMember{}, false, err
	}
	le := binary.LittleEndian
	if le.Uint32(h[:]) != zipCentralSig {
		return zipMember{}, false, kit.Corrupt("no entry here")
	}
	m := zipMember{flags: le.Uint16(h[8:]), method: le.Uint16(h[10:]), crc: le.Uint32(h[16:]),
		packed: int64(le.Uint32(h[20:])), size: int64(le.Uint32(h[24:])), off: int64(le.Uint32(h[42:])), named: le.Uint16(h[28:])}
	rest := make([]byte, int(m.named)+int(le.Uint16(h[30:]))+int(le.Uint16(h[32:])))
	if _, err := io.ReadFull(r, rest); err != nil {
		return m, false, err
	}
	raw := zipName(rest[:m.named], m.flags)
	disk := uint32(le.Uint16(h[34:]))
	if err := m.zip64(rest[m.named:int(m.named)+int(le.Uint16(h[30:]))], &disk); err != nil {
		return m, false, err
	}
	clean, err := cleanName(raw, z.l)
	if err != nil {
		return m, false, fmt.Errorf("%.200q: %w", raw, err)
	}
	m.name = strings.Clone(clean)
	switch {
	case disk != 0:
		return m, false, kit.Unsupported("%.200q: an archive of several disks", raw)
	case strings.HasSuffix(raw, "/"):
		return zipMember{}, false, nil
	case m.flags&(zipEncrypted|zipStrong|zipMasked) != 0:
		return m, false, kit.Unsupported("%.200q is encrypted", raw)
	case h[5] == 3 && le.Uint32(h[38:])>>16&0o170000 != 0 && le.Uint32(h[38:])>>16&0o170000 != 0o100000:
		return m, false, kit.Unsupported("%.200q: a link or device", raw) // made on Unix: the mode is in the upper half
	case m.method != zipStored && m.method != zipDeflate:
		return m, false, kit.Unsupported("%.200q: compression method %d", raw, m.method)
	case m.method == zipStored && m.packed != m.size:
		return m, false, kit.Corrupt("%.200q: %d bytes stored as %d", raw, m.size, m.packed)
	case m.size > ratioSlack && m.size/z.l.Ratio > m.packed:
		return m, false, kit.TooLarge("%.200q: %d bytes unpacked from %d, over %d to one", raw, m.size, m.packed, z.l.Ratio)
	}
	return m, true, nil
}

// zip64 takes from the extra fields the sizes that did not fit into 32 bits.
func (m *zipMember) zip64(extra []byte, disk *uint32) error {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		extra = extra[4:]
		if n > len(extra) {
			return kit.Corrupt("extra field of %d bytes", n)
		}
		f := extra[:n]
		extra = extra[n:]
		if id != 1 {
			continue
		}
		for _, v := range []*int64{&m.size, &m.packed, &m.off} {
			if *v != math.MaxUint32 {
				continue
			}
			if len(f) < 8 {
				return kit.Corrupt("zip64 field is short")
			}
			if le.Uint64(f) > math.MaxInt64 {
				return kit.Corrupt("zip64 field is too large")
			}
			*v, f = int64(le.Uint64(f)), f[8:]
		}
		if *disk == math.MaxUint16 && len(f) >= 4 {
			*disk = le.Uint32(f)
		}
		return nil
	}
	return nil
}

// Each reads the files in the order of their places.
func (z *zipped) Each(ctx context.Context, f func(File, io.Reader) error) error {
	return z.some(ctx, 0, len(z.members), zipPart, f)
}

// peek does what Each does, for a caller who needs only the first bytes of the first
// files.
func (z *zipped) peek(ctx context.Context, f func(File, io.Reader) error) error {
	return z.some(ctx, 0, len(z.members), zipPeek, f)
}

// some reads the files [from, to), in requests of part bytes.
func (z *zipped) some(ctx context.Context, from, to int, part int64, f func(File, io.Reader) error) error {
	w := &window{ctx: ctx, obj: z.obj, end: z.dir, part: part}
	if to < len(z.members) {
		w.end = z.members[to].off // nothing behind is fetched ahead
	}
	defer w.close()
	fl := flate.NewReader(strings.NewReader(""))
	defer fl.Close()
	var unpacked int64
	for i := from; i < to; i++ {
		m := &z.members[i]
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		end := z.dir
		if i+1 < len(z.members) {
			end = z.members[i+1].off
		}
		if unpacked += m.size; unpacked > ratioSlack && unpacked/z.l.Ratio > m.off+m.packed-z.members[from].off {
			return z.fail(fmt.Sprintf("%q", m.name), m.off, kit.TooLarge("%d bytes unpacked, over %d to one", unpacked, z.l.Ratio))
		}
		if err := z.member(w, m, end, fl, f); err != nil {
			return err
		}
	}
	return nil
}

// member reads one file that ends before end.
func (z *zipped) member(w *window, m *zipMember, end int64, fl io.ReadCloser, f func(File, io.Reader) error) error {
	bad := func(err error) error { return z.fail(fmt.Sprintf("%q", m.name), m.off, err) }
	if err := w.seek(m.off); err != nil {
		return bad(w.blame(err))
	}
	var h [zipLocalLen]byte
	if _, err := io.ReadFull(w, h[:]); err != nil {
		return bad(w.blame(err))
	}
	le := binary.LittleEndian
	if le.Uint32(h[:]) != zipLocalSig {
		return bad(kit.Corrupt("no file here"))
	}
	named := make([]byte, le.Uint16(h[26:]))
	if _, err := io.ReadFull(w, named); err != nil {
		return bad(w.blame(err))
	}
	if clean, err := cleanName(zipName(named, le.Uint16(h[6:])), z.l); err != nil || clean != m.name || le.Uint16(h[6:])&zipEncrypted != 0 || le.Uint16(h[8:]) != m.method {
		return bad(kit.Corrupt("the file's own header (%.200q) contradicts the directory", named))
	}
	start := w.at + int64(le.Uint16(h[28:]))
	if m.packed > end-start {
		return bad(kit.Corrupt("%d bytes reach into what follows at %d", m.packed, end))
	}
	if err := w.seek(start); err != nil {
		return bad(w.blame(err))
	}
	packed := &io.LimitedReader{R: w, N: m.packed}
	var plain io.Reader = packed
	if m.method == zipDeflate {
		if err := fl.(flate.Resetter).Reset(bufio.NewReaderSize(packed, 4<<10), nil); err != nil { //nolint:forcetypeassert // promised by flate
			return bad(err)
		}
		plain = fl
	}
	c := &checked{r: plain, left: m.size, want: m.crc}
	switch err := f(File{Name: m.name, Size: m.size, Off: start}, member{c, w.blame}); {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	}
	if _, err := io.Copy(io.Discard, c); err != nil { // read the bytes that f left, for the checksum
		return bad(w.blame(err))
	}
	return nil
}

func (z *zipped) fail(part string, off int64, err error) error {
	if !kit.IsFormat(err) {
		return err
	}
	return kit.Fail(z.about.Format, part, off, err)
}

// checked reads exactly the promised bytes and compares their CRC at the end.
type checked struct {
	r    io.Reader
	left int64
	sum  uint32
	want uint32
	done bool
}

func (c *checked) Read(p []byte) (int, error) {
	if c.done {
		return 0, io.EOF
	}
	if c.left == 0 {
		var one [1]byte
		switch n, err := io.ReadFull(c.r, one[:]); {
		case n > 0:
			return 0, kit.Corrupt("more bytes than the directory says")
		case !errors.Is(err, io.EOF):
			return 0, err
		case c.sum != c.want:
			return 0, kit.Corrupt("checksum %08x, not %08x", c.sum, c.want)
		}
		c.done = true
		return 0, io.EOF
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.sum = crc32.Update(c.sum, crc32.IEEETable, p[:n])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
		if c.left > 0 && n == 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// A window reads an object from front to end in large requests. If the next byte lies
// further ahead than one part, it skips the bytes between.
type window struct {
	ctx context.Context //nolint:containedctx // io.Reader has no room for one; lives as long as one Each
	obj *objstore.Object
	r   io.ReadCloser
	buf *bufio.Reader
	at  int64
	end int64
	err error
	// part is the size of a request.
	part int64
}

func (w *window) seek(off int64) error {
	if w.r != nil && off >= w.at && off-w.at <= w.part {
		n, err := io.CopyN(io.Discard, w.buf, off-w.at)
		w.at += n
		w.note(err)
		return err
	}
	w.close()
	w.at = off
	if off >= w.end {
		return io.ErrUnexpectedEOF
	}
	if w.part < zipPart {
		w.r = glance(w.ctx, w.obj, off, w.end)
	} else {
		w.r = w.obj.NewReader(w.ctx, objstore.ReadOptions{Off: off, Len: w.end - off, Part: w.part})
	}
	if w.buf == nil {
		w.buf = bufio.NewReaderSize(w.r, 64<<10)
	} else {
		w.buf.Reset(w.r)
	}
	return nil
}

func (w *window) Read(p []byte) (int, error) {
	n, err := w.buf.Read(p)
	w.at += int64(n)
	w.note(err)
	return n, err
}

func (w *window) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		w.err = err
	}
}

func (w *window) blame(err error) error { return (&tap{err: w.err}).blame(err) }

func (w *window) close() {
	if w.r != nil {
		w.r.Close()
		w.r = nil
	}
}
