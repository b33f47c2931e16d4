package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/localcloud/delivery"
)

// Records of the odd key. The names of fields stand for their values if these change
// from record to record.
const (
	oddKey   = "dir a/b+c ü%41=&.bin"
	oddEvent = `{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"us-east-1","eventTime":"TIME","eventName":"NAME",` +
		`"userIdentity":{"principalId":"AWS:LOCALCLOUD"},"requestParameters":{"sourceIPAddress":"127.0.0.1"},` +
		`"responseElements":{"x-amz-id-2":"localcloud","x-amz-request-id":"SEQUENCER"},` +
		`"s3":{"s3SchemaVersion":"1.0","configurationId":"localcloud","bucket":{"name":"uploads",` +
		`"ownerIdentity":{"principalId":"LOCALCLOUD"},"arn":"arn:aws:s3:::uploads"},` +
		`"object":{"key":"dir+a/b%2Bc+%C3%BC%2541%3D%26.bin"OBJECT,"sequencer":"SEQUENCER"}}}`
)

// spooled are the records of the spool's events file, with names in place of times and
// sequencers; the sequencers must rise.
func spooled(t *testing.T, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "spool", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	var last string
	for s := bufio.NewScanner(f); s.Scan(); {
		var l struct{ Record json.RawMessage }
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Record == nil {
			continue
		}
		seq := regexp.MustCompile(`"sequencer":"([0-9A-F]{16})"`).FindSubmatch(l.Record)
		if seq == nil || string(seq[1]) <= last {
			t.Fatalf("no sequencer after %s in %s", last, l.Record)
		}
		last = string(seq[1])
		r := strings.ReplaceAll(string(l.Record), last, "SEQUENCER")
		out = append(out, regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`).ReplaceAllString(r, `"TIME"`))
	}
	return out
}

func event(name, object string) string {
	return strings.NewReplacer("NAME", name, "OBJECT", object).Replace(oddEvent)
}

func (p *process) multipart(key string, parts ...[]byte) (etag string) {
	p.t.Helper()
	bucket := aws.String("uploads")
	up, err := p.s3.CreateMultipartUpload(p.t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: &key})
	if err != nil {
		p.t.Fatal(err)
	}
	var done types.CompletedMultipartUpload
	for i, b := range parts {
		n := aws.Int32(int32(i) + 1)
		out, err := p.s3.UploadPart(p.t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: &key, UploadId: up.UploadId, PartNumber: n, Body: bytes.NewReader(b)})
		if err != nil {
			p.t.Fatal(err)
		}
		done.Parts = append(done.Parts, types.CompletedPart{ETag: out.ETag, PartNumber: n})
	}
	out, err := p.s3.CompleteMultipartUpload(p.t.Context(), &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: &key, UploadId: up.UploadId, MultipartUpload: &done})
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Trim(*out.ETag, `"`)
}

func TestEventsAreExact(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.put("uploads", oddKey, "hello")
	inv := p.next()
	want := []delivery.Object{{Bucket: "uploads", Key: oddKey, Size: 5, Try: 1}}
	if diff := cmp.Diff(want, inv.Records); diff != "" || !inv.OK || inv.Event != "invocation" || inv.Function != "fn-pack" {
		t.Errorf("%+v\n%s", inv, diff)
	}
	// The function read the object under the key of the event and wrote the event.
	var got struct{ Records []json.RawMessage }
	if err := json.Unmarshal([]byte(p.get("datasets", oddKey)), &got); err != nil || len(got.Records) != 1 {
		t.Fatalf("the function's event: %v, %d records", err, len(got.Records))
	}
	file, err := os.ReadFile(filepath.Join(p.ready.Dir, "spool", "events.jsonl"))
	if err != nil || !bytes.Contains(file, got.Records[0]) {
		t.Errorf("the function got %s (%v)", got.Records[0], err)
	}
	source := "uploads/" + url.QueryEscape(oddKey)
	if _, err := p.s3.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String("uploads"), Key: aws.String(oddKey),
		CopySource: &source, MetadataDirective: types.MetadataDirectiveReplace}); err != nil {
		t.Fatal(err)
	}
	etag := p.multipart(oddKey, make([]byte, 5<<20), []byte("tail"))
	if _, err := p.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("uploads"), Key: aws.String(oddKey)}); err != nil {
		t.Fatal(err)
	}
	p.put("uploads", oddKey, "")
	out, err := p.s3.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String("uploads"),
		Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String(oddKey)}, {Key: aws.String("a//b")}}}})
	if err != nil || len(out.Deleted) != 1 || len(out.Errors) != 1 || *out.Errors[0].Code != "InvalidArgument" {
		t.Errorf("DeleteObjects: %+v, %v", out, err)
	}
	hello := `,"size":5,"eTag":"5d41402abc4b2a76b9719d911017c592"`
	var uploads []string
	for _, r := range spooled(t, p.ready.Dir) {
		if strings.Contains(r, "arn:aws:s3:::uploads") {
			uploads = append(uploads, r)
		}
	}
	if diff := cmp.Diff([]string{
		event("ObjectCreated:Put", hello), event("ObjectCreated:Copy", hello),
		event("ObjectCreated:CompleteMultipartUpload", fmt.Sprintf(`,"size":%d,"eTag":%q`, 5<<20+4, etag)),
		event("ObjectRemoved:Delete", ""),
		event("ObjectCreated:Put", `,"size":0,"eTag":"d41d8cd98f00b204e9800998ecf8427e"`),
		event("ObjectRemoved:Delete", ""),
	}, uploads); diff != "" {
		t.Error(diff)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, "--versioning", "--dir", dir)
	put, err := p.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("uploads"), Key: aws.String(oddKey), Body: strings.NewReader("hello")})
	if err != nil || put.VersionId == nil {
		t.Fatalf("no version: %v", err)
	}
	p.next()
	del, err := p.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String("uploads"), Key: aws.String(oddKey)})
	if err != nil || del.VersionId == nil {
		t.Fatalf("no delete marker: %v", err)
	}
	p.put("uploads", "kept.bin", "x")
	p.next()
	got := spooled(t, dir)
	if diff := cmp.Diff([]string{
		event("ObjectCreated:Put", `,"size":5,"eTag":"5d41402abc4b2a76b9719d911017c592","versionId":"`+*put.VersionId+`"`),
		event("ObjectRemoved:DeleteMarkerCreated", `,"eTag":"d41d8cd98f00b204e9800998ecf8427e","versionId":"`+*del.VersionId+`"`),
	}, []string{got[0], got[2]}); diff != "" { // between them lies the function's output
		t.Error(diff)
	}
	p.signal(os.Interrupt)
	p.wait()
	p = start(t, "--versioning", "--dir", dir)
	if s := p.status(idle); s.Invocations != 0 {
		t.Errorf("after a restart old versions came again: %+v", s)
	}
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	p := start(t, "--bucket", "other")
	for _, b := range []struct{ bucket, key string }{{"uploads", "readme.txt"}, {"other", "a.bin"}, {"datasets", "b.bin"}, {"uploads", "folder/"}} {
		body := "x"
		if strings.HasSuffix(b.key, "/") {
			body = ""
		}
		p.put(b.bucket, b.key, body)
	}
	if s := p.status(idle); s.Ignored != 4 || s.Invocations != 0 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"uploads", "datasets", "other"}, p.ready.Buckets); diff != "" {
		t.Error(diff)
	}
}

