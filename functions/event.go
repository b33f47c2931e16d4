package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// ErrEvent is matched by every error about the shape of an event: a message
// that is no JSON, names no object, or has a key that cannot be decoded.
var ErrEvent = errors.New("bad event")

const (
	// maxKey is the longest key that S3 takes, in bytes of UTF-8.
	maxKey = 1024
	// maxRecords bounds one invocation: a queue hands over at most 10 000
	// messages, and each of them, cut at 256 KiB, holds far fewer records.
	maxRecords = 10_000
)

// A Batch is what one invocation brought.
type Batch struct {
	// Queue says that the invocation came from a queue, which wants to hear
	// which messages failed; else it came from the store itself.
	Queue    bool
	Messages []Message
}

// A Message is the unit that is acknowledged or given back: one message of a
// queue, or the whole payload of a direct invocation.
type Message struct {
	ID       string // messageId; "" when not from a queue
	Receives int    // how often the queue has delivered it, this time included; 0: unknown
	Uploads  []Upload
	Ignored  int   // test events, folder markers, deletes: nothing to do
	Err      error // the message cannot be understood; matches ErrEvent
}

// A shape is one envelope that events arrive in. The first of the table whose
// is answers true decodes the payload. New envelopes (SNS, EventBridge) are new
// lines of the table.
type shape struct {
	name   string
	is     func(probe) bool
	decode func(payload []byte, depth int) (Batch, error)
}

// probe holds the few fields that tell shapes apart. Names of JSON fields match
// without regard to case, so SNS's "EventSource" lands here as well.
type probe struct {
	Event   string `json:"Event"`
	Records []struct {
		EventSource string `json:"eventSource"`
	} `json:"Records"`
}

func (p probe) source() string {
	if len(p.Records) == 0 {
		return ""
	}
	return p.Records[0].EventSource
}

// maxDepth is how deep envelopes nest: an S3 event in SNS in SQS.
const maxDepth = 3

func knownShapes() []shape {
	return []shape{
		{"s3 test", func(p probe) bool { return p.Event == "s3:TestEvent" }, decodeTest},
		{"s3", func(p probe) bool { return p.source() == "aws:s3" }, decodeS3},
		{"sqs", func(p probe) bool { return p.source() == "aws:sqs" }, decodeSQS},
	}
}

// Decode reads an event of any known shape. A payload that cannot be understood
// at all is an error that matches ErrEvent; a message inside a queue's batch
// that cannot be is a Message with Err, and leaves the others alone.
func Decode(payload []byte) (Batch, error) { return decode(payload, 0) }

func decode(payload []byte, depth int) (Batch, error) {
	if depth >= maxDepth {
		return Batch{}, fmt.Errorf("envelopes nested deeper than %d: %w", maxDepth, ErrEvent)
	}
	var p probe
	if err := json.Unmarshal(payload, &p); err != nil {
		return Batch{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if len(p.Records) > maxRecords {
		return Batch{}, fmt.Errorf("%d records, over %d: %w", len(p.Records), maxRecords, ErrEvent)
	}
	for _, s := range knownShapes() {
		if s.is(p) {
			b, err := s.decode(payload, depth)
			if err != nil {
				return Batch{}, fmt.Errorf("%s event: %w", s.name, err)
			}
			return b, nil
		}
	}
	if p.Records != nil && len(p.Records) == 0 {
		return Batch{}, nil // an empty batch
	}
	return Batch{}, fmt.Errorf("neither an S3 notification nor a queue's batch: %w", ErrEvent)
}

// decodeTest: S3 sends one such message when a notification is set up.
func decodeTest([]byte, int) (Batch, error) {
	return Batch{Messages: []Message{{Ignored: 1}}}, nil
}

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
	if err := json.Unmarshal(payload, &e); err != nil {
		return Batch{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	var m Message
	for i := range e.Records {
		u, ok, err := e.Records[i].upload()
		switch {
		case err != nil:
			return Batch{}, fmt.Errorf("record %d: %w", i, err)
		case ok:
			m.Uploads = append(m.Uploads, u)
		default:
			m.Ignored++
		}
	}
	return Batch{Messages: []Message{m}}, nil
}

// upload is the object that a record tells of; false when there is none to
// work on. Keys in notifications are URL-encoded, a space as "+".
func (r *s3Record) upload() (Upload, bool, error) {
	if !strings.HasPrefix(strings.TrimPrefix(r.EventName, "s3:"), "ObjectCreated:") {
		return Upload{}, false, nil
	}
	o := &r.S3.Object
	key, err := url.QueryUnescape(o.Key)
	if err != nil {
		return Upload{}, false, fmt.Errorf("key %.80q: %w: %w", o.Key, ErrEvent, err)
	}
	u := Upload{Bucket: r.S3.Bucket.Name, Key: key, ETag: quoted(o.ETag), VersionID: o.VersionID, Sequencer: o.Sequencer, Size: o.Size}
	if err := u.check(); err != nil {
		return Upload{}, false, err
	}
	return u, !folderMarker(u), nil
}

// check refuses what no object can be called.
func (u Upload) check() error {
	switch {
	case u.Bucket == "":
		return fmt.Errorf("no bucket: %w", ErrEvent)
	case u.Key == "":
		return fmt.Errorf("no key: %w", ErrEvent)
	case len(u.Key) > maxKey:
		return fmt.Errorf("key of %d bytes, over %d: %w", len(u.Key), maxKey, ErrEvent)
	case !utf8.ValidString(u.Key):
		return fmt.Errorf("key %q is not UTF-8: %w", u.Key, ErrEvent)
	case u.Size < 0:
		return fmt.Errorf("size %d: %w", u.Size, ErrEvent)
	}
	return nil
}

// folderMarker: consoles and sync tools make empty objects whose key ends in a
// slash to show a folder.
func folderMarker(u Upload) bool { return u.Size == 0 && strings.HasSuffix(u.Key, "/") }

// quoted is the ETag as HTTP spells it; notifications leave the quotes out.
func quoted(etag string) string {
	if etag == "" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}

type sqsEvent struct {
	Records []struct {
		MessageID  string `json:"messageId"`
		Body       string `json:"body"`
		Attributes struct {
			Receives json.Number `json:"ApproximateReceiveCount"`
		} `json:"attributes"`
	} `json:"Records"`
}

// decodeSQS opens each message alone: one that cannot be understood keeps its
// error, and the others their uploads.
func decodeSQS(payload []byte, depth int) (Batch, error) {
	var e sqsEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		return Batch{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	b := Batch{Queue: true, Messages: make([]Message, 0, len(e.Records))}
	for _, r := range e.Records {
		m := Message{ID: r.MessageID}
		if m.ID == "" { // without it no single message can be given back
			return Batch{}, fmt.Errorf("a message without messageId: %w", ErrEvent)
		}
		if n, err := r.Attributes.Receives.Int64(); err == nil {
			m.Receives = int(min(max(n, 0), 1<<20))
		}
		inner, err := decode([]byte(r.Body), depth+1)
		switch {
		case err != nil:
			m.Err = err
		case inner.Queue:
			m.Err = fmt.Errorf("a queue's batch inside a message: %w", ErrEvent)
		default:
			for _, in := range inner.Messages {
				m.Uploads = append(m.Uploads, in.Uploads...)
				m.Ignored += in.Ignored
			}
		}
		b.Messages = append(b.Messages, m)
	}
	return b, nil
}
