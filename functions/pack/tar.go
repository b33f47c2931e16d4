package pack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

const (
	tarBlock = 512
	// maxWindow is the largest zstd window that is accepted: half of the largest one
	// that "zstd --long" makes unless told otherwise, so that it fits a small worker.
	maxWindow = 64 << 20
)

// tarball reads a tar, plain or compressed, front to end.
type tarball struct {
	obj   *objstore.Object
	kind  kind
	about About
	l     Limits
}

func (t *tarball) About() About { return t.about }

func (t *tarball) Each(ctx context.Context, f func(File, io.Reader) error) error {
	return t.read(ctx, t.obj.NewReader(ctx, objstore.ReadOptions{}), f)
}

// peek does what Each does, for a caller who needs only the first files.
func (t *tarball) peek(ctx context.Context, f func(File, io.Reader) error) error {
	return t.read(ctx, glance(ctx, t.obj, 0, t.obj.Size()), f)
}

func (t *tarball) read(ctx context.Context, body io.ReadCloser, f func(File, io.Reader) error) error {
	defer body.Close()
	in := &tap{r: body}
	plain, closer, err := t.unpacked(in)
	if err != nil {
		return t.fail("", in.n, in.blame(err))
	}
	defer closer()
	return t.each(ctx, in, plain, f)
}

// unpacked is the tar inside in.
func (t *tarball) unpacked(in *tap) (io.Reader, func(), error) {
	guard := func(r io.Reader) *bomb {
		return &bomb{r: r, in: func() int64 { return in.n }, ratio: t.l.Ratio, max: t.l.Bytes}
	}
	switch t.kind {
	case kindGzip:
		z, err := gzip.NewReader(bufio.NewReaderSize(in, 256<<10))
		if err != nil {
			return nil, nil, err
		}
		return guard(z), func() { _ = z.Close() }, nil
	case kindZstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return guard(z), z.Close, nil
	default:
		return in, func() {}, nil
	}
}

func (t *tarball) each(ctx context.Context, in *tap, plain io.Reader, f func(File, io.Reader) error) error {
	data := &tap{r: plain}
	blame := in.blame
	tr := tar.NewReader(data)
	// Holes are bytes that the archive does not store; they count as decompressed.
	files := &bomb{r: tr, in: func() int64 { return in.n }, ratio: t.l.Ratio, max: t.l.Bytes}
	var total int64
	for n := int64(0); ; n++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		at := data.n
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			// Next skips up to 511 bytes of padding; more were read only when
			// the zero block that ends an archive was there.
			if data.n-at < tarBlock && in.err == nil {
				return t.fail("", data.n, kit.Corrupt("truncated: no end of the archive"))
			}
			return t.drain(data, blame)
		case err != nil:
			return t.fail("header", data.n, blame(err))
		case n >= t.l.Entries:
			return t.fail("", data.n, kit.TooLarge("more than %d entries", t.l.Entries))
		}
		if h.Size > t.l.Bytes-total {
			return t.fail(fmt.Sprintf("%.200q", h.Name), data.n, kit.TooLarge("more than %d bytes unpacked", t.l.Bytes))
		}
		total += h.Size
		e, ok, err := t.member(h, data.n)
		if err != nil {
			return t.fail(fmt.Sprintf("%.200q", h.Name), data.n, err)
		}
		if ok {
			if err := f(e, member{files, blame}); err != nil {
				return err
			}
		}
		// Read to the member's end here, so that Next reads headers only.
		if _, err := io.Copy(io.Discard, files); err != nil {
			return t.fail(fmt.Sprintf("%.200q", h.Name), data.n, blame(err))
		}
	}
}

// member is the file of a header. ok is false if the header has no bytes of its own.
func (t *tarball) member(h *tar.Header, off int64) (File, bool, error) {
	name, err := cleanName(h.Name, t.l)
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return File{}, false, nil
	case tar.TypeDir:
		if path := bytes.Trim([]byte(h.Name), "./"); len(path) == 0 {
			return File{}, false, nil // "./"
		}
		return File{}, false, err
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont: // holes are read as zeros; contiguous is a wish about disks
		return File{Name: name, Size: h.Size, Off: off}, err == nil, err
	case tar.TypeLink, tar.TypeSymlink:
		return File{}, false, kit.Unsupported("a link to %.200q: tar --dereference --hard-dereference stores a file in its place", h.Linkname)
	default:
		return File{}, false, kit.Unsupported("neither file nor folder (type %q)", h.Typeflag)
	}
}

// drain reads the bytes behind the end of the archive: zeros that fill a tape block,
// and the checksum of the compression. Other bytes are an error, since they would be
// lost.
func (t *tarball) drain(data *tap, blame func(error) error) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := data.Read(buf)
		if bytes.Count(buf[:n], []byte{0}) != n {
			return t.fail("", data.n, kit.Corrupt("bytes after the end of the archive"))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.fail("", data.n, blame(err))
		}
	}
}

func (t *tarball) fail(part string, off int64, err error) error {
	if !kit.IsFormat(err) {
		return err
	}
	return kit.Fail(t.about.Format, part, off, err)
}
