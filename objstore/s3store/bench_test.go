package s3store_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// BenchmarkGet is what the SDK adds to a request, in a goroutine of its own, as those of a
// planned read are.
func BenchmarkGet(b *testing.B) {
	bucket, err := s3store.New(b.Context(), s3store.Config{Bucket: "b", Endpoint: "http://127.0.0.1:9", AccessKey: "k", SecretKey: "s", Region: "us-east-1", Transport: nowhere{}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	done := make(chan error)
	for b.Loop() {
		go func() {
			r, _, err := bucket.Get(b.Context(), "key", objstore.GetOptions{Range: objstore.Range{Off: 1, Len: 4}})
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				_ = r.Close()
			}
			done <- err
		}()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// nowhere is a store without a network.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	h := http.Header{"Content-Range": {"bytes 1-4/8"}, "Content-Length": {"4"}, "Etag": {`"v"`}}
	return &http.Response{StatusCode: http.StatusPartialContent, Status: "206 Partial Content", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, ContentLength: 4, Body: io.NopCloser(strings.NewReader("data")), Request: r}, nil
}
