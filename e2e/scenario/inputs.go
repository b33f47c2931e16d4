package scenario

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// framesOfID is how many frames each id of a clip has.
const framesOfID = 4

type file struct {
	name string
	data []byte
}

// folderOf is the id of an image.
func folderOf(name string) string { return path.Dir(name) }

// frames are n small images, in folders of framesOfID.
func frames(t *testing.T, n int) []file {
	t.Helper()
	list := make([]file, 0, n)
	for i := range n {
		m := image.NewGray(image.Rect(0, 0, 32, 24))
		for k := range 32 * 24 {
			m.Set(k%32, k/32, color.Gray{uint8(k*7 + i*3)})
		}
		var p bytes.Buffer
		if err := jpeg.Encode(&p, m, nil); err != nil {
			t.Fatal(err)
		}
		list = append(list, file{fmt.Sprintf("wave/c%d/%d.jpg", i/framesOfID, i), p.Bytes()})
	}
	return list
}

func tarOf(t *testing.T, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t *testing.T, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// volume is a .npy of float32 that seed tells apart, and its values' bytes.
func volume(t *testing.T, seed int, shape ...int64) (data, values []byte) {
	t.Helper()
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	head, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // values of chance, which nothing compresses
	for range n {
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(rng.Float32()))
	}
	return slices.Concat(head, values), values
}

// wav is a recording of 100 samples a second in one channel.
func wav(samples []int16) []byte {
	le, size := binary.LittleEndian, uint32(2*len(samples))
	p := le.AppendUint32([]byte("RIFF"), 36+size)
	p = append(p, "WAVEfmt "...)
	p = le.AppendUint32(p, 16)
	p = le.AppendUint16(le.AppendUint16(p, 1), 1)
	p = le.AppendUint32(le.AppendUint32(p, 100), 200)
	p = le.AppendUint16(le.AppendUint16(p, 2), 16)
	p = le.AppendUint32(append(p, "data"...), size)
	for _, v := range samples {
		p = le.AppendUint16(p, uint16(v))
	}
	return p
}
