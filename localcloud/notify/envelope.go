package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Account is the number of the account that everything here belongs to.
const Account = "000000000000"

// A BridgeEvent is what S3 tells EventBridge, and what EventBridge gives to a
// function or puts into a queue:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
type BridgeEvent struct {
	Version    string       `json:"version"`
	ID         string       `json:"id"`
	DetailType string       `json:"detail-type"`
	Source     string       `json:"source"`
	Account    string       `json:"account"`
	Time       string       `json:"time"` // UTC, whole seconds
	Region     string       `json:"region"`
	Resources  []string     `json:"resources"`
	Detail     BridgeDetail `json:"detail"`
}

// BridgeDetail is the detail of an EventBridge event.
type BridgeDetail struct {
	Version      string       `json:"version"`
	Bucket       BridgeBucket `json:"bucket"`
	Object       BridgeObject `json:"object"`
	RequestID    string       `json:"request-id"`
	Requester    string       `json:"requester"`
	SourceIP     string       `json:"source-ip-address"`
	Reason       string       `json:"reason"`
	DeletionType string       `json:"deletion-type,omitempty"`
}

// BridgeBucket is the bucket of the object.
type BridgeBucket struct {
	Name string `json:"name"`
}

// BridgeObject is the object. Key is as the client wrote it.
type BridgeObject struct {
	Key       string `json:"key"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"etag,omitempty"`
	VersionID string `json:"version-id,omitempty"`
	Sequencer string `json:"sequencer"`
}

// Bridge is the record as EventBridge tells it, in an event with that id. It fails if
// the record's key or time cannot be read.
func (r Record) Bridge(id string) (BridgeEvent, error) {
	key, err := r.Key()
	if err != nil {
		return BridgeEvent{}, err
	}
	at, err := time.Parse(time.RFC3339, r.EventTime)
	if err != nil {
		return BridgeEvent{}, fmt.Errorf("event time: %w", err)
	}
	e := BridgeEvent{
		Version: "0", ID: id, Source: "aws.s3", Account: Account, Time: at.Format(time.RFC3339), Region: r.AWSRegion,
		Resources: []string{r.S3.Bucket.ARN},
		Detail: BridgeDetail{
			Version: "0", Bucket: BridgeBucket{r.S3.Bucket.Name},
			Object:    BridgeObject{key, r.S3.Object.Size, r.S3.Object.ETag, r.S3.Object.VersionID, r.S3.Object.Sequencer},
			RequestID: r.ResponseElements["x-amz-request-id"], Requester: Account, SourceIP: r.RequestParameters["sourceIPAddress"],
		},
	}
	e.DetailType, e.Detail.Reason, e.Detail.DeletionType = "Object Created", reason(r.EventName), ""
	if !r.Created() {
		e.DetailType, e.Detail.DeletionType = "Object Deleted", "Permanently Deleted"
		if r.EventName == DeleteMarker {
			e.Detail.DeletionType = "Delete Marker Created"
		}
	}
	return e, nil
}

// reason is the API call behind an event.
func reason(event string) string {
	switch event {
	case Put:
		return "PutObject"
	case Copy:
		return "CopyObject"
	case Multipart:
		return "CompleteMultipartUpload"
	default:
		return "DeleteObject"
	}
}

// A TopicMessage is what SNS puts into a queue if raw delivery is off:
// https://docs.aws.amazon.com/sns/latest/dg/sns-sqs-as-subscriber.html
type TopicMessage struct {
	Type             string `json:"Type"`
	MessageID        string `json:"MessageId"`
	TopicARN         string `json:"TopicArn"`
	Subject          string `json:"Subject"`
	Message          string `json:"Message"`
	Timestamp        string `json:"Timestamp"`
	SignatureVersion string `json:"SignatureVersion"`
	Signature        string `json:"Signature"`
	SigningCertURL   string `json:"SigningCertURL"`
	UnsubscribeURL   string `json:"UnsubscribeURL"`
}

// Topic is a notification of one record as SNS passes it on, in a message with that id.
// Its signature is none.
func (r Record) Topic(id string) (TopicMessage, error) {
	body, err := json.Marshal(Notification{Records: []Record{r}})
	if err != nil {
		return TopicMessage{}, err
	}
	arn := strings.Join([]string{"arn:aws:sns", r.AWSRegion, Account, r.S3.Bucket.Name}, ":")
	return TopicMessage{
		Type: "Notification", MessageID: id, TopicARN: arn, Subject: "Amazon S3 Notification", Message: string(body), Timestamp: r.EventTime,
		SignatureVersion: "1", Signature: "LOCALCLOUD", SigningCertURL: "http://127.0.0.1/localcloud.pem", UnsubscribeURL: "http://127.0.0.1/",
	}, nil
}
