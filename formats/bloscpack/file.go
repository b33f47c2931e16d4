package bloscpack

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	// Limits are checked before anything is allocated: MaxDecoded against a chunk
	// and all items of Items, MaxEntries against the number of chunks, MaxMeta
	// against metadata.
	Limits formats.Limits
	// Parallel is how many goroutines decode at a time. 0 means GOMAXPROCS.
	Parallel int
	// NoVerify skips the checksums of chunks and of metadata, in Verify, too.
	NoVerify bool
	// Head is how many bytes at the start Open reads. 0 means 64 KiB, less than 4
	// KiB means 4 KiB. If an object was opened with a head of this length, Open
	// sends no request for it.
	Head int64
	// Item is one that will be wanted: the part of the table that tells where it
	// lies is read along with the head, so that the item is one more request
	// however long the table is. See Hint.
	Item int64
	// Policy decides whether chunks that are only passed are read or jumped. Zero:
	// that of the reader, if it has a method Policy as an objstore.Object does,
	// else rangeio.Fast.
	Policy rangeio.Policy
	// Window bounds the encoded bytes that a scan reads at a time; two windows, or
	// two chunks if these are longer, are held. 0 means 8 MiB, less than 64 KiB
	// means 64 KiB.
	Window int64
}

const (
	defaultHead   = 64 << 10
	minHead       = 4 << 10
	defaultWindow = 8 << 20
	minWindow     = 64 << 10
	// hintLen is the number of bytes that Hint asks for. Longer metadata are unusual,
	// and cost one phase more.
	hintLen = 16 << 10
)

// Hint is the range of a file that holds the table's entry of an item in nearly
// every file: in all whose metadata, with the room kept for changes, take less
// than 16 KiB. A caller that opens an object for the sake of one item fetches the
// range along with the head (objstore.OpenOptions.Also) and sets Options.Item.
// The length is 0 for item 0, whose entry is in the head.
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

// A File is an open Bloscpack file. It holds header, metadata (and their names, once
// Contents was asked), the bytes that Open read, and at most 4 MiB more of the table;
// of a file without a table, or with a wrong one, 4 bytes for each chunk up to the last
// one read. All methods are safe for concurrent use; the Reader stays in use as long as
// the File.
type File struct {
	r    rangeio.Reader
	o    Options
	h    Header
	size int64 // of the object
	mh   MetaHeader
	meta json.RawMessage
	body int64 // where chunks may begin
	t    table

	first    []byte // bytes that Open read at the start
	aborted  bool
	distrust bool // of the table: version 3, and the first entries cannot be right
	walk     walk
	contents func() Contents // parsed at the first call
}

// Open reads header, metadata and the first page of the table of a file that
// begins at the first byte of r. A file inside another is opened through
// rangeio.Section.
//
// It is one planned read if these lie in the first Options.Head bytes, without a
// request if r has kept them from its own opening; long metadata cost one phase
// more. Files whose writing did not end are opened, too: see Aborted. If the
// first entries of the table are all -1, Open reads on to the first that is not.
// Open fails with ErrCorrupt if header, metadata or the table's place break the
// format's rules, with ErrUnsupported for versions other than 3 and 4, with
// ErrTooLarge if a limit is passed. Errors of r keep their identity.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*File, error) {
	f := &File{r: r, o: o.withDefaults(r), size: r.Size(), walk: walk{mu: make(chan struct{}, 1)}}
	f.contents = sync.OnceValue(func() Contents { return parseContents(f.meta, f.mostItems()) })
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

// loadMeta reads metadata and finds where they end.
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
	// The digest lies behind the room, in front of the table.
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
		return nil // an Editor may have been stopped while it changed them
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

// tableHead is where the first page of the table ends. The page is read along with
// metadata that do not lie in the head.
func (f *File) tableHead() int64 {
	if f.h.entries() == 0 || f.size-f.t.off < entryLen {
		return f.t.off
	}
	return f.t.off + min(pageLen, (f.size-f.t.off)/entryLen*entryLen, f.h.Chunks*entryLen)
}

// wantedEntry is the place of the entry of Options.Item and of the next one, if they
// lie behind the first page. If metadata moved the entries away from the hint, they
// are read along with the metadata.
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

// placeTable checks that the table lies in the file, and gives it the bytes that were
// read.
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
	// Every chunk takes a header at least, wherever it lies.
	if !f.h.Offsets && f.h.Chunks > (f.size-f.body)/16 {
		return corrupt("header", atChunks, "%d chunks in %d bytes", f.h.Chunks, f.size-f.body)
	}
	return nil
}

// findAborted looks whether every entry of the table is -1. In nearly every file that
// ends at the first page.
func (f *File) findAborted(ctx context.Context) error {
	if f.h.Chunks < 0 {
		f.aborted = true
		return nil
	}
	if f.t.n == 0 {
		return nil
	}
	const step = 64 * pageEntries                                         // 1 MiB
	n := min(max((int64(len(f.first))-f.t.off)/entryLen, 1), pageEntries) // in the head
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

// Header says what the header holds.
func (f *File) Header() Header { return f.h }

// MetaHeader says how the metadata of version 3 are stored; zero if there are
// none, and in version 4.
func (f *File) MetaHeader() MetaHeader { return f.mh }

// Len is the number of chunks, which are items if Header.Variable is set; 0 if
// it is not known.
func (f *File) Len() int64 { return max(f.h.Chunks, 0) }

// Aborted tells whether the writing of the file did not end: the number of
// chunks is not known, or the table says of no chunk where it lies. Then every
// read of chunks is ErrCorrupt. Metadata can be read all the same, and Salvage
// finds the chunks.
func (f *File) Aborted() bool { return f.aborted }

// NBytes is the number of decoded bytes if the header tells it, else -1.
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

// Metadata is the JSON text of the metadata, nil if there are none, or if they
// are damaged in a file whose number of chunks is not known. It must not be
// modified.
func (f *File) Metadata() json.RawMessage { return f.meta }

// Body is where chunks may begin: the first byte after header, metadata and
// table.
func (f *File) Body() int64 { return f.body }

// Limits are those that the file was opened with, defaults filled in.
func (f *File) Limits() formats.Limits { return f.o.Limits }

// usesTable tells whether chunks are found by the table.
func (f *File) usesTable() bool { return f.h.Offsets && !f.distrust }

// known are the bytes of an object that were read, in a few pieces.
type known struct {
	r      rangeio.Reader
	pieces []rangeio.Span
}

// fetch reads the parts of some ranges [from, to) that no piece holds: one planned
// read, or none.
func (k *known) fetch(ctx context.Context, part string, ranges ...[2]int64) error {
	var spans []rangeio.Span
	for _, r := range ranges {
		from, to := r[0], r[1]
		for _, s := range k.pieces { // the head, then perhaps the hint
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

// get gives n known bytes at off: a part of a piece, or a copy if they lie in several.
// ok is false if some of them are not known.
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
