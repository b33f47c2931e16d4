package zoom_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

func gzipped(t *testing.T, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t *testing.T, p []byte, o ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, o...)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(p, nil)
}

// TestPackedCSV: a table gives the same tracks compressed and plain, also in several
// members. Compressed data that are cut or too large are an error.
func TestPackedCSV(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("time,a\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "%d.5,%d\n", i, i*i%1000)
	}
	text := []byte(b.String())
	s, err := series(t, "x.csv", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, want := written(t, s, zoom.WriteOptions{})
	half := bytes.IndexByte(text[len(text)/2:], '\n') + len(text)/2
	for name, p := range map[string][]byte{
		"x.csv.gz": gzipped(t, text), "x.TSV.GZ": gzipped(t, text), "x.csv.zst": zstandard(t, text), "x.csv": gzipped(t, text),
		"two.csv.gz":  append(gzipped(t, text[:half]), gzipped(t, text[half:])...),
		"two.csv.zst": append(zstandard(t, text[:half]), zstandard(t, text[half:])...),
	} {
		s, err := series(t, name, p, nil)
		if err != nil {
			t.Error(name, err)
			continue
		}
		if a := s.About(); a.Bytes != int64(len(p)) || a.Rows != 10_000 {
			t.Errorf("%s: %d bytes of %d, %d rows", name, a.Bytes, len(p), a.Rows)
		}
		var done int64
		_, got := written(t, s, zoom.WriteOptions{Progress: func(n, _ int64) { done = n }})
		if d := diff(want, got); d != "" || done != int64(len(p)) {
			t.Errorf("%s: %d of %d bytes, %s", name, done, len(p), d)
		}
	}
	z := gzipped(t, text)
	flipped := bytes.Clone(z)
	flipped[len(z)/2] ^= 0x55
	for name, c := range map[string]struct {
		key  string
		p    []byte
		is   error
		want string
	}{
		"cut":       {"x.csv.gz", z[:len(z)/2], formats.ErrCorrupt, "truncated"},
		"cut zst":   {"x.csv.zst", zstandard(t, text)[:2000], formats.ErrCorrupt, "csv"},
		"damaged":   {"x.csv.gz", flipped, formats.ErrCorrupt, "csv"},
		"head only": {"x.csv.gz", z[:5], formats.ErrCorrupt, "truncated"},
		"bomb":      {"x.csv.gz", slices.Concat(gzipped(t, []byte("time,a,note\n")), bytes.Repeat(gzipped(t, []byte(strings.Repeat("1,2,"+strings.Repeat("x", 1<<16)+"\n", 1<<4))), 100)), formats.ErrTooLarge, "more than 200 times"},
		"no table":  {"x.wav.gz", z, formats.ErrUnsupported, "unpack it first"},
		"bad line":  {"x.csv.gz", gzipped(t, []byte("time,a\n1,2\n2,x\n")), formats.ErrCorrupt, "line 3 at 11"},
	} {
		_, err := series(t, c.key, c.p, nil)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestLongText: text that is long, but no bomb, is read to its end however it is packed.
func TestLongText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	note := make([]byte, 3000)
	for i := range note {
		note[i] = "0123456789abcdef"[r.IntN(16)]
	}
	var b bytes.Buffer
	b.WriteString("time,a,note\n")
	rows := int64(0)
	for ; b.Len() < 66<<20; rows++ {
		at := r.IntN(len(note) - 1000)
		fmt.Fprintf(&b, "%d,%d,%d %x%s\n", rows, rows, rows, r.Uint64(), note[at:at+1000])
	}
	p := zstandard(t, b.Bytes(), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if ratio := b.Len() / len(p); ratio < 2 || ratio > 150 {
		t.Fatalf("a ratio of %d", ratio)
	}
	s, err := series(t, "x.csv.zst", p, nil)
	if err != nil || s.About().Rows != rows {
		t.Fatalf("%v, want %d rows", err, rows)
	}
}

// TestChangedPacked: an object that changes while it is unpacked is not taken for a
// damaged one.
func TestChangedPacked(t *testing.T) {
	t.Parallel()
	digits := make([]byte, 10<<20)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(digits) // never fails
	text := []byte("time,note\n")
	for i := 0; len(digits) > 0; i++ { // so that as many bytes as one request brings are not all
		n := min(len(digits), 60_000)
		text = base64.StdEncoding.AppendEncode(fmt.Appendf(text, "%d,", i), digits[:n])
		text, digits = append(text, '\n'), digits[n:]
	}
	for key, p := range map[string][]byte{"x.csv.gz": gzipped(t, text), "x.csv.zst": zstandard(t, text, zstd.WithEncoderLevel(zstd.SpeedFastest)), "x.csv": text} {
		if len(p) < 9<<20 {
			t.Fatalf("%s: %d bytes", key, len(p))
		}
		b := memstore.New(memstore.Config{})
		obj := stored(t, b, key, p)
		stored(t, b, key, []byte("another"))
		if _, err := zoom.Open(t.Context(), obj, zoom.Options{}); !errors.Is(err, objstore.ErrChanged) || errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
