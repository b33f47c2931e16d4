package b2nd_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/nd"
)

// emptied are the arrays of python-blosc2 that hold no items, in chunks of none
// and of some.
func emptied(t tester) []string {
	var names []string
	for _, x := range fixtures(t) {
		if x.Kind == "b2nd" && slices.Contains(x.Expect.Shape, 0) {
			names = append(names, x.File)
		}
	}
	if len(names) < 10 {
		t.Fatalf("%d arrays without items", len(names))
	}
	return names
}

// TestEditEmpty grows every array without items along each axis and along all,
// by one call and axis by axis, cuts it to nothing and grows it again.
func TestEditEmpty(t *testing.T) {
	for _, name := range emptied(t) {
		was := open(t, load(t, name)).Shape()
		var targets [][]int64
		all := slices.Clone(was)
		for i := range was {
			all[i] += 3
			one := slices.Clone(was)
			one[i] += 4
			targets = append(targets, one)
		}
		for k, to := range append(targets, all) {
			t.Run(fmt.Sprintf("%s to %v", strings.TrimSuffix(name, ".b2nd"), to), func(t *testing.T) {
				f := &file{load(t, name)}
				size := open(t, f.b).ItemSize()
				e := edit(t, f)
				if k == len(targets) && len(to) > 1 { // axis by axis
					step := slices.Clone(was)
					for i := range to {
						step[i] = to[i]
						check(t, e.Resize(step), "resize")
					}
				} else {
					check(t, e.Resize(to), "resize")
				}
				whole := b2nd.Whole(to)
				n, err := nd.Prod(to)
				check(t, err, "shape")
				check(t, e.Close(), "close")
				if got := slice(t, open(t, f.b), whole); !bytes.Equal(got, make([]byte, n*int64(size))) {
					t.Error("what was added is not zeros")
				}
				items := numbers(n, size)
				e = edit(t, f)
				check(t, e.WriteSlice(whole, items), "write")
				check(t, e.Commit(), "commit")
				if got := slice(t, open(t, f.b), whole); !bytes.Equal(got, items) {
					t.Error("other items")
				}
				none := make([]int64, len(to))
				check(t, e.Resize(none), "cut to nothing")
				check(t, e.Commit(), "commit")
				if got := open(t, f.b); got.Items() != 0 || !slices.Equal(got.Shape(), none) {
					t.Errorf("shape %v", got.Shape())
				}
				check(t, e.Resize(to), "grow again")
				check(t, e.Close(), "close")
				if got := slice(t, open(t, f.b), whole); !bytes.Equal(got, make([]byte, n*int64(size))) {
					t.Error("items came back")
				}
			})
		}
	}
}

func edit(t tester, f *file) *b2nd.Editor {
	t.Helper()
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
	check(t, err, "edit")
	return e
}

