package objstore_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// flip lets one bit of the answers' bodies change on the way.
func flip(a *httptest.ResponseRecorder) {
	if p := a.Body.Bytes(); len(p) > 0 {
		p[len(p)/2] ^= 4
	}
}

// summed is a server whose answers bring checksums of the object, as some stores do.
func summed(t *testing.T, data []byte, header func(whole bool) http.Header) *flawedtest.Server {
	t.Helper()
	s := flawedtest.New(t, func(string, int) []byte { return data }, nil)
	s.Set(with(len(data), header, nil))
	return s
}

func with(size int, header func(whole bool) http.Header, f func(*httptest.ResponseRecorder)) flawedtest.Flaw {
	return flawedtest.Bent(func(a *httptest.ResponseRecorder) {
		for k, v := range header(a.Body.Len() == size) {
			a.Header()[k] = v
		}
		if f != nil {
			f(a)
		}
	})
}

func base(p []byte) string { return base64.StdEncoding.EncodeToString(p) }

// TestChecksum: if bytes do not match the checksum that came with them, that is an
// error, also in formats without checksums. If a second answer is right, the read
// succeeds. A checksum of less than the whole object is not compared.
func TestChecksum(t *testing.T) {
	t.Parallel()
	small, large := flawedtest.Content("k", 0)[:50_000], flawedtest.Content("k", 0)
	nvme := func(p []byte) string { // as the check value of CRC-64/NVME, below
		return base(binary.BigEndian.AppendUint64(nil, crc64.Checksum(p, crc64.MakeTable(0x9a6c9329ac4bc9b5))))
	}
	if crc64.Checksum([]byte("123456789"), crc64.MakeTable(0x9a6c9329ac4bc9b5)) != 0xae8b14860a799888 {
		t.Fatal("not the sum of S3")
	}
	castagnoli := func(p []byte) string {
		return base(binary.BigEndian.AppendUint32(nil, crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))))
	}
	digest := func(p []byte) string { s := sha256.Sum256(p); return base(s[:]) }
	amz := func(name, sum, kind string, always bool) func(bool) http.Header {
		return func(whole bool) http.Header {
			if !whole && !always {
				return nil
			}
			return http.Header{"X-Amz-Checksum-" + name: {sum}, "X-Amz-Checksum-Type": {kind}}
		}
	}
	set := func(k string, v ...string) func(bool) http.Header {
		return func(bool) http.Header { return http.Header{k: v} }
	}
	for name, c := range map[string]struct {
		s3     bool
		data   []byte
		header func(whole bool) http.Header
		finds  bool // a flipped bit
	}{
		"S3, small, CRC64NVME":           {true, small, amz("Crc64nvme", nvme(small), "FULL_OBJECT", false), true},
		"S3, small, CRC32C":              {true, small, amz("Crc32c", castagnoli(small), "FULL_OBJECT", false), true},
		"S3, small, SHA-256":             {true, small, amz("Sha256", digest(small), "FULL_OBJECT", false), true},
		"S3, small, of the parts":        {true, small, amz("Crc32c", castagnoli(small[1:]), "COMPOSITE", false), false},
		"S3, small, of the parts, count": {true, small, amz("Crc32c", castagnoli(small[1:])+"-2", "FULL_OBJECT", false), false},
		"S3, small, unknown":             {true, small, amz("Xxhash64", nvme(small), "FULL_OBJECT", false), false},
		"S3, small, of another length":   {true, small, amz("Crc32", nvme(small), "FULL_OBJECT", false), false},
		"S3, large, with each range":     {true, large, amz("Crc64nvme", nvme(large[:100]), "FULL_OBJECT", true), false}, // of a part, as S3 does
		"HTTP, small, Repr-Digest":       {false, small, set("Repr-Digest", "md5=:AAAA:, sha-256=:"+digest(small)+":"), true},
		"HTTP, large, Repr-Digest":       {false, large, set("Repr-Digest", "sha-256=:"+digest(large)+":"), true},
		"HTTP, large, Google":            {false, large, set("X-Goog-Hash", "crc32c="+castagnoli(large), "md5=AAAA"), true},
		"HTTP, large, Google, unpacked": {false, large, func(bool) http.Header {
			return http.Header{"X-Goog-Hash": {"crc32c=" + castagnoli(large[1:])}, "X-Goog-Stored-Content-Encoding": {"gzip"}}
		}, false},
		"HTTP, small, of some part": {false, small, set("Content-Digest", "sha-256=:"+digest(small[1:])+":"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := summed(t, c.data, c.header)
			read := func() ([]byte, error) {
				o, err := objstore.Open(t.Context(), s.Open(t, c.s3), "k", objstore.OpenOptions{Resumes: 1})
				if err != nil {
					return nil, err
				}
				r := o.NewReader(t.Context(), objstore.ReadOptions{Part: 70_000})
				defer r.Close()
				return io.ReadAll(r)
			}
			if got, err := read(); err != nil || !bytes.Equal(got, c.data) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			s.Set(with(len(c.data), c.header, flip))
			_, err := read()
			if c.finds {
				wantOne(t, err, objstore.ErrCorrupt)
			} else if err != nil {
				t.Errorf("taken for the checksum of the object: %v", err)
			}
			if len(c.data) < objstore.DefaultHead { // a bit that flips once
				good, bad := with(len(c.data), c.header, nil), with(len(c.data), c.header, flip)
				s.Set(func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
					if n == 1 && c.finds {
						return bad(s, n, w, r)
					}
					return good(s, n, w, r)
				})
				if got, err := read(); err != nil || !bytes.Equal(got, c.data) {
					t.Errorf("flipped once: %v", err)
				}
			}
		})
	}
}

// TestChecksumOfPart: only the whole object is compared.
func TestChecksumOfPart(t *testing.T) {
	t.Parallel()
	data := flawedtest.Content("k", 0)
	sum := sha256.Sum256(data[1:]) // of no object here
	s := summed(t, data, func(bool) http.Header { return http.Header{"Repr-Digest": {"sha-256=:" + base(sum[:]) + ":"}} })
	o, err := objstore.Open(t.Context(), s.Bucket(t), "k", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []objstore.ReadOptions{{Off: 1}, {Len: int64(len(data)) - 1}} {
		r := o.NewReader(t.Context(), part)
		if p, err := io.ReadAll(r); err != nil || len(p) != len(data)-1 {
			t.Errorf("%+v: %d bytes, %v", part, len(p), err)
		}
		_ = r.Close()
	}
	p := make([]byte, len(data))
	if err := o.ReadRanges(t.Context(), []rangeio.Span{{P: p}}); err != nil {
		t.Error(err)
	}
	r := o.NewReader(t.Context(), objstore.ReadOptions{})
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, objstore.ErrCorrupt) {
		t.Errorf("all of it: %v", err)
	}
}
