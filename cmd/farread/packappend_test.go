package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/teststack"
)

// rowsOf returns rows of an array as a .npy, cut out of a fixture.
func rowsOf(t *testing.T, rows string) []byte {
	t.Helper()
	return []byte(run(t, "slice", bloscDir+"/nd2.b2nd", rows, "-o", "-", "--format", "npy"))
}

// TestAppend: an array that was packed in parts is the array that was packed at once.
func TestAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	whole := run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "raw")
	for name, flags := range map[string][]string{"a": nil, "b": {"--chunk-shape", "20,30", "--block-shape", "7,10"}, "c": {"--codec", "lz4", "--index"}} {
		dst := at(name + ".b2nd")
		for i, rows := range []string{"0:13", "13:14", "14:40", "40:95", "95:101"} {
			write(t, at("part.npy"), rowsOf(t, rows))
			if i == 0 {
				run(t, append([]string{"pack", at("part.npy"), dst}, flags...)...)
				continue
			}
			run(t, "pack", "--append", at("part.npy"), dst)
			run(t, "verify", dst)
		}
		if got := run(t, "slice", dst, ":", "-o", "-", "--format", "raw"); got != whole {
			t.Errorf("%s: %d other bytes", name, len(got))
		}
		if got := run(t, "verify", dst); strings.Contains(got, "belong to no chunk") {
			t.Errorf("%s: dead bytes: %s", name, got)
		}
	}
	before := files(t, dir)
	write(t, at("other.npy"), []byte(run(t, "slice", bloscDir+"/nd2.b2nd", ":, 0:5", "-o", "-", "--format", "npy")))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{at("other.npy"), at("a.b2nd")}, exitCorrupt, "does not continue"},
		{[]string{at("part.npy"), at("none.b2nd")}, exitNotFound, "without --append"},
		{[]string{at("part.npy"), at("x.zoom")}, exitNotFound, "without --append"},
		{[]string{at("part.npy"), at("a.b2nd"), "--force"}, exitUsage, "--force"},
		{[]string{at("part.npy"), at("a.b2nd"), "--chunk-shape", "5,5"}, exitUsage, "--chunk-shape"},
		{[]string{at("part.zarr"), at("a.b2nd")}, exitNotFound, "part.zarr"},
		{[]string{at("part.npy"), at("a.b2nd"), "--coord", "y=" + at("part.npy")}, exitUsage, "has no coordinate that would grow"},
		{[]string{at("part.npy"), at("a.b2nd"), "--dims", "y,x"}, exitUsage, "--dims"},
		{[]string{at("part.npy"), at("x.gulp")}, exitUsage, "a gulp chunk does not grow"},
		{[]string{dir, at("x.gmeta")}, exitUsage, "a gulp chunk does not grow"},
		{[]string{dir, at("x"), "--format", "gulp"}, exitUsage, "grows without it"},
	} {
		if r := (runner{}).run(t, append([]string{"pack", "--append"}, c.args...)...); r.code != c.code || !strings.Contains(r.stderr, c.says) {
			t.Errorf("%q: exit %d %q", c.args, r.code, r.stderr)
		}
	}
	after := files(t, dir)
	delete(after, "other.npy")
	if len(after) != len(before) || after["a.b2nd"] != before["a.b2nd"] {
		t.Error("a refused append changed something")
	}
}

