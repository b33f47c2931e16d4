package zoomcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	// Limits are checked before memory is allocated. MaxDecoded bounds one packet;
	// MaxEntries its number of values, and the number of tracks; MaxMeta the
	// headers and, in package zoomindex, the pages of an index.
	Limits formats.Limits
	// Head is the number of bytes that Open reads at the start of the file, at
	// least 4 KiB. 0 means 64 KiB. If the Reader already holds as long a head,
	// Open sends no request for it.
	Head int64
	// Window bounds the bytes that a scan reads at a time; two windows are held, and
	// more only if a single block is longer. 0 means 8 MiB.
	Window int64
	// Integers reads tracks with the identifier that Int and Integer share as
	// Integer, integers of any size. If it is false, they are read as Int: the low
	// 64 bits.
	Integers bool
	// Resync continues after damage at the next block that looks undamaged;
	// without it, damage is an error. Damaged is told of the bytes between.
	Resync bool
	// Damaged is called for each stretch that Resync has passed over, by the
	// goroutine that called the method of File. It may be nil.
	Damaged func(Damage)
}

// Damage is a stretch of a file that Resync passed over: bytes [From, To).
type Damage struct {
	From, To int64
	Err      error // the error at the start of the damage
}

const (
	defaultHead   = 64 << 10
	minHead       = 4 << 10
	defaultWindow = 8 << 20
	minWindow     = 4 << 10
	// firstWindow is the first window of a scan, which may end soon. Windows double up
	// to Options.Window.
	firstWindow = 1 << 20
)

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	if o.Head <= 0 {
		o.Head = defaultHead
	}
	o.Head = max(o.Head, minHead)
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	o.Window = min(max(o.Window, minWindow), math.MaxInt32)
	return o
}

// Sniff reports whether a file that begins with head is a zoom-cache file, of
// whatever version.
func Sniff(head []byte) bool {
	return len(head) >= markerLen && string(head[:markerLen]) == MarkerGlobal
}

// A File is an open zoom-cache file. It holds the headers and bytes that Open read
// with them. All methods are safe for concurrent use. A File needs no Close. It uses
// the Reader until the last call. It does not use an index; zoomindex.File does.
type File struct {
	r      rangeio.Reader
	o      Options
	h      *Header
	tracks map[int32]*Track
	body   int64 // offset of the first block
	size   int64 // length of the file
	first  []byte
}

// Open reads the headers of a file that begins at the first byte of r. A file
// inside another is opened through rangeio.Section.
//
// If the headers fit into the first Options.Head bytes, Open makes one planned
// read, and no request if r already holds these bytes. Each further read makes
// the known bytes four times as many. Errors match those of package formats:
// ErrCorrupt if headers break the format's rules, or if this is no zoom-cache
// file; ErrUnsupported for versions other than 3.x and for codecs that are not
// known; ErrTooLarge if a limit is passed. Errors of r are wrapped, so that
// errors.Is finds them.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*File, error) {
	f := &File{r: r, o: o.withDefaults(), size: r.Size()}
	for want := f.o.Head; ; want *= 4 {
		if err := f.readHead(ctx, min(want, f.size)); err != nil {
			return nil, err
		}
		h, n, err := ParseHeader(f.first, f.o.Limits)
		if err == nil {
			f.h, f.body = h, n
			break
		}
		known := int64(len(f.first))
		if !errors.Is(err, io.ErrUnexpectedEOF) || known == f.size {
			return nil, err
		}
		if known > f.o.Limits.MaxMeta {
			return nil, tooLarge("global header", -1, "headers of more than %d bytes", f.o.Limits.MaxMeta)
		}
	}
	f.first = f.first[:max(min(int64(len(f.first)), f.o.Head), f.body)]
	f.tracks = make(map[int32]*Track, len(f.h.Tracks))
	for i := range f.h.Tracks {
		t := &f.h.Tracks[i]
		if f.o.Integers && t.Codec.Kind == Int && !t.Codec.PCM {
			t.Codec.Kind = Integer
		}
		f.tracks[t.Number] = t
	}
	return f, nil
}

// readHead reads the first n bytes, unless they are known already.
func (f *File) readHead(ctx context.Context, n int64) error {
	at := int64(len(f.first))
	p := make([]byte, n)
	copy(p, f.first)
	if at < n {
		if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: at, P: p[at:]}}); err != nil {
			return wrapRead(at, err)
		}
	}
	f.first = p
	return nil
}

// Header is the content of the headers. It must not be modified.
func (f *File) Header() *Header { return f.h }

// Body returns the offset of the first block.
func (f *File) Body() int64 { return f.body }

// Size is the length of the file.
func (f *File) Size() int64 { return f.size }

// Limits are the limits of Options, with defaults filled in.
func (f *File) Limits() formats.Limits { return f.o.Limits }

// Window returns Options.Window, with its default filled in.
func (f *File) Window() int64 { return f.o.Window }

// Track returns the header of a track, or ErrNoEntry. Do not change it.
func (f *File) Track(number int32) (*Track, error) {
	t, ok := f.tracks[number]
	if !ok {
		return nil, &formats.Error{Format: Format, Part: fmt.Sprintf("track %d", number), Off: -1, Err: formats.ErrNoEntry}
	}
	return t, nil
}

// wrapRead adds the offset to the error of a read.
func wrapRead(off int64, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &formats.Error{Format: Format, Part: "read", Off: off, Err: err}
}

// HeldBytes returns about how many bytes of memory the File keeps: headers, and the
// bytes that Open read with them.
func (f *File) HeldBytes() int64 {
	const (
		fixed = 1 << 10 // the structs
		track = 112     // a Track, and its entry in the map
	)
	n := int64(fixed+cap(f.first)) + int64(cap(f.h.Tracks))*track
	for i := range f.h.Tracks {
		n += int64(len(f.h.Tracks[i].Name))
	}
	return n
}
