package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/internal/teststack"
)

// contents are the frames and meta_data behind a URI, as the commands give them.
func contents(t *testing.T, uri string, flags ...string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	run(t, slices.Concat([]string{"get", uri, "-o", out}, flags)...)
	all := files(t, out)
	for _, l := range lines[idLine](t, run(t, slices.Concat([]string{"ls", uri, "--json"}, flags)...)) {
		var meta any
		if err := json.Unmarshal(l.MetaData, &meta); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(meta)
		if err != nil {
			t.Fatal(err)
		}
		all[l.ID+" meta_data"] = string(canonical)
	}
	return all
}

// TestThereAndBack: pack makes the same frames and meta_data again of the files that
// unpack writes, as a chunk and as a dataset.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := sample(t, dir)
	want := contents(t, name)
	folder := filepath.Join(dir, "folder")
	run(t, "unpack", name, folder)
	again := filepath.Join(dir, "again.gulp")
	run(t, "pack", folder, again)
	if d := cmp.Diff(want, contents(t, again)); d != "" {
		t.Errorf("as a chunk (-want +got):\n%s", d)
	}
	set := filepath.Join(dir, "set")
	var rep packReport
	if err := json.Unmarshal([]byte(run(t, "pack", folder, set, "--format", "gulp", "--chunk", "1kB", "--json")), &rep); err != nil {
		t.Fatal(err)
	}
	if rep.IDs != 3 || rep.Frames != 15 || len(rep.Outputs) != 4 {
		t.Errorf("%+v", rep)
	}
	if d := cmp.Diff(want, contents(t, set)); d != "" {
		t.Errorf("as a dataset (-want +got):\n%s", d)
	}
	run(t, "verify", set)
	// The chunks' own folder unpacks like any other.
	run(t, "unpack", set, filepath.Join(dir, "third"))
	if d := cmp.Diff(files(t, folder), files(t, filepath.Join(dir, "third"))); d != "" {
		t.Errorf("unpacked dataset: %s", d)
	}
}

func TestPackTar(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "photos.tar"), photosTar(t))
	out := filepath.Join(dir, "new", "photos.gulp")
	got := run(t, "pack", filepath.Join(dir, "photos.tar"), out)
	if !strings.HasPrefix(got, "15 frames of 3 ids, ") || !strings.Contains(got, "\n  "+out+"\n") {
		t.Errorf("%q", got)
	}
	have := contents(t, out)
	for id, frames := range clips(t) {
		for i, p := range frames {
			if have[fmt.Sprintf("%s/%04d.jpg", id, i)] != string(p) {
				t.Errorf("%s frame %d differs", id, i)
			}
		}
	}
	if have["one meta_data"] != `[{"label":"first"}]` || have["sub/two meta_data"] != `[{"label":"sub"}]` {
		t.Errorf("labels: %s %s", have["one meta_data"], have["sub/two meta_data"])
	}
}

func TestPackFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var args []string
	for i, n := range []string{"cat_1.jpg", "cat_2.jpg", "dog_1.JPEG"} {
		write(t, filepath.Join(dir, n), photo(t, i))
		args = append(args, filepath.Join(dir, n))
	}
	out := filepath.Join(dir, "pets.gulp")
	run(t, slices.Concat([]string{"pack"}, args, []string{out})...)
	rows := lines[idLine](t, run(t, "ls", out, "--json"))
	if len(rows) != 2 || rows[0].ID != "cat" || rows[0].Frames != 2 || rows[1].ID != "dog" {
		t.Errorf("%+v", rows)
	}
}

// TestPackRefuses: exit codes, and no new file after a refusal.
func TestPackRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.tar"), photosTar(t))
	write(t, filepath.Join(dir, "cut.tar"), photosTar(t)[:4000])
	write(t, filepath.Join(dir, "mix", "one", "bad.jpg"), []byte("no image"))
	a := filepath.Join(dir, "a.tar")
	out := filepath.Join(dir, "out.gulp")
	run(t, "pack", a, out)
	set := filepath.Join(dir, "set") + "/"
	run(t, "pack", a, set, "--format", "gulp")
	before := files(t, dir)
	for _, tc := range []struct {
		code int
		args []string
		say  string
	}{
		{5, []string{a, out}, "exists (--force replaces it)"},
		{5, []string{a, filepath.Join(dir, "out.gmeta")}, "exists"},
		{5, []string{a, set, "--format", "gulp"}, "is in the dataset already"},
		{5, []string{a, a, filepath.Join(dir, "two.gulp")}, "is in an earlier SRC too"},
		{7, []string{filepath.Join(dir, "cut.tar"), filepath.Join(dir, "cut.gulp")}, "truncated"},
		{7, []string{filepath.Join(dir, "cut.tar"), set, "--format", "gulp", "--chunk", "1"}, "already"},
		{7, []string{filepath.Join(dir, "mix"), filepath.Join(dir, "mix.gulp")}, "bad.jpg"},
		{7, []string{a, filepath.Join(dir, "x"), "--format", "b2nd"}, "neither .npy nor .npz"},
	} {
		r := runner{}.run(t, append([]string{"pack"}, tc.args...)...)
		if tc.say == "already" { // the first id exists already, the others do not matter
			tc.code = 5
		}
		if r.code != tc.code || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, tc.say) {
			t.Errorf("pack %q: exit %d %q, want %d %q", tc.args, r.code, r.stderr, tc.code, tc.say)
		}
	}
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Errorf("left (-before +after):\n%s", d)
	}
	run(t, "pack", filepath.Join(dir, "a.tar"), out, "--force")
	run(t, "verify", out)
}