// TestExplainAppendOnce: an append reads nothing of an array twice, and explain lists what it reads.
func TestExplainAppendOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	rows := func(n int) []byte {
		p := make([]byte, n*4096)
		for i := range p {
			p[i] = byte(i*i>>7 ^ i)
		}
		return p
	}
	raw := func(n string) []string { return []string{"--dtype", "|u1", "--shape", n + ",4096"} }
	write(t, at("a.raw"), rows(120))
	write(t, at("b.raw"), rows(3))
	run(t, append([]string{"pack", at("a.raw"), at("x.b2nd"), "--level", "0", "--chunk-shape", "50,4096"}, raw("120")...)...)
	var plan appendPlan
	if err := json.Unmarshal([]byte(run(t, append([]string{"explain", "--append", at("b.raw"), at("x.b2nd"), "--json"}, raw("3")...)...)), &plan); err != nil {
		t.Fatal(err)
	}
	seen := map[[2]int64]bool{}
	for _, r := range plan.Requests {
		if strings.HasSuffix(r.Object, "x.b2nd") && r.Why == "data" {
			if at := [2]int64{r.Off, r.Len}; seen[at] {
				t.Errorf("%d bytes at %d are read twice", r.Len, r.Off)
			} else {
				seen[at] = true
			}
		}
	}
	if len(seen) == 0 {
		t.Errorf("nothing is read: %+v", plan.Requests)
	}
	run(t, append([]string{"pack", "--append", at("b.raw"), at("x.b2nd")}, raw("3")...)...)
	if n := int64(len(read(t, at("x.b2nd")))); n != plan.Stored {
		t.Errorf("stored %d bytes, explained %d", n, plan.Stored)
	}
}

// cloudEnv is the environment by which the command finds a local cloud.
func cloudEnv(s *teststack.Stack) map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey, "AWS_REGION": s.Region,
		"AWS_ENDPOINT_URL": s.Endpoint, "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull}
}

// TestAppendInS3: S3 copies what is there, and of appends side by side none is lost: each is
// there whole, or was refused.
func TestAppendInS3(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"arrays"}})
	for k, v := range cloudEnv(s) {
		t.Setenv(k, v)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const uri, row = "s3://arrays/grown.b2nd", 64 << 10
	big := make([]byte, 256*row)
	for i := range big {
		big[i] = byte(i*i>>7 ^ i)
	}
	write(t, at("big.raw"), big)
	raw := func(rows string) []string { return []string{"--dtype", "|u1", "--shape", rows + ",65536"} }
	run(t, append([]string{"pack", at("big.raw"), uri, "--level", "0", "--chunk-shape", "16,65536"}, raw("256")...)...)
	write(t, at("one.raw"), big[:3*row])
	var plan appendPlan
	if err := json.Unmarshal([]byte(run(t, append([]string{"explain", "--append", at("one.raw"), uri, "--json"}, raw("3")...)...)), &plan); err != nil {
		t.Fatal(err)
	}
	did := runner{}.run(t, append([]string{"pack", "--append", at("one.raw"), uri, "--json", "--stats"}, raw("3")...)...)
	var rep appendReport
	var cost struct{ Requests int64 }
	if err := errors.Join(json.Unmarshal([]byte(did.stdout), &rep), json.Unmarshal([]byte(did.stderr), &cost)); err != nil {
		t.Fatalf("%v: %s%s", err, did.stdout, did.stderr)
	}
	if asJSON(t, plan.appendReport) != asJSON(t, rep) || plan.Reads+plan.Writes != cost.Requests {
		t.Errorf("explained: %+v; done: %+v in %d requests", plan, rep, cost.Requests)
	}
	t.Logf("%d reads of %d bytes, %d writes: %+v", plan.Reads, plan.Read, plan.Writes, rep)
	if rep.Added != 3 || rep.Copied < 10<<20 || rep.Sent > 7<<20 || rep.Sent+rep.Copied != rep.Stored {
		t.Errorf("%+v", rep)
	}
	n := racetest.Share(6, 3)
	codes := make([]int, n)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			r := runner{}.run(t, append([]string{"pack", "--append", at("one.raw"), uri}, raw("3")...)...)
			if codes[i] = r.code; r.code != 0 && r.code != exitChanged {
				t.Errorf("exit %d %q", r.code, r.stderr)
			}
		})
	}
	wg.Wait()
	want := string(big) + string(big[:3*row])
	for _, code := range codes {
		if code == 0 {
			want += string(big[:3*row])
		}
	}
	if len(want) == len(big)+3*row {
		t.Error("no append was made")
	}
	if got := run(t, "slice", uri, ":", "-o", "-", "--format", "raw"); got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	run(t, "verify", uri)
	appendIndexBeside(t)
}

// asJSON is what tells reports that were read from JSON apart.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(p)
}