func TestKeysThatCannotBeHeld(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.put("uploads", "a/b", "x")
	p.put("uploads", "file", "x")
	long := strings.Repeat("n", 256)
	tests := []struct{ key, code, text string }{
		{"a//b", "InvalidArgument", `contains "//"`},
		{"bell\a\x01", "InvalidArgument", "no listing can carry"},
		{"/lead", "InvalidArgument", `begins with "/"`},
		{"a/./b", "InvalidArgument", `"." is one of its segments`},
		{"a/../b", "InvalidArgument", `".." is one of its segments`},
		{"..", "InvalidArgument", `".." is one of its segments`},
		{"../uploads/x", "InvalidArgument", `".." is one of its segments`},
		{"a/" + long, "KeyTooLongError", "256 bytes, more than 255"},
		{strings.Repeat("segment/", 129), "KeyTooLongError", "1032 bytes, more than 1024"},
		{"a", "InvalidArgument", `other keys begin with it and "/"`},
		{"file/below", "InvalidArgument", `is the key of another object`},
		{"file/far/below", "InvalidArgument", `is the key of another object`},
		{".sgwtmp/x", "InvalidArgument", "the store's own"},
	}
	bucket := aws.String("uploads")
	for _, tt := range tests {
		refused := func(op string, err error) {
			t.Helper()
			if code, status, msg := apiError(err); code != tt.code || status != http.StatusBadRequest || !strings.Contains(msg, tt.text) {
				t.Errorf("%s %.40q: %d %s %s (%v)", op, tt.key, status, code, msg, err)
			}
		}
		refused("put", p.tryPut("uploads", tt.key, "y"))
		_, err := p.s3.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: bucket, Key: &tt.key, CopySource: aws.String("uploads/a/b")})
		refused("copy", err)
		if _, err := p.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: &tt.key}); err == nil {
			t.Errorf("head %.40q finds something", tt.key)
		}
		up, err := p.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: &tt.key})
		if err == nil { // refused only at the end, since the other key could have come later
			var part *s3.UploadPartOutput
			part, err = p.s3.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: &tt.key, UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("y")})
			if err == nil {
				_, err = p.s3.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: &tt.key, UploadId: up.UploadId,
					MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}}}})
			}
		}
		refused("multipart", err)
	}
	list, err := p.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, o := range list.Contents {
		keys = append(keys, *o.Key)
	}
	if diff := cmp.Diff([]string{"a/b", "file"}, keys); diff != "" || p.get("uploads", "a/b") != "x" {
		t.Error(diff)
	}
	if s := p.status(idle); s.Ignored != 2 {
		t.Errorf("a refused key made an event: %+v", s)
	}
	// The source of a copy is not read under another name either.
	_, err = p.s3.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("copy"), CopySource: aws.String("uploads/a//b")})
	if code, _, _ := apiError(err); code != "NoSuchKey" {
		t.Errorf("copy of a//b: %v", err)
	}
}

