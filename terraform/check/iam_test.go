package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

const module = "../modules/pipeline"

// deploy evaluates the module for buckets "uploads" and "datasets".
func deploy(t *testing.T, rules cty.Value, more map[string]cty.Value) *Instance {
	t.Helper()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	zips := map[string]cty.Value{}
	for it := rules.ElementIterator(); it.Next(); {
		_, r := it.Element()
		job := r.GetAttr("job").AsString()
		zips[job] = cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal(job + ".zip")})
	}
	input := map[string]cty.Value{"name": cty.StringVal("demo"), "rules": rules, "functions": cty.ObjectVal(zips),
		"uploads_bucket": cty.StringVal("uploads"), "datasets_bucket": cty.StringVal("datasets")}
	maps.Copy(input, more)
	in, err := m.With(input)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func rule(job, prefix, out string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"job": cty.StringVal(job), "prefix": cty.StringVal(prefix),
		"out": cty.ObjectVal(map[string]cty.Value{"prefix": cty.StringVal(out)})})
}

// joins is a rule whose uploads become one dataset.
func joins(prefix, out, to string) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"job": cty.StringVal("pack"), "prefix": cty.StringVal(prefix), "format": cty.StringVal("b2nd"),
		"append": cty.True, "to": cty.StringVal(to), "out": cty.ObjectVal(map[string]cty.Value{"prefix": cty.StringVal(out)})})
}

