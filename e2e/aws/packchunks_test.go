//go:build e2e

package aws_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/e2e/scenario"
)

// TestPackChunksOn: the state machine of the module makes the chunks of a gulp dataset that
// the command makes here, to the byte; again, it does nothing. An image that is none fails
// the run, and nothing of it shows.
func TestPackChunksOn(t *testing.T) {
	t.Parallel()
	images, frames, work := cloud.Bucket(t, false), cloud.Bucket(t, false), cloud.Bucket(t, false)
	a := &analysed{cli: scenario.BuildCLI(t), work: work, machine: cloud.Packs(t, cloud.Config.Archive(t, "fn-packs"))}
	var size int
	for i := range 48 {
		p := dot(t, i)
		size += len(p)
		put(t, images, fmt.Sprintf("in/class %d/%c %d+ü.jpg", i%6, 'a'+i/6, i), p)
	}
	put(t, images, "in/labels.csv", []byte("file,made\na 3+ü.jpg,1999\nh 47+ü.jpg,2001\n"))
	args := func(to string, more ...string) []string {
		return append([]string{"pack", "s3://" + images + "/in/", "s3://" + frames + "/" + to + "/", "--format", "gulp", "--chunk", fmt.Sprint(size/4 + 1), "--layout", "imagefolder"}, more...)
	}
	on := []string{"--on", a.machine, "--work", "s3://" + work + "/jobs", "--batch-size", "1"}
	want := a.run(t, 0, args("here")...)
	for range 2 {
		if got := strings.ReplaceAll(a.run(t, 0, args("there", on...)...), "/there/", "/here/"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	here, there := held(t, frames, "here/"), held(t, frames, "there/")
	if len(here) != 8 || len(there) != 8 {
		t.Errorf("%d and %d objects, want 4 chunks", len(here), len(there))
	}
	for key, p := range here {
		if !bytes.Equal(p, there[key]) {
			t.Errorf("%s differs: %d and %d bytes", key, len(p), len(there[key]))
		}
	}
	put(t, images, "in/class 3/none.jpg", []byte("none"))
	a.run(t, 7, args("bad", on...)...)
	if says := `"class 3/none.jpg": not a JPEG`; !strings.Contains(a.stderr, says) {
		t.Errorf("%q does not say %q", a.stderr, says)
	}
	for key := range held(t, frames, "bad/") {
		if strings.HasSuffix(key, ".gmeta") {
			t.Errorf("%s shows", key)
		}
	}
}

// dot is a small JPEG.
func dot(t *testing.T, seed int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 16, 16))
	for i := range 16 {
		m.Set(i, seed%16, color.RGBA{uint8(seed * 5), uint8(i * 16), 90, 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// held are the objects below a prefix, of a thousand at most.
func held(t *testing.T, bucket, prefix string) map[string][]byte {
	t.Helper()
	list, err := cloud.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, o := range list.Contents {
		r, err := cloud.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: o.Key})
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(*o.Key, prefix)] = p
	}
	return out
}
