package b2nd_test

import (
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
)

// TestLimitsOfFrame: an array that is made of a frame keeps to the limits that
// the frame was opened with.
func TestLimitsOfFrame(t *testing.T) {
	m := b2nd.Meta{Shape: []int64{4000}, ChunkShape: []int{100}, BlockShape: []int{100}, DType: "<u4"}
	b := build(t, m, numbers(4000, 4), b2nd.WriteOptions{})
	frame := func(most int64) *cframe.Frame {
		f, err := cframe.Open(t.Context(), reader(b), cframe.Options{Limits: formats.Limits{MaxDecoded: most}})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if _, err := b2nd.Open(t.Context(), reader(b), b2nd.Options{Limits: formats.Limits{MaxDecoded: 399}}); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("opened with chunks above the limit: %v", err)
	}
	if a, err := b2nd.FromFrame(frame(399)); err != nil {
		t.Errorf("the shape of an array with chunks above the limit: %v", err)
	} else if err := a.ReadSlice(t.Context(), make([]byte, 4), b2nd.Sub([]int64{5}, []int64{6})); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("a chunk above the limit: %v", err)
	}
	a, err := b2nd.FromFrame(frame(1000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b2nd.Values[uint32](t.Context(), a, b2nd.Sub([]int64{0}, []int64{250})); err != nil {
		t.Error(err)
	}
	if _, err := b2nd.Values[uint32](t.Context(), a, b2nd.Sub([]int64{0}, []int64{251})); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("a slice above the limit: %v", err)
	}
}

// What an array cannot be is no fault of the store: trying again does not help.
func TestUnsupportedArrays(t *testing.T) {
	for name, m := range map[string]b2nd.Meta{
		"17 axes":       {Shape: make([]int64, 17), DType: "|u1"},
		"empty strings": {Shape: []int64{3}, DType: "|S0"},
		"no type":       {Shape: []int64{3}},
		"objects":       {Shape: []int64{3}, DType: "|O"},
	} {
		var out memory
		if _, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{}); !errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b2nd.WriteFrom(t.Context(), &out, m, source(nil, nil, 0), b2nd.WriteOptions{}); !errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s, from a source: %v", name, err)
		}
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes written", name, out.Len())
		}
	}
}
