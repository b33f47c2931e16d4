package gulp

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

func TestReorder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 50 {
		var data, meta bytes.Buffer
		w := NewWriter(&data, WriteOptions{})
		want := map[string][]string{}
		write := func(n int) {
			for range n {
				id := []string{"a", "b", "c"}[r.IntN(3)]
				p := fmt.Sprintf("%s %d %s", id, len(want[id]), make([]byte, r.IntN(9)))
				if err := w.WriteFrame(id, []byte(p)); err != nil {
					t.Fatal(err)
				}
				want[id] = append(want[id], p)
			}
		}
		write(1 + r.IntN(30))
		for range 2 { // also twice, and with frames after it
			for id, frames := range want {
				order := r.Perm(len(frames))
				if err := w.Reorder(id, order); err != nil {
					t.Fatal(err)
				}
				moved := make([]string, len(frames))
				for k, from := range order {
					moved[k] = frames[from]
				}
				want[id] = moved
			}
			write(r.IntN(9))
		}
		if err := w.WriteMeta(&meta); err != nil {
			t.Fatal(err)
		}
		c, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(meta.Bytes()), int64(meta.Len())),
			rangeio.FromReaderAt(bytes.NewReader(data.Bytes()), int64(data.Len())), Options{})
		if err != nil {
			t.Fatal(round, err)
		}
		for id, frames := range want {
			got, err := c.AppendFrames(t.Context(), nil, id, 0, len(frames), 1)
			if err != nil || len(got) != len(frames) {
				t.Fatalf("round %d, id %s: %d of %d frames: %v", round, id, len(got), len(frames), err)
			}
			for i := range got {
				if string(got[i]) != frames[i] {
					t.Fatalf("round %d, id %s, frame %d: %q, want %q", round, id, i, got[i], frames[i])
				}
			}
		}
	}
}

func TestReorderRefuses(t *testing.T) {
	w := NewWriter(&bytes.Buffer{}, WriteOptions{})
	for range 3 {
		if err := w.WriteFrame("a", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, order := range [][]int{nil, {0, 1}, {0, 1, 1}, {0, 1, 3}, {-1, 0, 1}, {0, 1, 2, 3}} {
		if err := w.Reorder("a", order); !errors.Is(err, ErrIndex) {
			t.Errorf("%v: %v", order, err)
		}
	}
	if err := w.Reorder("b", nil); !errors.Is(err, formats.ErrNoEntry) {
		t.Errorf("unknown id: %v", err)
	}
}
