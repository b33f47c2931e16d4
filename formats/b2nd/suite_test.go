package b2nd_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

const suiteItems = 1 << 18 // bytes that a damaged array of the suite may have

// everything is what an array holds: what it says of itself, and its items by
// each way of reading.
func everything(ctx context.Context, a *b2nd.Array) ([]byte, error) {
	whole := b2nd.Whole(a.Shape())
	if n, err := a.SizeOf(whole); err != nil || n > suiteItems {
		return nil, fmt.Errorf("%w: an array of %d bytes", formats.ErrTooLarge, n)
	}
	out := fmt.Appendf(nil, "%v %s\n", a.Meta(), a.DType())
	p, err := trySlice(ctx, a, whole)
	if err != nil {
		return nil, err
	}
	out = append(out, p...)
	back := b2nd.Box{OutShape: whole.OutShape}
	for _, n := range whole.Stop {
		back.Start, back.Stop, back.Step = append(back.Start, n-1), append(back.Stop, -1), append(back.Step, -1)
	}
	if p, err = trySlice(ctx, a, back); err != nil {
		return nil, err
	}
	return append(out, p...), nil
}

func suite(name string, data []byte, stride int) formattest.Suite {
	return formattest.Suite{
		Objects: []formattest.Object{{Name: name, Data: data}},
		Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
			a, err := b2nd.Open(ctx, r[0], b2nd.Options{})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) ([]byte, error) { return everything(ctx, a) }, nil
		},
		// Blosc has no checksums: a flipped bit of data gives other data.
		Check: func(got []byte) error {
			if len(got) > 2*suiteItems+4096 {
				return fmt.Errorf("%d bytes", len(got))
			}
			return nil
		},
		MaxAlloc: 8 << 20, // the items thrice, and what decoders keep for the next of their kind
		Stride:   stride,
	}
}

func TestSuite(t *testing.T) {
	for _, c := range []struct {
		name   string
		stride int
	}{{"scalar_f8.b2nd", 1}, {"empty_4x0x3.b2nd", 1}, {"make_zeros.b2nd", 3}, {"make_full_i2.b2nd", 3}, {"array_struct.b2nd", 7}, {"one_by_n.b2nd", 97}, {"pipe_delta.b2nd", 397}, {"nd8.b2nd", 197}} {
		t.Run(c.name, func(t *testing.T) {
			name := c.name
			if name == "array_struct.b2nd" {
				name = "old_2.2.9_" + name
			}
			formattest.Run(t, suite(name, load(t, name), c.stride))
		})
	}
}

// TestTraces pins what slices cost: which ranges are read, in which phases.
func TestTraces(t *testing.T) {
	var tr formattest.Trace
	for _, x := range []struct {
		name   string
		slices []string
	}{
		{"nd2.b2nd", []string{"0,0", "50,50", "40:80,33:66", "::40,0", "::-1,5", ":,:"}},
		{"nd5.b2nd", []string{"0,0,0,0,0", "...,0", "1"}},
		{"scalar_f8.b2nd", []string{""}},
		{"make_zeros.b2nd", []string{"10:20,10:20"}},
		{"block1d_in2d.b2nd", []string{"17", ":,3"}},
	} {
		data := load(t, x.name)
		a, err := b2nd.Open(t.Context(), tr.Wrap("r", reader(data)), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("open %s, %d bytes", x.name, len(data)))
		for _, text := range x.slices {
			s, err := b2nd.ParseSlice(text)
			if err != nil {
				t.Fatal(err)
			}
			box, err := s.Resolve(a.Shape())
			if err != nil {
				t.Fatal(err)
			}
			p := slice(t, a, box)
			plan, err := a.ExplainSlice(t.Context(), box)
			if err != nil {
				t.Fatal(err)
			}
			notes := []string{fmt.Sprintf("%d bytes, sha256 %.16s", len(p), digest(p))}
			for _, q := range plan {
				notes = append(notes, fmt.Sprintf("explained: phase %d %d+%d %s", q.Phase, q.Off, q.Len, q.Why))
			}
			tr.Step(fmt.Sprintf("%s [%s]", x.name, text), notes...)
		}
	}
	tr.Golden(t, filepath.Join("testdata", "slice.trace"))
}

func FuzzOpen(f *testing.F) {
	for _, x := range fixtures(f) {
		if filepath.Ext(x.File) == ".b2nd" {
			f.Add(load(f, x.File))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := b2nd.Open(t.Context(), reader(data), b2nd.Options{})
		if err == nil {
			_, err = everything(t.Context(), a)
		}
		if err != nil && !formattest.Allowed(err) {
			t.Errorf("error of no known class: %v", err)
		}
	})
}

// FuzzSlice compares any selection with the cut of the whole.
func FuzzSlice(f *testing.F) {
	for _, text := range []string{"", "0", "-1", "::-1", "...,3", "5:2", "1:100:7,::-2", "[:, 0]", "9999999999999999999", "::-9223372036854775808", "None"} {
		f.Add(text)
	}
	a := open(f, load(f, "nd3.b2nd"))
	shape := a.Shape()
	whole := slice(f, a, b2nd.Whole(shape))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := b2nd.ParseSlice(text)
		if err != nil {
			return
		}
		box, err := s.Resolve(shape)
		if err != nil {
			return
		}
		got := slice(t, a, box)
		want := make([]byte, len(got))
		cutInto(want, whole, shape, a.ItemSize(), box)
		if string(got) != string(want) {
			t.Errorf("%q: other items", text)
		}
		var w writer
		if n, err := a.CopyTo(t.Context(), &w, box, 4096); err != nil || n != int64(len(want)) || string(w) != string(want) {
			t.Errorf("%q copied: %d bytes, %v", text, n, err)
		}
	})
}

type writer []byte

func (w *writer) Write(p []byte) (int, error) { *w = append(*w, p...); return len(p), nil }

var _ io.Writer = (*writer)(nil)
