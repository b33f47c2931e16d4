package bootstrap_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// frames is a tar of n JPEGs that seed tells apart.
func frames(t *testing.T, n, seed int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range n {
		m := image.NewGray(image.Rect(0, 0, 32, 24))
		for k := range 32 * 24 {
			m.Set(k%32, k/32, color.Gray{uint8(k*7 + i*3 + seed*11)})
		}
		var p bytes.Buffer
		if err := jpeg.Encode(&p, m, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("wave/c%d/%d.jpg", i/4, i), Mode: 0o644, Size: int64(p.Len())}); err != nil {
			t.Fatal(err)
		}
		w.Write(p.Bytes())
	}
	w.Close()
	return b.Bytes()
}

func event(key string, info objstore.Info, seq int) []byte {
	b, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": map[string]any{
		"bucket": map[string]any{"name": "uploads"},
		"object": map[string]any{"key": url.QueryEscape(key), "size": info.Size, "eTag": strings.Trim(info.ETag, `"`), "versionId": info.VersionID, "sequencer": fmt.Sprintf("%04X", seq)},
	}}}})
	return b
}

// TestOnS3 runs the handler against a real S3 server: metadata, conditional
// writes and ETags as they are, with and without versions.
func TestOnS3(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	for name, versions := range map[string]bool{"plain": false, "versions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets"}, Versioning: versions})
			open := func(name string) (objstore.Bucket, error) {
				return s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
			}
			onS3(t, open)
			if !versions {
				keepsEvents(t, s)
			}
		})
	}
}

func onS3(t *testing.T, open func(string) (objstore.Bucket, error)) {
	t.Helper()
	in, err := open("uploads")
	if err != nil {
		t.Fatal(err)
	}
	out, err := open("datasets")
	if err != nil {
		t.Fatal(err)
	}
	h := &functions.Handler{Jobs: map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
		Rules: functions.Rules{{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}}},
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{"uploads": in, "datasets": out}[name], nil
		}}
	const key = "clips/a b+ü%.tar"
	var events [][]byte
	var last objstore.Info
	for n := range 4 {
		last, err = objstore.Put(t.Context(), in, key, bytes.NewReader(frames(t, 8, n%2)), objstore.PutOptions{Meta: map[string]string{"label-split": "train"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			events = append(events, event(key, last, n+1))
		}
	}
	var wg sync.WaitGroup
	for _, e := range events {
		wg.Go(func() {
			for range 20 {
				r, err := h.Handle(t.Context(), e)
				if err == nil {
					if r.Packed+r.Unchanged+r.Dropped != 1 {
						t.Errorf("%+v", r)
					}
					return
				}
			}
			t.Error("never done")
		})
	}
	wg.Wait()
	data, err := objstore.Open(t.Context(), out, key+".gulp", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := objstore.Open(t.Context(), out, key+".gmeta", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of, ok := functions.SourceOf(meta.Info().Meta)
	if !ok || of.Key != key || of.ETag != last.ETag || of.VersionID != last.VersionID || of.Sequencer != "0004" {
		t.Errorf("made of %+v, not of %+v", of, last)
	}
	if got := meta.Info().Meta[functions.MetaDataETag]; got != data.Info().ETag {
		t.Errorf("the index names %s, there is %s", got, data.Info().ETag)
	}
	c, err := gulp.Open(t.Context(), meta, data, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.MetaData("wave/c1")
	if err != nil || string(m) != `[{"label":"wave","split":"train"}]` || c.Totals().Frames != 8 {
		t.Errorf("%s, %+v, %v", m, c.Totals(), err)
	}
	// A folder, and an upload that is broken.
	for _, k := range []string{"set/one/f1.jpg", "set/one/f2.jpg", "set/_SUCCESS", "bad.tar"} {
		body := []byte{}
		if strings.HasSuffix(k, ".jpg") {
			tarball := frames(t, 1, len(k))
			r := tar.NewReader(bytes.NewReader(tarball))
			head, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			body = tarball[512 : 512+head.Size]
		}
		info, err := objstore.Put(t.Context(), in, k, bytes.NewReader(body), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := h.Handle(t.Context(), event(k, info, 1)); err != nil {
			t.Errorf("%s: %+v, %v", k, r, err)
		}
	}
	for _, k := range []string{"set/frames.gulp", "set/frames.gmeta", "errors/bad.tar.json"} {
		if _, err := out.Head(t.Context(), k); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
}

// keepsEvents: a wrong access key and a missing bucket are answered 404, as a deleted
// object is. Only the event of the deleted object is dropped.
func keepsEvents(t *testing.T, s *teststack.Stack) {
	t.Helper()
	for name, c := range map[string]struct {
		bucket, access string
		dropped        int
		err            error
	}{
		"deleted":            {"uploads", s.AccessKey, 1, nil},
		"no such bucket":     {"nowhere", s.AccessKey, 0, objstore.ErrNotFound},
		"unknown access key": {"uploads", "bad", 0, objstore.ErrDenied},
	} {
		h := &functions.Handler{Jobs: map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
			Rules: functions.Rules{{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}}},
			Buckets: func(string) (objstore.Bucket, error) {
				return s3store.New(t.Context(), s3store.Config{Bucket: c.bucket, Endpoint: s.Endpoint, Region: s.Region, AccessKey: c.access, SecretKey: s.SecretKey})
			}}
		r, err := h.Handle(t.Context(), event("gone.tar", objstore.Info{ETag: `"e"`, Size: 1}, 1))
		if r.Dropped != c.dropped || r.Retry != 1-c.dropped || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
