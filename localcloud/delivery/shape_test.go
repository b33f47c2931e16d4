package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/localcloud/notify"
	"github.com/farread/farread/localcloud/spool"
)

// odd are events of keys that encodings spell differently.
func odd() []*message {
	var out []*message
	for i, c := range []notify.Change{
		{Event: notify.Put, Bucket: "in", Key: "a b+c/ü% (x)/1.tar", ETag: `"e"`, Size: 5},
		{Event: notify.Copy, Bucket: "in", Key: "a%20b.tar", ETag: "e2", VersionID: "v1"},
		{Event: notify.Multipart, Bucket: "in", Key: `"quoted" & <html>.tar`, ETag: "e-12", Size: 1 << 40},
	} {
		tick := uint64(1_762_000_000_123_456_789 + i)
		out = append(out, &message{Entry: spool.Entry{ID: tick, Record: c.Record("eu-central-1", tick)}, key: c.Key, tries: 1})
	}
	return out
}

// TestShapes: a worker reads the same uploads out of every shape.
func TestShapes(t *testing.T) {
	batch := odd()
	want := []functions.Upload{
		{Bucket: "in", Key: "a b+c/ü% (x)/1.tar", ETag: `"e"`, Sequencer: fmt.Sprintf("%016X", batch[0].ID), Size: 5},
		{Bucket: "in", Key: "a%20b.tar", ETag: `"e2"`, VersionID: "v1", Sequencer: fmt.Sprintf("%016X", batch[1].ID)},
		{Bucket: "in", Key: `"quoted" & <html>.tar`, ETag: `"e-12"`, Sequencer: fmt.Sprintf("%016X", batch[2].ID), Size: 1 << 40},
	}
	for _, shape := range []string{"s3", "sqs", "sns-sqs", "eventbridge", "eventbridge-sqs"} {
		t.Run(shape, func(t *testing.T) {
			step := 1
			if queued(shape) {
				step = len(batch)
			}
			var got []functions.Upload
			for part := range slices.Chunk(batch, step) {
				payload, err := encode(shape, "fn-pack", "eu-central-1", part)
				if err != nil {
					t.Fatal(err)
				}
				b, err := functions.Decode(payload)
				if err != nil || b.Queue != queued(shape) || len(b.Messages) != step {
					t.Fatalf("%v: %+v", err, b)
				}
				for i, m := range b.Messages {
					if queued(shape) && (m.ID != part[i].id() || m.Receives != 1) {
						t.Errorf("message %q of %d receives", m.ID, m.Receives)
					}
					got = append(got, m.Uploads...)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := encode("smoke", "fn-pack", "", batch); err == nil {
		t.Error("an unknown shape is encoded")
	}
}

// TestBridgeDelete: a deletion is told as EventBridge tells it, and gives a worker
// nothing to do.
func TestBridgeDelete(t *testing.T) {
	for event, deletion := range map[string]string{notify.Delete: "Permanently Deleted", notify.DeleteMarker: "Delete Marker Created"} {
		e, err := notify.Change{Event: event, Bucket: "in", Key: "k"}.Record("us-east-1", 1).Bridge("id")
		if err != nil || e.DetailType != "Object Deleted" || e.Detail.DeletionType != deletion || e.Detail.Reason != "DeleteObject" || e.Detail.Object.Size != nil {
			t.Errorf("%+v, %v", e, err)
		}
		p, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := functions.Decode(p); err != nil || b.Messages[0].Ignored != 1 || len(b.Messages[0].Uploads) != 0 {
			t.Errorf("%+v, %v", b, err)
		}
	}
}

// TestShapesAsRecorded: events have the fields of those in the functions' own tests,
// which are recorded from AWS.
func TestShapesAsRecorded(t *testing.T) {
	for shape, file := range map[string]string{"s3": "s3-put", "sqs": "sqs-three", "sns-sqs": "sns-sqs", "eventbridge": "eventbridge-nasty-key", "eventbridge-sqs": "eventbridge-sqs"} {
		p, err := os.ReadFile(filepath.Join("..", "..", "functions", "testdata", "events", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		m := odd()[0]
		if shape == "eventbridge" { // recorded with a version
			m = odd()[1]
		}
		ours, err := encode(shape, "fn-pack", "eu-central-1", []*message{m})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fields(t, p), fields(t, ours)); d != "" {
			t.Errorf("%s: %s", shape, d)
		}
	}
}

// fields are the paths of an event's fields. JSON in its strings is included; of lists
// the first item counts.
func fields(t *testing.T, p []byte) []string {
	t.Helper()
	var v any
	if err := json.Unmarshal(p, &v); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, in := range v {
				walk(path+"."+k, in)
			}
		case []any:
			if len(v) > 0 {
				walk(path+"[]", v[0])
			}
		case string:
			var in map[string]any
			if json.Unmarshal([]byte(v), &in) == nil {
				walk(path+"{}", in)
			}
		}
		all[path] = true
	}
	walk("", v)
	return slices.Sorted(maps.Keys(all))
}
