package farread_test

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
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
