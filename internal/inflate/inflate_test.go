package inflate

import (
	"bytes"
	"compress/zlib"
	"errors"
	"hash/adler32"
	"io"
	"testing"
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

func TestStandardStreams(t *testing.T) {
	t.Parallel()
	d, plain := Decoder{}, Decoder{plain: true}
	for name, kind := range kinds {
		for _, n := range []int{1, 177, 20_000} {
			p := kind(n)
			for _, level := range []int{zlib.HuffmanOnly, zlib.NoCompression, 1, 7} {
				for _, flush := range []bool{false, true} {
					s := deflate(t, p, level, flush)
					s = append(s, "what follows is not read"...)
					for _, d := range []*Decoder{&d, &plain} {
						got := make([]byte, n)
						if !d.Decode(got, s) || !bytes.Equal(got, p) {
							t.Fatalf("%s: %d bytes at level %d, flush %v, without the kernel: %v", name, n, level, flush, d.plain)
						}
					}
				}
			}
		}
	}
}

// TestGuess: what the kernel guesses is there where most literals have codes of one length.
func TestGuess(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]uint{"flat": litBits<<entCode | 7, "bell": 0, "zeros": 0} {
		p := kinds[name](16_000) // one block
		var d Decoder
		if s := deflate(t, p, 6, false); !d.Decode(make([]byte, len(p)), s) || d.guess != want {
			t.Errorf("%s: guess %#x, want %#x", name, d.guess, want)
		}
	}
}

// TestCut: a stream that is cut anywhere is refused, and one with a changed byte is not
// taken for another of its length that compress/zlib refuses.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		s := deflate(t, kind(1500), 6, false)
		for i := 0; i < len(s); i += 1 + i/25 {
			compare(t, s[:i], 1500)
			bad := bytes.Clone(s)
			bad[i] ^= 1 << (i % 8)
			compare(t, bad, 1500)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// FuzzInflate sets the decoder beside the standard library's: both take a
// stream, with the same result, or both refuse it.
func FuzzInflate(f *testing.F) {
	for _, kind := range kinds {
		f.Add(deflate(f, kind(300), 1, true), 300)
		f.Add(deflate(f, kind(5000), 9, false), 5000)
		f.Add(deflate(f, kind(3000), zlib.HuffmanOnly, false), 3000)
	}
	for _, l := range []uint8{4, 8} {
		w := longest(l, 600, 20)
		f.Add(w.end(), len(w.want))
	}
	f.Add([]byte("\x78\x9c\x03\x00\x00\x00\x00\x01"), 0)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		n = min(max(n, 0), 1<<16)
		compare(t, src, n)
		// Hardly a mutated stream has the right checksum: one that does is made.
		compare(t, resum(src, n), n)
	})
}

// compare decodes src to n bytes, by the kernel with room behind them and without both,
// and sets the result beside the standard library's.
func compare(t *testing.T, src []byte, n int) {
	t.Helper()
	want, wantErr := stdInflate(src, n)
	const guard = 64
	for _, d := range []*Decoder{{}, {plain: true}} {
		spare := 100
		if d.plain {
			spare = 0
		}
		buf := bytes.Repeat([]byte{0xa5}, n+spare+guard)
		ok := d.Decode(buf[:n:n+spare], bytes.Clone(src))
		if ok != (wantErr == nil) {
			t.Fatalf("%d bytes, %d spare: taken: %v, the standard library's error %v", n, spare, ok, wantErr)
		}
		if ok && !bytes.Equal(buf[:n], want) {
			t.Fatalf("%d bytes, %d spare, decode to other bytes", n, spare)
		}
		if !bytes.Equal(buf[n+spare:], bytes.Repeat([]byte{0xa5}, guard)) {
			t.Fatalf("%d bytes, %d spare: written behind the capacity", n, spare)
		}
	}
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