// TestPackDatasetFailsWhole: chunks that were written before the failure are taken
// back, also data without an index.
func TestPackDatasetFailsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 4 {
		write(t, filepath.Join(dir, "in", fmt.Sprintf("id%d", i), "0.jpg"), photo(t, i))
	}
	write(t, filepath.Join(dir, "in", "id9", "0.jpg"), []byte("no image"))
	r := runner{}.run(t, "pack", filepath.Join(dir, "in"), filepath.Join(dir, "set"), "--format", "gulp", "--chunk", "1")
	if r.code != exitCorrupt && r.code != exitUsage {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "set")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left %v", left)
	}
}

// TestUnpackForce: a folder with files stays unchanged unless it is forced.
func TestUnpackForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := sample(t, dir)
	dst := filepath.Join(dir, "dst")
	write(t, filepath.Join(dst, "mine"), []byte("x"))
	if r := (runner{}).run(t, "unpack", name, dst); r.code != exitChanged {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
	if got := files(t, dst); len(got) != 1 {
		t.Errorf("wrote %d files", len(got))
	}
	run(t, "unpack", name, dst, "--force")
	if got := files(t, dst); len(got) != 1+15+1 || got["mine"] != "x" {
		t.Errorf("%d files", len(got))
	}
}

// TestS3 goes the whole way against a real S3 server: upload, pack there, read
// one frame in two phases, dataset, worker.
func TestS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	dir := t.TempDir()
	upload(t, "s3://uploads/clips/a b+c.tar", photosTar(t))
	src, dst := "s3://uploads/clips/a b+c.tar", "s3://datasets/clips/a.gulp"

	if got := run(t, "pack", src, dst); !strings.Contains(got, "15 frames of 3 ids") {
		t.Errorf("%q", got)
	}
	if got := run(t, "pack", src, dst); !strings.HasPrefix(got, "unchanged: "+dst) {
		t.Errorf("again: %q", got)
	}
	upload(t, src, append(photosTar(t), make([]byte, 512)...))
	if got := run(t, "pack", src, dst); !strings.Contains(got, "15 frames") {
		t.Errorf("a newer upload: %q", got)
	}
	upload(t, "s3://uploads/other.tar", photosTar(t))
	if r := (runner{}).run(t, "pack", "s3://uploads/other.tar", dst); r.code != exitChanged {
		t.Errorf("another upload: exit %d %q", r.code, r.stderr)
	}
	run(t, "pack", "s3://uploads/other.tar", dst, "--force")
	run(t, "verify", dst)

	st := stats(t, "get", dst, "--id", "three 3", "--frames", "8", "-o", filepath.Join(dir, "f.jpg"))
	if st.Phases > 2 || st.Requests > 4 { // with the index that might lie beside it
		t.Errorf("one frame from afar: %+v", st)
	}
	if p, err := os.ReadFile(filepath.Join(dir, "f.jpg")); err != nil || string(p) != string(clips(t)["three 3"][8]) {
		t.Errorf("the frame: %v", err)
	}

	run(t, "pack", "s3://uploads/other.tar", "s3://datasets/train/", "--format", "gulp", "--chunk", "1kB")
	if d := cmp.Diff(contents(t, dst), contents(t, "s3://datasets/train")); d != "" {
		t.Errorf("dataset (-chunk +dataset):\n%s", d)
	}
	// If DST is the output of a worker, pack and worker agree on it.
	for i, p := range clips(t)["three 3"] {
		upload(t, fmt.Sprintf("s3://uploads/day/c1/%d.jpg", i), p)
	}
	if got := run(t, "pack", "s3://uploads/day", "s3://datasets/noslash.gulp"); !strings.Contains(got, "9 frames of 1 id") {
		t.Errorf("a folder without its slash: %q", got)
	}
	for range 2 { // the second time DST lies in SRC
		run(t, "pack", "s3://uploads/day/", "s3://uploads/day/in.gulp", "--force")
	}
	for _, key := range []string{"in.gulp", "in.gmeta"} {
		remove(t, "s3://uploads/day/"+key)
	}
	if r := (runner{}).run(t, "pack", "s3://uploads/da", "s3://datasets/no.gulp"); r.code != exitNotFound {
		t.Errorf("half a folder's name: exit %d %q", r.code, r.stderr)
	}
	upload(t, "s3://uploads/day/_SUCCESS", nil)
	if got := run(t, "pack", "s3://uploads/day/", "s3://datasets/made/day/frames.gulp"); !strings.Contains(got, "9 frames of 1 id") {
		t.Errorf("a closed folder: %q", got)
	}
	if got := run(t, "pack", "s3://uploads/other.tar", "s3://datasets/made/other.tar.gulp"); !strings.Contains(got, "15 frames of 3 ids") {
		t.Errorf("a worker's output: %q", got)
	}
	explained(t, "s3://datasets/train/", "--id", "sub/two")
	explained(t, dst)
	objects := lines[objectLine](t, run(t, "ls", "s3://datasets/", "--json"))
	if len(objects) < 4 || objects[0].URI != "s3://datasets/clips/a.gmeta" {
		t.Errorf("%+v", objects)
	}
	for uri, code := range map[string]int{"s3://datasets/absent.gulp": 3, "s3://absent-bucket/x.gulp": 3, "s3://datasets/none/": 3} {
		if r := (runner{}).run(t, "info", uri); r.code != code || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d %q", uri, r.code, r.stderr)
		}
	}
	runWorker(t, dir)
}

