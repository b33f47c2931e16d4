package codec

import (
	"errors"

	"github.com/klauspost/compress/zlib"
)

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
