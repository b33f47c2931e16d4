package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

// objects are the bytes of what lies below a prefix.
func objects(t *testing.T, uri string) map[string]string {
	t.Helper()
	b, prefix, err := farread.New(farread.Config{}).Bucket(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := b.Get(t.Context(), in.Key, objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(in.Key, prefix)] = string(p)
	}
	return out
}

// grayPNG is a PNG.
func grayPNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 9, 5))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// imageSets are folders of images, by layout.
func imageSets(t *testing.T) map[string]map[string][]byte {
	t.Helper()
	sets := map[string]map[string][]byte{"clips": {}, "imagefolder": {}, "webdataset": {}, "flat": {}}
	for i := range 8 {
		for k := range 3 {
			sets["clips"][fmt.Sprintf("day%d/c%d/f%d.jpg", i%2, i, k*7)] = photo(t, i*3+k)
		}
		dir := []string{"cats", "dogs"}[i%2]
		sets["imagefolder"][fmt.Sprintf("%s/name %c.jpg", dir, 'a'+i)] = photo(t, i)
		sets["webdataset"][fmt.Sprintf("shard/%03d.jpg", i)] = photo(t, i)
		sets["webdataset"][fmt.Sprintf("shard/%03d.cls", i)] = []byte(fmt.Sprint(i % 3))
		sets["webdataset"][fmt.Sprintf("shard/%03d.txt", i)] = []byte("it is no. " + fmt.Sprint(i))
	}
	sets["clips"]["labels.csv"] = []byte("id,weather\nc3,rain\nday1/c5,sun\nnone,fog\n")
	sets["clips"]["day0/c4/f3.png"] = grayPNG(t)
	sets["clips"]["Thumbs.db"] = []byte("left by a desktop")
	sets["imagefolder"]["cats/name c.png"] = grayPNG(t) // the same stem as a .jpg
	sets["imagefolder"]["labels.csv"] = []byte("id,file,breed\n1,name a.jpg,tabby\n2,dogs/name d.jpg,poodle\n")
	sets["webdataset"]["shard/999.txt"] = []byte("no image has it")
	sets["webdataset"]["shard/003.seg.png"] = grayPNG(t)
	for i := range 90 {
		sets["flat"][fmt.Sprintf("photograph of a thing that has a long name %d.jpg", i*i)] = photo(t, i%5)
	}
	return sets
}

const onMachine = "s3://work/packs"

// TestPackChunksOn runs what needs a store.
func TestPackChunksOn(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"images", "frames", "work"}})
	for layout, set := range imageSets(t) {
		for name, p := range set {
			upload(t, "s3://images/"+layout+"/"+name, p)
		}
	}
	t.Run("same bytes", packChunksSame)
	t.Run("failures", packChunksFails)
	t.Run("refused", packChunksRefused)
}

// packChunksSame: a state machine makes the objects that this machine makes, and reports the
// same.
func packChunksSame(t *testing.T) {
	s := packMachine(t, nil)
	for layout, sizes := range map[string]map[string]int{
		"clips":       {"1MiB": 1, "10kB": 2, "1936": 7},
		"imagefolder": {"1MiB": 1, "3500": 2, "645": 7},
		"webdataset":  {"1MiB": 1, "3500": 2, "645": 7},
		"flat":        {"1MiB": 1, "40kB": 2, "8500": 7},
	} {
		for size, chunks := range sizes {
			from, here, there := "s3://images/"+layout+"/", fmt.Sprintf("s3://frames/here/%s/%d/", layout, chunks), fmt.Sprintf("s3://frames/there/%s/%d/", layout, chunks)
			flags := []string{"--format", "gulp", "--chunk", size, "--layout", layout}
			want := run(t, append([]string{"pack", from, here}, flags...)...)
			on := append([]string{"pack", from, there, "--on", machineARN, "--work", onMachine}, flags...)
			for range 2 { // the second time all is there
				if d := cmp.Diff(want, strings.ReplaceAll(run(t, on...), there, here)); d != "" {
					t.Errorf("%s of %s: (-here +there):\n%s", layout, size, d)
				}
			}
			made := objects(t, there)
			if d := cmp.Diff(objects(t, here), made); d != "" {
				t.Errorf("%s of %s: (-here +there):\n%s", layout, size, d)
			}
			n := 0
			for name := range made {
				if strings.HasSuffix(name, gulp.MetaSuffix) {
					n++
				}
			}
			if n != chunks || chunks == 1 && layout == "flat" && made["data_0.gulp.fri"] == "" {
				t.Errorf("%s of %s: %d chunks, %v", layout, size, n, len(made))
			}
		}
	}
	if n := strings.Count(strings.Join(s.Calls(), " "), "StartExecution"); n != 12 {
		t.Errorf("%d runs", n)
	}
	run(t, "verify", "s3://frames/there/clips/7/")
	// By names alone, behind chunks that are there.
	for _, dst := range []string{"here", "there"} {
		args := []string{"pack", "s3://images/imagefolder/", "s3://frames/" + dst + "/clips/7", "--format", "gulp", "--chunk", "40kB"}
		if dst == "there" {
			args = append(args, "--on", machineARN, "--work", onMachine)
		}
		if out := run(t, args...); !strings.Contains(out, "layout imagefolder") || !strings.Contains(out, dst+"/clips/7/data_7.gulp") {
			t.Error(out)
		}
	}
	if d := cmp.Diff(objects(t, "s3://frames/here/clips/7/"), objects(t, "s3://frames/there/clips/7/")); d != "" {
		t.Errorf("behind others (-here +there):\n%s", d)
	}
}

