package bloscpack_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// Items of various lengths go to an object store in one pass, and one of them
// comes back.
func ExampleNewWriter() {
	ctx := context.Background()
	bucket := memstore.New(memstore.Config{Name: "mem://notes"})
	object, err := bucket.Create(ctx, "words.blp", objstore.PutOptions{})
	if err != nil {
		panic(err)
	}
	defer object.Abort() // harmless after Commit
	w, err := bloscpack.NewWriter(object, bloscpack.WriteOptions{
		Variable: true,
		Encode:   blosc.EncodeOptions{Codec: blosc.LZ4},
		Metadata: map[string]string{"dtype": "varchar"},
	})
	if err != nil {
		panic(err)
	}
	for _, word := range []string{"one", "", "three"} {
		if err := w.WriteItem([]byte(word)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if _, err := object.Commit(ctx); err != nil {
		panic(err)
	}

	r, err := objstore.Open(ctx, bucket, "words.blp", objstore.OpenOptions{})
	if err != nil {
		panic(err)
	}
	f, err := bloscpack.Open(ctx, r, bloscpack.Options{})
	if err != nil {
		panic(err)
	}
	item, err := f.AppendItem(ctx, nil, 2)
	fmt.Printf("%d items, %s, the last is %q, %v\n", f.Len(), f.Metadata(), item, err)
	// Output: 3 items, {"dtype":"varchar"}, the last is "three", <nil>
}

// A file of chunks of one size takes more bytes where it lies.
func ExampleEdit() {
	ctx := context.Background()
	var file output // a real one is an *os.File
	w, err := bloscpack.NewWriter(&file, bloscpack.WriteOptions{ChunkSize: 8})
	if err != nil {
		panic(err)
	}
	if _, err := w.Write([]byte("first things ")); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	disk := &memFile{file.b}
	e, err := bloscpack.Edit(ctx, disk, int64(len(disk.b)), bloscpack.EditOptions{})
	if err != nil {
		panic(err)
	}
	if err := e.Extend([]byte("first")); err != nil {
		panic(err)
	}
	if err := e.Close(); err != nil {
		panic(err)
	}

	f, err := bloscpack.Open(ctx, reader(disk.b), bloscpack.Options{})
	if err != nil {
		panic(err)
	}
	items, err := collect(ctx, f)
	fmt.Printf("%d chunks, room for %d more: %s, %v\n", f.Len(), f.Header().MaxAppend, bytes.Join(items, nil), err)
	// Output: 3 chunks, room for 19 more: first things first, <nil>
}
