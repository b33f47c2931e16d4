package kit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Open opens the upload u, which will be read whole: what counts is how many requests
// that takes. It gives u with the size, and with ETag and version if u had none. An
// object that jobs have made is functions.ErrOwn.
func Open(ctx context.Context, src objstore.Bucket, u functions.Upload) (*objstore.Object, functions.Upload, error) {
	obj, err := functions.Open(ctx, src, u, objstore.OpenOptions{Policy: rangeio.Few()})
	if err != nil {
		return nil, u, err
	}
	info := obj.Info()
	if functions.IsDerived(info.Meta) {
		return nil, u, functions.ErrOwn
	}
	if u.ETag == "" {
		u.ETag, u.VersionID = info.ETag, info.VersionID
	}
	u.Size = info.Size
	return obj, u, nil
}

// Head reads the first bytes of an object, n at most.
func Head(ctx context.Context, obj *objstore.Object, n int64) ([]byte, error) {
	head := make([]byte, min(n, obj.Size()))
	if len(head) == 0 {
		return head, nil
	}
	return head, obj.ReadRanges(ctx, []rangeio.Span{{P: head}})
}

// NoteOf reports whether key is the key of a note, and returns the key of its
// data.
func NoteOf(key string) (data string, ok bool) {
	data, ok = strings.CutSuffix(key, npy.NoteSuffix)
	return data, ok && data != ""
}

// OpenNoted opens the data of a note; u is the event of the note. The output is
// made from the current version of the data: OpenNoted returns it as the upload.
func OpenNoted(ctx context.Context, src objstore.Bucket, u functions.Upload, data string) (*objstore.Object, functions.Upload, error) {
	obj, of, err := Open(ctx, src, functions.Upload{Bucket: u.Bucket, Key: data})
	if errors.Is(err, objstore.ErrNotFound) {
		err = fmt.Errorf("a note waits for its data %s: %w", path.Base(data), functions.ErrSkip)
	}
	return obj, of, err
}

// SaysItself is the error for a note beside data that need none.
func SaysItself(data string) error {
	return fmt.Errorf("%s says itself what it is: %w", path.Base(data), functions.ErrSkip)
}

// StillNoted returns an error that gives the event back if the note of the data does
// not have the ETag any more: this worker must not overwrite an output that was made
// with a newer note.
func StillNoted(ctx context.Context, src objstore.Bucket, data, etag string) error {
	now, err := src.Head(ctx, data+npy.NoteSuffix)
	if err != nil {
		return err
	}
	if now.ETag != etag {
		return fmt.Errorf("the note of %s changed meanwhile: %w", data, objstore.ErrUnavailable)
	}
	return nil
}

// Fits checks whether size bytes, at rate bytes a second, fit into the time of the
// invocation. It returns functions.ErrTooLong if they need more than a whole
// invocation, and functions.ErrNoTime if they need more than the time that is left. A
// negative size is unknown.
func Fits(ctx context.Context, size, rate int64) error {
	end, ok := ctx.Deadline()
	if !ok || size < 0 {
		return nil
	}
	need := time.Duration(float64(size) / float64(rate) * float64(time.Second))
	left := time.Until(end)
	if need <= left {
		return nil
	}
	if whole := functions.Budget(ctx); whole > left && need <= whole {
		return fmt.Errorf("%d bytes need about %v, %v are left: %w", size, need.Round(time.Second), left.Round(time.Second), functions.ErrNoTime)
	}
	return fmt.Errorf("%d bytes need about %v: %w", size, need.Round(time.Second), functions.ErrTooLong)
}

// Command returns the command line that packs from, which is the key of u or its
// folder, into the output of rule r for u. suffix is the end of the output's key.
func Command(r functions.Rule, u functions.Upload, from, suffix string) string {
	return "farread pack " + Quote("s3://"+u.Bucket+"/"+from) + " " + Quote("s3://"+r.Out.Bucket+"/"+functions.OutputKey(r.Out.Prefix, u.Key, suffix))
}

// CommandTo returns the command line that appends from to a dataset of rule r.
func CommandTo(r functions.Rule, u functions.Upload, from, to string) string {
	return "farread pack --append " + Quote("s3://"+u.Bucket+"/"+from) + " " + Quote("s3://"+r.Out.Bucket+"/"+to)
}

// Quote quotes a word for a shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
