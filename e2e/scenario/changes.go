package scenario

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// replaced: an upload that is replaced again and again while its events are under
// way ends as the dataset of the last one. In versioned buckets the dataset says
// which version it is of, and older versions of both are still there.
func replaced(t *testing.T, r *session) {
	t.Helper()
	const key, times = "pack/again.npy", 6
	shape := []int64{16, 20, 30}
	ups := make([]objstore.Info, 0, times)
	var values []byte
	for i := range times {
		var data []byte
		data, values = volume(t, i, shape...)
		ups = append(ups, r.put(t, key, data))
	}
	last := ups[times-1]
	r.made(t, r.datasets, last, pack.ArraySuffix)
	// Events of the older uploads may still come. When the output of this upload is
	// there, they have come.
	after := r.put(t, "pack/after.npy", mustVolume(t, shape))
	r.made(t, r.datasets, after, pack.ArraySuffix)
	out := r.made(t, r.datasets, last, pack.ArraySuffix)
	r.wantArray(t, r.uri(last, pack.ArraySuffix), shape, values)
	of, ok := functions.SourceOf(out.Meta)
	if !ok || of.Key != key || of.Bucket != r.Uploads || of.VersionID != last.VersionID {
		t.Errorf("made of %+v, not of %+v", of, last)
	}
	if r.o.Versioned {
		r.wantVersions(t, ups, out)
	}
}

func mustVolume(t *testing.T, shape []int64) []byte {
	t.Helper()
	data, _ := volume(t, 0, shape...)
	return data
}

// wantVersions reads the first upload's version, deletes the upload, and sees both
// the upload and its dataset as they were.
func (r *session) wantVersions(t *testing.T, ups []objstore.Info, out objstore.Info) {
	t.Helper()
	for _, up := range ups {
		if up.VersionID == "" {
			t.Errorf("%+v has no version", up)
		}
	}
	first := ups[0]
	if err := r.uploads.Delete(t.Context(), first.Key); err != nil {
		t.Fatal(err)
	}
	want, _ := volume(t, 0, 16, 20, 30)
	body, info, err := r.uploads.Get(t.Context(), first.Key, objstore.GetOptions{VersionID: first.VersionID})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, want) || info.VersionID != first.VersionID {
		t.Errorf("version %q: %d bytes that differ, %v", first.VersionID, len(got), err)
	}
	if now, err := r.datasets.Head(t.Context(), out.Key); err != nil || now.VersionID != out.VersionID || out.VersionID == "" {
		t.Errorf("%+v, %v: not the dataset that was there: %+v", now, err, out)
	}
}

// presigned: an upload through a presigned URL is packed like any other, and its
// dataset is read through another such URL, without credentials, by ranges.
func presigned(t *testing.T, r *session) {
	t.Helper()
	sign := s3.NewPresignClient(r.s3())
	key := "pack/by-url.npy"
	shape := []int64{20, 30, 40}
	data, values := volume(t, 5, shape...)
	put, err := sign.PresignPutObject(t.Context(), &s3.PutObjectInput{Bucket: &r.Uploads, Key: &key}, s3.WithPresignExpires(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), put.Method, put.URL, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("upload by URL: %s", resp.Status)
	}
	up, err := r.uploads.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	out := r.made(t, r.datasets, up, pack.ArraySuffix)
	get, err := sign.PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: &r.Datasets, Key: &out.Key}, s3.WithPresignExpires(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	nobody := farread.New(farread.Config{Anonymous: true})
	defer nobody.CloseIdleConnections()
	(&session{client: nobody}).wantArray(t, get.URL, shape, values)
	if got := r.cli(t, "get", get.URL, "-o", "-"); !bytes.Equal(got, values) {
		t.Errorf("farread get of a URL: %d bytes that differ from the %d uploaded", len(got), len(values))
	}
}

// backfilled: what was packed before is told from what was not, and only that is
// packed, by the same code on this machine.
func backfilled(t *testing.T, r *session) {
	t.Helper()
	const n = 4
	shape := []int64{8, 9, 10}
	outs := make([]objstore.Info, 0, n)
	for i := range n {
		data, _ := volume(t, i, shape...)
		outs = append(outs, r.made(t, r.datasets, r.put(t, fmt.Sprintf("pack/old/%d.npy", i), data), pack.ArraySuffix))
	}
	for _, out := range outs[:2] {
		if err := r.datasets.Delete(t.Context(), out.Key); err != nil {
			t.Fatal(err)
		}
	}
	r.cli(t, "backfill", "s3://"+r.Uploads+"/pack/", "--rules", r.rulesFile(t))
	for i, out := range outs {
		now, err := r.datasets.Head(t.Context(), out.Key)
		if err != nil || now.Size != out.Size {
			t.Errorf("%+v, %v: not as before: %+v", now, err, out)
		}
		if same := now.ModTime.Equal(out.ModTime); i >= 2 && !same {
			t.Errorf("%s was packed again", out.Key)
		}
	}
}

// s3 returns a client of the SDK, for calls that the library does not make.
func (r *session) s3() *s3.Client {
	return s3.New(s3.Options{BaseEndpoint: &r.Endpoint, Region: r.Region, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: r.AccessKey, SecretAccessKey: r.SecretKey}, nil
		})})
}
