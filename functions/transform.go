package functions

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// defaultMost is Transform.Most if that is 0.
const defaultMost = 64 << 20

// A Transform is a job that makes of the bytes of an upload those of one output. Its
// method Job is a JobMaker:
//
//	Jobs: map[string]functions.JobMaker{"lines": functions.Transform{Suffix: ".lines", Do: count}.Job}
//
// It is a Single: the output is made once for each version of an upload, and in the end
// is that of the newest. But the bytes of Do have no seal. So if of three versions the
// first and the third give the same bytes, and the worker of the second is late enough
// to end last, its output can stay; a Job of your own with a sealed output rules that out.
type Transform struct {
	// Suffix ends the key of the output: OutputKey of Out.Prefix of the rule, the key of
	// the upload, and Suffix. It is not empty.
	Suffix string
	// Layout names what Do does. Outputs of another Layout are made anew when their
	// upload is handled again, so a Do that gives other bytes takes another one.
	Layout      string
	ContentType string // content type of the output; "": application/octet-stream
	// Most is the size of the largest upload, all of which is in memory; 0: 64 MiB. A
	// larger one is formats.ErrTooLarge, a permanent failure.
	Most int64
	// Do returns the output of an upload. in is the content of the upload, and belongs
	// to Do. Do may run more than once. Its errors have the same effect as those of a
	// Job: for example ErrSkip, if the upload is not meant for it.
	Do func(ctx context.Context, u Upload, in []byte) ([]byte, error)
}

// Job is a JobMaker.
func (t Transform) Job(r Rule, out objstore.Bucket) (Job, error) {
	if t.Suffix == "" || t.Do == nil {
		return nil, errors.New("a Transform without Suffix or Do")
	}
	most := t.Most
	if most <= 0 {
		most = defaultMost
	}
	return transform{t, most, r.Out.Prefix, out}, nil
}

type transform struct {
	t      Transform
	most   int64
	prefix string
	out    objstore.Bucket
}

func (j transform) Run(ctx context.Context, src objstore.Bucket, u Upload) ([]objstore.Info, error) {
	ob, err := Open(ctx, src, u, objstore.OpenOptions{Policy: rangeio.Few()})
	if err != nil {
		return nil, err
	}
	info := ob.Info()
	switch {
	case IsDerived(info.Meta):
		return nil, ErrOwn
	case info.Size > j.most:
		return nil, fmt.Errorf("%d bytes, %d allowed: %w", info.Size, j.most, formats.ErrTooLarge)
	case u.ETag == "":
		u.ETag, u.VersionID = info.ETag, info.VersionID
	}
	u.Size = info.Size
	s := Single{Bucket: j.out, Key: OutputKey(j.prefix, u.Key, j.t.Suffix), Layout: "transform " + j.t.Layout, ContentType: j.t.ContentType}
	return s.Publish(ctx, src, u, func(ctx context.Context, u Upload, w objstore.Writer, _ []byte) error {
		in := make([]byte, info.Size)
		if err := ob.ReadRanges(ctx, []rangeio.Span{{P: in}}); err != nil {
			return err
		}
		p, err := j.t.Do(ctx, u, in)
		if err == nil {
			_, err = w.Write(p)
		}
		return err
	})
}