func policyOf(t *testing.T, in *Instance, job string) Policy {
	t.Helper()
	text, err := in.Attribute("aws_iam_role_policy.this", job, "policy")
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy(text.AsString())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A worker is one function as it is deployed: the module's rules and rights, the
// code's job, and an S3 server behind IAM.
type worker struct {
	t       *testing.T
	guard   *guard
	name    string          // of the uploads' bucket
	uploads *s3store.Bucket // that bucket without IAM, as who uploads has it
	handler *functions.Handler
	seq     int
}

func newWorker(t *testing.T, s *teststack.Stack, in *Instance, job string) *worker {
	t.Helper()
	document, err := in.Local("document")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := functions.ParseRules([]byte(document.AsString()))
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, guard: newGuard(policyOf(t, in, job)), name: rules[0].Bucket}
	open := func(name string, tr http.RoundTripper) *s3store.Bucket {
		b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	w.uploads = open(w.name, nil)
	buckets := map[string]objstore.Bucket{}
	for _, name := range []string{w.name, rules[0].Out.Bucket} {
		buckets[name] = open(name, w.guard)
	}
	maker := map[string]functions.JobMaker{"pack": pack.New(pack.Options{}), "zoom": zoom.New(zoom.WriteOptions{}, nil)}[job]
	w.handler = &functions.Handler{Rules: rules, Jobs: map[string]functions.JobMaker{job: maker},
		Buckets: func(name string) (objstore.Bucket, error) { return buckets[name], nil }}
	if err := w.handler.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *worker) upload(key string, body []byte) objstore.Info {
	w.t.Helper()
	info, err := objstore.Put(context.WithoutCancel(w.t.Context()), w.uploads, key, bytes.NewReader(body), objstore.PutOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return info
}

// payload is the event of an upload.
func (w *worker) payload(key string, info objstore.Info) []byte {
	w.t.Helper()
	w.seq++
	b, err := json.Marshal(map[string]any{"Records": []any{map[string]any{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": map[string]any{
		"bucket": map[string]any{"name": w.name},
		"object": map[string]any{"key": url.QueryEscape(key), "size": info.Size, "eTag": strings.Trim(info.ETag, `"`), "versionId": info.VersionID, "sequencer": fmt.Sprintf("%04X", w.seq)},
	}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// event compares what becomes of an event.
func (w *worker) event(what, key string, payload []byte) {
	w.t.Helper()
	r, err := w.handler.Handle(w.t.Context(), payload)
	got := map[string]int{"packed": r.Packed, "unchanged": r.Unchanged, "ignored": r.Ignored, "dropped": r.Dropped, "failed": r.Failed, "elsewhere": r.Elsewhere}
	if err != nil || got[what] != 1 {
		w.t.Errorf("%s is not %s: %v %v", key, what, got, err)
	}
}

// want uploads and runs, and compares what became of it.
func (w *worker) want(what, key string, body []byte) {
	w.t.Helper()
	w.event(what, key, w.payload(key, w.upload(key, body)))
}

// late: the event of a version that was replaced comes after all. The version can
// still be read.
func (w *worker) late(at string) {
	w.t.Helper()
	key, first, second := at+"late.wav", sound(10, 1), sound(10, 2)
	if w.handler.Jobs["zoom"] == nil {
		key, first, second = at+"late.bin", noise(1000, 1), noise(1000, 2)
	}
	old := w.payload(key, w.upload(key, first))
	now := w.payload(key, w.upload(key, second))
	w.event("packed", key, old)
	w.event("packed", key, now)
}

// stopped: the invocation ends in the middle of writing; what was written is
// dropped, and the event comes again.
func (w *worker) stopped(key string, body []byte) {
	w.t.Helper()
	payload := w.payload(key, w.upload(key, body))
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	w.guard.then(func(r *http.Request) bool {
		if !r.URL.Query().Has("partNumber") {
			return false
		}
		cancel()
		return true
	})
	if r, err := w.handler.Handle(ctx, payload); r.Retry != 1 || !errors.Is(err, context.Canceled) {
		w.t.Errorf("%s: %+v, %v", key, r, err)
	}
}

// deleted: the upload is gone before its event comes.
func (w *worker) deleted(key string) {
	w.t.Helper()
	payload := w.payload(key, w.upload(key, []byte("x")))
	if err := w.uploads.Delete(w.t.Context(), key); err != nil {
		w.t.Error(err)
	}
	w.event("dropped", key, payload)
}

// turned: the content of an upload becomes of another kind, and the output that was
// made before goes.
func (w *worker) turned(key string) {
	w.t.Helper()
	w.want("packed", key, array(1000))
	w.want("packed", key, noise(1000, 3))
}

// stories are the job paths of each function, below the place of its uploads.
func stories() map[string]func(w *worker, at string) {
	return map[string]func(w *worker, at string){
		"pack": func(w *worker, at string) {
			w.want("packed", at+"a b+ü%.tar", clip(w.t, 1))
			w.want("packed", at+"a b+ü%.tar", clip(w.t, 2))
			w.want("packed", at+"x.npy", array(1000))
			w.upload(at+"grid.raw.json", []byte(`{"dtype":"<f4","shape":[10,10]}`))
			w.want("packed", at+"grid.raw", noise(400, 1))
			w.want("packed", at+"log.jsonl", []byte("{\"a\":1}\n{\"a\":2}\n"))
			big := w.payload(at+"big.bin", w.upload(at+"big.bin", noise(12<<20, 2))) // in parts
			w.event("packed", at+"big.bin", big)
			w.event("unchanged", at+"big.bin", big)
			w.deleted(at + "gone.tar")
			w.turned(at + "turned.bin")
			w.want("elsewhere", "series/a.wav", sound(3, 1))
			w.want("ignored", at+"set/one/1.jpg", picture(w.t, 1))
			w.upload(at+"set/one/2.jpg", picture(w.t, 2))
			w.want("packed", at+"set/_SUCCESS", nil)
			w.want("packed", at+"set/manifest.json", []byte(`["one/1.jpg","one/2.jpg"]`))
			w.want("failed", at+"broken.tar", clip(w.t, 1)[:1500])
			w.stopped(at+"late.bin", noise(40<<20, 4))
			joined(w, "days*/")
			w.stopped("days*/5.npy", array(10_000_000))
		},
		"zoom": func(w *worker, at string) {
			w.want("packed", at+"a b+ü%.wav", sound(4_000_000, 1)) // in parts
			w.want("packed", at+"a b+ü%.wav", sound(3, 2))
			w.want("packed", at+"tide.csv", table(500))
			w.want("packed", at+"x.npy", array(1000))
			w.upload(at+"raw.pcm.json", []byte(`{"dtype":"<i2","shape":[100],"rate":50}`))
			w.want("packed", at+"raw.pcm", noise(200, 1))
			w.want("failed", at+"broken.wav", []byte("RIFF\x00\x00\x00\x00WAVEfmt "))
			w.deleted(at + "gone.wav")
			w.stopped(at+"late.wav", sound(20_000_000, 4))
		},
	}
}

// joined are uploads that become one dataset: it begins, it grows by copies of its parts, it
// has one put in its place, and one that it does not take.
func joined(w *worker, at string) {
	w.t.Helper()
	w.want("packed", at+"2.npy", array(4_000_000))
	w.want("packed", at+"3.npy", array(1000))
	w.want("packed", at+"1.npy", array(1000))
	payload := w.payload(at+"4.npy", w.upload(at+"4.npy", array(500)))
	w.event("packed", at+"4.npy", payload)
	w.event("unchanged", at+"4.npy", payload)
	w.want("failed", at+"x.npy", clip(w.t, 1))
}

// TestRights runs every kind of job behind IAM, and compares what they use with
// what the module gives: nothing missing, nothing more.
func TestRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	rules := map[string]cty.Value{
		"prefixes": cty.TupleVal([]cty.Value{rule("pack", "in/cl$ips*", "sets/"), rule("zoom", "series/", "zoom/"), joins("days*/", "sets/", "a$?*b+ü%.b2nd")}),
		"pack":     cty.TupleVal([]cty.Value{rule("pack", "", "")}),
		"zoom":     cty.TupleVal([]cty.Value{rule("zoom", "", "")}),
	}
	plain := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets", "pack-uploads", "pack-datasets", "zoom-uploads", "zoom-datasets"}})
	versions := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets"}, Versioning: true})
	for _, job := range slices.Sorted(maps.Keys(stories())) {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			in := deploy(t, rules["prefixes"], nil)
			used := map[string]map[string]bool{}
			at := map[string]string{"pack": "in/cl$ips*/", "zoom": "series/"}[job]
			for name, s := range map[string]*teststack.Stack{"plain": plain, "versions": versions} {
				w := newWorker(t, s, in, job)
				if name == "plain" {
					stories()[job](w, at)
				} else {
					tale(w, at)
					w.late(at)
					if job == "pack" {
						joined(w, "days*/")
					}
					w.deleted(at + "gone.bin")
				}
				w.guard.nothingMissing(t)
				for sid, actions := range w.guard.used {
					if used[sid] == nil {
						used[sid] = map[string]bool{}
					}
					maps.Copy(used[sid], actions)
				}
			}
			if d := cmp.Diff(given(policyOf(t, in, job)), list(used)); d != "" {
				t.Errorf("given, but never used (-), or used by a right that is not its own (+):\n%s", d)
			}
			// Without a prefix a listing names none, and a marker may close the bucket.
			w := newWorker(t, plain, deploy(t, rules[job], map[string]cty.Value{"uploads_bucket": cty.StringVal(job + "-uploads"), "datasets_bucket": cty.StringVal(job + "-datasets")}), job)
			if job == "pack" {
				w.upload("one/1.jpg", picture(t, 1))
				w.want("packed", "_SUCCESS", nil)
			}
			tale(w, "below/")
			w.guard.nothingMissing(t)
		})
	}
}

// TestRightsLeftOut: what becomes of a job without a right that it asks for. Tags
// may be kept from it; that an object is absent may not, or nothing would ever be
// packed.
func TestRightsLeftOut(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	rules := cty.TupleVal([]cty.Value{rule("pack", "", "")})
	w := newWorker(t, s, deploy(t, rules, map[string]cty.Value{"labels_from_tags": cty.False}), "pack")
	tale(w, "no-tags/")
	for d := range w.guard.denied {
		if !strings.HasPrefix(d, "s3:GetObjectTagging ") {
			t.Errorf("denied, too: %s", d)
		}
	}
	if len(w.guard.denied) == 0 {
		t.Error("tags were read")
	}
	// Without the right to delete, the other output is left.
	w = newWorker(t, s, deploy(t, rules, nil), "pack")
	for i := range w.guard.policy.Statement {
		st := &w.guard.policy.Statement[i]
		st.Action = slices.DeleteFunc(st.Action, func(a string) bool { return a == "s3:DeleteObject" })
	}
	w.turned("turned.bin")
	for d := range w.guard.denied {
		if !strings.HasPrefix(d, "s3:DeleteObject ") {
			t.Errorf("denied, too: %s", d)
		}
	}
	if len(w.guard.denied) == 0 {
		t.Error("nothing was to be deleted")
	}
	w = newWorker(t, s, deploy(t, rules, nil), "pack")
	w.guard.policy.Statement = slices.DeleteFunc(w.guard.policy.Statement, func(s Statement) bool { return s.Sid == "ListDatasets" })
	r, err := w.handler.Handle(t.Context(), w.payload("a.tar", w.upload("a.tar", clip(t, 1))))
	if r.Retry != 1 || !errors.Is(err, objstore.ErrDenied) {
		t.Errorf("%+v, %v", r, err)
	}
}

// tale is the shortest story.
func tale(w *worker, at string) {
	w.t.Helper()
	if w.handler.Jobs["zoom"] != nil {
		w.want("packed", at+"a.wav", sound(10, 1))
		return
	}
	w.upload(at+"set/one/1.jpg", picture(w.t, 1))
	w.want("packed", at+"set/_SUCCESS", nil)
	w.want("packed", at+"a.tar", clip(w.t, 1))
}

// given are the actions of a policy's statements about S3. Queue and logs are what
// Lambda itself uses, by the function's role:
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html#events-sqs-permissions
func given(p Policy) map[string][]string {
	out := map[string][]string{}
	for _, s := range p.Statement {
		if s.Sid != "Queue" && s.Sid != "Logs" {
			out[s.Sid] = slices.Sorted(slices.Values(s.Action))
		}
	}
	return out
}

func list(used map[string]map[string]bool) map[string][]string {
	out := map[string][]string{}
	for sid, actions := range used {
		out[sid] = slices.Sorted(maps.Keys(actions))
	}
	return out
}
