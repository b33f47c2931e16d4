package check

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestPacksRights: what the function of packs does to S3 beside what that of analyses does, it
// may do, and nothing is granted beside that: chunks are staged, copied into the output, which
// is looked for, and removed.
func TestPacksRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"inputs", "datasets", "work"}})
	p, err := ParsePolicy(attribute(t, machines(t, nil), "aws_iam_role_policy.parts", "packs", "policy"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(p)
	open := func(name string) objstore.Bucket {
		b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Transport: g})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ctx, work, out := t.Context(), open("work"), open("datasets")
	if _, err := out.Head(ctx, "sets/x.b2nd"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("an output that is absent: %v", err)
	}
	const staged = "far/x/chunks/00000000-1"
	if _, err := objstore.Put(ctx, work, staged, bytes.NewReader(noise(14<<20, 1)), objstore.PutOptions{IfAbsent: true}); err != nil {
		t.Fatal(err)
	}
	o, err := objstore.Open(ctx, work, staged, objstore.OpenOptions{Head: 1})
	if err != nil {
		t.Fatal(err)
	}
	w, err := out.Create(ctx, "sets/x.b2nd", objstore.PutOptions{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := objstore.Splice(ctx, w, o, objstore.Range{Len: o.Size()}); err != nil || n == 0 {
		t.Errorf("%d bytes copied, %v", n, err)
	}
	if _, err := w.Commit(ctx); err != nil {
		t.Error(err)
	}
	if w, err = out.Create(ctx, "sets/y.b2nd", objstore.PutOptions{}); err == nil { // given up
		_, err = w.Write(noise(20<<20, 1))
		w.Abort()
	}
	if err != nil {
		t.Error(err)
	}
	if err := work.Delete(ctx, staged); err != nil {
		t.Error(err)
	}
	g.nothingMissing(t)
	for _, r := range []Request{
		{Action: "s3:DeleteObject", Resource: "arn:aws:s3:::datasets/sets/x.b2nd"}, {Action: "s3:DeleteObject", Resource: "arn:aws:s3:::work/far/x/plan.json"},
		{Action: "s3:PutObject", Resource: "arn:aws:s3:::inputs/x.npy"}, {Action: "s3:PutObject", Resource: "arn:aws:s3:::datasets/other/x.b2nd"},
	} {
		if by := p.Allows(r); len(by) > 0 {
			t.Errorf("%s of %s is allowed by %q", r.Action, r.Resource, by)
		}
	}
	for _, st := range p.Statement {
		for _, a := range st.Action {
			if (st.Sid == "WriteOutputs" || st.Sid == "Staged" || strings.HasPrefix(st.Sid, "ListOutputs")) && !g.used[st.Sid][a] {
				t.Errorf("%s of %s is not used", a, st.Sid)
			}
		}
	}
}
