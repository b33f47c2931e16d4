package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/objstoretest"
	"github.com/farread/farread/objstore/s3store"
)

func TestMain(m *testing.M) {
	// The machine's own configuration must not decide how a test ends.
	for _, kv := range os.Environ() {
		if k, _, _ := strings.Cut(kv, "="); strings.HasPrefix(k, "AWS_") {
			os.Unsetenv(k)
		}
	}
	os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	os.Setenv("AWS_CONFIG_FILE", os.DevNull)
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	goleak.VerifyTestMain(m)
}

// open is a bucket of a stack.
func open(t *testing.T, s *teststack.Stack, c s3store.Config) *s3store.Bucket {
	t.Helper()
	if c.Bucket == "" {
		c.Bucket = "one"
	}
	if c.Endpoint == "" {
		c.Endpoint = s.Endpoint
	}
	if c.AccessKey == "" && !c.Anonymous {
		c.AccessKey, c.SecretKey = s.AccessKey, s.SecretKey
	}
	c.MaxWait = time.Millisecond
	b, err := s3store.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

func TestConformance(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one", "two"}})
	bad := []string{"\xff", strings.Repeat("k", 1025)}
	for _, mode := range []s3store.Checksum{s3store.WhenRequired, s3store.Always} {
		t.Run(string(mode), func(t *testing.T) {
			f := objstoretest.Features{Meta: true, ManyKeys: 1100, BadKeys: bad, MaxHeap: 40 << 20}
			c := s3store.Config{Checksum: mode}
			if mode == s3store.Always {
				c.Bucket, f.ManyKeys = "two", 0
			}
			objstoretest.Run(t, func(t *testing.T) objstore.Bucket { t.Helper(); return open(t, s, c) }, f)
		})
	}
}

// TestVersions: a version is read as it was, also through an Object that was
// opened before the object changed.
func TestVersions(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}, Versioning: true})
	b := open(t, s, s3store.Config{})
	put := func(text string) objstore.Info {
		t.Helper()
		info, err := objstore.Put(t.Context(), b, "k", strings.NewReader(text), objstore.PutOptions{})
		if err != nil || info.VersionID == "" {
			t.Fatalf("%+v, %v", info, err)
		}
		return info
	}
	first := put("the first")
	o, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 4})
	if err != nil {
		t.Fatal(err)
	}
	second := put("the second")
	p := make([]byte, 5)
	if _, err := o.ReadAt(p, 4); err != nil || string(p) != "first" {
		t.Errorf("read of the version that was opened: %q, %v", p, err)
	}
	for info, want := range map[string]string{first.VersionID: "first", second.VersionID: "second", "": "second"} {
		body, got, err := b.Get(t.Context(), "k", objstore.GetOptions{VersionID: info, Range: objstore.Range{Off: 4}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(body)
		body.Close()
		if string(text) != want || err != nil || info != "" && got.VersionID != info {
			t.Errorf("version %q: %q %+v %v", info, text, got, err)
		}
	}
	if err := b.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("head after delete: %v", err)
	}
	if _, err := o.ReadAt(p, 4); err != nil || string(p) != "first" {
		t.Errorf("read after delete: %q, %v", p, err)
	}
}

// client is the SDK itself, for what this package does not do.
func client(t *testing.T, s *teststack.Stack) *s3.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return s3.New(s3.Options{BaseEndpoint: &s.Endpoint, Region: s.Region, UsePathStyle: true, HTTPClient: &http.Client{Transport: tr},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}, nil
		})})
}

// uploads are the multipart uploads that are still there.
func uploads(t *testing.T, s *teststack.Stack) int {
	t.Helper()
	out, err := client(t, s).ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String("one")})
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Uploads)
}

func TestTags(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	b := open(t, s, s3store.Config{})
	if _, err := objstore.Put(t.Context(), b, "k", strings.NewReader("x"), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	limited := objstore.Chain(b, objstore.Limit(2))
	if tags, err := objstore.Tags(t.Context(), limited, "k", ""); err != nil || tags == nil || len(tags) != 0 {
		t.Errorf("no tags: %v, %v", tags, err)
	}
	_, err := client(t, s).PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String("one"), Key: aws.String("k"),
		Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("label"), Value: aws.String("a cat")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := objstore.Tags(t.Context(), limited, "k", ""); err != nil || tags["label"] != "a cat" || len(tags) != 1 {
		t.Errorf("tags: %v, %v", tags, err)
	}
	if _, err := objstore.Tags(t.Context(), b, "none", ""); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("tags of an absent key: %v", err)
	}
}

