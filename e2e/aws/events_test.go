//go:build e2e

package aws_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/e2e/aws/deploy"
	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/functions"
)

var update = flag.Bool("update", false, "record the events that come in functions/testdata/events")

// recordedKey is what is uploaded for it.
const recordedKey = "pack/a b+ü %41.npy"

// TestEvents holds the recorded events of functions/testdata/events against those
// that come: the same fields on every path, and the handlers read the upload's name
// out of each.
func TestEvents(t *testing.T) {
	t.Parallel()
	c := *cloud
	zipped := zipped(t, "./recorder")
	c.Config.Archive = func(*testing.T, string) []byte { return zipped }
	for _, path := range scenario.Paths() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			event := recordedEvent(t, &c, path)
			b, err := functions.Decode(event)
			if err != nil || len(b.Messages) != 1 || len(b.Messages[0].Uploads) != 1 || b.Messages[0].Uploads[0].Key != c.Quoted(path, recordedKey) || b.Queue != scenario.Queued(path) {
				t.Errorf("%+v, %v: %s", b, err, event)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, event, "", "  "); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(scenario.Root(t), "functions/testdata/events", "localstack-"+path+".json")
			if *update {
				if err := os.WriteFile(file, append(pretty.Bytes(), '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			recorded, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fields(t, recorded), fields(t, event)); diff != "" && strings.Contains(os.Getenv("LOCALSTACK_IMAGE")+defaultImage, "4.14.0") {
				t.Errorf("fields differ from those recorded (- recorded, + came):\n%s", diff)
			}
		})
	}
}

// recordedEvent uploads an object and gives back the event of it.
func recordedEvent(t *testing.T, c *deploy.Cloud, path string) []byte {
	t.Helper()
	p := c.Start(t, scenario.Options{Path: path})
	key := recordedKey
	if _, err := c.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &p.Uploads, Key: &key, Body: strings.NewReader("an upload")}); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-tick.C {
		list, err := c.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &p.Datasets})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Contents {
			r, err := c.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &p.Datasets, Key: o.Key})
			if err != nil {
				t.Fatal(err)
			}
			event, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if event = withoutTest(t, event); event != nil {
				return event
			}
		}
	}
	t.Fatal("no event came")
	return nil
}

// withoutTest leaves S3's test events out of an event: they come when the wiring is
// made, and may come in one batch with the upload. Nil: there was nothing else.
func withoutTest(t *testing.T, event []byte) []byte {
	t.Helper()
	var batch struct{ Records []json.RawMessage }
	if err := json.Unmarshal(event, &batch); err != nil {
		t.Fatal(err)
	}
	n := len(batch.Records)
	batch.Records = slices.DeleteFunc(batch.Records, func(m json.RawMessage) bool { return bytes.Contains(m, []byte("s3:TestEvent")) })
	switch {
	case bytes.Contains(event, []byte("s3:TestEvent")) && len(batch.Records) == 0:
		return nil
	case len(batch.Records) == n:
		return event
	}
	b, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fields are the paths of all values of a document, through strings that hold one.
func fields(t *testing.T, document []byte) []string {
	t.Helper()
	set := map[string]bool{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				walk(at+"."+name, inner)
			}
		case []any:
			for _, inner := range v {
				walk(at+"[]", inner)
			}
		case string:
			var inner map[string]any
			if json.Unmarshal([]byte(v), &inner) == nil {
				walk(at+"(json)", inner)
				return
			}
			set[at+" string"] = true
		default:
			set[fmt.Sprintf("%s %T", at, v)] = true
		}
	}
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatal(err)
	}
	walk("", v)
	return slices.Sorted(maps.Keys(set))
}

// zipped is the archive of a function of this module.
func zipped(t *testing.T, pkg string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