func runWorker(t *testing.T, dir string) {
	t.Helper()
	rules := `[{"bucket":"uploads","suffix":".tar","job":"pack","out":{"bucket":"datasets","prefix":"made/"}},
		{"bucket":"uploads","suffix":"_SUCCESS","job":"pack","out":{"bucket":"datasets","prefix":"made/"}}]`
	record := func(key string) string {
		return fmt.Sprintf(`{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"uploads"},"object":{"key":%q,"size":1}}}`, key)
	}
	event := filepath.Join(dir, "event.json")
	write(t, event, []byte(`{"Records":[`+record("clips/a+b%2Bc.tar")+`,`+record("notes.txt")+`,`+record("other.tar")+`,`+record("day/_SUCCESS")+`]}`))
	r := runner{env: map[string]string{"FARREAD_RULES": rules}}.run(t, "worker", "--event", event)
	if r.code != 0 || !strings.HasPrefix(r.stdout, "4 uploads, 1 packed, 2 unchanged, 1 without a rule\n  made/clips/a b+c.tar.gulp") {
		t.Errorf("exit %d %q %q", r.code, r.stdout, r.stderr)
	}
	run(t, "verify", "s3://datasets/made/clips/a b+c.tar.gulp")
	write(t, filepath.Join(dir, "rules.json"), []byte(strings.ReplaceAll(rules, `"datasets"`, `"no-such-bucket"`)))
	r = runner{}.run(t, "worker", "--event", event, "--rules", filepath.Join(dir, "rules.json"))
	if r.code != exitUnavailable || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("no bucket to write to: exit %d %q", r.code, r.stderr)
	}
	r = runner{}.run(t, "worker", "--event", event, "--rules", filepath.Join(dir, "rules.json"), "--json")
	var rep map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil || r.code != exitUnavailable || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("report of a failure: %v: exit %d %q %q", err, r.code, r.stdout, r.stderr)
	}
	if _, list := rep["failures"].([]any); !list || rep["retry"] != 3.0 || rep["unmatched"] != 1.0 {
		t.Errorf("report of a failure: %v", rep)
	}
	r = runner{env: map[string]string{"FARREAD_RULES": rules}, stdin: "{}"}.run(t, "worker", "--event", "-")
	if r.code != exitUsage {
		t.Errorf("no event: exit %d %q", r.code, r.stderr)
	}
}

// upload puts bytes into a bucket.
func upload(t *testing.T, uri string, p []byte) {
	t.Helper()
	put(t, ready(t), uri, p)
}

func remove(t *testing.T, uri string) {
	t.Helper()
	b, key, err := ready(t).client.Bucket(t.Context(), uri)
	if err == nil {
		err = b.Delete(t.Context(), key)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// ready is an app with a client.
func ready(t *testing.T) *app {
	t.Helper()
	a := &app{}
	a.flags.policy, a.flags.maxMemory = "fast", 1<<30
	if err := a.setup(); err != nil {
		t.Fatal(err)
	}
	return a
}
