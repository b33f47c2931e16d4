package codec

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zlib"
)

// zlibDecoder keeps the library's reader between streams.
type zlibDecoder struct {
	src bytes.Reader
	r   io.ReadCloser
}

// decode takes one complete zlib stream. As in C, bytes behind its end are
// ignored, and a stream that goes on behind len(dst) is an error.
func (z *zlibDecoder) decode(dst, src []byte) (bool, error) {
	z.src.Reset(src)
	defer z.src.Reset(nil)
	var err error
	if z.r == nil {
		z.r, err = zlib.NewReader(&z.src)
	} else {
		err = z.r.(zlib.Resetter).Reset(&z.src, nil)
	}
	if err != nil {
		return false, err
	}
	if _, err := io.ReadFull(z.r, dst); err != nil {
		return false, err
	}
	// The checksum is looked at when the end is read.
	var one [1]byte
	if n, err := z.r.Read(one[:]); n != 0 || !errors.Is(err, io.EOF) {
		return false, err
	}
	return true, nil
}

// zlibEncoder keeps a writer of one level.
type zlibEncoder struct {
	w     *zlib.Writer
	level int
	out   limitWriter
}

func (z *zlibEncoder) encode(level int, dst, src []byte) (int, error) {
	z.out = limitWriter{p: dst}
	if z.w == nil || z.level != level {
		w, err := zlib.NewWriterLevel(&z.out, level)
		if err != nil {
			return 0, err
		}
		z.w, z.level = w, level
	} else {
		z.w.Reset(&z.out)
	}
	_, err := z.w.Write(src)
	if err == nil {
		err = z.w.Close()
	}
	n := z.out.n
	z.out = limitWriter{}
	if errors.Is(err, errFull) {
		return 0, nil
	}
	return n, err
}

var errFull = errors.New("the destination is full")

// limitWriter fills p and then fails.
type limitWriter struct {
	p []byte
	n int
}

func (w *limitWriter) Write(p []byte) (int, error) {
	n := copy(w.p[w.n:], p)
	w.n += n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}
