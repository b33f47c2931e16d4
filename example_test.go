package farread_test

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

// A zip file's directory and one member are read, wherever the file lies: the
// URI could as well be s3://bucket/photos.zip.
func ExampleOpen() {
	ctx := context.Background()
	uri := sampleZip()
	defer os.Remove(uri)

	obj, err := farread.Open(ctx, uri)
	if err != nil {
		panic(err)
	}
	z, err := zip.NewReader(obj, obj.Size())
	if err != nil {
		panic(err)
	}
	f, err := z.Open("hello.txt")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	fmt.Printf("%s %v\n", text, err)
	// Output: hello from afar <nil>
}

// What a URI names is found out, and then asked for what it is able to: the URI could as
// well be that of an array, a series or a Blosc2 frame.
func ExampleOpenAny() {
	ctx := context.Background()
	dir := sampleGulp()
	defer os.RemoveAll(dir)

	d, err := farread.OpenAny(ctx, filepath.Join(dir, "clips.gulp"))
	if err != nil {
		panic(err)
	}
	in, err := d.Describe(ctx, farread.DescribeOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(in.Format, in.Entries, in.Can)
	images, ok := d.(farread.Imager)
	if !ok {
		panic("no images")
	}
	for e, err := range d.Entries(ctx, farread.EntriesOptions{}) {
		if err != nil {
			panic(err)
		}
		plan, err := images.ExplainImages(ctx, e.Name, 0, e.Images, 1)
		fmt.Println(e.Name, e.Images, plan.Size, plan.Cost().Requests, err)
	}
	p, media, err := images.AppendImage(ctx, nil, "sunrise", 2)
	fmt.Printf("%s %s %v\n", p, media, err)
	// Output:
	// gulp 2 [images]
	// sunrise 3 48 0 <nil>
	// aurora 3 45 0 <nil>
	// sunrise, frame 2 application/octet-stream <nil>
}

// One frame by id: two requests side by side, then one.
func ExampleClient_OpenGulp() {
	ctx := context.Background()
	dir := sampleGulp()
	defer os.RemoveAll(dir)

	client := farread.New(farread.Config{MaxMemory: 256 << 20})
	defer client.CloseIdleConnections()
	clips, err := client.OpenGulp(ctx, filepath.Join(dir, "clips.gulp"), farread.GulpOptions{})
	if err != nil {
		panic(err)
	}
	for id := range clips.IDs() {
		n, _ := clips.Frames(id)
		fmt.Println(id, n)
	}
	frame, err := clips.AppendFrame(ctx, nil, "sunrise", 2)
	fmt.Printf("%s %v\n", frame, err)
	// Output:
	// sunrise 3
	// aurora 3
	// sunrise, frame 2 <nil>
}

// Every frame of every id in file order, with bounded memory.
func ExampleOpenGulp() {
	dir := sampleGulp()
	defer os.RemoveAll(dir)

	clips, err := farread.OpenGulp(context.Background(), filepath.Join(dir, "clips.gmeta"))
	if err != nil {
		panic(err)
	}
	err = clips.Each(context.Background(), func(id string, i int, frame []byte) error {
		fmt.Println(id, i, len(frame))
		return nil
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// sunrise 0 16
	// sunrise 1 16
	// sunrise 2 16
	// aurora 0 15
	// aurora 1 15
	// aurora 2 15
}

// An array goes to S3, and a slice of it comes back. Nothing is visible before all of it
// is written, and the write fails if the key is taken.
func ExampleClient_Write() {
	ctx := context.Background()
	store, config := sampleStore()
	defer store.Stop()
	client := farread.New(config) // farread.Config{} for AWS
	defer client.CloseIdleConnections()

	values := make([]float32, 100*1000)
	for i := range values {
		values[i] = float32(i)
	}
	_, err := client.Write(ctx, "s3://datasets/ramp.b2nd", objstore.PutOptions{IfAbsent: true}, func(w objstore.Writer) error {
		return b2nd.WriteValues(w, []int64{100, 1000}, values, b2nd.WriteOptions{})
	})
	if err != nil {
		panic(err)
	}

	ramp, err := client.OpenArray(ctx, "s3://datasets/ramp.b2nd", farread.FrameOptions{})
	if err != nil {
		panic(err)
	}
	some, shape, err := farread.Slice[float32](ctx, ramp, "30:32, -2:")
	fmt.Println(some, shape, err)
	// Output: [30998 30999 31998 31999] [2 2] <nil>
}

// An array that memory does not hold is streamed row by row: memory holds a few chunks,
// whatever the array's size.
func ExampleClient_Write_stream() {
	ctx := context.Background()
	store, config := sampleStore()
	defer store.Stop()
	client := farread.New(config) // farread.Config{} for AWS
	defer client.CloseIdleConnections()

	_, err := client.Write(ctx, "s3://datasets/ramp.b2nd", objstore.PutOptions{IfAbsent: true}, func(w objstore.Writer) error {
		array, err := b2nd.NewWriter(w, b2nd.Meta{Shape: []int64{100, 1000}, DType: "<f4"}, b2nd.WriteOptions{})
		if err != nil {
			return err
		}
		defer array.Abort() // does nothing after Close
		row := make([]float32, 1000)
		for i := range 100 {
			for j := range row {
				row[j] = float32(i*1000 + j)
			}
			if err := binary.Write(array, binary.LittleEndian, row); err != nil {
				return err
			}
		}
		return array.Close()
	})
	if err != nil {
		panic(err)
	}

	ramp, err := client.OpenArray(ctx, "s3://datasets/ramp.b2nd", farread.FrameOptions{})
	if err != nil {
		panic(err)
	}
	values, err := b2nd.Values[float32](ctx, ramp.Array, b2nd.Sub([]int64{30, 996}, []int64{31, 1000}))
	fmt.Println(ramp.Shape(), values, err)
	// Output: [100 1000] [30996 30997 30998 30999] <nil>
}

// A slice in one call: the array could as well be s3://bucket/grid.b2nd. Its items are
// integers, which become floats.
func ExampleOpenSlice() {
	values, shape, err := farread.OpenSlice[float64](context.Background(), "formats/b2nd/testdata/nd3.b2nd", "0, 1:3, :4")
	fmt.Println(values, shape, err)
	// Output: [217 224 231 238 434 441 448 455] [2 4] <nil>
}

// A gulp chunk is two objects: the frames, and an index, which is written after them.
// The index names the frames' ETag in its metadata, so that readers never use it with
// the frames of another upload.
func ExampleClient_Bucket_gulp() {
	ctx := context.Background()
	store, config := sampleStore()
	defer store.Stop()
	client := farread.New(config) // farread.Config{} for AWS
	defer client.CloseIdleConnections()

	bucket, key, err := client.Bucket(ctx, "s3://datasets/clips.gulp")
	if err != nil {
		panic(err)
	}
	pair, _ := gulp.PairOf(key) // clips.gulp and clips.gmeta
	data, err := bucket.Create(ctx, pair.Data, objstore.PutOptions{IfAbsent: true})
	if err != nil {
		panic(err)
	}
	defer data.Abort() // does nothing after Commit
	w := gulp.NewWriter(data, gulp.WriteOptions{})
	for i := range 3 {
		if err := w.WriteFrame("sunrise", fmt.Appendf(nil, "a JPEG, frame %d", i)); err != nil {
			panic(err)
		}
	}
	frames, err := data.Commit(ctx)
	if err != nil {
		panic(err)
	}
	meta, err := bucket.Create(ctx, pair.Meta, objstore.PutOptions{Meta: map[string]string{functions.MetaDataETag: frames.ETag}})
	if err != nil {
		panic(err)
	}
	defer meta.Abort()
	if err := w.WriteMeta(meta); err != nil {
		panic(err)
	}
	if _, err := meta.Commit(ctx); err != nil {
		panic(err)
	}

	clips, err := client.OpenGulp(ctx, "s3://datasets/clips.gulp", farread.GulpOptions{})
	if err != nil {
		panic(err)
	}
	frame, err := clips.AppendFrame(ctx, nil, "sunrise", 2)
	fmt.Printf("%s %v\n", frame, err)
	// Output: a JPEG, frame 2 <nil>
}

// A gulp dataset is a folder of chunks, which a DatasetWriter fills one after the other.
// Every full chunk is there at once, and a later run goes on behind it.
func ExampleClient_Output() {
	ctx := context.Background()
	store, config := sampleStore()
	defer store.Stop()
	client := farread.New(config) // farread.Config{} for AWS
	defer client.CloseIdleConnections()

	out, err := client.Output(ctx, "s3://datasets/clips/")
	if err != nil {
		panic(err)
	}
	w := gulp.NewDatasetWriter(ctx, out, gulp.DatasetOptions{MaxIDs: 2})
	for _, id := range []string{"dawn", "noon", "dusk"} {
		if err := w.Begin(id); err != nil {
			panic(err)
		}
		if err := w.WriteFrame([]byte("a JPEG of " + id)); err != nil {
			panic(err)
		}
	}
	if _, err := w.Close(); err != nil {
		panic(err)
	}

	clips, err := client.OpenGulpDataset(ctx, "s3://datasets/clips/", farread.GulpOptions{})
	if err != nil {
		panic(err)
	}
	err = clips.Each(ctx, func(id string, i int, frame []byte) error {
		fmt.Printf("%s %d: %s\n", id, i, frame)
		return nil
	})
	fmt.Println(clips.Len(), "chunks", err)
	// Output:
	// dawn 0: a JPEG of dawn
	// noon 0: a JPEG of noon
	// dusk 0: a JPEG of dusk
	// 2 chunks <nil>
}

// Training reads frames in an order of their own each epoch, across clips and chunks. The
// cursor is kept as JSON, to go on there.
func ExampleClient_OpenGulpDataset() {
	ctx := context.Background()
	dir := sampleGulp()
	defer os.RemoveAll(dir)
	for old, name := range map[string]string{"clips.gulp": "data_0.gulp", "clips.gmeta": "meta_0.gmeta"} {
		if err := os.Rename(filepath.Join(dir, old), filepath.Join(dir, name)); err != nil {
			panic(err)
		}
	}

	client := farread.New(farread.Config{})
	clips, err := client.OpenGulpDataset(ctx, dir, farread.GulpOptions{})
	if err != nil {
		panic(err)
	}
	order, err := clips.Order(ctx, gulp.OrderOptions{Seed: 42, Epoch: 1, Frames: true})
	if err != nil {
		panic(err)
	}
	for s := range order.All() {
		frame, err := s.Chunk.AppendFrame(ctx, nil, s.ID, s.Frame)
		fmt.Printf("%s %v\n", frame, err)
		if order.Cursor().Next == 3 {
			break
		}
	}
	// Output:
	// sunrise, frame 1 <nil>
	// aurora, frame 1 <nil>
	// sunrise, frame 2 <nil>
}

// An epoch in batches, as a trainer takes it: runs of neighbours are read by one request
// each and shuffled, and mix within a window. The next batches are read meanwhile. The
// cursor is kept with the model's checkpoint.
func ExampleGulpDataset_batches() {
	ctx := context.Background()
	dir := sampleGulp()
	defer os.RemoveAll(dir)
	for old, name := range map[string]string{"clips.gulp": "data_0.gulp", "clips.gmeta": "meta_0.gmeta"} {
		if err := os.Rename(filepath.Join(dir, old), filepath.Join(dir, name)); err != nil {
			panic(err)
		}
	}

	client := farread.New(farread.Config{})
	clips, err := client.OpenGulpDataset(ctx, dir, farread.GulpOptions{}) // or s3://bucket/train/
	if err != nil {
		panic(err)
	}
	order, err := clips.Order(ctx, gulp.OrderOptions{
		Seed: 42, Epoch: 1, Frames: true,
		Rank: 0, World: 1, // this process of all
		Block: 2, Window: 4, // for frames of 12 KB about 85, and 16 times as many
	})
	if err != nil {
		panic(err)
	}
	for batch, err := range clips.Batches(ctx, order, 4) {
		if err != nil {
			panic(err)
		}
		for _, s := range batch.Samples {
			fmt.Printf("%s %d: %s\n", s.ID, s.Frame, s.Frames[0])
		}
		fmt.Println("done:", order.Cursor().Next, "of", order.Len())
	}
	// Output:
	// sunrise 2: sunrise, frame 2
	// aurora 1: aurora, frame 1
	// aurora 0: aurora, frame 0
	// sunrise 1: sunrise, frame 1
	// done: 4 of 6
	// aurora 2: aurora, frame 2
	// sunrise 0: sunrise, frame 0
	// done: 6 of 6
}

// sampleStore starts an S3 server on this machine, with a bucket "datasets".
func sampleStore() (*teststack.Stack, farread.Config) {
	s, err := teststack.Start(context.Background(), teststack.Options{Buckets: []string{"datasets"}})
	if err != nil {
		panic(err)
	}
	return s, farread.Config{Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, PathStyle: true}
}

func sampleZip() string {
	f, err := os.CreateTemp("", "example-*.zip")
	if err != nil {
		panic(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("hello.txt")
	if err == nil {
		_, err = io.WriteString(w, "hello from afar")
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
	return f.Name()
}

func sampleGulp() string {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	data, err := os.Create(filepath.Join(dir, "clips.gulp"))
	if err != nil {
		panic(err)
	}
	meta, err := os.Create(filepath.Join(dir, "clips.gmeta"))
	if err != nil {
		panic(err)
	}
	w := gulp.NewWriter(data, gulp.WriteOptions{})
	for _, id := range []string{"sunrise", "aurora"} {
		for i := range 3 {
			if err := w.WriteFrame(id, fmt.Appendf(nil, "%s, frame %d", id, i)); err != nil {
				panic(err)
			}
		}
	}
	if err := w.WriteMeta(meta); err != nil {
		panic(err)
	}
	if err := data.Close(); err != nil {
		panic(err)
	}
	if err := meta.Close(); err != nil {
		panic(err)
	}
	return dir
}
