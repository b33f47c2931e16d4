package scenario

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// late is below none of the watched prefixes: events there are made and delivered by
// the test.
const latePrefix = "late/"

// event returns the event of an upload, with a sequencer of the test.
func (r *session) event(t *testing.T, up objstore.Info, sequencer string) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"Records": []any{map[string]any{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": map[string]any{
		"bucket": map[string]any{"name": r.Uploads},
		"object": map[string]any{"key": url.QueryEscape(up.Key), "size": up.Size, "eTag": strings.Trim(up.ETag, `"`), "versionId": up.VersionID, "sequencer": sequencer},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// worked delivers an event to the functions' code through the command line.
func (r *session) worked(t *testing.T, event []byte) functions.Result {
	t.Helper()
	dir := t.TempDir()
	rules, err := json.Marshal(functions.Rules{{Bucket: r.Uploads, Prefix: latePrefix, Job: "pack", Out: functions.Out{Bucket: r.Datasets}}})
	for name, b := range map[string][]byte{"rules.json": rules, "event.json": event} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var got functions.Result
	text := r.cli(t, "worker", "--event", filepath.Join(dir, "event.json"), "--rules", filepath.Join(dir, "rules.json"), "--json")
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return got
}

// ordered: events come in another order than the uploads, and none but sequencers say
// so: those of S3, of which a shorter one is as if it ended in zeros. The newest version
// whose event came stands in the end. Stores that number otherwise have no part in it.
func ordered(t *testing.T, r *session) {
	t.Helper()
	const key = latePrefix + "x.npy"
	sequencers := []string{"0055AED6DCD90281E5", "0055aed6dcd90281e5000001", "0055AED6DCD90281E6"}
	ups := make([]objstore.Info, len(sequencers))
	values := make([][]byte, len(sequencers))
	shape := []int64{16, 20, 30}
	for i := range ups {
		var data []byte
		data, values[i] = volume(t, i, shape...)
		ups[i] = r.put(t, key, data)
	}
	uri := "s3://" + r.Datasets + "/" + key + pack.ArraySuffix
	for _, step := range []struct{ deliver, stands int }{{1, 1}, {0, 1}, {1, 1}, {2, 2}, {0, 2}, {1, 2}} {
		if got := r.worked(t, r.event(t, ups[step.deliver], sequencers[step.deliver])); got.Packed+got.Unchanged != 1 {
			t.Errorf("event %d: %+v", step.deliver, got)
		}
		if out := r.cli(t, "get", uri, "-o", "-"); string(out) != string(values[step.stands]) {
			t.Errorf("after event %d the dataset is not that of upload %d", step.deliver, step.stands)
		}
	}
	// What is deleted is not packed, though its version is there.
	gone := r.put(t, latePrefix+"gone.npy", mustVolume(t, shape))
	if err := r.uploads.Delete(t.Context(), gone.Key); err != nil {
		t.Fatal(err)
	}
	if got := r.worked(t, r.event(t, gone, sequencers[0])); got.Dropped != 1 {
		t.Errorf("an upload that was deleted: %+v", got)
	}
	back := r.put(t, gone.Key, mustVolume(t, shape))
	if got := r.worked(t, r.event(t, back, sequencers[1])); got.Packed != 1 {
		t.Errorf("an upload that was deleted before: %+v", got)
	}
}

// looped: a dataset that is copied to where uploads are watched is no upload: it would
// be packed, and what is made of it as well if that were copied, too.
func looped(t *testing.T, r *session) {
	t.Helper()
	data := mustVolume(t, []int64{8, 9, 10})
	made := r.made(t, r.datasets, r.put(t, "pack/loop/first.npy", data), pack.ArraySuffix)
	copied := func(key string) objstore.Info {
		body, info, err := r.datasets.Get(t.Context(), made.Key, objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		up, err := objstore.Put(t.Context(), r.uploads, key, body, objstore.PutOptions{Meta: info.Meta})
		if err != nil {
			t.Fatal(err)
		}
		return up
	}
	if got := r.worked(t, r.event(t, copied(latePrefix+"loop.b2nd"), "01")); got.Own != 1 {
		t.Errorf("a dataset among the uploads: %+v", got)
	}
	loop := copied("pack/loop/copy.b2nd")
	r.made(t, r.datasets, r.put(t, "pack/loop/after.npy", data), pack.ArraySuffix)
	// The event of the copy may still be on its way, so by name besides.
	if got := r.cli(t, "backfill", "s3://"+r.Uploads+"/"+loop.Key, "--rules", r.rulesFile(t), "--json"); !strings.Contains(string(got), `"own":1`) {
		t.Errorf("backfill of a dataset among the uploads: %s", got)
	}
	for info, err := range r.datasets.List(t.Context(), loop.Key) {
		t.Errorf("made of a dataset: %s, %v", info.Key, err)
	}
}

// turned: if an upload is replaced by one of another kind, one dataset is left,
// of the newest version.
func turned(t *testing.T, r *session) {
	t.Helper()
	const key = "pack/turned.bin"
	r.made(t, r.datasets, r.put(t, key, mustVolume(t, []int64{8, 9, 10})), pack.ArraySuffix)
	r.made(t, r.datasets, r.put(t, key, []byte(strings.Repeat("\x00\x01", 1000))), bloscpack.Suffix)
	if err := objstore.DeleteIf(t.Context(), r.datasets, "no/such/object", `"0"`); errors.Is(err, objstore.ErrInvalid) {
		t.Logf("this store deletes without conditions only, and so the older dataset stays: %v", err)
		return
	}
	until(t, func() (bool, string, error) {
		_, err := r.datasets.Head(t.Context(), key+pack.ArraySuffix)
		if errors.Is(err, objstore.ErrNotFound) {
			return true, "", nil
		}
		return false, key + pack.ArraySuffix + " is still there", err
	})
}
