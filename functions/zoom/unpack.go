package zoom

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// A packing is the compression of a text.
type packing int

const (
	plainText packing = iota
	gzipText
	zstdText
)

// packedSuffixes are the suffixes of compressed files.
func packedSuffixes() []string { return []string{".gz", ".zst", ".zstd"} }

func packingOf(head []byte) packing {
	switch {
	case len(head) >= 3 && string(head[:3]) == "\x1f\x8b\x08":
		return gzipText
	case len(head) >= 4 && string(head[:4]) == "\x28\xb5\x2f\xfd":
		return zstdText
	}
	return plainText
}

const (
	// unpackWindow is the largest zstd window that is accepted. "zstd --long" makes
	// windows of 128 MiB, more than a worker may hold.
	unpackWindow = 8 << 20
	// If text decompresses to more than maxRatio times its size, beyond the first
	// freeText bytes, it is not a table of numbers.
	maxRatio = 200
	freeText = 64 << 20
)

// An unpacking reads the text of an object.
type unpacking struct {
	plain io.Reader
	in    io.ReadCloser
	n     int64 // bytes of the object that were read
	out   int64
	err   error // error of the object
	free  func()
}

// open begins to read the text, from its first byte.
func (t *table) open(ctx context.Context) (*unpacking, error) {
	u := &unpacking{in: t.obj.NewReader(ctx, objstore.ReadOptions{Part: readPart, Ahead: readAhead}), free: func() {}}
	below := tapped{u}
	switch t.packed {
	case gzipText:
		z, err := gzip.NewReader(bufio.NewReaderSize(below, 256<<10))
		if err != nil {
			u.close()
			return nil, kit.Fail("csv", t.obj.Info().Key, 0, u.blame(err))
		}
		u.plain, u.free = guarded{u, z}, func() { _ = z.Close() } // Close of a zstd decoder returns no error
	case zstdText:
		z, err := zstd.NewReader(below, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(unpackWindow))
		if err != nil {
			u.close()
			return nil, kit.Fail("csv", t.obj.Info().Key, 0, u.blame(err))
		}
		u.plain, u.free = guarded{u, z}, z.Close
	default:
		u.plain = below
	}
	return u, nil
}

func (u *unpacking) close() {
	u.free()
	_ = u.in.Close() // errors of Close do not matter after reading
}

// read is how many bytes of the object were read.
func (u *unpacking) read() int64 { return u.n }

// blame is err, unless reading the object failed first. An error of a decompressor is
// about the bytes.
func (u *unpacking) blame(err error) error {
	switch {
	case err == nil || u.err == nil && kit.IsFormat(err):
		return err
	case u.err != nil:
		return u.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return kit.Corrupt("truncated")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("%w: %w", err, formats.ErrTooLarge)
	case errors.Is(err, errUnpack):
		return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	return err
}

// tapped counts the bytes of the object and keeps its error.
type tapped struct{ u *unpacking }

func (t tapped) Read(p []byte) (int, error) {
	n, err := t.u.in.Read(p)
	t.u.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		t.u.err = err
	}
	return n, err
}

// errUnpack marks errors of a decompressor.
var errUnpack = errors.New("unpacking")

// guarded bounds the output of a decompressor.
type guarded struct {
	u *unpacking
	r io.Reader
}

func (g guarded) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if g.u.out += int64(n); g.u.out > freeText && g.u.out/maxRatio > g.u.n {
		return n, kit.TooLarge("text that unpacks to more than %d times its size", maxRatio)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errUnpack, err)
	}
	return n, err
}
