package packs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/objstore"
)

// arrayWork is the Work of an ArrayPlan.
type arrayWork struct {
	plan     *ArrayPlan
	d        *pack.Divided
	dir      parts.Folder
	out      objstore.Bucket
	composer *b2nd.Composer // of the runs that were taken; nil: none yet
	staged   []staged       // of these
}

// staged is the line of a part: where its chunks lie, and what the frame has to know of them.
type staged struct {
	Key  string `json:"key,omitempty"` // in the folder; "": no chunk has bytes
	ETag string `json:"etag,omitempty"`
	Size int64  `json:"size"`
	Run  []byte `json:"run"`
}

// Open returns the Work of a plan that lies in a folder. d and now are what the source is,
// and out is the bucket of the output. A source that is another one matches
// analyze.ErrOtherSource.
func (p *ArrayPlan) Open(d *pack.Divided, now analyze.Source, dir parts.Folder, out objstore.Bucket) (parts.Work, error) {
	if err := p.Source.Check(now); err != nil {
		return nil, err
	}
	return &arrayWork{plan: NewArrayPlan(d, p.Source, p.Array), d: d, dir: dir, out: out}, nil
}

// ID implements parts.Work.
func (w *arrayWork) ID() string { return w.plan.ID }

// Parts implements parts.Work.
func (w *arrayWork) Parts() int { return w.plan.Parts }

// chunksDir is the folder, in that of the plan, of chunks that wait for the last step.
const chunksDir = "chunks/"

// Part implements parts.Work: it writes the chunks as an object of the folder. Who makes the
// part as well writes another object, and the line that is there first counts.
func (w *arrayWork) Part(ctx context.Context, part int) ([]byte, error) {
	each := w.plan.run(w.d)
	from := int64(part) * each
	var mark [4]byte
	_, _ = rand.Read(mark[:]) // never fails
	s := staged{Key: fmt.Sprintf("%s%08d-%s", chunksDir, part, hex.EncodeToString(mark[:]))}
	o, err := w.dir.Bucket.Create(ctx, w.dir.Dir+s.Key, objstore.PutOptions{IfAbsent: true, ContentType: "application/octet-stream"})
	if err != nil {
		return nil, err
	}
	defer o.Abort()
	run, err := w.d.WriteRun(ctx, o, from, min(from+each, w.d.Layout.Chunks))
	if err != nil {
		return nil, err
	}
	s.Size, s.Run = run.Bytes(), run.AppendTo(nil)
	if s.Size == 0 {
		s.Key = ""
		return json.Marshal(s)
	}
	in, err := o.Commit(ctx)
	if err != nil {
		return nil, err
	}
	s.ETag = in.ETag
	return json.Marshal(s)
}

// Take implements parts.Work.
func (w *arrayWork) Take(_ int, line []byte) error {
	var s staged
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("no run of chunks: %w", formats.ErrCorrupt)
	}
	run, err := cframe.ParseRun(s.Run)
	if err != nil {
		return err
	}
	if run.Bytes() != s.Size || (s.Key == "") != (s.Size == 0) {
		return fmt.Errorf("a run of %d bytes in %d: %w", run.Bytes(), s.Size, formats.ErrCorrupt)
	}
	if w.composer == nil {
		if w.composer, err = w.d.Compose(); err != nil {
			return err
		}
	}
	s.Run = nil
	w.staged = append(w.staged, s)
	return w.composer.Add(run)
}

// An ArrayReport is the answer to an ArrayPlan.
type ArrayReport struct {
	Plan   string `json:"plan"`
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Bytes  int64  `json:"bytes"`  // decoded
	Stored int64  `json:"stored"` // of the output
}

// Finish implements parts.Work: it writes the output, and removes the chunks that waited
// for it.
func (w *arrayWork) Finish(ctx context.Context) ([]byte, error) {
	q := &w.plan.Array
	in, made, err := Made(ctx, w.out, q.Key, w.plan.ID, q.Force)
	if err == nil && !made {
		in, err = w.write(ctx)
	}
	if errors.Is(err, objstore.ErrExists) { // perhaps another call of this plan was faster
		in, _, err = Made(ctx, w.out, q.Key, w.plan.ID, false)
	}
	if err != nil {
		return nil, err
	}
	w.clean(ctx)
	return json.Marshal(ArrayReport{w.plan.ID, q.Bucket, q.Key, w.plan.Bytes, in.Size})
}

// Made looks for the output of a plan. If another one is there, and is not to be replaced,
// the error matches objstore.ErrExists.
func Made(ctx context.Context, b objstore.Bucket, key, plan string, force bool) (in objstore.Info, made bool, err error) {
	in, err = b.Head(ctx, key)
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		return in, false, nil
	case err != nil || in.Meta[pack.MetaPlan] == plan:
		return in, err == nil, err
	case force:
		return in, false, nil
	}
	return in, false, &objstore.Error{Op: "put", Bucket: b.Name(), Key: key, Err: objstore.ErrExists}
}

// write writes the output.
func (w *arrayWork) write(ctx context.Context) (objstore.Info, error) {
	head, tail, err := w.composer.Close()
	if err != nil {
		return objstore.Info{}, err
	}
	q := &w.plan.Array
	out, err := w.out.Create(ctx, q.Key, objstore.PutOptions{IfAbsent: !q.Force, ContentType: "application/octet-stream",
		Meta: map[string]string{functions.MetaMarker: "1", pack.MetaPlan: w.plan.ID}})
	if err != nil {
		return objstore.Info{}, err
	}
	defer out.Abort()
	if _, err := out.Write(head); err != nil {
		return objstore.Info{}, err
	}
	if err := w.splice(ctx, out); err != nil {
		return objstore.Info{}, err
	}
	if _, err := out.Write(tail); err != nil {
		return objstore.Info{}, err
	}
	return out.Commit(ctx)
}

// ahead is how many objects are opened before the one that is copied, or removed at a time.
const ahead = 16

// short is the size up to which an object is read when it is opened, since S3 copies no
// shorter part.
const short = 5 << 20

// splice puts the chunks of all parts behind the header.
func (w *arrayWork) splice(ctx context.Context, out objstore.Writer) error {
	for at := 0; at < len(w.staged); at += ahead {
		list := w.staged[at:min(at+ahead, len(w.staged))]
		objects := make([]*objstore.Object, len(list))
		g, gctx := errgroup.WithContext(ctx)
		for i, s := range list {
			if s.Size == 0 {
				continue
			}
			g.Go(func() (err error) {
				head := int64(1)
				if s.Size < short {
					head = s.Size
				}
				objects[i], err = objstore.Open(gctx, w.dir.Bucket, w.dir.Dir+s.Key, objstore.OpenOptions{Head: head, IfMatch: s.ETag})
				if err == nil && objects[i].Size() != s.Size {
					err = fmt.Errorf("%s: %d bytes, its part says %d: %w", s.Key, objects[i].Size(), s.Size, formats.ErrCorrupt)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, o := range objects {
			if o == nil {
				continue
			}
			if _, err := objstore.Splice(ctx, out, o, objstore.Range{Len: o.Size()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// clean removes the chunks of all parts, and of workers that came too late. What it leaves
// goes with the work bucket's expiry.
func (w *arrayWork) clean(ctx context.Context) {
	var g errgroup.Group
	g.SetLimit(ahead)
	for in, err := range w.dir.Bucket.List(ctx, w.dir.Dir+chunksDir) {
		if err != nil {
			break
		}
		g.Go(func() error { return w.dir.Bucket.Delete(ctx, in.Key) })
	}
	_ = g.Wait()
}
