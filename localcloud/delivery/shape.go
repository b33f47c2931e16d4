package delivery

import (
	"bytes"
	"crypto/md5" //nolint:gosec // a field of SQS messages is an MD5
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/farread/farread/localcloud/notify"
)

// sqsMessage is a message as Lambda gives it to a function:
// https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
type sqsMessage struct {
	MessageID         string              `json:"messageId"`
	ReceiptHandle     string              `json:"receiptHandle"`
	Body              string              `json:"body"`
	Attributes        map[string]string   `json:"attributes"`
	MessageAttributes map[string]struct{} `json:"messageAttributes"`
	MD5OfBody         string              `json:"md5OfBody"`
	EventSource       string              `json:"eventSource"`
	EventSourceARN    string              `json:"eventSourceARN"`
	AWSRegion         string              `json:"awsRegion"`
}

// The shapes that a rule may ask for.
const (
	shapeS3        = "s3"              // S3 to the function
	shapeSQS       = "sqs"             // S3 to a queue
	shapeSNSQueue  = "sns-sqs"         // S3 to a topic to a queue, raw delivery off
	shapeBridge    = "eventbridge"     // S3 to EventBridge to the function
	shapeBridgeSQS = "eventbridge-sqs" // S3 to EventBridge to a queue
)

// queued reports whether events of a shape come through a queue: in batches, answered
// by partial batch responses.
func queued(shape string) bool {
	return shape == shapeSQS || shape == shapeSNSQueue || shape == shapeBridgeSQS
}

// inner is one message in the words of the service before the queue or function.
func (m *message) inner(shape string) (any, error) {
	switch shape {
	case shapeS3, shapeSQS:
		return m.notification(), nil
	case shapeSNSQueue:
		return m.Record.Topic(m.id())
	case shapeBridge, shapeBridgeSQS:
		return m.Record.Bridge(m.id())
	default:
		return nil, fmt.Errorf("event shape %q is not known here", shape)
	}
}

// encode is the payload of an invocation. A shape without a queue takes batches
// of one.
func encode(shape, function, region string, batch []*message) ([]byte, error) {
	if !queued(shape) {
		in, err := batch[0].inner(shape)
		if err != nil {
			return nil, err
		}
		return json.Marshal(in)
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	var msgs struct{ Records []sqsMessage }
	for _, m := range batch {
		in, err := m.inner(shape)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		sum := md5.Sum(body) //nolint:gosec // as above
		sent := strconv.FormatUint(m.ID/1_000_000, 10)
		msgs.Records = append(msgs.Records, sqsMessage{
			MessageID: m.id(), ReceiptHandle: fmt.Sprintf("%s#%d", m.id(), m.tries), Body: string(body),
			Attributes: map[string]string{
				"ApproximateReceiveCount": strconv.Itoa(m.tries), "SentTimestamp": sent,
				"SenderId": "LOCALCLOUD", "ApproximateFirstReceiveTimestamp": now,
			},
			MessageAttributes: map[string]struct{}{}, MD5OfBody: hex.EncodeToString(sum[:]),
			EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:" + region + ":" + notify.Account + ":" + function, AWSRegion: region,
		})
	}
	return json.Marshal(msgs)
}

// partial reads a partial batch response. As with SQS, an answer that names no message
// is success, and one that names a message outside of the batch fails the whole batch:
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
func partial(body []byte, batch []*message) (map[*message]bool, error) {
	failed := map[*message]bool{}
	if body = bytes.TrimSpace(body); len(body) == 0 || body[0] != '{' {
		return failed, nil
	}
	var r struct {
		Failures []struct {
			ID *string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("batch response: %w", err)
	}
	byID := map[string]*message{}
	for _, m := range batch {
		byID[m.id()] = m
	}
	for _, f := range r.Failures {
		if f.ID == nil || byID[*f.ID] == nil {
			return nil, fmt.Errorf("batch response: an itemIdentifier is not in the batch")
		}
		failed[byID[*f.ID]] = true
	}
	return failed, nil
}
