package bloscpack

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	// Limits are checked before memory is allocated. MaxDecoded bounds the
	// decoded bytes of a chunk, and of all items of one AppendItems; MaxEntries
	// the number of chunks; MaxMeta the bytes of metadata.
	Limits formats.Limits
	// Parallel is the number of goroutines that decode at a time. 0 means
	// GOMAXPROCS.
	Parallel int
	// NoVerify turns off the checks of checksums, of chunks and of metadata,
	// even in Verify.
	NoVerify bool
	// Head is the number of bytes that Open reads at the start of the file. 0
	// means 64 KiB; values below 4 KiB mean 4 KiB. If the Reader already holds a
	// head of this length, Open sends no request for it.
	Head int64
	// Item is the number of an item that the caller will read. Open reads its
	// entry of the table along with the head, so AppendItem then needs one more
	// request, even if the table is long. See Hint.
	Item int64
	// Policy decides whether chunks that are not wanted are read through or jumped
	// over. Zero means the Policy of the Reader if it has a method Policy, as an
	// objstore.Object has, else rangeio.Fast.
	Policy rangeio.Policy
	// Window bounds the encoded bytes that a scan reads at a time. A scan holds
	// two windows, or two chunks if these are longer. 0 means 8 MiB; values below
	// 64 KiB mean 64 KiB.
	Window int64
}

const (
	defaultHead   = 64 << 10
	minHead       = 4 << 10
	defaultWindow = 8 << 20
	minWindow     = 64 << 10
	// hintLen is the length of the range of Hint. It is wrong for longer metadata,
	// which are unusual: then the entry costs one phase more.
	hintLen = 16 << 10
)

// Hint returns a range of a file that holds the table's entry of an item in
// nearly every file: in all files whose metadata, with the room for changes, take
// less than 16 KiB. A caller that opens an object to read one item fetches the
// range along with the head (objstore.OpenOptions.Also) and sets Options.Item. n
// is 0 for item 0: the head has its entry.
func Hint(item int64) (off, n int64) {
	if item <= 0 || item > math.MaxInt64/16 {
		return 0, 0
	}
	return HeaderLen + item*entryLen, hintLen
}

func (o Options) withDefaults(r rangeio.Reader) Options {
	o.Limits = o.Limits.WithDefaults()
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Head <= 0 {
		o.Head = defaultHead
	}
	o.Head = max(o.Head, minHead)
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	o.Window = min(max(o.Window, minWindow), math.MaxInt32)
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = rangeio.Fast()
		if p, ok := r.(interface{ Policy() rangeio.Policy }); ok {
			o.Policy = p.Policy()
		}
	}
	return o
}

// A File is an open Bloscpack file. It holds in memory the header, the metadata (and
// names, after a call of Contents or Names), the bytes that Open read, and at most 4
// MiB more of the table. If the file has no table or a wrong one, it holds 4 bytes for
// each chunk up to the last one read. All methods are safe for concurrent use. The File
// uses the Reader until the last call.
type File struct {
	r    rangeio.Reader
	o    Options
	h    Header
	size int64 // length of the file
	mh   MetaHeader
	meta json.RawMessage
	body int64 // see Body
	t    table

	first    []byte // the head, as Open read it
	aborted  bool
	distrust bool // the table is not used: version 3, and its first entries cannot be right
	walk     walk
	contents func() Contents // parses the metadata at its first call
	parsed   atomic.Int64    // bytes of memory that contents takes
}

