package pack_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
)

// rows is a .npy of n rows of the shape tail, in the order asked for, and its items in C
// order. Numbers repeat, so that they compress.
func rows(tb testing.TB, r *rand.Rand, n int64, tail []int64, fortran bool) (file, items []byte) {
	tb.Helper()
	d, err := dtype.Parse("<u2")
	if err != nil {
		tb.Fatal(err)
	}
	shape := append([]int64{n}, tail...)
	total := n
	for _, k := range tail {
		total *= k
	}
	items = bytes.Repeat([]byte{byte(r.IntN(256)), byte(r.IntN(256))}, int(total))
	for range min(total, 50) {
		items[r.IntN(len(items))] = byte(r.IntN(256))
	}
	if file, err = npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape, Fortran: fortran}); err != nil {
		tb.Fatal(err)
	}
	if !fortran {
		return append(file, items...), items
	}
	rest := total / max(n, 1)
	if len(tail) > 1 {
		tb.Fatal("two axes are turned here")
	}
	for j := range rest {
		for i := range n {
			file = append(file, items[2*(i*rest+j):][:2]...)
		}
	}
	return file, items
}

// TestJoinPlaces: whatever shapes, orders and packings of uploads, and wherever their places
// are, the dataset is the sum of them after each.
func TestJoinPlaces(t *testing.T) {
	t.Parallel()
	steps := 12
	if racetest.On { // there is one goroutine
		steps = 3
	}
	for name, tail := range map[string][]int64{"line": {}, "table": {300_000}, "wide": {2_200_000}, "cube": {2, 400, 900}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(len(name)), 5))
			a := newArrayJob()
			a.job.Format, a.job.To = b2nd.Format, "sets/all.b2nd"
			most := int64(9)
			if name == "wide" {
				most = 3
			}
			have := map[string][]byte{}
			for seq := range steps {
				n, fortran := r.Int64N(most), len(tail) == 1 && r.IntN(3) == 0
				file, items := rows(t, r, n, tail, fortran)
				key := fmt.Sprintf("%02d.npy", r.IntN(8))
				if pick := r.IntN(4); pick == 0 && !fortran {
					file = npz(t, []uint16{zip.Store, zip.Deflate}[r.IntN(2)], map[string][]byte{"x.npy": file})
				}
				u := a.put(t, key, file)
				u.Sequencer = fmt.Sprintf("%04X", seq)
				for again := range 2 {
					if infos, err := a.job.Run(t.Context(), a.in, u); err != nil || len(infos) != 1-again {
						t.Fatalf("%s: %v, %v", key, infos, err)
					}
				}
				have[key] = items
				var want []byte
				for _, k := range slices.Sorted(keysOf(have)) {
					want = append(want, have[k]...)
				}
				a.want(t, a.job.To, want)
			}
			if n := len(have); n < 2 {
				t.Errorf("%d uploads", n)
			}
		})
	}
}

// TestJoinForeign: rows that somebody appends by other means stay behind the uploads that
// were there, wherever later ones have their places.
func TestJoinForeign(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	a := newArrayJob()
	a.job.Format, a.job.To = b2nd.Format, "all.b2nd"
	var all [5][]byte
	send := func(n int) {
		t.Helper()
		file, items := rows(t, r, 3, nil, false)
		u := a.put(t, fmt.Sprintf("%d.npy", n), file)
		u.Sequencer = fmt.Sprintf("%04X", n)
		if _, err := a.job.Run(t.Context(), a.in, u); err != nil {
			t.Fatal(err)
		}
		all[n] = items
	}
	send(2)
	o, err := objstore.Open(t.Context(), a.out, a.job.To, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := draft.Open(t.Context(), o, draft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Draft: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Extend([]byte("byhand")); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Commit(t.Context(), objstore.PutOptions{Meta: o.Info().Meta}); err != nil {
		t.Fatal(err)
	}
	send(4)
	send(1)
	send(3)
	send(2) // again: with the same sequencer another one is the current one
	a.want(t, a.job.To, slices.Concat(all[1], all[2], []byte("byhand"), all[3], all[4]))
}

// TestJoinRefused: uploads that a dataset cannot take are permanent failures, and change
// nothing.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	a := newArrayJob()
	a.job.Format, a.job.To = b2nd.Format, "all.b2nd"
	file, items := rows(t, r, 4, []int64{3}, false)
	if _, err := a.job.Run(t.Context(), a.in, a.put(t, "0.npy", file)); err != nil {
		t.Fatal(err)
	}
	other, _ := rows(t, r, 4, []int64{4}, false)
	floats := bytes.Replace(file, []byte("<u2"), []byte("<f2"), 1)
	d, err := dtype.Parse("<u2")
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := npy.AppendHeader(nil, npy.Header{DType: d})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		p    []byte
		want string
	}{
		"shape": {other, "does not continue"}, "type": {floats, "its items are"}, "no axes": {append(scalar, 1, 2), "without axes"},
		"two": {npz(t, zip.Store, map[string][]byte{"x.npy": file, "y.npy": file}), "2 arrays"}, "cut": {file[:len(file)-1], "truncated"},
	} {
		_, err := a.job.Run(t.Context(), a.in, a.put(t, "1.npy", c.p))
		if !strings.Contains(fmt.Sprint(err), c.want) || !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.want(t, a.job.To, items)
}

// TestJoinCommand: what a function cannot do, the command line does.
func TestJoinCommand(t *testing.T) {
	t.Parallel()
	r := functions.Rule{Bucket: "ups", Job: "pack", Format: "b2nd", Codec: "lz4", Append: true, To: "days.b2nd", Out: functions.Out{Bucket: "sets", Prefix: "p/"}}
	if got, want := pack.Command(r, functions.Upload{Bucket: "ups", Key: "d/1.npy"}), "farread pack --append 's3://ups/d/1.npy' 's3://sets/p/days.b2nd' --codec lz4"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestJoinTrace pins the requests of an upload that begins a dataset, of one that is appended,
// of one that comes again, and of one that is put in its place.
func TestJoinTrace(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	a := newArrayJob()
	a.job.Format, a.job.To = b2nd.Format, "all.b2nd"
	var log tracetest.Log
	in := objstore.Chain(a.in, log.Middleware())
	a.job.Out = objstore.Chain(a.out, log.Middleware())
	file, _ := rows(t, r, 5, []int64{7}, false)
	var u functions.Upload
	for seq, key := range []string{"2.npy", "3.npy", "3.npy", "1.npy"} {
		if seq != 2 { // the event before comes again
			u = a.put(t, key, file)
			u.Sequencer = fmt.Sprintf("%02X", seq)
		}
		infos, err := a.job.Run(t.Context(), in, u)
		log.Step(fmt.Sprintf("%s, %d bytes", key, len(file)))
		log.Note(fmt.Sprintf("%d objects, %v", len(infos), err))
	}
	log.Golden(t, "testdata/join.trace")
}
