package functions_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

const itemKey = "logs/a b+c.jsonl"

// logLines are a few lines that seed decides.
func logLines(tb testing.TB, seed int) []byte {
	tb.Helper()
	var b bytes.Buffer
	for i := range 3 + seed%4 {
		fmt.Fprintf(&b, "{\"seed\":%d,\"line\":%d}\n", seed, i)
	}
	return b.Bytes()
}

// TestItemStorm is TestStorm for records: one object, made of the newest upload.
func TestItemStorm(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		for _, format := range []string{"", bloscpack.Format} {
			t.Run(name+" "+format, func(t *testing.T) {
				t.Parallel()
				for round := range rounds(20) {
					in, out := stores()
					storm(t, play{itemKey, format, logLines, checkLines}, in, jittery{out}, uint64(round))
					if t.Failed() {
						t.Fatalf("round %d", round)
					}
				}
			})
		}
	}
}

// checkLines: one object with one seal, made of what the source holds now.
func checkLines(t *testing.T, in, out objstore.Bucket) {
	t.Helper()
	ctx := context.Background()
	const key = itemKey + bloscpack.Suffix
	if got := keys(out, ""); !cmp.Equal(got, []string{key}) {
		t.Fatalf("outputs %q", got)
	}
	src, err := in.Head(ctx, itemKey)
	if err != nil {
		t.Fatal(err)
	}
	made, err := out.Head(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := functions.SourceOf(made.Meta); of.ETag != src.ETag || of.VersionID != src.VersionID || of.Key != itemKey {
		t.Errorf("made of %+v, not of %+v", of, src)
	}
	items, meta := readItems(t, out, key)
	if got, want := strings.Join(items, "\n")+"\n", string(body(t, in, itemKey)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(meta.Farread.Source) != 64 {
		t.Errorf("seal %q", meta.Farread.Source)
	}
}

type itemMeta struct {
	Container string   `json:"container"`
	Names     []string `json:"names"`
	Farread   struct {
		Source string `json:"source"`
	} `json:"farread"`
}

// readItems are the items of a Bloscpack file.
func readItems(t *testing.T, b objstore.Bucket, key string) ([]string, itemMeta) {
	t.Helper()
	ctx := context.Background()
	obj, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := bloscpack.Open(ctx, obj, bloscpack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var m itemMeta
	if err := json.Unmarshal(f.Metadata(), &m); err != nil {
		t.Fatal(err)
	}
	list, err := f.AppendItems(ctx, nil, 0, f.Len())
	if err != nil {
		t.Fatal(err)
	}
	items := make([]string, len(list))
	for i, p := range list {
		items[i] = string(p)
	}
	return items, m
}

// TestItemEvents: the outputs of a batch of uploads, in two shapes of events, and
// again if the events come twice. One upload is poison.
func TestItemEvents(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, name := range []string{"d/one.txt", "two"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(name))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	uploads := []struct {
		key       string
		data      []byte
		container string
		items     []string
	}{
		{"a b+ü%/log.jsonl", []byte("{}\n1\n"), "jsonl", []string{"{}", "1"}},
		{"notes.txt", []byte("x"), "lines", []string{"x"}},
		{"empty.csv", nil, "lines", []string{}},
		{"set.tar", archive.Bytes(), "files", []string{"d/one.txt", "two"}},
		{"bytes.bin", []byte("\x00\x01"), "", []string{"\x00\x01"}},
		{"poison.jsonl.gz", []byte("\x1f\x8b\x08\x00 cut"), "", nil},
		{"poison.tar", archive.Bytes()[:700], "", nil},
	}
	for shape, send := range map[string]func(h *functions.Handler, records []json.RawMessage) functions.Result{
		"s3": func(h *functions.Handler, records []json.RawMessage) functions.Result {
			r, err := h.Handle(t.Context(), s3Event(records...))
			if err != nil {
				t.Error(err)
			}
			return r
		},
		"sqs": func(h *functions.Handler, records []json.RawMessage) functions.Result {
			var bodies [][]byte
			for _, rec := range records {
				bodies = append(bodies, s3Event(rec))
			}
			r, err := h.Handle(t.Context(), sqsEvent(bodies...))
			if err != nil || string(r.Answer()) != `{"batchItemFailures":[]}` {
				t.Errorf("%s, %v", r.Answer(), err)
			}
			return r
		},
	} {
		in, out := memstore.New(memstore.Config{}), memstore.New(memstore.Config{})
		h := handler(in, out)
		h.Rules[0].Format = ""
		var records []json.RawMessage
		for i, u := range uploads {
			records = append(records, record(u.key, put(t, in, u.key, u.data, nil), i+1))
		}
		for again, want := range []functions.Result{{Uploads: 7, Packed: 5, Failed: 2}, {Uploads: 7, Unchanged: 5, Failed: 2}} {
			r := send(h, records)
			r.Outputs, r.Failures, r.Done, r.Queue = nil, nil, nil, false
			if d := cmp.Diff(want, r); d != "" {
				t.Errorf("%s, time %d: %s", shape, again, d)
			}
		}
		for _, u := range uploads {
			if u.items == nil {
				if _, err := out.Head(t.Context(), "errors/"+u.key+".json"); err != nil {
					t.Errorf("%s: %s: %v", shape, u.key, err)
				}
				continue
			}
			items, m := readItems(t, out, u.key+bloscpack.Suffix)
			if d := cmp.Diff(u.items, items); d != "" || m.Container != u.container || len(m.Farread.Source) != 64 {
				t.Errorf("%s: %s: %+v %s", shape, u.key, m, d)
			}
		}
		if n := len(keys(out, "")); n != len(uploads) {
			t.Errorf("%s: %q", shape, keys(out, ""))
		}
	}
}
