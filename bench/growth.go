package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
)

//go:embed peer_growth.py
var growthScript string

// growthPlane is a plane of the arrays that grow, of float32.
const (
	growthSide  = 256
	growthPlane = growthSide * growthSide * 4
)

// growth: arrays of 1 MiB to 10 GiB, opened by their path in a process of its own for each
// measurement, one slice, then all of it; with all processors, by the clock on the wall.
func growth(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.blosc2(ctx)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, size := range pick(b, []int64{1 << 20, 10 << 20, 100 << 20, 1 << 30, 10 << 30}, []int64{1 << 20, 10 << 20}) {
		r, err := b.grown(ctx, p, size)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) grown(ctx context.Context, p *python, size int64) (row, error) {
	dir, err := b.sub("growth")
	if err != nil {
		return row{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // no other job needs it
	path := filepath.Join(dir, "a.b2nd")
	if err := writeGrown(ctx, dir, size); err != nil {
		return row{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return row{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return row{}, err
	}
	var ours, theirs scanned
	for n := range min(b.rounds, int(max(1, min(3, 4<<30/size)))) { // of 10 GiB one
		a, err := b.scanApart(ctx, self, "-scan", path)
		if err != nil {
			return row{}, err
		}
		t, err := b.scanApart(ctx, p.cmd.Path, "-c", growthScript, path)
		if err != nil {
			return row{}, err
		}
		if a.Bytes != size || a.Bytes != t.Bytes || a.Sum != t.Sum {
			return row{}, fmt.Errorf("the sides read different items: %+v, %+v", a, t)
		}
		ours, theirs = ours.best(a, n == 0), theirs.best(t, n == 0)
	}
	second := func(s float64) time.Duration { return time.Duration(s * 1e9) }
	return row{cells: []string{
		binarySize(size), fmt.Sprintf("%.2f MiB", float64(info.Size())/(1<<20)),
		ms(second(ours.Slice)), ms(second(theirs.Slice)), fmt.Sprintf("%.2fx", theirs.Slice/ours.Slice),
		rate(float64(size), second(ours.Scan), "B"), rate(float64(size), second(theirs.Scan), "B"), fmt.Sprintf("%.2fx", theirs.Scan/ours.Scan),
		mib(ours.held), mib(theirs.held), mib(theirs.Imports),
	}}, nil
}

// A size as people write it, of whole MiB or GiB.
func binarySize(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%d GiB", n>>30)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// writeGrown writes an array of sparse numbers, 16 MiB of them again and again.
func writeGrown(ctx context.Context, dir string, size int64) error {
	bk, err := filestore.New(filestore.Config{Dir: dir, NoSync: true})
	if err != nil {
		return err
	}
	out, err := bk.Create(ctx, "a.b2nd", objstore.PutOptions{})
	if err != nil {
		return err
	}
	defer out.Abort()
	m := b2nd.Meta{Shape: []int64{size / growthPlane, growthSide, growthSide}, DType: "<f4"}
	w, err := b2nd.NewWriter(out, m, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.Zstd, Level: 1}})
	if err != nil {
		return err
	}
	part := seriesOf("sparse").bytes(int(min(size, period)))
	for left := size; left > 0; left -= int64(len(part)) {
		if _, err := w.Write(part[:min(left, int64(len(part)))]); err != nil {
			w.Abort()
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err = out.Commit(ctx)
	return err
}

// scanned is what a process tells that opened an array and read a slice and all of it.
type scanned struct {
	Slice, Scan float64 // seconds: opening and the first slice; everything
	Bytes       int64   // of everything
	Sum         uint64  // of one byte of sampleStep
	Imports     int64   // bytes that were resident before the opening

	held int64 // at the most
}

// best is the least of what both took, or only what the other took.
func (s scanned) best(o scanned, first bool) scanned {
	if first {
		return o
	}
	return scanned{min(s.Slice, o.Slice), min(s.Scan, o.Scan), s.Bytes, s.Sum, min(s.Imports, o.Imports), max(s.held, o.held)}
}

func (b *bench) scanApart(ctx context.Context, program ...string) (s scanned, err error) {
	held, text, _, err := b.peakIn(ctx, "", program...)
	if err != nil {
		return s, err
	}
	s.held = held
	return s, json.Unmarshal(text, &s)
}

// printScan is one of our measurements, in a process of its own.
func printScan(ctx context.Context, out io.Writer, path string) error {
	start := time.Now()
	a, err := farread.New(farread.Config{}).OpenArray(ctx, path, farread.FrameOptions{})
	if err != nil {
		return err
	}
	box, err := resolved(a.Array, strconv.FormatInt(a.Shape()[0]/2, 10)+",10:20,10:20")
	if err != nil {
		return err
	}
	one := make([]byte, 400)
	if err := a.ReadSlice(ctx, one, box); err != nil {
		return err
	}
	s := scanned{Slice: time.Since(start).Seconds()}
	start = time.Now()
	if box, err = resolved(a.Array, "..."); err != nil {
		return err
	}
	if s.Bytes, err = a.CopyTo(ctx, &sampleSum{sum: &s.Sum}, box, 0); err != nil {
		return err
	}
	s.Scan = time.Since(start).Seconds()
	return json.NewEncoder(out).Encode(s)
}

func resolved(a *b2nd.Array, text string) (b2nd.Box, error) {
	s, err := b2nd.ParseSlice(text)
	if err != nil {
		return b2nd.Box{}, err
	}
	return s.Resolve(a.Shape())
}

// sampleSum adds up one byte of sampleStep, so that both sides must have read the same.
type sampleSum struct {
	at  int64
	sum *uint64
}

const sampleStep = 4093

func (w *sampleSum) Write(p []byte) (int, error) {
	for i := (sampleStep - w.at%sampleStep) % sampleStep; i < int64(len(p)); i += sampleStep {
		*w.sum += uint64(p[i])
	}
	w.at += int64(len(p))
	return len(p), nil
}
