package functions

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrEvent is matched by every error about the shape of an event: a message
// that is not JSON, names no object, or has a key that cannot be decoded.
var ErrEvent = errors.New("bad event")

const (
	// maxKey is the longest key that S3 takes, in bytes of UTF-8.
	maxKey = 1024
	// maxRecords bounds one invocation: a queue hands over at most 10 000
	// messages, and each of them, cut at 1 MiB, holds far fewer records.
	maxRecords = 10_000
)

// A Batch is what one invocation brought.
type Batch struct {
	// Queue tells that the invocation came from a queue, which needs the list
	// of failed messages. If it is false, there is one message.
	Queue bool
	// Named tells that the payload is the name of an object: who sent it waits for the
	// answer.
	Named    bool
	Messages []Message
}

// A Message is the unit that is acknowledged or given back: one message of a
// queue, or the whole payload of an invocation without a queue.
type Message struct {
	ID       string // messageId; "" if it is not from a queue
	Receives int    // number of deliveries, with this one; 0: unknown
	Uploads  []Upload
	Ignored  int   // number of test events, folder markers and deletes
	Err      error // why the message cannot be understood; matches ErrEvent
}

// A shape is one envelope of events. The first row of the table whose function is
// returns true decodes the payload.
type shape struct {
	name   string
	is     func(probe) bool
	decode func(payload []byte, depth int) (Batch, error)
}

// probe holds the few fields that tell shapes apart. Names of JSON fields match
// without regard to case, so SNS's "EventSource" lands here as well.
type probe struct {
	Event   text `json:"Event"`
	Records []struct {
		EventSource text `json:"eventSource"`
	} `json:"Records"`
	Type       text            `json:"Type"`
	Message    json.RawMessage `json:"Message"`
	DetailType text            `json:"detail-type"`
	Source     text            `json:"source"`
	Bucket     text            `json:"bucket"`
	Key        text            `json:"key"`
}

// text is a string member of the probe. If the member is not a string, it may belong
// to another shape, and counts as missing.
type text string

// UnmarshalJSON keeps strings and skips all other values.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = ""
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

func (p probe) source() text {
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
		{"sns", func(p probe) bool { return p.source() == "aws:sns" }, decodeSNS},
		{"sns message", func(p probe) bool { return p.Type != "" && p.Message != nil }, decodeTopic},
		{"eventbridge", func(p probe) bool { return p.DetailType != "" && p.Source == "aws.s3" }, decodeBridge},
		{"direct", func(p probe) bool { return p.Bucket != "" && p.Key != "" && p.Records == nil }, decodeDirect},
	}
}

// Decode reads an event of any known shape: a notification of S3, alone, in the
// messages of SQS, or in those of SNS, which may themselves come through SQS and
// may be delivered raw; EventBridge's "Object Created", alone or by way of SQS or
// SNS; and {"bucket","key","versionId","retries"} for an object by name, alone or in those
// envelopes. Keys of notifications are URL-encoded, others are as they are.
//
// If a payload cannot be understood at all, the error matches ErrEvent. If one message
// of a queue's batch cannot be understood, that Message has an Err, and the others
// their uploads.
func Decode(payload []byte) (Batch, error) { return decode(payload, 0) }

func decode(payload []byte, depth int) (Batch, error) {
	if depth >= maxDepth {
		return Batch{}, fmt.Errorf("envelopes nested deeper than %d: %w", maxDepth, ErrEvent)
	}
	var p probe
	if err := unmarshal(payload, &p); err != nil {
		return Batch{}, err
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
	return Batch{}, fmt.Errorf("neither a notification of S3, EventBridge or SNS, nor a queue's batch, nor the name of an object: %w", ErrEvent)
}

func unmarshal(payload []byte, v any) error {
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return nil
}

// check refuses names that no object can have.
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

// folderMarker reports whether u is an empty object with a slash at the end of its
// key. Consoles and sync tools make them to show a folder.
func folderMarker(u Upload) bool { return u.Size == 0 && strings.HasSuffix(u.Key, "/") }

// quoted is the ETag in HTTP's spelling; events leave the quotes out.
func quoted(etag string) string {
	if etag == "" || strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}
