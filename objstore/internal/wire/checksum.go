package wire

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/farread/farread/objstore"
)

// S3Checksum is the checksum that S3 gives with an object that it sends whole, or
// the zero value. That of a multipart upload may be a checksum of the checksums of its
// parts, which says nothing of the bytes, and is left out.
func S3Checksum(h http.Header) objstore.Checksum {
	if !strings.EqualFold(h.Get("X-Amz-Checksum-Type"), "FULL_OBJECT") {
		return objstore.Checksum{}
	}
	for _, name := range []string{"crc64nvme", "crc32c", "crc32", "sha256", "sha1"} {
		if c := checksum(name, h.Get("X-Amz-Checksum-"+name)); c.Name != "" {
			return c
		}
	}
	return objstore.Checksum{}
}

// HTTPChecksum returns the checksum of a whole object from the header of an answer with
// any part of it: Repr-Digest (RFC 9530), or the header of Google's store. It is zero
// if there is none, or if the bytes have a Content-Encoding.
func HTTPChecksum(h http.Header) objstore.Checksum {
	if Encoding(append(h.Values("Content-Encoding"), h.Values("X-Goog-Stored-Content-Encoding")...)...) != "" {
		return objstore.Checksum{} // before or after the encoding: stores differ
	}
	for _, d := range members(h.Values("Repr-Digest")) {
		name, sum, _ := strings.Cut(d, "=")
		if sum, ok := strings.CutPrefix(sum, ":"); ok && (name == "sha-256" || name == "sha-512") {
			if c := checksum(strings.ReplaceAll(name, "-", ""), strings.TrimSuffix(sum, ":")); c.Name != "" {
				return c
			}
		}
	}
	for _, d := range members(h.Values("X-Goog-Hash")) {
		if sum, ok := strings.CutPrefix(d, "crc32c="); ok {
			return checksum("crc32c", sum)
		}
	}
	return objstore.Checksum{}
}

// members are the members of a list that may stand in several fields.
func members(values []string) (out []string) {
	for _, d := range strings.Split(strings.Join(values, ","), ",") {
		out = append(out, strings.TrimSpace(d))
	}
	return out
}

// checksum decodes a checksum in base64. It is zero if text is empty.
func checksum(name, text string) objstore.Checksum {
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) == 0 {
		return objstore.Checksum{}
	}
	return objstore.Checksum{Name: name, Sum: string(sum)}
}
