package npy_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

func TestHeaderBytes(t *testing.T) {
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	got, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{3, 4}})
	if err != nil {
		t.Fatal(err)
	}
	want := append([]byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"), bytes.Repeat([]byte(" "), 58)...)
	want = append(want, '\n')
	if !bytes.Equal(got, want) {
		t.Fatalf("got %q\nwant %q", got, want)
	}
	h, n, err := npy.ReadHeader(bytes.NewReader(append(got, "rest"...)))
	if err != nil || n != int64(len(got)) || !h.DType.Equal(d) {
		t.Fatal(h, n, err)
	}
}
