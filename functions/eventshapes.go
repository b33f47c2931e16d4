package functions

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// one returns the batch of a payload with a single message: all of its uploads are
// delivered again, or none.
func one(m Message) Batch { return Batch{Messages: []Message{m}} }

// add enters an upload that a message names, or counts it if there is nothing to do.
func (m *Message) add(u Upload) error {
	if err := u.check(); err != nil {
		return err
	}
	if folderMarker(u) {
		m.Ignored++
	} else {
		m.Uploads = append(m.Uploads, u)
	}
	return nil
}

// open adds the uploads of the event inside an envelope.
func (m *Message) open(body string, depth int) error {
	inner, err := decode([]byte(body), depth+1)
	if err != nil {
		return err
	}
	if inner.Queue {
		return fmt.Errorf("a queue's batch inside a message: %w", ErrEvent)
	}
	for _, in := range inner.Messages {
		m.Uploads = append(m.Uploads, in.Uploads...)
		m.Ignored += in.Ignored
	}
	return nil
}

// decodeTest ignores the message that S3 sends when a notification is set up.
func decodeTest([]byte, int) (Batch, error) { return one(Message{Ignored: 1}), nil }

// s3Event is the notification of S3, versions 2.x:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
type s3Event struct {
	Records []s3Record `json:"Records"`
}

type s3Record struct {
	EventName string `json:"eventName"`
	S3        struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key       string `json:"key"`
			Size      int64  `json:"size"`
			ETag      string `json:"eTag"`
			VersionID string `json:"versionId"`
			Sequencer string `json:"sequencer"`
		} `json:"object"`
	} `json:"s3"`
}

func decodeS3(payload []byte, _ int) (Batch, error) {
	var e s3Event
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	var m Message
	for i := range e.Records {
		if err := e.Records[i].addTo(&m); err != nil {
			return Batch{}, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return one(m), nil
}

// addTo adds the object of a record to m. Keys in notifications are
// URL-encoded, with "+" for a space.
func (r *s3Record) addTo(m *Message) error {
	if r.EventName == "" { // it may have been an upload, so it must be reported
		return fmt.Errorf("no eventName: %w", ErrEvent)
	}
	if !strings.HasPrefix(strings.TrimPrefix(r.EventName, "s3:"), "ObjectCreated:") {
		m.Ignored++
		return nil
	}
	o := &r.S3.Object
	key, err := url.QueryUnescape(o.Key)
	if err != nil {
		return fmt.Errorf("key %.80q: %w: %w", o.Key, ErrEvent, err)
	}
	return m.add(Upload{Bucket: r.S3.Bucket.Name, Key: key, ETag: quoted(o.ETag), VersionID: o.VersionID, Sequencer: o.Sequencer, Size: o.Size})
}

// bridgeEvent is the event of S3 on EventBridge. Its key is not encoded:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
type bridgeEvent struct {
	DetailType string `json:"detail-type"`
	Detail     struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key       string `json:"key"`
			Size      int64  `json:"size"`
			ETag      string `json:"etag"`
			VersionID string `json:"version-id"`
			Sequencer string `json:"sequencer"`
		} `json:"object"`
	} `json:"detail"`
}

func decodeBridge(payload []byte, _ int) (Batch, error) {
	var e bridgeEvent
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	if e.DetailType != "Object Created" { // deleted, restored, tagged …
		return one(Message{Ignored: 1}), nil
	}
	o := &e.Detail.Object
	var m Message
	err := m.add(Upload{Bucket: e.Detail.Bucket.Name, Key: o.Key, ETag: quoted(o.ETag), VersionID: o.VersionID, Sequencer: o.Sequencer, Size: o.Size})
	return one(m), err
}

// decodeDirect decodes an object's name from a direct invocation. The key is not
// encoded. Nothing else is known of the object before its bucket is asked, so the key
// may end in a slash.
func decodeDirect(payload []byte, _ int) (Batch, error) {
	var e struct {
		Bucket    string `json:"bucket"`
		Key       string `json:"key"`
		VersionID string `json:"versionId"`
		Retries   int    `json:"retries"` // how often it was called for this event before
	}
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	u := Upload{Bucket: e.Bucket, Key: e.Key, VersionID: e.VersionID}
	m := Message{Uploads: []Upload{u}}
	if e.Retries > 0 {
		m.Receives = e.Retries + 1
	}
	b := one(m)
	b.Named = true
	return b, u.check()
}

// snsEvent is how SNS invokes a function:
// https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html
type snsEvent struct {
	Records []struct {
		SNS struct {
			Message string `json:"Message"`
		} `json:"Sns"`
	} `json:"Records"`
}

func decodeSNS(payload []byte, depth int) (Batch, error) {
	var e snsEvent
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	var m Message
	for i := range e.Records {
		if err := m.open(e.Records[i].SNS.Message, depth); err != nil {
			return Batch{}, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return one(m), nil
}

// decodeTopic opens the message that SNS puts into a queue if raw delivery is off:
// https://docs.aws.amazon.com/sns/latest/dg/sns-sqs-as-subscriber.html It refuses the
// request to confirm a subscription, so that somebody finds it among the dead letters
// and confirms.
func decodeTopic(payload []byte, depth int) (Batch, error) {
	var e struct {
		Type    string `json:"Type"`
		Message string `json:"Message"`
	}
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	if e.Type != "Notification" {
		return Batch{}, fmt.Errorf("a %.40q of SNS is no notification: %w", e.Type, ErrEvent)
	}
	var m Message
	err := m.open(e.Message, depth)
	return one(m), err
}

// sqsEvent is how Lambda hands over messages of a queue:
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
type sqsEvent struct {
	Records []struct {
		MessageID  string `json:"messageId"`
		Body       string `json:"body"`
		Attributes struct {
			Receives json.Number `json:"ApproximateReceiveCount"`
		} `json:"attributes"`
	} `json:"Records"`
}

// decodeSQS opens each message alone: a message that cannot be understood keeps its
// error, and the others keep their uploads.
func decodeSQS(payload []byte, depth int) (Batch, error) {
	var e sqsEvent
	if err := unmarshal(payload, &e); err != nil {
		return Batch{}, err
	}
	b := Batch{Queue: true, Messages: make([]Message, 0, len(e.Records))}
	for _, r := range e.Records {
		m := Message{ID: r.MessageID}
		if m.ID == "" { // without an id no single message can be given back
			return Batch{}, fmt.Errorf("a message without messageId: %w", ErrEvent)
		}
		if n, err := r.Attributes.Receives.Int64(); err == nil {
			m.Receives = int(min(max(n, 0), 1<<20))
		}
		m.Err = m.open(r.Body, depth)
		b.Messages = append(b.Messages, m)
	}
	return b, nil
}
