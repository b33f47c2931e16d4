package pack_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/klauspost/compress/flate"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
)

// pieceRows is how many rows of 256 float32 a piece of a vast array holds.
const pieceRows = 1 << 12

// waves are rows that compress as measured values do.
func waves() []byte {
	p := make([]byte, 0, pieceRows*256*4)
	for i := range pieceRows * 256 {
		v := 280 + 15*math.Sin(float64(i)/900) + float64(uint32(i)*2654435761>>28)/16
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(v)))
	}
	return p
}

// vastHeader is that of an array of n pieces: of rows, or in Fortran order of
// columns.
func vastHeader(tb testing.TB, n int64, fortran bool) []byte {
	tb.Helper()
	d, err := dtype.Parse("<f4")
	if err != nil {
		tb.Fatal(err)
	}
	h := npy.Header{DType: d, Fortran: fortran, Shape: []int64{n, 64, 64, 256}}
	if fortran {
		h.Shape = []int64{256, 64, 64, n}
	}
	p, err := npy.AppendHeader(nil, h)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func vastNPY(tb testing.TB, n int64, fortran bool) *vast {
	tb.Helper()
	v := &vast{key: "vast.npy"}
	v.add(vastHeader(tb, n, fortran))
	p := waves()
	for range n {
		v.add(p)
	}
	return v
}

// vastNPZ is an archive of one compressed member: a piece of deflate that does
// not look behind it, again and again.
func vastNPZ(tb testing.TB, n int64, fortran bool) *vast {
	tb.Helper()
	head, p := vastHeader(tb, n, fortran), waves()
	var b bytes.Buffer
	fl, err := flate.NewWriter(&b, 1)
	if err != nil {
		tb.Fatal(err)
	}
	cut := func(data []byte, end func() error) []byte {
		b.Reset()
		fl.Reset(&b)
		if _, err := fl.Write(data); err != nil {
			tb.Fatal(err)
		}
		if err := end(); err != nil {
			tb.Fatal(err)
		}
		return bytes.Clone(b.Bytes())
	}
	first, piece, last := cut(head, fl.Flush), cut(p, fl.Flush), cut(nil, fl.Close)
	sum := crc32.ChecksumIEEE(head)
	for range n {
		sum = crc32.Update(sum, crc32.IEEETable, p)
	}
	v := &vast{key: "vast.npz"}
	w := zip.NewWriter(collector{v, piece})
	e, err := w.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate, CRC32: sum, UncompressedSize64: uint64(len(head)) + uint64(n)*uint64(len(p)),
		CompressedSize64: uint64(len(first)) + uint64(n)*uint64(len(piece)) + uint64(len(last))})
	if err != nil {
		tb.Fatal(err)
	}
	write := func(p []byte) {
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		if _, err := e.Write(p); err != nil {
			tb.Fatal(err)
		}
	}
	write(first)
	for range n {
		write(piece)
	}
	write(last)
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return v
}

// TestArrayMemory packs arrays of half a gigabyte in every order and watches the heap, as
// TestMemory does. Each byte is read once, in requests of a chunk or 8 MiB.
func TestArrayMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("packs gigabytes")
	}
	pieces := int64(128) // of 4 MiB
	racetest.Skip(t, racetest.Measures)
	for _, c := range []struct {
		name    string
		v       *vast
		request int64 // bytes
	}{
		{"npy", vastNPY(t, pieces, false), 4 << 20},
		{"npy in Fortran order", vastNPY(t, pieces, true), 4 << 20},
		{"compressed npz", vastNPZ(t, pieces, false), 8 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, next := heaptest.Start(), int64(0)
			out := &sink{infos: map[string]objstore.Info{}}
			out.watch = func() {
				if n := out.wrote.Load(); n >= next || m.Looks() < 64 {
					m.Look()
					next = n + 16<<20
				}
			}
			j := &pack.Job{Out: out, Encode: pack.DefaultEncode()}
			infos, err := j.Run(t.Context(), c.v, functions.Upload{Bucket: "b", Key: c.v.key, ETag: `"vast"`, Sequencer: "1", Size: c.v.size})
			if err != nil || len(infos) != 1 {
				t.Fatal(infos, err)
			}
			m.Look()
			t.Logf("%d MiB to %d, %d requests, %d looks: %d MiB live, a heap of %d", c.v.size>>20, out.wrote.Load()>>20, c.v.gets.Load(), m.Looks(), m.Live()>>20, m.Heap()>>20)
			if m.Heap() > 200<<20 {
				t.Errorf("%d MiB of heap", m.Heap()>>20)
			}
			if most := c.v.size/c.request + 8; c.v.gets.Load() > most {
				t.Errorf("%d requests for %d bytes, over %d", c.v.gets.Load(), c.v.size, most)
			}
		})
	}
	t.Run("compressed npz in Fortran order", func(t *testing.T) {
		v := vastNPZ(t, pieces, true)
		out := &sink{infos: map[string]objstore.Info{}}
		_, err := (&pack.Job{Out: out, Encode: pack.DefaultEncode()}).Run(t.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size})
		if !errors.Is(err, formats.ErrTooLarge) || out.wrote.Load() > 0 {
			t.Errorf("%v, %d bytes written", err, out.wrote.Load())
		}
	})
}
