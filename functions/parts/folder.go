package parts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// A Folder is where a plan lies in a bucket, and all that is made of it.
type Folder struct {
	Bucket objstore.Bucket
	Dir    string // key of the folder, with its slash
}

const planName = "plan.json"

// FolderOf returns the folder of the plan with a key.
func FolderOf(b objstore.Bucket, plan string) (Folder, error) {
	dir, ok := strings.CutSuffix(plan, planName)
	if !ok || !strings.HasSuffix(dir, "/") {
		return Folder{}, fmt.Errorf("the plan %.200q: want a key that ends in /%s: %w", plan, planName, objstore.ErrInvalid)
	}
	return Folder{b, dir}, nil
}

// PlanKey is the key of the plan.
func (f Folder) PlanKey() string { return f.Dir + planName }

// AnswersKey is the key of the answers.
func (f Folder) AnswersKey() string { return f.Dir + "answers.json" }

// ListKey is the key of the list of batches of a run.
func (f Folder) ListKey(run string) string { return f.Dir + "runs/" + run + ".json" }

// partKey sorts as the numbers do.
func (f Folder) partKey(part int) string { return fmt.Sprintf("%sparts/%08d.json", f.Dir, part) }

// A Failure is what a run notes of a batch that failed for ever.
type Failure struct {
	Batch

	Error string `json:"error"` // its type
	Cause string `json:"cause"`
}

func (f Folder) failures(run string) string { return f.Dir + "failed/" + run + "/" }

// maxObject bounds what is read of a folder into memory, as a whole.
const maxObject = 1 << 30

// read returns the bytes of an object.
func (f Folder) read(ctx context.Context, key string) ([]byte, error) {
	r, in, err := f.Bucket.Get(ctx, key, objstore.GetOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if in.Size > maxObject {
		return nil, fmt.Errorf("%s: %d bytes: %w", key, in.Size, formats.ErrTooLarge)
	}
	return io.ReadAll(r)
}

// create writes an object, and reports whether it was not there before.
func (f Folder) create(ctx context.Context, key string, text []byte) (made bool, err error) {
	_, err = objstore.Put(ctx, f.Bucket, key, bytes.NewReader(text), objstore.PutOptions{ContentType: "application/json", IfAbsent: true})
	if errors.Is(err, objstore.ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// Plan reads the plan.
func (f Folder) Plan(ctx context.Context) (*Plan, error) {
	text, err := f.read(ctx, f.PlanKey())
	if err != nil {
		return nil, err
	}
	return ParsePlan(text)
}

// PutPlan writes the plan. If there is one, it must have the same ID.
func (f Folder) PutPlan(ctx context.Context, p *Plan) error {
	if made, err := f.create(ctx, f.PlanKey(), p.Text); made || err != nil {
		return err
	}
	have, err := f.Plan(ctx)
	if err == nil && have.ID != p.ID {
		err = fmt.Errorf("%s is %w", f.PlanKey(), analyze.ErrOtherPlan)
	}
	return err
}

// PutList writes the batches of a run.
func (f Folder) PutList(ctx context.Context, run string, list []Batch) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	made, err := f.create(ctx, f.ListKey(run), append(text, '\n'))
	if err == nil && !made {
		err = fmt.Errorf("%s: %w", f.ListKey(run), objstore.ErrExists)
	}
	return err
}

// LastRun returns the name of the last run that has a list, or "".
func (f Folder) LastRun(ctx context.Context) (run string, err error) {
	prefix := f.Dir + "runs/"
	for in, err := range f.Bucket.List(ctx, prefix) {
		if err != nil {
			return "", err
		}
		run = strings.TrimSuffix(strings.TrimPrefix(in.Key, prefix), ".json")
	}
	return run, nil
}

// putPart writes the line of a part. A part of the same plan that is there already stays.
func (f Folder) putPart(ctx context.Context, p *Plan, part int, line []byte) error {
	made, err := f.create(ctx, f.partKey(part), line)
	if err == nil && !made {
		_, err = f.part(ctx, p, part)
	}
	return err
}

// part returns the result of a part.
func (f Folder) part(ctx context.Context, p *Plan, part int) ([]byte, error) {
	line, err := f.read(ctx, f.partKey(part))
	if err != nil {
		return nil, err
	}
	return p.Result(part, line)
}

// Missing returns the numbers, in order, of the parts from one to before another that are
// not there.
func (f Folder) Missing(ctx context.Context, from, to int) ([]int, error) {
	sizes, err := f.list(ctx, from, to)
	return missingOf(sizes, from), err
}

// absent is the size of a part that is not there.
const absent = -1

// missingOf returns the numbers of the parts that are not there. sizes are those from one on.
func missingOf(sizes []int64, from int) (out []int) {
	for i, n := range sizes {
		if n == absent {
			out = append(out, from+i)
		}
	}
	return out
}

// list returns the stored bytes of the parts from one to before another.
func (f Folder) list(ctx context.Context, from, to int) ([]int64, error) {
	prefix, after := f.Dir+"parts/", ""
	if from > 0 {
		after = f.partKey(from - 1)
	}
	out := slices.Repeat([]int64{absent}, to-from)
	for in, err := range objstore.ListAfter(ctx, f.Bucket, prefix, after) {
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(in.Key, prefix), ".json"))
		if err != nil || n < from || f.partKey(n) != in.Key {
			continue // no part
		}
		if n >= to {
			break
		}
		out[n-from] = in.Size
	}
	return out, nil
}

// Answers reads what Work.Finish returned for the plan with an ID; false: there is nothing
// yet.
func (f Folder) Answers(ctx context.Context, id string) ([]byte, bool, error) {
	text, err := f.read(ctx, f.AnswersKey())
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, false, nil
	}
	if err == nil {
		err = checkAnswers(id, text)
	}
	return text, err == nil, err
}

// Clear removes all of the folder, the plan last.
func (f Folder) Clear(ctx context.Context) error {
	for in, err := range f.Bucket.List(ctx, f.Dir) {
		if err != nil {
			return err
		}
		if in.Key == f.PlanKey() {
			continue
		}
		if err := f.Bucket.Delete(ctx, in.Key); err != nil {
			return err
		}
	}
	return f.Bucket.Delete(ctx, f.PlanKey())
}

// Failures returns what failed in a run.
func (f Folder) Failures(ctx context.Context, run string) ([]Failure, error) {
	var out []Failure
	for in, err := range f.Bucket.List(ctx, f.failures(run)) {
		if err != nil {
			return nil, err
		}
		text, err := f.read(ctx, in.Key)
		if err != nil {
			return nil, err
		}
		var one Failure
		if json.Unmarshal(text, &one) == nil {
			out = append(out, one)
		}
	}
	return out, nil
}
