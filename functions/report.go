package functions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// A Report is the JSON object that a permanent failure leaves under ErrorKey, in the
// output bucket of the rule.
type Report struct {
	What      string    `json:"what"`  // the error, outside-in
	Kind      string    `json:"kind"`  // corrupt, unsupported, too large, no entry
	Where     *Where    `json:"where"` // place in the upload; null if it is not known
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	ETag      string    `json:"etag,omitempty"`
	VersionID string    `json:"version,omitempty"`
	Sequencer string    `json:"sequencer,omitempty"`
	Job       string    `json:"job"`
	RequestID string    `json:"request,omitempty"` // id of the invocation
	Time      time.Time `json:"time"`
	Command   string    `json:"command,omitempty"` // command to run instead, if the upload is too large for a function
}

// Where is a place inside an upload.
type Where struct {
	Format string `json:"format"`
	Part   string `json:"part,omitempty"`
	Offset *int64 `json:"offset,omitempty"` // offset in bytes; nil: unknown
}

// report writes errors/KEY.json to the rule's output bucket, and returns the key. It runs
// in the time that jobs leave unused, under the invocation's own context.
func (h *Handler) report(ctx context.Context, rule Rule, u Upload, cause error) (key string, err error) {
	r := Report{What: cause.Error(), Kind: kindOf(cause), Bucket: u.Bucket, Key: u.Key, ETag: u.ETag, VersionID: u.VersionID, Sequencer: u.Sequencer,
		Job: rule.Job, RequestID: h.request(ctx), Time: h.Now().UTC()}
	var fe *formats.Error
	if errors.As(cause, &fe) {
		r.Where = &Where{Format: fe.Format, Part: fe.Part}
		if fe.Off >= 0 {
			r.Where.Offset = &fe.Off
		}
	}
	if h.Command != nil && errors.Is(cause, ErrTooLong) {
		r.Command = h.Command(rule, u)
		r.What += "; run: " + r.Command
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	out, err := h.Buckets(rule.Out.Bucket)
	if err != nil {
		return "", err
	}
	o := objstore.PutOptions{ContentType: "application/json", Meta: u.meta("error"), IfAbsent: h.replaced(ctx, u)}
	key = ErrorKey(u.Key)
	_, err = objstore.Put(ctx, out, key, bytes.NewReader(append(b, '\n')), o)
	if o.IfAbsent && (errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrChanged)) {
		o.IfAbsent, key = false, versionErrorKey(u)
		_, err = objstore.Put(ctx, out, key, bytes.NewReader(append(b, '\n')), o)
	}
	return key, err
}

// replaced reports whether u may not be the current version of its key. The existing
// report may then be of a newer version. Workers have no right to read it, so they do
// not overwrite it.
func (h *Handler) replaced(ctx context.Context, u Upload) bool {
	if u.ETag == "" {
		return false
	}
	src, err := h.Buckets(u.Bucket)
	if err != nil {
		return true
	}
	is, err := (&clock{src: src}).isCurrent(ctx, u)
	return err != nil || !is
}

func kindOf(err error) string {
	switch {
	case errors.Is(err, formats.ErrTooLarge):
		return "too large"
	case errors.Is(err, formats.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, formats.ErrNoEntry):
		return "no entry"
	default:
		return "unsupported"
	}
}
