package functions_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farread/farread/functions"
)

// TestDecodeRecorded: events are decoded as testdata/events/MANIFEST.md tells of each
// file.
func TestDecodeRecorded(t *testing.T) {
	t.Parallel()
	const etag = `"d41d8cd98f00b204e9800998ecf8427e"`
	put := functions.Upload{Bucket: "uploads", Key: "clips/a.tar", ETag: etag, Sequencer: "0055AED6DCD90281E5", Size: 1024}
	nasty := put
	nasty.Key, nasty.VersionID = "a b+c/ü% (x)//1.tar", "096fKKXTRTtl3on89fVO.nfljtsv6qko"
	parts := put
	parts.ETag = `"9b2cf535f27731c974343645a3985328-12"`
	encoded := put
	encoded.Key = "a%20b+c%2Fd.tar"
	byName := functions.Upload{Bucket: "uploads", Key: "clips/a.tar"}
	byVersion, byNasty := byName, byName
	byVersion.VersionID, byNasty.Key = nasty.VersionID, nasty.Key
	one := func(us ...functions.Upload) functions.Batch {
		return functions.Batch{Messages: []functions.Message{{Uploads: us}}}
	}
	named := func(u functions.Upload) functions.Batch {
		b := one(u)
		b.Named = true
		return b
	}
	nothing := functions.Batch{Messages: []functions.Message{{Ignored: 1}}}
	const id = "059f36b4-87a3-44ab-83d2-66197500000"
	queue := func(ms ...functions.Message) functions.Batch {
		for i := range ms {
			ms[i].ID, ms[i].Receives = id+strconv.Itoa(i+1), max(ms[i].Receives, 1)
		}
		return functions.Batch{Queue: true, Messages: ms}
	}
	up := func(u functions.Upload) functions.Message {
		return functions.Message{Uploads: []functions.Upload{u}}
	}
	want := map[string]functions.Batch{
		"s3-put":                          one(put),
		"s3-nasty-key":                    one(nasty),
		"s3-multipart-and-delete":         {Messages: []functions.Message{{Uploads: []functions.Upload{parts}, Ignored: 2}}},
		"s3-test":                         nothing,
		"sqs-empty":                       {},
		"sqs-three":                       queue(up(put), functions.Message{Ignored: 1}, functions.Message{Receives: 3, Err: functions.ErrEvent}),
		"sns":                             one(put),
		"sns-test":                        nothing,
		"sns-sqs":                         queue(up(put), up(nasty), functions.Message{Ignored: 1}),
		"sns-sqs-raw":                     queue(up(put), up(nasty), functions.Message{Ignored: 1}),
		"sns-sqs-confirmation":            queue(functions.Message{Err: functions.ErrEvent}, up(put)),
		"eventbridge":                     one(put),
		"eventbridge-nasty-key":           one(nasty),
		"eventbridge-encoded-looking-key": one(encoded),
		"eventbridge-deleted":             nothing,
		"eventbridge-folder":              nothing,
		"eventbridge-sqs":                 queue(up(put), up(nasty), functions.Message{Ignored: 1}),
		"eventbridge-sns-sqs":             queue(up(nasty)),
		"direct":                          named(byNasty),
		"direct-version":                  named(byVersion),
		"direct-sqs":                      queue(up(byName)),
	}
	for _, file := range recorded(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if strings.HasPrefix(name, "localstack-") {
			continue
		}
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := want[name]
		if !ok {
			t.Errorf("%s: nothing is expected of it", name)
		}
		delete(want, name)
		got, err := functions.Decode(payload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(w, got, cmpopts.EquateErrors()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name := range want {
		t.Errorf("%s is not there", name)
	}
}

// TestDecodeLocalStack: events that LocalStack's own services sent. All shapes of them
// give an upload.
func TestDecodeLocalStack(t *testing.T) {
	t.Parallel()
	for _, file := range recorded(t) {
		if !strings.HasPrefix(filepath.Base(file), "localstack-") {
			continue
		}
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := functions.Decode(payload)
		if err != nil || len(b.Messages) == 0 || b.Queue != strings.Contains(file, "sqs") {
			t.Errorf("%s: %+v, %v", file, b, err)
		}
		for _, m := range b.Messages {
			if m.Err != nil || len(m.Uploads)+m.Ignored == 0 {
				t.Errorf("%s: %+v", file, m)
			}
			for _, u := range m.Uploads {
				want := "pack/a b+ü %41.npy"
				if strings.Contains(file, "eventbridge") {
					want = "pack/a%20b%2B%C3%BC%20%2541.npy" // LocalStack encodes what AWS does not
				}
				if u.ETag == "" || u.Sequencer == "" || u.Key != want {
					t.Errorf("%s: %+v", file, u)
				}
			}
		}
	}
}

// recorded are the files of events.
func recorded(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(names) == 0 {
		tb.Fatal("no recorded events", err)
	}
	return names
}

// TestManifest: the manifest tells the source of every recorded event.
func TestManifest(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/events/MANIFEST.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range recorded(t) {
		if !strings.Contains(string(b), "`"+filepath.Base(file)+"`") {
			t.Errorf("MANIFEST.md does not tell of %s", filepath.Base(file))
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
		"another service": `{"source":"aws.ec2","detail-type":"EC2 Instance State-change Notification","detail":{}}`,
		"bridge, no key":  `{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{}}}`,
		"bridge, size":    `{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{"key":"k","size":-1}}}`,
		"bridge, type":    `{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":"b"}}`,
		"direct, no key":  `{"bucket":"b"}`, "direct, empty key": `{"bucket":"b","key":""}`, "direct, number": `{"bucket":"b","key":7}`,
		"direct, long key": `{"bucket":"b","key":"` + strings.Repeat("ü", 513) + `"}`,
		"sns, no event":    `{"Records":[{"EventSource":"aws:sns","Sns":{"Message":"hello"}}]}`,
		"sns, no message":  `{"Records":[{"EventSource":"aws:sns"}]}`,
		"topic, a queue":   `{"Type":"Notification","TopicArn":"t","Message":"{\"Records\":[{\"eventSource\":\"aws:sqs\",\"messageId\":\"m\",\"body\":\"\"}]}"}`,
		"topic, list":      `{"Type":"Notification","TopicArn":"t","Message":[]}`,
		"unknown source":   `{"Records":[{"eventSource":"aws:kinesis"}]}`,
		"no name":          `{"Records":[{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"a"}}}]}`,
		"bad escape":       record(`{"key":"a%zz"}`), "no key": record(`{}`), "no UTF-8": record(`{"key":"a%ff"}`),
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
	for _, n := range recorded(f) {
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