// packChunksFails: nothing shows of a dataset whose images were not all read; the same command
// makes what is missing.
func packChunksFails(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	s := packMachine(t, func(e *parts.Event) error {
		if e.Make != nil && e.Make.From == 2 && broken.Load() {
			return errors.New("no luck")
		}
		return nil
	})
	on := func(from, to string, more ...string) []string {
		return append([]string{"pack", "s3://images/" + from, "s3://frames/" + to, "--format", "gulp", "--chunk", "1936", "--on", machineARN, "--work", onMachine, "--batch-size", "1"}, more...)
	}
	r := runner{}.run(t, on("clips/", "late/")...)
	if want := "1 of 7 parts failed: part 2: no luck\n"; r.code != exitUnavailable || !strings.HasSuffix(r.stderr, want) || r.stdout != "" {
		t.Errorf("exit %d %s%s, want %s", r.code, r.stdout, r.stderr, want)
	}
	for name := range objects(t, "s3://frames/late/") {
		if !strings.HasSuffix(name, gulp.DataSuffix) || strings.Contains(name, "_2.") {
			t.Errorf("%s shows", name)
		}
	}
	broken.Store(false)
	run(t, on("clips/", "late/")...)
	if d := cmp.Diff(objects(t, "s3://frames/here/clips/7/")["data_6.gulp"], objects(t, "s3://frames/late/")["data_6.gulp"]); d != "" {
		t.Error("other data after a failure")
	}
	made := 0
	for _, call := range s.Calls() {
		if strings.HasPrefix(call, "StartExecution") {
			made++
		}
	}
	if made != 2 {
		t.Errorf("%v", s.Calls())
	}
	// An image that is none.
	for i := range 4 {
		upload(t, fmt.Sprintf("s3://images/bad/c%d/1.jpg", i), photo(t, i))
	}
	upload(t, "s3://images/bad/c2/2.jpg", []byte("no image"))
	refused(t, exitCorrupt, `"c2/2.jpg": not a JPEG, PNG, WebP, AVIF or GIF`, on("bad/", "bad/", "--layout", "clips")...)
	// One that changed after it was listed.
	upload(t, "s3://images/bad/c2/2.jpg", photo(t, 3))
	s = packMachine(t, func(e *parts.Event) error {
		if e.Make != nil && e.Make.From == 0 {
			b, _, err := farread.New(farread.Config{}).Bucket(context.Background(), "s3://images/")
			if err == nil {
				_, err = objstore.Put(context.Background(), b, "bad/c3/1.jpg", strings.NewReader("other"), objstore.PutOptions{})
			}
			return err
		}
		return nil
	})
	s.Machine.Jobs = 1
	refused(t, exitCorrupt, `bad/c3/1.jpg is not what was listed any more`, on("bad/", "bad2/", "--layout", "clips")...)
	// Chunks of a plan that is done, and gone.
	packMachine(t, nil)
	for _, uri := range []string{"late/meta_3.gmeta", "late/data_3.gulp"} {
		remove(t, "s3://frames/"+uri)
	}
	refused(t, exitChanged, "is in the dataset already", on("clips/", "late/")...)
	for name := range objects(t, "s3://frames/late/") {
		remove(t, "s3://frames/late/"+name)
	}
	run(t, on("clips/", "late/")...)
	if n := len(objects(t, "s3://frames/late/")); n != 14 {
		t.Errorf("%d objects", n)
	}
}

// packChunksRefused: what is refused before anything is started.
func packChunksRefused(t *testing.T) {
	s := packMachine(t, nil)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "1.jpg"), photo(t, 1))
	upload(t, "s3://images/a.tar", photosTar(t))
	upload(t, "s3://images/odd/labels.csv", []byte("id,x\nnobody,1\n"))
	upload(t, "s3://images/odd/a/1.jpg", photo(t, 1))
	upload(t, "s3://images/empty/a/1.jpg", nil)
	upload(t, "s3://images/none/labels.csv", []byte("id,x\na,1\n"))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "want s3://", []string{dir, "s3://frames/x/"}},
		{exitUsage, "want s3://", []string{"s3://images/clips/", dir}},
		{exitUsage, "packed on this machine", []string{"s3://images/a.tar", "s3://frames/x/"}},
		{exitUsage, "want one SRC", []string{"s3://images/clips/", "s3://images/flat/", "s3://frames/x/"}},
		{exitUsage, "a single gulp chunk is made", []string{"s3://images/clips/", "s3://frames/x.gulp"}},
		{exitUsage, "want the ARN", []string{"s3://images/clips/", "s3://frames/x/", "--on", "x"}},
		{exitChanged, "is in the dataset already", []string{"s3://images/clips/", "s3://frames/here/clips/2/"}},
		{exitCorrupt, "it is for other images", []string{"s3://images/odd/", "s3://frames/x/"}},
		{exitCorrupt, `"a/1.jpg": empty, not a JPEG`, []string{"s3://images/empty/", "s3://frames/x/"}},
		{exitCorrupt, "no image in it", []string{"s3://images/none/", "s3://frames/x/"}},
		{exitNotFound, "no run of this plan", []string{"s3://images/flat/", "s3://frames/x/", "--stop"}},
	} {
		refused(t, c.code, c.says, append([]string{"pack", "--format", "gulp", "--on", machineARN, "--work", onMachine}, c.args...)...)
	}
	if calls := s.Calls(); len(calls) != 0 {
		t.Errorf("%v", calls)
	}
	var rep packReport
	out := run(t, "pack", "s3://images/webdataset", "s3://frames/json/", "--format", "gulp", "--json", "--on", machineARN, "--work", onMachine)
	if err := json.Unmarshal([]byte(out), &rep); err != nil || rep.IDs != 8 || rep.Frames != 9 || rep.Others != 1 || rep.Labels != 9 || rep.Unlabelled != 1 || rep.Layout != "webdataset" {
		t.Error(out, err)
	}
}
