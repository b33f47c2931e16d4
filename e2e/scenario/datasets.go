package scenario

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
)

// datasets: each kind of upload becomes its dataset, which the library reads by
// ranges and the command line whole.
func datasets(t *testing.T, r *session) {
	t.Helper()
	for name, run := range map[string]func(*testing.T, *session){
		"npy to b2nd": array,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, r)
		})
	}
}

// volume is a .npy of float32 and its values' bytes.
func volume(t *testing.T, shape ...int64) (file, values []byte) {
	t.Helper()
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	head, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	for i := range n {
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(float32(i%977)/8))
	}
	return slices.Concat(head, values), values
}

func array(t *testing.T, r *session) {
	t.Helper()
	shape := []int64{40, 50, 60}
	file, values := volume(t, shape...)
	up := r.put(t, "pack/npy/storm.npy", file)
	r.made(t, r.datasets, up, pack.ArraySuffix)
	uri := "s3://" + r.Datasets + "/" + up.Key + pack.ArraySuffix
	a, err := r.client.OpenArray(t.Context(), uri, farread.FrameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := a.Meta(); !slices.Equal(m.Shape, shape) || m.DType != "<f4" {
		t.Errorf("%s of shape %v", m.DType, m.Shape)
	}
	cut, err := b2nd.ParseSlice("7, :, :")
	if err != nil {
		t.Fatal(err)
	}
	plane, err := cut.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 50*60*4)
	if err := a.ReadSlice(t.Context(), got, plane); err != nil || !bytes.Equal(got, values[7*len(got):8*len(got)]) {
		t.Errorf("a plane of it differs, %v", err)
	}
	if out := r.cli(t, "get", uri, "-o", "-"); !bytes.Equal(out, values) {
		t.Errorf("farread get: %d bytes that differ from the %d uploaded", len(out), len(values))
	}
	r.cli(t, "verify", uri)
}
