package rangeio_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/farread/farread/rangeio"
)

// TestRun: a run goes on where its body broke, and where it had no memory.
func TestRun(t *testing.T) {
	data := []byte("abcdefghij")
	var got []string
	asked, later, bad := 0, false, errors.New("bad")
	var memory []byte
	r := &rangeio.Run{Off: 2, Lens: []int64{3, 0, 5}, Memory: func(i int, patience time.Duration) ([]byte, error) {
		asked++
		switch {
		case i == 2 && patience > 0 && !later:
			later = true
			return nil, rangeio.ErrLater
		case i == 2 && patience == 0 && asked == 4:
			return nil, bad
		}
		memory = make([]byte, 8) // more than is asked for
		return memory, nil
	}, Done: func(i int) { got = append(got, string(memory[:[]int{3, 0, 5}[i]])) }}
	q := r.Request()
	if q.Off != 2 || q.Len != 8 {
		t.Fatalf("request of [%d, +%d)", q.Off, q.Len)
	}
	var done int64
	scatter := func(n int64, want error) {
		t.Helper()
		if err := q.Scatter(bytes.NewReader(data[2+done:2+done+n]), &done); !errors.Is(err, want) {
			t.Errorf("%v, not %v", err, want)
		}
	}
	scatter(2, io.ErrUnexpectedEOF)
	scatter(6, rangeio.ErrLater)
	if done != 3 {
		t.Errorf("%d bytes are there before there is memory for the others", done)
	}
	if err := q.WaitMemory(); !errors.Is(err, bad) {
		t.Errorf("%v, not %v", err, bad)
	}
	if err := q.WaitMemory(); err != nil {
		t.Error(err)
	}
	scatter(0, io.ErrUnexpectedEOF)
	scatter(4, io.ErrUnexpectedEOF)
	scatter(1, nil)
	if want := []string{"cde", "", "fghij"}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("%q, not %q", got, want)
	}
	if asked != 5 {
		t.Errorf("asked %d times for memory", asked)
	}
}
