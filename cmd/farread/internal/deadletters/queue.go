package deadletters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// Limits of SQS:
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
const (
	batchMessages = 10
	batchBytes    = 256 << 10 // bytes of one request; SQS allows more if messages may be longer
	hideSeconds   = 60        // time for which a message is hidden while it is moved; after it the message is visible again
	waitSeconds   = 2         // a long poll asks all servers of the queue
	dryMost       = 1000      // messages that a dry run looks at
	maxReceived   = 64 << 20  // an answer: ten messages of 1 MiB, which JSON makes six times as long at most
)

// regionIn finds the region in the host of a queue of AWS.
var regionIn = regexp.MustCompile(`^sqs\.([a-z0-9-]+)\.amazonaws\.com(\.cn)?$`)

// QueueOptions are options for requests to queues. At last the URL of the queue fills in
// empty fields.
type QueueOptions struct {
	awscall.Options

	Advice string // ends the error about an answer that is not of SQS: what to check
}

// A Queue is a queue of SQS.
type Queue struct {
	c     *sqs.Client
	url   string
	brief time.Duration // time for requests that delete messages or make them visible, even after ctx has ended or the queue was silent
}

// OpenQueue makes a client for the queue at a URL. It sends no request.
func OpenQueue(ctx context.Context, queue string, o QueueOptions) (*Queue, error) {
	u, err := url.Parse(queue)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, &ArgumentError{fmt.Sprintf("%q is no URL of a queue", queue)}
	}
	m := regionIn.FindStringSubmatch(u.Host)
	if o.Region == "" && m != nil {
		o.Region = m[1]
	}
	cfg, err := o.Load(ctx, maxReceived, "queue's URL")
	if err != nil {
		return nil, err
	}
	q := &Queue{url: queue, brief: 10 * time.Second}
	if o.Silence > 0 {
		q.brief = min(q.brief, o.Silence/2)
	}
	q.c = sqs.NewFromConfig(cfg, func(so *sqs.Options) {
		so.HTTPClient = ofQueues{so.HTTPClient, o.Advice}
		switch {
		case o.Endpoint != "":
			so.BaseEndpoint = &o.Endpoint
		case so.BaseEndpoint == nil && m == nil:
			so.BaseEndpoint = aws.String(u.Scheme + "://" + u.Host)
		}
	})
	return q, nil
}

// Sources are the URLs of the queues whose dead letters lie in this queue.
func (q *Queue) Sources(ctx context.Context) ([]string, error) {
	out, err := q.c.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &q.url})
	if err != nil {
		return nil, queueErr(err)
	}
	return out.QueueUrls, nil
}

// Give puts an event into the queue. If the event itself came from a queue, Give puts
// each of its messages into the queue instead.
func (q *Queue) Give(ctx context.Context, event []byte) error {
	for _, body := range bodiesOf(event) {
		if _, err := q.c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: &body}); err != nil {
			return queueErr(err)
		}
	}
	return nil
}

// bodiesOf returns bodies of messages that make a function get event. If event came
// from a queue, they are the bodies of its messages.
func bodiesOf(event []byte) []string {
	var e struct {
		Records []struct {
			Source string  `json:"eventSource"`
			Body   *string `json:"body"`
		} `json:"Records"`
	}
	if json.Unmarshal(event, &e) != nil {
		return []string{string(event)}
	}
	var bodies []string
	for _, r := range e.Records {
		if r.Source == "aws:sqs" && r.Body != nil {
			bodies = append(bodies, *r.Body)
		}
	}
	if len(bodies) == 0 || len(bodies) != len(e.Records) {
		return []string{string(event)}
	}
	return bodies
}

// A mover moves the messages of a queue.
type mover struct {
	*Queue
	teller

	to   string
	sent map[string]bool // ids that messages got in the queue to which they went
}

// Move sends the messages of the queue to the queue at the URL to. It stops if no
// message is left, or if messages come that it has already moved.
func (q *Queue) Move(ctx context.Context, to string, o Options) error {
	m := &mover{q, teller{Options: o}, to, map[string]bool{}}
	if o.DryRun {
		return m.look(ctx)
	}
	for !m.full() {
		got, err := m.receive(ctx)
		if err != nil || len(got) == 0 {
			return err
		}
		if again, err := m.move(ctx, got); err != nil || again {
			return err
		}
	}
	return nil
}

// receive takes some messages, none if there are none.
func (m *mover) receive(ctx context.Context) ([]types.Message, error) {
	n := batchMessages
	if m.Most > 0 {
		n = min(n, m.Most-m.told)
	}
	ctx = silence.More(ctx, waitSeconds*time.Second, false)
	out, err := m.c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &m.url, MaxNumberOfMessages: int32(n), WaitTimeSeconds: waitSeconds, VisibilityTimeout: hideSeconds,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, queueErr(err)
	}
	return out.Messages, nil
}

