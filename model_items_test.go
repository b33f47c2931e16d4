package farread

import (
	"errors"
	"testing"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
)

// TestRefusedFrames: of a frame whose data are not given, the bytes of a contiguous one
// can be read, and nothing of a sparse one, which is no object.
func TestRefusedFrames(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{})
	o := cframe.WriteOptions{Metalayers: []cframe.Metalayer{{Name: "proxy-source", Data: []byte{2}}}}
	frame(t, c, "one.b2frame", o, func(w chunkWriter) error { return w.WriteChunk(make([]byte, 100)) })
	out, err := c.Output(t.Context(), "s3://b/set/")
	if err != nil {
		t.Fatal(err)
	}
	w, err := cframe.NewSetWriter(t.Context(), out, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteChunk(make([]byte, 100)), w.Close()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"one.b2frame": true, "set/": false} {
		d := opened[Dataset](t, c, key, AnyOptions{})
		in, err := d.Describe(t.Context())
		if _, ok := d.(Ranger); ok != want || err != nil || in.Refused == "" {
			t.Errorf("%s: a Ranger: %t, refused: %q, %v", key, ok, in.Refused, err)
		}
	}
}

// A chunkWriter is a cframe.Writer, but for its end.
type chunkWriter interface {
	WriteChunk(p []byte) error
	WriteEncoded(chunk []byte) error
	WriteBlocks(blocks [][]byte) error
}

// frame writes a frame to s3://b.
func frame(t *testing.T, c *Client, key string, o cframe.WriteOptions, fill func(w chunkWriter) error) {
	t.Helper()
	b, _, err := c.Bucket(t.Context(), "s3://b/")
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	w, err := cframe.NewWriter(out, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fill(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}
