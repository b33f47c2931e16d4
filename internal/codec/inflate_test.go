package codec_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"hash/adler32"
	"io"
	"testing"

	"github.com/farread/farread/internal/codec"
)

// deflate is the standard library's stream of p, in one piece or flushed often.
func deflate(tb testing.TB, p []byte, level int, flush bool) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		tb.Fatal(err)
	}
	for len(p) > 0 && flush {
		n := min(len(p), 777)
		if _, err := w.Write(p[:n]); err != nil {
			tb.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		p = p[n:]
	}
	if _, err := w.Write(p); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestInflateOthers(t *testing.T) {
	t.Parallel()
	var dec codec.Decoder
	for name, class := range classes {
		for _, n := range []int{0, 1, 100, 175, 176, 177, 5000, 70_000} {
			p := class(n, 3)
			for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, 1, 6, 9} {
				for _, flush := range []bool{false, true} {
					s := deflate(t, p, level, flush)
					s = append(s, "what follows is not read"...)
					got := make([]byte, n)
					if err := dec.Decode(codec.Zlib, got, s, nil); err != nil || !bytes.Equal(got, p) {
						t.Fatalf("%s: %d bytes at level %d, flush %v: %v", name, n, level, flush, err)
					}
				}
			}
		}
	}
}

// FuzzInflate sets the decoder beside the standard library's: both take a
// stream, with the same result, or both refuse it.
func FuzzInflate(f *testing.F) {
	for _, class := range classes {
		f.Add(deflate(f, class(300, 1), 1, true), 300)
		f.Add(deflate(f, class(2000, 1), 9, false), 2000)
	}
	f.Add([]byte("\x78\x9c\x03\x00\x00\x00\x00\x01"), 0)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		n = min(max(n, 0), 1<<16)
		// Hardly a mutated stream has the right checksum: one that does is made.
		for _, s := range [][]byte{src, resum(src, n)} {
			want, wantErr := stdInflate(s, n)
			got := make([]byte, n)
			var dec codec.Decoder
			err := dec.Decode(codec.Zlib, got, s, nil)
			if (err == nil) != (wantErr == nil) || err != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%d bytes: error %v, the standard library's %v", n, err, wantErr)
			}
			if err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%d bytes decode to other bytes", n)
			}
		}
	})
}

var errLong = errors.New("longer")

func stdInflate(src []byte, n int) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	p, err := io.ReadAll(io.LimitReader(r, int64(n)+1))
	if err == nil && len(p) != n {
		err = errLong
	}
	return p, err
}

// resum puts the checksum of what src decodes to behind its blocks.
func resum(src []byte, n int) []byte {
	if len(src) < 2 {
		return src
	}
	rest := bytes.NewReader(src)
	r, err := zlib.NewReader(rest)
	if err != nil {
		return src
	}
	p, err := io.ReadAll(io.LimitReader(r, int64(n)+1))
	if !errors.Is(err, zlib.ErrChecksum) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return src
	}
	sum := adler32.Checksum(p)
	end := len(src) - rest.Len()
	if errors.Is(err, zlib.ErrChecksum) {
		end -= 4
	}
	out := bytes.Clone(src[:end])
	return append(out, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
}
