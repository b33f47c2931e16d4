package functions_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore/memstore"
)

// TestSequencers: the shorter sequencer is padded on the right with zeros, then the
// two compare as text, with digits in either case. The upload with the greater one
// replaces the other, in either order of events. If two versions have equal
// sequencers, the version that the key holds now is packed.
func TestSequencers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  string
		order int // of b to a
	}{
		{"0055AED6DCD90281E5", "0055AED6DCD90281E6", 1},
		{"0055AED6DCD90281E5", "0055aed6dcd90281e6", 1},
		{"0055AED6DCD90281E5", "0055aed6dcd90281e5", 0},
		{"0055", "00550000", 0},
		{"0055", "005500001", 1},
		{"0056", "0055FFFFFFFF", -1},
		{"9", "10", -1}, // no numbers: 90 and 10
		{"A", "9FFF", -1},
		{"617f08299329d189", "617F08299329D18A00", 1},
	} {
		for _, turned := range []bool{false, true} {
			first, second, order := c.a, c.b, c.order
			if turned {
				first, second, order = second, first, -order
			}
			in, out := memstore.New(memstore.Config{Versioned: true}), memstore.New(memstore.Config{})
			h := handler(in, out)
			event := func(seed int, sequencer string) []byte {
				e := s3Event(record(stormKey, put(t, in, stormKey, upload(t, seed), nil), 1))
				return bytes.Replace(e, []byte(`"000001"`), fmt.Appendf(nil, "%q", sequencer), 1)
			}
			one, two := event(1, first), event(2, second)
			if r, err := h.Handle(t.Context(), one); err != nil || r.Packed != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			r, err := h.Handle(t.Context(), two)
			if err != nil || r.Packed+r.Unchanged != 1 || (r.Packed == 1) != (order >= 0) {
				t.Errorf("%s after %s: %+v, %v", second, first, r, err)
			}
			info, err := out.Head(t.Context(), stormKey+".gmeta")
			if err != nil {
				t.Fatal(err)
			}
			want := first
			if order >= 0 { // it is the object's current version, too
				want = second
			}
			if of, _ := functions.SourceOf(info.Meta); of.Sequencer != want {
				t.Errorf("%s after %s: made of %s", second, first, of.Sequencer)
			}
		}
	}
}
