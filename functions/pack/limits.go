package pack

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// Limits bound what an upload may make the job do. Zero fields mean the
// defaults of DefaultLimits.
type Limits struct {
	Entries int64 // members of an archive, objects of a folder
	Bytes   int64 // unpacked bytes of all members together
	Ratio   int64 // unpacked to packed bytes, once 8 MiB are unpacked
	Frame   int64 // bytes of one image: it is held in memory while it is checked
	Text    int64 // bytes of all labels files together, or of a manifest
	Name    int   // bytes of a member's path
	Depth   int   // folders in it
	Item    int64 // bytes of one item: it is held in memory, twice or three times
	Items   int64 // lines, records or files of a Bloscpack file; their table is written at once
	Meta    int64 // bytes of names and sizes of files, as JSON
}

// DefaultLimits are enough for any honest upload. The names of a million entries
// take some 100 MiB at 100 bytes each; 1 TiB is far above what one invocation or one
// afternoon can pack; JPEGs and archives' headers compress by less than 30, deflate's
// most is 1032, so 200 lets every honest archive pass; 64 MiB holds any camera's image;
// a path is as long as a key of S3 can be, and 32 folders are deeper than people nest
// them. Items of 32 MiB, and a table of 16 million of them in 128 MiB, fit a worker;
// 64 MiB of metadata is what readers of Bloscpack take.
func DefaultLimits() Limits {
	return Limits{Entries: 1 << 20, Bytes: 1 << 40, Ratio: 200, Frame: 64 << 20, Text: 16 << 20, Name: 1024, Depth: 32,
		Item: 32 << 20, Items: 1 << 24, Meta: 64 << 20}
}

// ratioSlack is how many bytes a stream may decompress to before its ratio counts:
// small archives of small files are mostly headers, which compress very well.
const ratioSlack = 8 << 20

// WithDefaults fills zero fields from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	fill := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	fill(&l.Entries, d.Entries)
	fill(&l.Bytes, d.Bytes)
	fill(&l.Ratio, d.Ratio)
	fill(&l.Frame, d.Frame)
	fill(&l.Text, d.Text)
	fill(&l.Item, d.Item)
	fill(&l.Items, d.Items)
	fill(&l.Meta, d.Meta)
	if l.Name == 0 {
		l.Name = d.Name
	}
	if l.Depth == 0 {
		l.Depth = d.Depth
	}
	return l
}

// tap counts bytes and keeps the error of the reader below. If an archive reader gets a
// network error, it may report corrupt bytes, and must not be believed.
type tap struct {
	r   io.Reader
	n   int64
	err error // error of r, except io.EOF
	on  func(n int)
}

func (t *tap) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.n += int64(n)
	if t.on != nil && n > 0 {
		t.on(n)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// blame is the failure of the reader below if that came first. Otherwise it is err,
// which is about the bytes and matches a sentinel of formats.
func (t *tap) blame(err error) error {
	switch {
	case err == nil:
		return nil
	case t.err != nil:
		return t.err
	case kit.IsFormat(err):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return kit.Corrupt("truncated")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%w: %w", err, formats.ErrTooLarge)
	default:
		return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
}

// member reads one file of an archive. Its errors pass through blame.
type member struct {
	r     io.Reader
	blame func(error) error
}

func (m member) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = m.blame(err)
	}
	return n, err
}

// bomb guards a decompressor: it fails if out is too large for in.
type bomb struct {
	r     io.Reader
	out   int64
	in    func() int64
	ratio int64
	max   int64
}

func (b *bomb) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.out += int64(n)
	switch {
	case b.out > b.max:
		return 0, kit.TooLarge("more than %d bytes unpacked", b.max)
	case b.out > ratioSlack && b.out/b.ratio > b.in():
		return 0, kit.TooLarge("%d bytes unpacked from %d, over %d to one", b.out, b.in(), b.ratio)
	}
	return n, err
}