// Open reads the header, the metadata and the first page of the table of a file
// that begins at the first byte of r. To open a file inside another file, pass a
// rangeio.Section.
//
// Open is one planned read if these parts lie in the first Options.Head bytes.
// It sends no request if r already holds those bytes. Long metadata cost one
// phase more. Open also opens files that are not finished: see Aborted. If the
// first entries of the table are all -1, Open reads on until it finds another
// entry. Open fails with ErrCorrupt if the header, the metadata or the place of
// the table break the rules of the format, with ErrUnsupported for versions
// other than 3 and 4, and with ErrTooLarge if a limit is exceeded. Errors of r
// are wrapped, so that errors.Is finds them.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*File, error) {
	f := &File{r: r, o: o.withDefaults(r), size: r.Size(), walk: walk{mu: make(chan struct{}, 1)}}
	f.contents = sync.OnceValue(func() Contents {
		c := parseContents(f.meta, f.mostItems())
		f.parsed.Store(c.heldBytes())
		return c
	})
	k := &known{r: r}
	if err := f.open(ctx, k); err != nil {
		return nil, err
	}
	if err := f.findAborted(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open(ctx context.Context, k *known) error {
	ranges := [][2]int64{{0, min(f.o.Head, f.size)}}
	if off, n := Hint(f.o.Item); n > 0 && off+n > f.o.Head && off < f.size {
		ranges = append(ranges, [2]int64{max(off, f.o.Head), min(off+n, f.size)})
	}
	if err := k.fetch(ctx, "header", ranges...); err != nil {
		return err
	}
	if len(k.pieces) > 0 {
		f.first = k.pieces[0].P
	}
	b, _ := k.get(0, min(f.size, HeaderLen))
	var err error
	if f.h, err = ParseHeader(b); err != nil {
		return err
	}
	if f.h.Chunks > f.o.Limits.MaxEntries {
		if f.h.Chunks > f.size/entryLen {
			return corrupt("header", atChunks, "%d chunks in %d bytes", f.h.Chunks, f.size)
		}
		return tooLarge("header", atChunks, "%d chunks, %d allowed", f.h.Chunks, f.o.Limits.MaxEntries)
	}
	if err := f.loadMeta(ctx, k); err != nil {
		return err
	}
	return f.placeTable(k)
}

// loadMeta reads the metadata and sets t.off, where they end and the table
// begins.
func (f *File) loadMeta(ctx context.Context, k *known) error {
	f.t.off = HeaderLen
	if !f.h.Meta {
		return nil
	}
	if f.h.Version == Version4 {
		return f.loadMeta4(ctx, k)
	}
	end := int64(HeaderLen + metaHeaderLen)
	b, ok := k.get(HeaderLen, metaHeaderLen)
	if !ok {
		return corrupt("metadata", HeaderLen, "end after %d bytes, with the file", f.size-HeaderLen)
	}
	var err error
	if f.mh, err = parseMetaHeader(b, HeaderLen); err != nil {
		return err
	}
	f.t.off += f.mh.section()
	if f.t.off > f.size {
		return corrupt("metadata", HeaderLen, "%d bytes to %d, the file has %d", f.mh.section(), f.t.off, f.size)
	}
	if err := f.checkMeta(max(f.mh.Stored, f.mh.Size)); err != nil {
		return err
	}
	digest := int64(f.mh.Checksum.Size())
	// The digest follows the room and precedes the table.
	_, ok = k.get(end, f.mh.Stored)
	_, also := k.get(f.t.off-digest, digest)
	if !ok || !also {
		if err := k.fetch(ctx, "metadata", [2]int64{end, end + f.mh.Stored}, [2]int64{f.t.off - digest, f.tableHead()}, f.wantedEntry()); err != nil {
			return err
		}
	}
	stored, _ := k.get(end, f.mh.Stored)
	var sum []byte
	if !f.o.NoVerify {
		sum, _ = k.get(f.t.off-digest, digest)
	}
	if f.meta, err = f.mh.text(stored, sum, end); f.h.Chunks < 0 && isFormat(err) {
		return nil // an Editor may have stopped while it wrote them
	}
	return err
}

func (f *File) loadMeta4(ctx context.Context, k *known) error {
	if f.h.MetaSize > MaxMetadata {
		return tooLarge("metadata", atMetaSize, "%d bytes, %d are the most", f.h.MetaSize, MaxMetadata)
	}
	f.t.off += f.h.MetaSize
	if f.t.off > f.size {
		return corrupt("metadata", atMetaSize, "%d bytes to %d, the file has %d", f.h.MetaSize, f.t.off, f.size)
	}
	if err := f.checkMeta(f.h.MetaSize); err != nil {
		return err
	}
	b, ok := k.get(HeaderLen, f.h.MetaSize)
	if !ok {
		if err := k.fetch(ctx, "metadata", [2]int64{HeaderLen, f.tableHead()}, f.wantedEntry()); err != nil {
			return err
		}
		b, _ = k.get(HeaderLen, f.h.MetaSize)
	}
	var err error
	if f.meta, err = checkJSON(append([]byte(nil), b...), HeaderLen); f.h.Chunks < 0 && isFormat(err) {
		return nil // as in version 3
	}
	return err
}

func (f *File) checkMeta(n int64) error {
	if n > f.o.Limits.MaxMeta {
		return tooLarge("metadata", HeaderLen, "%d bytes, %d allowed", n, f.o.Limits.MaxMeta)
	}
	return nil
}

// tableHead returns where the first page of the table ends. That page is read
// along with metadata that the head does not hold.
func (f *File) tableHead() int64 {
	if f.h.entries() == 0 || f.size-f.t.off < entryLen {
		return f.t.off
	}
	return f.t.off + min(pageLen, (f.size-f.t.off)/entryLen*entryLen, f.h.Chunks*entryLen)
}

// wantedEntry returns the range of the table's entry of Options.Item and of the
// entry after it, or an empty range if the first page has both. Open reads the range
// along with long metadata, which moved the entries away from the range of Hint.
func (f *File) wantedEntry() [2]int64 {
	if f.o.Item <= 0 || f.o.Item >= f.h.entries() || f.o.Item > (f.size-f.t.off)/entryLen {
		return [2]int64{}
	}
	at := f.t.off + f.o.Item*entryLen
	if at+2*entryLen <= f.tableHead() {
		return [2]int64{}
	}
	return [2]int64{at, min(at+2*entryLen, f.size)}
}

// placeTable checks that the table fits into the file, and hands it the bytes that
// Open has read.
func (f *File) placeTable(k *known) error {
	f.body = f.t.off
	if n := f.h.entries(); n > 0 {
		if n > (f.size-f.t.off)/entryLen {
			return corrupt("offsets", f.t.off, "%d entries in %d bytes", n, f.size-f.t.off)
		}
		f.body += n * entryLen
		f.t.r, f.t.n = f.r, f.h.Chunks
		f.t.open(k.pieces)
		f.distrust = f.h.Version == Version3 && !f.t.follows(f.body, blosc.HeaderLen1+int64(f.h.Checksum.Size()))
	}
	// Every chunk takes at least 16 bytes, its header.
	if !f.h.Offsets && f.h.Chunks > (f.size-f.body)/16 {
		return corrupt("header", atChunks, "%d chunks in %d bytes", f.h.Chunks, f.size-f.body)
	}
	return nil
}

// findAborted sets aborted if the file is not finished: if the number of chunks is
// unknown, or every entry of the table is -1. It stops at the first other entry,
// which is nearly always on the first page.
func (f *File) findAborted(ctx context.Context) error {
	if f.h.Chunks < 0 {
		f.aborted = true
		return nil
	}
	if f.t.n == 0 {
		return nil
	}
	const step = 64 * pageEntries                                         // 1 MiB
	n := min(max((int64(len(f.first))-f.t.off)/entryLen, 1), pageEntries) // number of entries that the head holds
	for i := int64(0); i < f.t.n; {
		n = min(n, f.t.n-i)
		list, err := f.t.read(ctx, i, i+n)
		if err != nil {
			return err
		}
		for _, off := range list {
			if off >= 0 {
				return nil
			}
		}
		i, n = i+n, step
	}
	f.aborted = true
	return nil
}

// Header returns the header of the file.
func (f *File) Header() Header { return f.h }

// MetaHeader tells how version 3 stores the metadata. It is zero in version 4,
// and if there are no metadata.
func (f *File) MetaHeader() MetaHeader { return f.mh }

// Len returns the number of chunks. If Header.Variable is set, each chunk is an
// item. Len is 0 if the number is unknown.
func (f *File) Len() int64 { return max(f.h.Chunks, 0) }

// Aborted reports whether the file is not finished: its number of chunks is
// unknown, or every entry of its table is -1. Then reads of chunks return
// ErrCorrupt. The metadata can still be read, and Salvage finds the chunks.
func (f *File) Aborted() bool { return f.aborted }

// NBytes returns the number of decoded bytes of all chunks, or -1 if the header
// does not tell.
func (f *File) NBytes() int64 {
	h := f.Header()
	switch {
	case h.Variable || f.Aborted() || h.Chunks < 0:
		return -1
	case h.Chunks == 0:
		return 0
	case h.LastChunk < 0 || h.ChunkSize < 0 && h.Chunks > 1:
		return -1
	}
	return h.ChunkSize*(h.Chunks-1) + h.LastChunk
}

// Metadata returns the JSON text of the metadata. It is nil if there are none,
// or if the file is not finished and they are damaged. Do not change it.
func (f *File) Metadata() json.RawMessage { return f.meta }

// Body returns the offset of the first byte after header, metadata and table.
// No chunk begins before it.
func (f *File) Body() int64 { return f.body }

// Limits returns the limits that the file was opened with, with defaults filled
// in.
func (f *File) Limits() formats.Limits { return f.o.Limits }

// usesTable reports whether reads find chunks by the table.
func (f *File) usesTable() bool { return f.h.Offsets && !f.distrust }

// known holds bytes of the file that Open has read.
type known struct {
	r      rangeio.Reader
	pieces []rangeio.Span
}

// fetch reads those parts of the ranges [from, to) that k does not hold yet, in
// one planned read. If k holds all of them, it reads nothing.
func (k *known) fetch(ctx context.Context, part string, ranges ...[2]int64) error {
	var spans []rangeio.Span
	for _, r := range ranges {
		from, to := r[0], r[1]
		for _, s := range k.pieces { // in order: the head, then the range of Hint if it was read
			if s.Off <= from && from < s.End() {
				from = s.End()
			}
		}
		if from < to {
			spans = append(spans, rangeio.Span{Off: from, P: make([]byte, to-from)})
		}
	}
	if len(spans) == 0 {
		return nil
	}
	if err := k.r.ReadRanges(ctx, spans); err != nil {
		return wrap(part, spans[0].Off, err)
	}
	k.pieces = append(k.pieces, spans...)
	return nil
}

// get returns n bytes at off without a read. ok is false if k does not hold all of
// them. The result is a copy if the bytes are in several pieces.
func (k *known) get(off, n int64) (b []byte, ok bool) {
	var out []byte
	for pos, end := off, off+n; pos < end; {
		found := false
		for _, s := range k.pieces {
			if s.Off > pos || pos >= s.End() {
				continue
			}
			part := s.P[pos-s.Off : min(end, s.End())-s.Off]
			if int64(len(part)) == n {
				return part[:n:n], true
			}
			out = append(out, part...)
			pos += int64(len(part))
			found = true
			break
		}
		if !found {
			return nil, false
		}
	}
	return out, true
}