func check(t tester, err error, what string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestAppendToEmpty appends along every axis to what has no items.
func TestAppendToEmpty(t *testing.T) {
	for _, name := range emptied(t) {
		f := &file{load(t, name)}
		a := open(t, f.b)
		shape, size := a.Shape(), a.ItemSize()
		for axis := range shape {
			layer := slices.Clone(shape)
			layer[axis] = 1
			n, err := nd.Prod(layer)
			check(t, err, "shape")
			g := &file{bytes.Clone(f.b)}
			e := edit(t, g)
			if n == 0 {
				if err := e.ExtendAxis(axis, make([]byte, size)); !errors.Is(err, cframe.ErrRefused) {
					t.Errorf("%s: items in layers of none along axis %d: %v", name, axis, err)
				}
				check(t, e.ExtendAxis(axis, nil), name)
				check(t, e.Close(), name)
				if !bytes.Equal(g.b, f.b) {
					t.Errorf("%s: changed by nothing", name)
				}
				continue
			}
			first, second := numbers(2*n, size), numbers(n, size)
			check(t, e.ExtendAxis(axis, first), name)
			check(t, e.Commit(), name)
			check(t, e.ExtendAxis(axis, second), name)
			check(t, e.Close(), name)
			to := slices.Clone(shape)
			to[axis] = 3
			want := make([]byte, 3*n*int64(size))
			from, zero := make([]int64, len(to)), make([]int64, len(to))
			layer[axis] = 2
			nd.CopyBox(want, to, from, first, layer, zero, layer, size)
			from[axis], layer[axis] = 2, 1
			nd.CopyBox(want, to, from, second, layer, zero, layer, size)
			if got := slice(t, open(t, g.b), b2nd.Whole(to)); !bytes.Equal(got, want) {
				t.Errorf("%s: other items along axis %d", name, axis)
			}
		}
	}
}

// TestEmptyCut: an array whose chunks hold no items gets the chunks that the
// writer would have given it, one that has some keeps them.
func TestEmptyCut(t *testing.T) {
	for name, to := range map[string][]int64{"empty_0x5.b2nd": {2, 5}, "empty_0x0.b2nd": {700, 900}, "empty_0x5_cut.b2nd": {2, 5}, "empty_partly_cut.b2nd": {1, 5}} {
		f := &file{load(t, name)}
		a := open(t, f.b)
		chunk, block := []int{4, 4}, []int{2, 2}
		if name != "empty_0x5_cut.b2nd" {
			chunk, block = b2nd.DefaultShapes([]int64{0, to[1]}, a.ItemSize())
		}
		e := edit(t, f)
		check(t, e.Resize(to), name)
		check(t, e.Close(), name)
		got := open(t, f.b)
		m, in := got.Meta(), got.Frame().Info()
		if !slices.Equal(m.ChunkShape, chunk) || !slices.Equal(m.BlockShape, block) {
			t.Errorf("%s: chunks %v, blocks %v, want %v and %v", name, m.ChunkShape, m.BlockShape, chunk, block)
		}
		if want := got.ItemSize() * block[0] * block[1]; in.BlockSize != want || in.ChunkSize%want != 0 || in.ChunkSize == 0 || in.VariableChunks || in.Version != 2 {
			t.Errorf("%s: the header says %+v", name, in)
		}
	}
}

// TestEmptyRefused: what does not fit leaves an array without items as it was.
func TestEmptyRefused(t *testing.T) {
	for _, name := range emptied(t) {
		f := &file{load(t, name)}
		before, d := bytes.Clone(f.b), len(open(t, f.b).Shape())
		o := b2nd.EditOptions{Limits: formats.Limits{MaxEntries: 1000, MaxDecoded: 5 << 20}}
		e, err := b2nd.Edit(t.Context(), f, o)
		check(t, err, name)
		huge := make([]int64, d)
		for i := range huge {
			huge[i] = math.MaxInt64
		}
		long := make([]int64, d)
		for i := range long {
			long[i] = 1
		}
		long[0] = 1 << 50
		for _, to := range [][]int64{huge, long, huge[1:], append(slices.Clone(long), 1)} {
			if err := e.Resize(to); !errors.Is(err, cframe.ErrRefused) {
				t.Errorf("%s to %v: %v", name, to, err)
			}
		}
		for _, axis := range []int{-1, d} {
			if err := e.ExtendAxis(axis, []byte{1}); !errors.Is(err, cframe.ErrRefused) {
				t.Errorf("%s: axis %d: %v", name, axis, err)
			}
		}
		check(t, e.Close(), name)
		if !bytes.Equal(f.b, before) {
			t.Errorf("%s: changed", name)
		}
	}
}

// TestScalarEdit: an array without axes can be overwritten, but not grown.
func TestScalarEdit(t *testing.T) {
	f := &file{load(t, "scalar_i4.b2nd")}
	e := edit(t, f)
	if err := e.Extend(make([]byte, 4)); !errors.Is(err, cframe.ErrRefused) {
		t.Error(err)
	}
	check(t, e.Resize([]int64{}), "resize")
	check(t, e.WriteSlice(b2nd.Whole(nil), []byte{1, 2, 3, 4}), "write")
	check(t, e.Close(), "close")
	if got := slice(t, open(t, f.b), b2nd.Whole(nil)); !bytes.Equal(got, []byte{1, 2, 3, 4}) {
		t.Errorf("%x", got)
	}
}

// FuzzEdit resizes, appends to and writes what any bytes say to be an array.
func FuzzEdit(f *testing.F) {
	for _, name := range []string{"empty_0.b2nd", "empty_0x5.b2nd", "empty_4x0x3.b2nd", "empty_partly_cut.b2nd", "shrunk_to_6x0.b2nd", "nd2.b2nd", "scalar_i4.b2nd"} {
		f.Add(load(f, name), uint8(0), uint8(3), uint8(1))
	}
	f.Fuzz(func(t *testing.T, data []byte, axis, n, cut uint8) {
		g := &file{bytes.Clone(data)}
		e, err := b2nd.Edit(t.Context(), g, b2nd.EditOptions{Limits: formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 12}})
		if err != nil {
			if !formattest.Allowed(err) {
				t.Errorf("error of no known class: %v", err)
			}
			return
		}
		allowed := func(err error) bool {
			if err != nil && !formattest.Allowed(err) && !errors.Is(err, cframe.ErrRefused) {
				t.Errorf("error of no known class: %v", err)
			}
			return err == nil
		}
		m := e.Meta()
		shape := m.Shape
		if len(shape) > 0 {
			i := int(axis) % len(shape)
			shape[i] = max(shape[i]-int64(cut), 0)
			grown := allowed(e.Resize(shape))
			shape[i] += int64(n)
			grown = grown && allowed(e.Resize(shape))
			if !grown {
				return
			}
			layer := slices.Clone(shape)
			layer[i] = 1
			if k, err := nd.Prod(layer); err == nil && k < 1<<12 && e.Frame().Info().TypeSize < 1<<8 {
				if !allowed(e.ExtendAxis(i, make([]byte, k*int64(e.Frame().Info().TypeSize)))) {
					return
				}
				shape = e.Meta().Shape
			}
		}
		if !allowed(e.Close()) {
			return
		}
		a, err := b2nd.Open(t.Context(), reader(g.b), b2nd.Options{})
		if err != nil || !slices.Equal(a.Shape(), shape) {
			t.Errorf("after Close: %v, want shape %v", err, shape)
		}
	})
}
