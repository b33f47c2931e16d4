package functions_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
)

// s3Body is a notification of one object, whose bucket and fields are given as JSON.
func s3Body(bucket, object string) string {
	return `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":` + bucket + `,"object":` + object + `}}]}`
}

// TestDecodeTellsApart: payloads that look like two shapes, and fields on the edge.
func TestDecodeTellsApart(t *testing.T) {
	t.Parallel()
	u := functions.Upload{Bucket: "b", Key: "k"}
	tagged, folder := u, u
	tagged.ETag = `"x"`
	folder.Key, folder.Size = "k/", 1
	for name, c := range map[string]struct {
		payload string
		want    functions.Upload
	}{
		"direct with a message":   {`{"bucket":"b","key":"k","message":"hello"}`, u},
		"direct with a type":      {`{"bucket":"b","key":"k","type":"hello"}`, u},
		"a field given twice":     {`{"Event":"s3:TestEvent","Event":1,"bucket":"b","key":"k"}`, u},
		"no ETag":                 {s3Body(`{"name":"b"}`, `{"key":"k"}`), u},
		"ETag":                    {s3Body(`{"name":"b"}`, `{"key":"k","eTag":"x"}`), tagged},
		"ETag in its quotes":      {s3Body(`{"name":"b"}`, `{"key":"k","eTag":"\"x\""}`), tagged},
		"called like a folder":    {s3Body(`{"name":"b"}`, `{"key":"k/","size":1}`), folder},
		"SNS, however it is told": {`{"Type":"Notification","Message":` + quote(t, s3Body(`{"name":"b"}`, `{"key":"k"}`)) + `}`, u},
	} {
		b, err := functions.Decode([]byte(c.payload))
		want := functions.Batch{Named: strings.HasPrefix(c.payload, `{"bucket"`) || strings.HasPrefix(c.payload, `{"Event"`), Messages: []functions.Message{{Uploads: []functions.Upload{c.want}}}}
		if d := cmp.Diff(want, b); d != "" || err != nil {
			t.Errorf("%s: %v: %s", name, err, d)
		}
	}
}

// TestDecodeSaysWhy: events that are refused, and the errors. An event that is half
// understood must not be acknowledged.
func TestDecodeSaysWhy(t *testing.T) {
	t.Parallel()
	topic := func(body string) string {
		return `{"Type":"Notification","TopicArn":"t","Message":` + quote(t, body) + `}`
	}
	queue := func(body string) string {
		return `{"Records":[{"eventSource":"aws:sqs","messageId":"m","body":` + quote(t, body) + `}]}`
	}
	good := s3Body(`{"name":"b"}`, `{"key":"k"}`)
	for name, c := range map[string]struct{ payload, want string }{
		"bridge without a type":    {`{"source":"aws.s3","detail":{"bucket":{"name":"b"},"object":{"key":"k"}}}`, "neither"},
		"records of others":        {`{"Records":[{"eventSource":"aws:kinesis"}],"bucket":"b","key":"k"}`, "neither"},
		"no list of records":       {`{"Records":5,"bucket":"b","key":"k"}`, "Records"},
		"no bucket":                {s3Body(`{}`, `{"key":"k"}`), "no bucket"},
		"size of letters":          {s3Body(`{"name":"b"}`, `{"key":"k","size":"big"}`), "size"},
		"bridge, size of letters":  {`{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":"b"},"object":{"key":"k","size":"big"}}}`, "size"},
		"direct, version a number": {`{"bucket":"b","key":"k","versionId":7}`, "versionId"},
		"key":                      {s3Body(`{"name":"b"}`, `{"key":"a%zz"}`), `key "a%zz"`},
		"queue, body no text":      {`{"Records":[{"eventSource":"aws:sqs","messageId":"m","body":{}}]}`, "body"},
		"end of a subscription":    {`{"Type":"UnsubscribeConfirmation","TopicArn":"t","Message":` + quote(t, good) + `}`, "no notification"},
		"envelopes":                {topic(topic(topic(good))), "deeper than 3"},
		"envelopes in a queue":     {queue(topic(topic(good))), "deeper than 3"},
	} {
		b, err := functions.Decode([]byte(c.payload))
		if err == nil && b.Queue && len(b.Messages) == 1 {
			err = b.Messages[0].Err
		}
		if !errors.Is(err, functions.ErrEvent) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// TestDecodeBounds: how many records an event may have, and how deep they may lie.
func TestDecodeBounds(t *testing.T) {
	t.Parallel()
	one := `{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}`
	list := func(n int) []byte { return []byte(`{"Records":[` + strings.Repeat(one+",", n-1) + one + `]}`) }
	if b, err := functions.Decode(list(10_000)); err != nil || len(b.Messages[0].Uploads) != 10_000 {
		t.Errorf("10000 records: %v", err)
	}
	if _, err := functions.Decode(list(10_001)); !errors.Is(err, functions.ErrEvent) {
		t.Errorf("10001 records: %v", err)
	}
	for count, want := range map[string]int{"3": 3, `"3"`: 3, "-1": 0, "99999999": 1 << 20, `"99999999999999999999"`: 0} {
		b, err := functions.Decode([]byte(`{"Records":[{"eventSource":"aws:sqs","messageId":"m","body":"{}","attributes":{"ApproximateReceiveCount":` + count + `}}]}`))
		if err != nil || len(b.Messages) != 1 || b.Messages[0].Receives != want {
			t.Errorf("%s receives: %+v, %v", count, b, err)
		}
	}
}

func quote(tb testing.TB, s string) string {
	tb.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}
