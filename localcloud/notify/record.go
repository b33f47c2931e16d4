// Package notify makes event notifications in the forms of S3, SNS and EventBridge.
package notify

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Names of events, as the eventName of a notification spells them.
const (
	Put          = "ObjectCreated:Put"
	Copy         = "ObjectCreated:Copy"
	Multipart    = "ObjectCreated:CompleteMultipartUpload"
	Delete       = "ObjectRemoved:Delete"
	DeleteMarker = "ObjectRemoved:DeleteMarkerCreated"
)

// A Change is what happened to one object. Key is as the client wrote it.
type Change struct {
	Event, Bucket, Key string

	ETag      string // ETag with quotes or without; a record has no quotes
	VersionID string // empty without versioning
	Size      int64  // bytes of a created object
}

// A Record is one entry of a notification's Records:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
type Record struct {
	EventVersion      string            `json:"eventVersion"`
	EventSource       string            `json:"eventSource"`
	AWSRegion         string            `json:"awsRegion"`
	EventTime         string            `json:"eventTime"` // UTC with milliseconds
	EventName         string            `json:"eventName"`
	UserIdentity      Principal         `json:"userIdentity"`
	RequestParameters map[string]string `json:"requestParameters"`
	ResponseElements  map[string]string `json:"responseElements"`
	S3                Entity            `json:"s3"`
}

// Principal names who did something.
type Principal struct {
	PrincipalID string `json:"principalId"`
}

// Entity says which object changed.
type Entity struct {
	SchemaVersion   string `json:"s3SchemaVersion"`
	ConfigurationID string `json:"configurationId"`
	Bucket          Bucket `json:"bucket"`
	Object          Object `json:"object"`
}

// Bucket is the bucket of the object.
type Bucket struct {
	Name          string    `json:"name"`
	OwnerIdentity Principal `json:"ownerIdentity"`
	ARN           string    `json:"arn"`
}

// Object is the object. Key is URL-encoded with + for a space, see EncodeKey; Size is
// absent from records of removed objects.
type Object struct {
	Key       string `json:"key"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"eTag,omitempty"`
	VersionID string `json:"versionId,omitempty"`
	Sequencer string `json:"sequencer"`
}

// A Notification is the body that S3 sends.
type Notification struct {
	Records []Record `json:"Records"`
}

// Created reports whether the record is of a new object.
func (r Record) Created() bool { return strings.HasPrefix(r.EventName, "ObjectCreated:") }

// Key is the object's key as the client wrote it; an error if the record's is not
// URL-encoded.
func (r Record) Key() (string, error) {
	k, err := url.QueryUnescape(r.S3.Object.Key)
	if err != nil {
		return "", fmt.Errorf("event key %q: %w", r.S3.Object.Key, err)
	}
	return k, nil
}

// Size is the object's size; 0 if the record has none.
func (r Record) Size() int64 {
	if r.S3.Object.Size == nil {
		return 0
	}
	return *r.S3.Object.Size
}

// EncodeKey is a key as notifications write it: query escaping that keeps "/".
func EncodeKey(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") }

// A Clock hands out strictly rising ticks that follow the time of day in
// nanoseconds since 1970; Since keeps them rising over a restart. It is safe for
// concurrent use. NewClock makes one.
type Clock struct {
	mu   sync.Mutex
	last uint64
	now  func() time.Time
}

// NewClock is a clock that reads now; nil: time.Now.
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		now = time.Now
	}
	return &Clock{now: now}
}

// Since makes all later ticks greater than tick.
func (c *Clock) Since(tick uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, tick)
}

// Tick is the next tick: the time of day, or more if that would not rise.
func (c *Clock) Tick() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last+1, uint64(max(c.now().UnixNano(), 0)))
	return c.last
}

// Record is the notification record of a change at tick, which becomes its
// sequencer: 16 hex digits, so that text order is time order.
func (c Change) Record(region string, tick uint64) Record {
	seq := fmt.Sprintf("%016X", tick)
	r := Record{
		EventVersion: "2.1", EventSource: "aws:s3", AWSRegion: region, EventName: c.Event,
		EventTime:         time.Unix(0, int64(tick)).UTC().Format("2006-01-02T15:04:05.000Z"),
		UserIdentity:      Principal{"AWS:LOCALCLOUD"},
		RequestParameters: map[string]string{"sourceIPAddress": "127.0.0.1"},
		ResponseElements:  map[string]string{"x-amz-request-id": seq, "x-amz-id-2": "localcloud"},
		S3: Entity{
			SchemaVersion: "1.0", ConfigurationID: "localcloud",
			Bucket: Bucket{Name: c.Bucket, OwnerIdentity: Principal{"LOCALCLOUD"}, ARN: "arn:aws:s3:::" + c.Bucket},
			Object: Object{Key: EncodeKey(c.Key), ETag: strings.Trim(c.ETag, `"`), VersionID: c.VersionID, Sequencer: seq},
		},
	}
	if r.Created() {
		size := c.Size
		r.S3.Object.Size = &size
	}
	return r
}
