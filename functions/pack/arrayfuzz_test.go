package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// FuzzArrays feeds .npy and .npz files, and raw data with a note. Whatever they
// hold, each array ends with one of the sentinels, or is written as an array of
// the same shape whose items can all be read.
func FuzzArrays(f *testing.F) {
	x := newCube(f, 3, 4, 5)
	for _, p := range [][]byte{x.npyC, x.npyF, npz(f, zip.Store, map[string][]byte{"a.npy": x.npyC, "b.npy": x.npyF}), npz(f, zip.Deflate, map[string][]byte{"a.npy": x.npyF})} {
		f.Add(p, []byte(nil))
	}
	f.Add(x.c, []byte(`{"dtype":"<i4","shape":[3,4,5]}`))
	f.Add(x.f, []byte(`{"dtype":"[('a', '<i2'), ('b', '>u2')]","shape":[60],"order":"F","offset":0}`))
	f.Fuzz(func(t *testing.T, p, text []byte) {
		ctx := context.Background()
		o := pack.ArrayOptions{Limits: pack.Limits{Bytes: 1 << 20, Entries: 10}}
		if len(text) > 0 {
			note, err := npy.ParseNote(text)
			if err != nil {
				known(t, err)
				return
			}
			o.Note = &note
		}
		b := memstore.New(memstore.Config{})
		if _, err := objstore.Put(ctx, b, "x", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		obj, err := objstore.Open(ctx, b, "x", objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := pack.Arrays(ctx, obj, o)
		if err != nil {
			known(t, err)
			return
		}
		for _, a := range list {
			w, err := b.Create(ctx, "out", objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Write(ctx, w, pack.ArrayWrite{Write: b2nd.WriteOptions{Encode: pack.DefaultEncode(), MaxMemory: 64 << 20}}); err != nil {
				w.Abort()
				known(t, err)
				continue
			}
			if _, err := w.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			readAll(ctx, t, b, a)
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrTooLarge) {
		t.Fatalf("no sentinel: %v", err)
	}
}

func readAll(ctx context.Context, t *testing.T, b objstore.Bucket, a pack.Array) {
	t.Helper()
	obj, err := objstore.Open(ctx, b, "out", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arr, err := b2nd.Open(ctx, obj, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	n, err := arr.CopyTo(ctx, &got, b2nd.Whole(arr.Shape()), 0)
	if err != nil || n != a.NBytes || arr.DType().String() != a.DType.String() {
		t.Fatalf("%d bytes of %s, %v, want %d of %s", n, arr.DType(), err, a.NBytes, a.DType)
	}
}