// TestOddMeta: metadata comes back as it was given.
func TestOddMeta(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	b := open(t, s, s3store.Config{})
	want := map[string]string{"a": "\u00fc\u65e5", "b": "=?utf-8?q?x?=", "c": " around ", "d": "two  spaces", "e": "plain ~", "f": "line\nbreak", "g": "deleted\x7f"}
	if _, err := objstore.Put(t.Context(), b, "k", strings.NewReader("x"), objstore.PutOptions{Meta: want}); err != nil {
		t.Fatal(err)
	}
	info, err := b.Head(t.Context(), "k")
	if diff := cmp.Diff(want, info.Meta); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	raw, err := client(t, s).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String("one"), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range raw.Metadata {
		if odd := strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ~?=+/-") != ""; odd || k == "e" && v != want[k] {
			t.Errorf("%q is stored as %q", want[k], v)
		}
	}
	for _, name := range []string{"", "Upper", "a b", "\u00fc", "a:b"} {
		if _, err := b.Create(t.Context(), "k", objstore.PutOptions{Meta: map[string]string{name: "x"}}); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("metadata name %q: %v", name, err)
		}
	}
}

// TestCounts: the counter has the requests that were sent and the bytes of their
// bodies.
func TestCounts(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	var n objstore.Counter
	b := open(t, s, s3store.Config{Counter: &n})
	var last int64
	step := func(what string, want int64, err error) {
		t.Helper()
		if got := n.Stats().Requests; got-last != want || err != nil {
			t.Errorf("%s: %d requests, want %d; %v", what, got-last, want, err)
		}
		last = n.Stats().Requests
	}
	_, err := objstore.Put(t.Context(), b, "small", strings.NewReader("0123456789"), objstore.PutOptions{})
	step("one put", 1, err)
	_, err = objstore.Put(t.Context(), b, "large", bytes.NewReader(make([]byte, 30<<20)), objstore.PutOptions{})
	step("upload: create, parts of 8, 8, 8 and 1 MiB, head, complete", 7, err)
	before := n.Stats().Bytes
	body, _, err := b.Get(t.Context(), "small", objstore.GetOptions{Range: objstore.Range{Off: 2, Len: 5}})
	if err == nil {
		_, err = io.ReadAll(body)
		body.Close()
	}
	step("get", 1, err)
	if got := n.Stats().Bytes - before; got != 5 {
		t.Errorf("%d bytes counted, want 5", got)
	}
	_, err = b.Head(t.Context(), "small")
	step("head", 1, err)
	for _, e := range b.List(t.Context(), "") {
		err = errors.Join(err, e)
	}
	step("list", 1, err)
	step("delete", 1, b.Delete(t.Context(), "small"))
	if n.Stats().Retries != 0 {
		t.Errorf("%+v", n.Stats())
	}
}

// TestSameETag: the same bytes are cut into the same parts, however they come.
func TestSameETag(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	b := open(t, s, s3store.Config{})
	for _, size := range []int{1000, 13 << 20, 13<<20 + 1, 22 << 20} {
		data := bytes.Repeat([]byte("farread "), size/8+1)[:size]
		var etags []string
		for _, piece := range []int{777, 1 << 20, 64 << 20} {
			w, err := b.Create(t.Context(), "k", objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for p := range slices.Chunk(data, piece) {
				if _, err := w.Write(p); err != nil {
					t.Fatal(err)
				}
			}
			info, err := w.Commit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			etags = append(etags, info.ETag)
		}
		if len(slices.Compact(etags)) != 1 {
			t.Errorf("%d bytes have the ETags %q", size, etags)
		}
	}
}

// TestNoTags: an answer of a server without tags differs from that of a missing object,
// and is not asked for again.
func TestNoTags(t *testing.T) {
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		err  error
	}{
		{"none", fault(404, "NoSuchTagSet"), nil},
		{"501", fault(501, "NotImplemented"), objstore.ErrInvalid},
		{"501 without a word", says(501, ""), objstore.ErrInvalid},
		{"405", fault(405, "MethodNotAllowed"), objstore.ErrInvalid},
		{"400", fault(400, "InvalidRequest"), objstore.ErrInvalid},
		{"gone", fault(404, "NoSuchKey"), objstore.ErrNotFound},
		{"denied", fault(403, "AccessDenied"), objstore.ErrDenied},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n objstore.Counter
			tags, err := fake(t, c.h, s3store.Config{Counter: &n}).Tags(t.Context(), "k", "")
			if !errors.Is(err, c.err) || len(tags) != 0 || (tags == nil) != (err != nil) {
				t.Errorf("%v, %v", tags, err)
			}
			if got := n.Stats().Requests; got != 1 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// TestKeyBeforeProfile: a key that is given beats a profile of the environment
// that does not even exist.
func TestKeyBeforeProfile(t *testing.T) {
	t.Setenv("AWS_PROFILE", "not-there")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	if _, err := s3store.New(t.Context(), s3store.Config{Bucket: "b", AccessKey: "a", SecretKey: "s"}); err != nil {
		t.Error(err)
	}
	if _, err := s3store.New(t.Context(), s3store.Config{Bucket: "b"}); !errors.Is(err, objstore.ErrInvalid) {
		t.Errorf("without a key: %v", err)
	}
}
