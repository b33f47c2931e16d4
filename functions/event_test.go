package functions_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farread/farread/functions"
)

func TestDecodeRecorded(t *testing.T) {
	t.Parallel()
	const etag = `"d41d8cd98f00b204e9800998ecf8427e"`
	put := functions.Upload{Bucket: "uploads", Key: "clips/a.tar", ETag: etag, Sequencer: "0055AED6DCD90281E5", Size: 1024}
	nasty := put
	nasty.Key, nasty.VersionID = "a b+c/ü% (x)//1.tar", "096fKKXTRTtl3on89fVO.nfljtsv6qko"
	parts := put
	parts.ETag = `"9b2cf535f27731c974343645a3985328-12"`
	const id = "059f36b4-87a3-44ab-83d2-66197500000"
	for name, want := range map[string]functions.Batch{
		"s3-put":                  {Messages: []functions.Message{{Uploads: []functions.Upload{put}}}},
		"s3-nasty-key":            {Messages: []functions.Message{{Uploads: []functions.Upload{nasty}}}},
		"s3-multipart-and-delete": {Messages: []functions.Message{{Uploads: []functions.Upload{parts}, Ignored: 2}}},
		"s3-test":                 {Messages: []functions.Message{{Ignored: 1}}},
		"sqs-empty":               {},
		"sqs-three": {Queue: true, Messages: []functions.Message{
			{ID: id + "1", Receives: 1, Uploads: []functions.Upload{put}},
			{ID: id + "2", Receives: 1, Ignored: 1},
			{ID: id + "3", Receives: 3, Err: functions.ErrEvent},
		}},
	} {
		payload, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := functions.Decode(payload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateErrors()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	record := func(object string) string {
		return `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":` + object + `}}]}`
	}
	for name, payload := range map[string]string{
		"no JSON": "hello", "nothing": "", "null": "null", "other": `{"detail-type":"Object Created"}`, "list": `[]`,
		"unknown source": `{"Records":[{"eventSource":"aws:kinesis"}]}`,
		"bad escape":     record(`{"key":"a%zz"}`), "no key": record(`{}`), "no UTF-8": record(`{"key":"a%ff"}`),
		"long key": record(`{"key":"` + strings.Repeat("a", 1025) + `"}`), "size": record(`{"key":"a","size":-1}`),
		"no id": `{"Records":[{"eventSource":"aws:sqs","body":"{}"}]}`,
	} {
		if b, err := functions.Decode([]byte(payload)); !errors.Is(err, functions.ErrEvent) {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// TestQueueInsideQueue: envelopes that hold themselves must not recurse for ever.
func TestQueueInsideQueue(t *testing.T) {
	t.Parallel()
	body := "{}"
	for range 6 {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		body = `{"Records":[{"eventSource":"aws:sqs","messageId":"m","body":` + string(text) + `}]}`
	}
	b, err := functions.Decode([]byte(body))
	if err != nil || len(b.Messages) != 1 || !errors.Is(b.Messages[0].Err, functions.ErrEvent) {
		t.Fatalf("%+v, %v", b, err)
	}
}

func FuzzEvent(f *testing.F) {
	names, err := filepath.Glob("testdata/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal("no recorded events", err)
	}
	for _, n := range names {
		p, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		b, err := functions.Decode(p)
		if err != nil {
			if !errors.Is(err, functions.ErrEvent) {
				t.Fatalf("%v is no ErrEvent", err)
			}
			return
		}
		for _, m := range b.Messages {
			if b.Queue && m.ID == "" {
				t.Fatal("a message that cannot be given back")
			}
			for _, u := range m.Uploads {
				if u.Bucket == "" || u.Key == "" || len(u.Key) > 1024 || !utf8.ValidString(u.Key) || u.Size < 0 {
					t.Fatalf("%+v", u)
				}
			}
		}
	})
}
