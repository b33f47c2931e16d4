package check

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"testing"
)

// noise is n bytes that nothing can compress, another one for each seed.
func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return b
}

func picture(t *testing.T, seed int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 32, 24))
	for k := range 32 * 24 {
		m.Set(k%32, k/32, color.Gray{uint8(k*7 + seed*11)})
	}
	var p bytes.Buffer
	if err := jpeg.Encode(&p, m, nil); err != nil {
		t.Fatal(err)
	}
	return p.Bytes()
}

// clip is a tar of four JPEGs.
func clip(t *testing.T, seed int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range 4 {
		p := picture(t, seed+i)
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("wave/c1/%d.jpg", i), Mode: 0o644, Size: int64(len(p))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// array is a .npy of n float32.
func array(n int) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", n)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), noise(4*n, 3)...)
}

// sound is a WAV of n samples of 16 bits.
func sound(n int, seed uint64) []byte {
	p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 100, 0, 0, 0, 200, 0, 0, 0, 2, 0, 16, 0)
	p = binary.LittleEndian.AppendUint32(append(p, "data"...), uint32(2*n))
	return append(p, noise(2*n, seed)...)
}

func table(n int) []byte {
	var b bytes.Buffer
	b.WriteString("time,level\n")
	for i := range n {
		fmt.Fprintf(&b, "2026-03-01T00:%02d:%02dZ,%d\n", i/60, i%60, i*i%17)
	}
	return b.Bytes()
}