// move sends messages on, as many in a request as fit. It returns true if one of them
// came again.
func (m *mover) move(ctx context.Context, got []types.Message) (again bool, err error) {
	var batch, back []types.Message
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		b := batch
		batch, size = nil, 0
		return m.moveBatch(ctx, b)
	}
	for _, msg := range got {
		if m.sent[aws.ToString(msg.MessageId)] {
			again = true
			back = append(back, msg)
			continue
		}
		if size+len(aws.ToString(msg.Body)) > batchBytes {
			if err := flush(); err != nil {
				return again, err
			}
		}
		batch = append(batch, msg)
		size += len(aws.ToString(msg.Body))
	}
	return again, errors.Join(flush(), m.show(ctx, back))
}

// moveBatch sends messages, then deletes those that were sent.
func (m *mover) moveBatch(ctx context.Context, batch []types.Message) error {
	fifo := strings.HasSuffix(m.to, ".fifo")
	in := &sqs.SendMessageBatchInput{QueueUrl: &m.to}
	for i, msg := range batch {
		e := types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: msg.Body, MessageAttributes: msg.MessageAttributes}
		if fifo {
			e.MessageGroupId, e.MessageDeduplicationId = aws.String(msg.Attributes["MessageGroupId"]), msg.MessageId
			if *e.MessageGroupId == "" {
				e.MessageGroupId = aws.String("farread")
			}
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := m.c.SendMessageBatch(ctx, in)
	if err != nil {
		return errors.Join(queueErr(err), m.show(ctx, batch))
	}
	failed := map[string]error{} // delete a message only if the answer confirms that it was sent
	for i := range batch {
		failed[strconv.Itoa(i)] = fmt.Errorf("no answer says that it was sent: %w", objstore.ErrUnavailable)
	}
	for _, f := range out.Failed {
		failed[aws.ToString(f.Id)] = fmt.Errorf("%s: %s: %w", aws.ToString(f.Code), aws.ToString(f.Message), objstore.ErrUnavailable)
	}
	for _, s := range out.Successful {
		m.sent[aws.ToString(s.MessageId)] = true
		delete(failed, aws.ToString(s.Id))
	}
	del := &sqs.DeleteMessageBatchInput{QueueUrl: &m.url}
	var stay []types.Message
	for i, msg := range batch {
		id := strconv.Itoa(i)
		if failed[id] == nil {
			del.Entries = append(del.Entries, types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: msg.ReceiptHandle})
		} else {
			stay = append(stay, msg)
		}
		if err := m.tell(letterIn(msg, failed[id])); err != nil {
			return err
		}
	}
	if len(del.Entries) == 0 {
		return errors.Join(fmt.Errorf("no message could be sent to %s: %w", m.to, m.why), m.show(ctx, stay))
	}
	return m.forget(ctx, del)
}

// forget deletes the sent messages, also if the command is interrupted.
func (m *mover) forget(ctx context.Context, del *sqs.DeleteMessageBatchInput) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.brief)
	defer cancel()
	out, err := m.c.DeleteMessageBatch(ctx, del)
	if err != nil {
		return fmt.Errorf("sent, but not deleted: %w", queueErr(err))
	}
	if len(out.Failed) > 0 { // such a message is there twice
		return fmt.Errorf("%d sent, but not deleted: %s: %w", len(out.Failed), aws.ToString(out.Failed[0].Message), objstore.ErrUnavailable)
	}
	return nil
}

// show makes messages visible again at once.
func (m *mover) show(ctx context.Context, batch []types.Message) error {
	for start := 0; start < len(batch); start += batchMessages {
		in := &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &m.url}
		for i, msg := range batch[start:min(len(batch), start+batchMessages)] {
			in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: msg.ReceiptHandle})
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.brief)
		_, err := m.c.ChangeMessageVisibilityBatch(ctx, in)
		cancel()
		if err != nil { // they become visible without this, a minute later
			return queueErr(err)
		}
	}
	return nil
}

// look reports the messages and leaves them there.
func (m *mover) look(ctx context.Context) error {
	var seen []types.Message
	if m.Most == 0 || m.Most > dryMost {
		m.Most = dryMost
	}
	var err error
	for err == nil && !m.full() {
		var got []types.Message
		if got, err = m.receive(ctx); len(got) == 0 {
			break
		}
		for _, msg := range got {
			seen = append(seen, msg)
			if err == nil {
				err = m.tell(letterIn(msg, nil))
			}
		}
	}
	return errors.Join(err, m.show(ctx, seen))
}

// letterIn is the letter of a message.
func letterIn(msg types.Message, why error) Letter {
	id := aws.ToString(msg.MessageId)
	event, err := json.Marshal(map[string]any{"Records": []any{map[string]string{
		"eventSource": "aws:sqs", "messageId": id, "body": aws.ToString(msg.Body)}}})
	if err != nil { // strings always encode
		panic(err)
	}
	return Letter{id, event, why}
}
