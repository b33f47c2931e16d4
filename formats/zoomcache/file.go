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
	// Limits are checked before anything is allocated: MaxDecoded against one
	// packet, MaxEntries against its count and the number of tracks, MaxMeta
	// against the headers and, in package zoomindex, against the pages of an index.
	Limits formats.Limits
	// Head is how many bytes at the start Open reads, 4 KiB at least. 0 means
	// 64 KiB. An object that was opened with as much of a head has them already.
	Head int64
	// Window bounds the bytes that a scan reads at a time; two windows are held, and
	// more only if a single block is longer. 0 means 8 MiB.
	Window int64
	// Integers gives the values of tracks with the identifier that Int and Integer
	// share as integers of any size. Without it the low 64 bits are kept.
	Integers bool
	// Resync goes on after damage at the next block that looks whole, instead of
	// ending with an error. Damaged is told of the bytes between.
	Resync bool
	// Damaged is called for each stretch that Resync has passed over, by the
	// goroutine that called the method of File. It may be nil.
	Damaged func(Damage)
}

// Damage is a stretch of a file that Resync passed over: bytes [From, To).
type Damage struct {
	From, To int64
	Err      error // what was wrong at its start
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

// Sniff says whether a file that begins with head is a zoom-cache file, of
// whatever version.
func Sniff(head []byte) bool {
	return len(head) >= markerLen && string(head[:markerLen]) == MarkerGlobal
}

// A File is an open zoom-cache file. It holds the headers and bytes that Open read
// with them. All methods are safe for concurrent use. A File needs no Close; the
// Reader stays in use as long as the File. It knows of no index: zoomindex.File does.
type File struct {
	r      rangeio.Reader
	o      Options
	h      *Header
	tracks map[int32]*Track
	body   int64 // where blocks begin
	size   int64 // of the object
	first  []byte
}

// Open reads the headers of a file that begins at the first byte of r. A file
// inside another is opened through rangeio.Section.
//
// It is one planned read if they lie in the first Options.Head bytes, and none if
// r has kept these from its own opening. Each further one reads on until four
// times as much is known. Errors match those of package formats: ErrCorrupt if
// headers break the format's rules, or if this is no zoom-cache file;
// ErrUnsupported for versions other than 3.x and for codecs that are not known;
// ErrTooLarge if a limit is passed. Errors of r keep their identity.
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

// Body is where the blocks begin.
func (f *File) Body() int64 { return f.body }

// Size is the length of the file.
func (f *File) Size() int64 { return f.size }

// Limits are the limits of Options, with defaults filled in.
func (f *File) Limits() formats.Limits { return f.o.Limits }

// Window is that of Options, with its default filled in.
func (f *File) Window() int64 { return f.o.Window }

// Track gives a track that the header declares, or ErrNoEntry. It must not be
// modified.
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