// TestPutOverMarker: a delete marker is no object for a put on the condition that
// there be none. The put object is then there.
func TestPutOverMarker(t *testing.T) {
	t.Parallel()
	p := start(t, "--versioning")
	bucket, key, none := aws.String("uploads"), aws.String("x.txt"), aws.String("*")
	parts := func() error {
		up, err := p.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key})
		if err != nil {
			return err
		}
		part, err := p.s3.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
		if err != nil {
			return err
		}
		_, err = p.s3.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: bucket, Key: key, UploadId: up.UploadId, IfNoneMatch: none,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: aws.Int32(1), ETag: part.ETag}}}})
		return err
	}
	whole := func() error {
		_, err := p.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, IfNoneMatch: none, Body: strings.NewReader("x")})
		return err
	}
	for i, put := range []func() error{whole, parts, whole} {
		if err := put(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
		for _, again := range []func() error{whole, parts} {
			if code, status, err := apiError(again()); status != http.StatusPreconditionFailed {
				t.Errorf("%d, over an object: %s %v", i, code, err)
			}
		}
		if _, err := p.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	key := aws.String("odd ranges ü.txt")
	p.put("uploads", *key, "0123456789")
	o, err := p.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("uploads"), Key: key, Range: aws.String("bytes=2-4")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(o.Body)
	if err != nil || string(b) != "234" {
		t.Errorf("range: %q, %v", b, err)
	}
	_, err = p.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("uploads"), Key: key, IfNoneMatch: aws.String("*"), Body: strings.NewReader("x")})
	if code, status, _ := apiError(err); status != http.StatusPreconditionFailed {
		t.Errorf("conditional put: %s %v", code, err)
	}
	up, err := p.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("uploads"), Key: aws.String("parts.txt")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.s3.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{Bucket: aws.String("uploads"), Key: aws.String("parts.txt"), UploadId: up.UploadId,
		PartNumber: aws.Int32(1), CopySource: aws.String("uploads/" + url.QueryEscape(*key))}); err != nil {
		t.Errorf("UploadPartCopy: %v", err)
	}
	resp, err := http.Get(p.ready.Endpoint + "/uploads/" + url.PathEscape(*key))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a request without a signature: %d", resp.StatusCode)
	}
}

// On a file system without extended attributes the store keeps its metadata in files.
// It also does so from the start if the folder of these files exists.
func TestSidecar(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(dir, "sidecar"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := start(t, "--dir", dir)
	p.put("uploads", oddKey, "hello")
	p.next()
	etag := p.multipart("parts.bin", make([]byte, 5<<20), []byte("tail"))
	p.next()
	o, err := p.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("uploads"), Key: aws.String("parts.bin")})
	if err != nil || strings.Trim(*o.ETag, `"`) != etag {
		t.Errorf("%v, want the ETag %s", err, etag)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "sidecar", "uploads", "dir a", "*", "meta", "etag")); err != nil || len(files) != 1 {
		t.Errorf("no metadata in files: %v", err)
	}
	p.signal(os.Interrupt)
	p.wait()
	p = start(t, "--dir", dir)
	if s := p.status(idle); s.Invocations != 0 {
		t.Errorf("after a restart: %+v", s)
	}
}
