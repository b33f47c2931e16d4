package check

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Needs is what S3 asks IAM for one request, given its answer: usually one thing,
// two where the object is not there. S3 admits that only to who may list its key.
// From https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html
// and https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
func Needs(r *http.Request, status int) ([]Request, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // path style, decoded
	q := r.URL.Query()
	arn := "arn:" + Partition + ":s3:::" + bucket
	if key == "" {
		return bucketNeeds(r, q, arn)
	}
	action, err := objectAction(r, q)
	if err != nil {
		return nil, err
	}
	needs := []Request{{Action: action, Resource: arn + "/" + key}}
	if from := r.Header.Get("X-Amz-Copy-Source"); r.Method == http.MethodPut && from != "" {
		need, err := copyNeed(from)
		if err != nil {
			return nil, err
		}
		needs = append(needs, need)
	}
	if status == http.StatusNotFound && strings.HasPrefix(action, "s3:GetObject") {
		needs = append(needs, Request{Action: "s3:ListBucket", Resource: arn, Context: map[string]string{"s3:prefix": key}})
	}
	// A condition on what is there reads it: "If-Match" takes the right to.
	if r.Header.Get("If-Match") != "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
		needs = append(needs, Request{Action: "s3:GetObject", Resource: arn + "/" + key})
	}
	return needs, nil
}

// copyNeed is what a copy reads: "bucket/key", escaped, and perhaps a version.
func copyNeed(from string) (Request, error) {
	from, version, ok := strings.Cut(from, "?versionId=")
	path, err := url.PathUnescape(strings.TrimPrefix(from, "/"))
	if err != nil {
		return Request{}, fmt.Errorf("a copy of %s: %w", from, err)
	}
	need := Request{Action: "s3:GetObject", Resource: "arn:" + Partition + ":s3:::" + path}
	if ok && version != "" {
		need.Action += "Version"
	}
	return need, nil
}

func bucketNeeds(r *http.Request, q url.Values, arn string) ([]Request, error) {
	switch {
	case r.Method == http.MethodHead, r.Method == http.MethodGet && q.Get("list-type") == "2":
		need := Request{Action: "s3:ListBucket", Resource: arn, Context: map[string]string{}}
		if q.Has("prefix") {
			need.Context["s3:prefix"] = q.Get("prefix")
		}
		return []Request{need}, nil
	}
	return nil, unknown(r)
}

func objectAction(r *http.Request, q url.Values) (string, error) {
	version := ""
	if q.Has("versionId") {
		version = "Version"
	}
	plain := true
	for name := range q {
		plain = plain && (name == "versionId" || name == "x-id")
	}
	switch {
	case q.Has("tagging") && r.Method == http.MethodGet:
		return "s3:GetObject" + version + "Tagging", nil
	case plain && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return "s3:GetObject" + version, nil
	case plain && r.Method == http.MethodPut,
		r.Method == http.MethodPut && q.Has("partNumber") && q.Has("uploadId"),
		r.Method == http.MethodPost && (q.Has("uploads") || q.Has("uploadId")):
		return "s3:PutObject", nil
	case r.Method == http.MethodGet && q.Has("uploadId"):
		return "s3:ListMultipartUploadParts", nil
	case r.Method == http.MethodDelete && q.Has("uploadId"):
		return "s3:AbortMultipartUpload", nil
	case plain && r.Method == http.MethodDelete:
		return "s3:DeleteObject" + version, nil
	}
	return "", unknown(r)
}

func unknown(r *http.Request) error {
	return fmt.Errorf("%s %s: nobody has said yet what right that takes", r.Method, r.URL.Redacted())
}
