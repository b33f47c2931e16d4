package backfill

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/farread/farread/objstore"
)

const (
	// smallBatches have few objects, so that a small backfill is spread over many
	// workers as well; the others are as large as the history of an execution allows.
	smallBatches = 1000
	fewObjects   = 10
	manyObjects  = 100
	batchBytes   = 64 << 10 // a state machine passes on 256 KiB
	// MaxBatches is how many batches a plan has at most: each leaves two bytes in the
	// output of the map.
	MaxBatches = 50_000
)

// A batch is what one execution of the map does, one object after the other.
type batch struct {
	Name   string   `json:"name"` // its number; names sort as the numbers do
	Job    string   `json:"job"`
	Bucket string   `json:"bucket"`
	Keys   []string `json:"keys"`

	bytes int
}

// ErrMany means that a prefix has more objects than a state machine takes at a time.
var ErrMany = errors.New("more objects than one run takes")

// A Plan is a listing cut into batches, for a state machine to work on.
type Plan struct {
	ID      string // of the batches: the same objects have the same
	Batches int
	Objects int64

	o      Options
	list   *os.File // JSON, a line for each batch
	report Report   // of the objects that are not worked on, and Listed
	open   map[string]*batch
}

// NewPlan lists the objects of o that a rule matches, cut into batches. It keeps them in a
// temporary file, until Close. Of o it looks at what says which objects.
func NewPlan(ctx context.Context, o Options) (*Plan, error) {
	list, err := os.CreateTemp("", "farread-backfill-*")
	if err != nil {
		return nil, err
	}
	p := &Plan{o: o, list: list, report: Report{Prefix: o.URI, Failures: []Failure{}}, open: map[string]*batch{}}
	if err := p.fill(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close removes the temporary file.
func (p *Plan) Close() {
	_ = p.list.Close()
	_ = os.Remove(p.list.Name()) // a left-over in a folder for them
}

func (p *Plan) fill(ctx context.Context) error {
	sum := sha256.New()
	buf := bufio.NewWriter(p.list)
	w := io.MultiWriter(sum, buf)
	if _, err := io.WriteString(w, "["); err != nil {
		return err
	}
	for info, err := range objstore.ListAfter(ctx, p.o.Bucket, p.o.Prefix, "") {
		if err != nil {
			return err
		}
		if err := p.see(w, info); err != nil {
			return err
		}
	}
	for _, job := range []string{"pack", "zoom"} {
		if err := p.flush(w, job); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w, "\n]\n"); err != nil {
		return err
	}
	p.ID = hex.EncodeToString(sum.Sum(nil)[:12])
	return buf.Flush()
}

// see counts an object of the listing, and adds it to a batch if a rule matches it.
func (p *Plan) see(w io.Writer, info objstore.Info) error {
	rule, matched := p.o.Handler.Rules.Match(p.o.Name, info.Key)
	switch {
	case !matched:
		p.report.pass(passed{unmatched: 1})
		return nil
	case info.ModTime.Before(p.o.Since):
		p.report.pass(passed{older: 1})
		return nil
	}
	p.report.Listed++
	p.Objects++
	b := p.open[rule.Job]
	if b != nil && (len(b.Keys) == p.most() || b.bytes+6*len(info.Key) > batchBytes) {
		if err := p.flush(w, rule.Job); err != nil {
			return err
		}
		b = nil
	}
	if b == nil {
		b = &batch{Job: rule.Job, Bucket: p.o.Name}
		p.open[rule.Job] = b
	}
	b.Keys = append(b.Keys, info.Key)
	b.bytes += 6*len(info.Key) + 3 // as long as JSON makes it at worst
	return nil
}

// most is how many objects the next batch has.
func (p *Plan) most() int {
	if p.Batches < smallBatches {
		return fewObjects
	}
	return manyObjects
}

func (p *Plan) flush(w io.Writer, job string) error {
	b := p.open[job]
	if b == nil {
		return nil
	}
	delete(p.open, job)
	if p.Batches == MaxBatches {
		return fmt.Errorf("%w, %d: %w", ErrMany, p.Objects, objstore.ErrInvalid)
	}
	b.Name = batchName(p.Batches)
	line := bytes.NewBufferString("\n")
	if p.Batches > 0 {
		line = bytes.NewBufferString(",\n")
	}
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	if err := e.Encode(b); err != nil {
		return err
	}
	p.Batches++
	_, err := w.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	return err
}

func batchName(n int) string { return fmt.Sprintf("%06d", n) }

// batches calls f for each batch.
func (p *Plan) batches(f func(n int, b batch) error) error {
	if _, err := p.list.Seek(0, io.SeekStart); err != nil {
		return err
	}
	d := json.NewDecoder(bufio.NewReader(p.list))
	if _, err := d.Token(); err != nil {
		return err
	}
	for n := 0; d.More(); n++ {
		var b batch
		if err := d.Decode(&b); err != nil {
			return err
		}
		if err := f(n, b); err != nil {
			return err
		}
	}
	return nil
}

// An Input is what the state machine of backfills is started with.
type Input struct {
	Bucket  string `json:"bucket"`  // of the work
	List    string `json:"list"`    // key of the batches
	Results string `json:"results"` // what became of each batch of a run lies under it: RUN/NAME.json
}

// Put writes the batches into a work bucket, below a prefix, unless they are there.
func (p *Plan) Put(ctx context.Context, work objstore.Bucket, bucket, prefix string) (Input, error) {
	in := Input{Bucket: bucket, Results: prefix + "backfill/" + p.ID + "/"}
	in.List = in.Results + "list.json"
	if _, err := p.list.Seek(0, io.SeekStart); err != nil {
		return in, err
	}
	_, err := objstore.Put(ctx, work, in.List, p.list, objstore.PutOptions{ContentType: "application/json", IfAbsent: true})
	if errors.Is(err, objstore.ErrExists) {
		err = nil
	}
	return in, err
}

// sorted are failures in the order of their keys, the first of them.
func sorted(all []Failure) []Failure {
	slices.SortFunc(all, func(a, b Failure) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return all[:min(len(all), maxFailures)]
}
