package farread

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
)

// written opens an array of six items of a type at s3://b.
func written(t *testing.T, c *Client, dtype string, p []byte) *Array {
	t.Helper()
	_, err := c.Write(t.Context(), "s3://b/x.b2nd", objstore.PutOptions{}, func(w objstore.Writer) error {
		a, err := b2nd.NewWriter(w, b2nd.Meta{Shape: []int64{2, 3}, DType: dtype}, b2nd.WriteOptions{})
		if err != nil {
			return err
		}
		_, err = a.Write(p)
		return errors.Join(err, a.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.OpenArray(t.Context(), "s3://b/x.b2nd", FrameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// sliced holds a slice against what it should be.
func sliced[T b2nd.Number](t *testing.T, a ArrayReader, text string, want []T, shape ...int64) {
	t.Helper()
	got, s, err := Slice[T](t.Context(), a, text)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(s, shape) {
		t.Errorf("%s of %s: %v of %v, %v, want %v of %v", text, a.DType(), got, s, err, want, shape)
	}
}

// TestSlice: items become what they can become, and nothing else.
func TestSlice(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true})
	big, err := binary.Append(nil, binary.BigEndian, []int16{0, -1, 2, 300, -4, 5})
	if err != nil {
		t.Fatal(err)
	}
	a := written(t, c, ">i2", big)
	sliced(t, a, "", []int16{0, -1, 2, 300, -4, 5}, 2, 3)
	sliced(t, a, "1, ::-1", []int64{5, -4, 300}, 3)
	sliced(t, a, ":, 1", []float32{-1, -4}, 2)
	sliced(t, a, "1:, :1", []complex128{300}, 1, 1)
	sliced(t, a, "0, 0", []uint8{0})
	sliced(t, a, "2:", []float64{}, 0, 3)
	for name, read := range map[string]func() error{
		"a sign":   func() error { _, _, err := Slice[uint16](t.Context(), a, ""); return err },
		"too long": func() error { _, _, err := Slice[int8](t.Context(), a, ""); return err },
		"a bool":   func() error { _, _, err := Slice[bool](t.Context(), a, ""); return err },
		"no array": func() error {
			_, _, err := OpenSlice[int8](t.Context(), "formats/zoomcache/testdata/original/p-codec-f32-vbr.zoom", "")
			return err
		},
	} {
		if err := read(); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	sliced(t, written(t, c, "|b1", []byte{0, 1, 7, 0, 1, 0}), "", []bool{false, true, true, false, true, false}, 2, 3)
	days := written(t, c, ">M8[D]", binary.BigEndian.AppendUint64(make([]byte, 40), 20_000))
	sliced(t, days, "1, 1:", []int64{0, 20_000}, 2)
	if _, _, err := Slice[float64](t.Context(), days, ""); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	if _, _, err := Slice[int16](t.Context(), a, "3, 3, 3"); err == nil {
		t.Error("an axis too many")
	}
}

// TestSliceOfAny: what OpenAny and OpenNpy open is read alike, and a limit holds.
func TestSliceOfAny(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	for _, fortran := range []bool{false, true} {
		put(t, b, "x.npy", npyFileOf(t, fortran), nil)
		n, err := c.OpenNpy(t.Context(), "s3://b/x.npy")
		if err != nil {
			t.Fatal(err)
		}
		sliced(t, n, "1:3, ::3", []int32{4, 7, 8, 11}, 2, 2)
		d, err := c.OpenAny(t.Context(), "s3://b/x.npy", AnyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, _ := d.(Slicer)
		sliced(t, s, "-1, :2", []float64{16, 17}, 2)
	}
	written(t, c, "<f8", make([]byte, 48))
	d, err := c.OpenAny(t.Context(), "s3://b/x.b2nd", AnyOptions{Frame: cframe.Options{Limits: formats.Limits{MaxDecoded: 1 << 10}}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := d.(Slicer)
	sliced(t, s, "1", []complex128{0, 0, 0}, 3)
	small, err := c.OpenArray(t.Context(), "s3://b/x.b2nd", FrameOptions{Options: cframe.Options{Limits: formats.Limits{MaxDecoded: 48}}})
	if err != nil {
		t.Fatal(err)
	}
	sliced(t, small, "", make([]float64, 6), 2, 3)
	if _, _, err := Slice[complex128](t.Context(), small, ""); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
}

// TestWrite: nothing is there after an error, and IfAbsent holds.
func TestWrite(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	fault := errors.New("fault")
	fill := func(err error) func(w objstore.Writer) error {
		return func(w objstore.Writer) error {
			_, werr := w.Write([]byte("bytes"))
			return errors.Join(werr, err)
		}
	}
	if _, err := c.Write(t.Context(), "s3://b/x", objstore.PutOptions{}, fill(fault)); !errors.Is(err, fault) {
		t.Error(err)
	}
	if _, err := b.Head(t.Context(), "x"); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
	for _, want := range []error{nil, objstore.ErrExists} {
		in, err := c.Write(t.Context(), "s3://b/x", objstore.PutOptions{IfAbsent: true}, fill(nil))
		if !errors.Is(err, want) || err == nil && in.ETag == "" {
			t.Errorf("%+v, %v", in, err)
		}
	}
	if _, err := c.Write(t.Context(), "gopher://b/x", objstore.PutOptions{}, fill(nil)); !errors.Is(err, objstore.ErrInvalid) {
		t.Error(err)
	}
}
