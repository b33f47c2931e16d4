package analyze_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
)

// TestStreamed: an answer that is passed on cell by cell has the bytes of one that is held,
// whichever windows and chunks share cells, from a run here and in pieces.
func TestStreamed(t *testing.T) {
	t.Parallel()
	values := noise(12 * 11 * 10)
	shape, chunk, block := []int64{12, 11, 10}, []int{5, 4, 3}, []int{4, 4, 3}
	with := opened(t, encoded(t, shape, chunk, block, values, b2nd.WriteOptions{Index: cframe.WithIndex}))
	without := opened(t, encoded(t, shape, chunk, block, values, b2nd.WriteOptions{NoStats: true}))
	stats := []string{"mean", "count", "max", "argmin", "std", "sum", "hist(7,-3:3)", "quantiles(0,0.1,0.5,1)", "min", "nan"}
	n := 0
	for _, slice := range []string{"", "1:11, ::2, ::-1", "::-1", "::-1, ::-3", "5", "4:4", "::7, 3, ::4"} {
		for _, every := range [][]int64{{}, {1}, {2}, {3, 4, 5}, {5, 4, 3}, {6, 1, 20}, {1, 7}} {
			for _, where := range []string{"", "v > 0.5 or v < -100", "v > 1e300"} {
				n++
				if racetest.On && n%7 != 0 {
					continue
				}
				stat := stats[n%len(stats)]
				q := question{slice, stat, where, []int{}, every}
				s, err := b2nd.ParseSlice(slice)
				if err != nil {
					t.Fatal(err)
				}
				box, err := s.Resolve(shape)
				if err != nil {
					t.Fatal(err)
				}
				for i := range min(len(every), len(box.OutShape)) {
					q.over = append(q.over, i)
				}
				q.every = every[:len(q.over)]
				want, err := held(t, without, options(t, without, q))
				if err != nil {
					t.Fatal(err)
				}
				a := []*b2nd.Array{with, without}[n%2]
				o := options(t, a, q)
				o.PartBytes, o.Streamed = []int64{1, 1500, 1 << 30}[n%3], true
				if got := streamed(t, a, o, 1+n%4); !bytes.Equal(got, want) {
					t.Fatalf("%+v, parts of %d: %x, want %x", q, o.PartBytes, got, want)
				}
				o.PartBytes = 1500
				if got, err := pieced(t, a, o); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%+v, in pieces: %v, %x, want %x", q, err, got, want)
				}
			}
		}
	}
}

// held returns the items of the answer to the only stat.
func held(t *testing.T, a *b2nd.Array, o analyze.ArrayOptions) ([]byte, error) {
	t.Helper()
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		return nil, err
	}
	list, err := j.Run(t.Context(), analyze.Options{})
	if err != nil {
		return nil, err
	}
	return list.Results[0].Items, nil
}

func streamed(t *testing.T, a *b2nd.Array, o analyze.ArrayOptions, jobs int) []byte {
	t.Helper()
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	j.Stream(func(p []byte) error {
		out = append(out, p...)
		return nil
	})
	list, err := j.Run(t.Context(), analyze.Options{Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	r, h := list.Results[0], j.Answer()
	n := r.Type.ItemSize()
	for _, k := range r.Shape {
		n *= int(k)
	}
	if len(r.Items) != 0 || !slices.Equal(r.Shape, h.Shape) || !r.Type.Equal(h.Type) || len(out) != n {
		t.Fatalf("%+v and %+v, %d bytes", r, h, len(out))
	}
	return out
}

// pieced answers out of lines of JSON that another plan made.
func pieced(t *testing.T, a *b2nd.Array, o analyze.ArrayOptions) ([]byte, error) {
	t.Helper()
	var works [2]*analyze.Array
	for i := range works {
		var err error
		if works[i], err = analyze.NewArray(t.Context(), a, o); err != nil {
			t.Fatal(err)
		}
	}
	for part := range works[0].Parts() {
		line, err := works[1].Part(t.Context(), part)
		if err == nil {
			err = works[0].Take(part, line)
		}
		if err != nil {
			return nil, err
		}
	}
	list, err := works[0].Finish(t.Context())
	if err != nil {
		return nil, err
	}
	return list.Results[0].Items, nil
}

// TestStreamedMemory: an answer whose states would take many times the memory is streamed,
// and what memory has no room for is refused before anything is read.
func TestStreamedMemory(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{600, 100}, []int{10, 50}, []int{5, 50}, make([]float64, 60_000), b2nd.WriteOptions{}))
	o := options(t, a, question{"", "mean", "", []int{0, 1}, []int64{2, 2}})
	o.Memory = 400_000 // the states of all cells are 2.9 MB
	if _, err := held(t, a, o); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("held: %v", err)
	}
	o.Streamed = true
	if got := streamed(t, a, o, 2); len(got) != 8*300*50 {
		t.Errorf("%d bytes", len(got))
	}
	for memory, want := range map[int64]string{20_000: "a chunk has", 140_000: ""} {
		o.Memory = memory
		if _, err := analyze.NewArray(t.Context(), a, o); (err != nil) != (want != "") || err != nil && !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%d: %v", memory, err)
		}
	}
	o = options(t, a, question{"", "mean", "", []int{0, 1}, []int64{600, 1}})
	o.Memory, o.Streamed = 50_000, true
	if _, err := analyze.NewArray(t.Context(), a, o); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("open cells: %v", err)
	}
	o.Stats = append(o.Stats, o.Stats[0])
	if _, err := analyze.NewArray(t.Context(), a, o); !errors.Is(err, analyze.ErrQuestion) {
		t.Errorf("two stats: %v", err)
	}
}

// TestStreamedFails: an error of whoever takes the answer ends the run at once, and behind a
// part that fails nothing is passed on.
func TestStreamedFails(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{40, 50}, []int{5, 50}, []int{5, 10}, noise(2000), b2nd.WriteOptions{}))
	o := options(t, a, question{"", "mean", "", []int{0}, []int64{5}})
	o.PartBytes, o.Streamed = 1, true
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space")
	j.Stream(func([]byte) error { return full })
	_, err = j.Run(t.Context(), analyze.Options{Checkpoint: checkpoint(t, t.TempDir()+"/x")})
	if _, listed := errors.AsType[*analyze.FailedError](err); !errors.Is(err, full) || listed {
		t.Errorf("%v", err)
	}
	if _, err := pieced(t, a, o); err != nil {
		t.Error(err)
	}
	j, err = analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	line, err := j.Part(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"{}x", `{"Own":[0]}`, `{"Own":[399,2],"Items":"AAAAAAAAAAAAAAAAAAAAAA=="}`, `{"Open":[-1]}`, `{"Open":[400],"Columns":[{"Count":[1]}]}`, string(line)} {
		if err := j.Take(0, []byte(bad)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
