package packs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/packs"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A place has a source, a plan for it, and the buckets.
type place struct {
	t         *testing.T
	work, out objstore.Bucket
	plan      *packs.ArrayPlan
	head      *parts.Plan
	want      []byte // what one machine makes
}

const source = "s3://out/x.npy"

func newPlace(t *testing.T, force bool) *place {
	t.Helper()
	p := &place{t: t, work: memstore.New(memstore.Config{Name: "s3://work"}), out: memstore.New(memstore.Config{Name: "s3://out"})}
	d, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	items, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{50, 30}})
	for i := range 50 * 30 * 4 {
		items = append(items, byte(i*i/1000)*byte(i/1800%2)) // the first half of each 3600 are zeros
	}
	if err == nil {
		err = p.put("x.npy", items)
	}
	if err != nil {
		t.Fatal(err)
	}
	q := packs.ArrayAsk{Bucket: "out", Key: "x.b2nd", Force: force, ChunkShape: []int{10, 10}, Index: cframe.WithIndex, PartBytes: 1200}
	div, now := p.divide(&q)
	q.Items = div.Items()
	p.plan = packs.NewArrayPlan(div, now, q)
	if p.head, err = parts.NewPlan(p.plan); err != nil {
		t.Fatal(err)
	}
	w, err := p.out.Create(t.Context(), "one.b2nd", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.array().Write(t.Context(), w, q.Write()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.want = p.get("one.b2nd")
	return p
}

func (p *place) put(key string, b []byte) error {
	_, err := objstore.Put(p.t.Context(), p.out, key, bytes.NewReader(b), objstore.PutOptions{})
	return err
}

func (p *place) get(key string) []byte {
	p.t.Helper()
	r, _, err := p.out.Get(p.t.Context(), key, objstore.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *place) array() pack.Array {
	p.t.Helper()
	o, err := objstore.Open(p.t.Context(), p.out, "x.npy", objstore.OpenOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	list, err := pack.Arrays(p.t.Context(), o, pack.ArrayOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return list[0]
}

// divide opens the source.
func (p *place) divide(q *packs.ArrayAsk) (*pack.Divided, analyze.Source) {
	p.t.Helper()
	o, err := objstore.Open(p.t.Context(), p.out, "x.npy", objstore.OpenOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	a := p.array()
	if q.Items != nil {
		if a, err = pack.ArrayAt(o, *q.Items); err != nil {
			p.t.Fatal(err)
		}
	}
	d, err := a.Divide(q.Write())
	if err != nil {
		p.t.Fatal(err)
	}
	return d, packs.SourceOf(source, o.Info())
}

// open makes the Work as another machine does.
func (p *place) open() (parts.Work, error) {
	plan, err := packs.ParseArrayPlan(p.head)
	if err != nil {
		p.t.Fatal(err)
	}
	d, now := p.divide(&plan.Array)
	return plan.Open(d, now, parts.Folder{Bucket: p.work, Dir: "jobs/x/"}, p.out)
}

func (p *place) opened() parts.Work {
	p.t.Helper()
	w, err := p.open()
	if err != nil || w.ID() != p.plan.ID || w.Parts() != 5 {
		p.t.Fatal(err)
	}
	return w
}

// lines are the parts, made twice: the first ones count.
func (p *place) lines() (list [][]byte) {
	p.t.Helper()
	a, b := p.opened(), p.opened()
	for n := range p.plan.Parts {
		line, err := a.Part(p.t.Context(), n)
		if err == nil {
			_, err = b.Part(p.t.Context(), n)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		list = append(list, line)
	}
	return list
}

func (p *place) finish(lines [][]byte) ([]byte, error) {
	p.t.Helper()
	w := p.opened()
	for n, line := range lines {
		if err := w.Take(n, line); err != nil {
			return nil, err
		}
	}
	return w.Finish(p.t.Context())
}

// staged are the keys of chunks.
func (p *place) staged() (keys []string) {
	p.t.Helper()
	for in, err := range p.work.List(p.t.Context(), "jobs/x/chunks/") {
		if err != nil {
			p.t.Fatal(err)
		}
		keys = append(keys, in.Key)
	}
	return keys
}

// TestArray: parts of which each is made twice become the bytes of one machine, once; the
// last step may come again, and chunks do not stay.
func TestArray(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	lines := p.lines()
	if n := len(p.staged()); n != 6 { // two parts are zeros
		t.Errorf("%d objects of chunks", n)
	}
	for range 2 {
		text, err := p.finish(lines)
		if want := fmt.Sprintf(`{"plan":%q,"bucket":"out","key":"x.b2nd","bytes":6000,"stored":%d}`, p.plan.ID, len(p.want)); err != nil || string(text) != want {
			t.Fatalf("%s, %v, want %s", text, err, want)
		}
		if !bytes.Equal(p.get("x.b2nd"), p.want) {
			t.Error("other bytes than those of one machine")
		}
		if left := p.staged(); len(left) > 0 {
			t.Errorf("%v remain", left)
		}
	}
}

// TestArrayTaken: another output in the place is left as it is, or replaced if that was asked.
func TestArrayTaken(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		p := newPlace(t, force)
		lines := p.lines()
		if err := p.put("x.b2nd", []byte("mine")); err != nil {
			t.Fatal(err)
		}
		_, err := p.finish(lines)
		got := string(p.get("x.b2nd"))
		if force && (err != nil || got != string(p.want)) || !force && (!errors.Is(err, objstore.ErrExists) || !parts.Permanent(err) || got != "mine") {
			t.Errorf("force %v: %v", force, err)
		}
	}
}

// TestArrayLost: chunks that are gone or others, lines that are no part, and a source that
// changed make no output.
func TestArrayLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t, false)
	lines := p.lines()
	for _, bad := range []string{``, `{}`, `{"size":5,"run":""}`, strings.Replace(string(lines[2]), `"size":`, `"size":1`, 1)} {
		if _, err := p.finish(append([][]byte{[]byte(bad)}, lines[1:]...)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
	if _, err := p.finish(lines[:4]); !errors.Is(err, cframe.ErrRefused) {
		t.Errorf("a part less: %v", err)
	}
	keys := p.staged()
	if _, err := objstore.Put(t.Context(), p.work, keys[0], strings.NewReader("x"), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Put(t.Context(), p.work, keys[1], strings.NewReader("x"), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.finish(lines); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("other chunks: %v", err)
	}
	for _, key := range keys {
		if err := p.work.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.finish(lines); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("no chunks: %v", err)
	}
	if _, err := p.out.Head(t.Context(), "x.b2nd"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("an output: %v", err)
	}
	if err := p.put("x.npy", p.get("x.npy")); err != nil { // the same bytes, another object
		t.Fatal(err)
	}
	if _, err := p.open(); !errors.Is(err, analyze.ErrOtherSource) || !parts.Permanent(err) {
		t.Errorf("another source: %v", err)
	}
}
