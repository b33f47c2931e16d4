package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/localcloud/lambda"
	"github.com/farread/farread/localcloud/notify"
	"github.com/farread/farread/localcloud/spool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parts are a spool and a delivery whose function is f.
func parts(t *testing.T, dir, shape string, f Invoke, cfg Config) (*spool.Spool, *Delivery, []spool.Entry) {
	t.Helper()
	s, pending, err := spool.Open(dir, "us-east-1", notify.NewClock(nil))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Rules = functions.Rules{{Bucket: "in", Job: "pack", Shape: shape, Out: functions.Out{Bucket: "out"}}}
	cfg.Functions = map[string]Invoke{"fn-pack": f}
	cfg.Spool, cfg.DeadLetters = s, filepath.Join(dir, "dead.jsonl")
	d, err := New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		d.Close()
		_ = s.Close()
	})
	return s, d, pending
}

func add(t *testing.T, s *spool.Spool, d *Delivery, key string) {
	t.Helper()
	e, err := s.Append(notify.Change{Event: notify.Put, Bucket: "in", Key: key, ETag: "e"})
	if err == nil {
		err = d.Add(e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// aws-lambda-go decodes a batch to the messages that were sent.
func TestSQSShape(t *testing.T) {
	got := make(chan events.SQSEvent, 10)
	s, d, _ := parts(t, t.TempDir(), "sqs", func(_ context.Context, b []byte) (lambda.Result, error) {
		var e events.SQSEvent
		err := json.Unmarshal(b, &e)
		got <- e
		return lambda.Result{Body: []byte(`{"batchItemFailures":[]}`)}, err
	}, Config{Concurrency: 1, BatchWindow: time.Hour}) // a full batch does not wait for the window
	var want, keys []string
	for i := range 10 {
		want = append(want, "a b+"+string(rune('0'+i)))
		add(t, s, d, want[i])
	}
	for _, m := range (<-got).Records {
		var e events.S3Event
		if err := json.Unmarshal([]byte(m.Body), &e); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Records[0].S3.Object.URLDecodedKey)
		if m.Attributes["ApproximateReceiveCount"] != "1" || m.EventSource != "aws:sqs" || m.MessageId == "" || m.Md5OfBody == "" {
			t.Errorf("%+v", m)
		}
	}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
}

func TestPartialResponse(t *testing.T) {
	batch := []*message{{Entry: spool.Entry{ID: 1}}, {Entry: spool.Entry{ID: 2}}}
	id := batch[1].id()
	for body, want := range map[string]struct {
		failed int
		bad    bool
	}{
		``:                           {},
		`null`:                       {},
		`"text"`:                     {},
		`{}`:                         {},
		`{"batchItemFailures":null}`: {},
		`{"batchItemFailures":[]}`:   {},
		`{"batchItemFailures":[{"itemIdentifier":"` + id + `"}]}`:                                 {failed: 1},
		`{"batchItemFailures":[{"itemIdentifier":"` + id + `"},{"itemIdentifier":"` + id + `"}]}`: {failed: 1},
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:                                           {bad: true},
		`{"batchItemFailures":[{"itemIdentifier":null}]}`:                                         {bad: true},
		`{"batchItemFailures":[{"itemIdentifier":"no"}]}`:                                         {bad: true},
		`{"batchItemFailures":[{"misspelt":"` + id + `"}]}`:                                       {bad: true},
		`{"batchItemFailures":"no"}`:                                                              {bad: true},
	} {
		failed, err := partial([]byte(body), batch)
		if len(failed) != want.failed || (err != nil) != want.bad || failed[batch[0]] || failed[batch[1]] != (want.failed == 1) {
			t.Errorf("%s: %v, %v", body, failed, err)
		}
	}
}

// A stop in the middle of an invocation leaves the event pending.
func TestStopKeepsEvents(t *testing.T) {
	dir := t.TempDir()
	t.Run("stopped", func(t *testing.T) {
		began := make(chan struct{})
		s, d, _ := parts(t, dir, "s3", func(ctx context.Context, _ []byte) (lambda.Result, error) {
			close(began)
			<-ctx.Done()
			return lambda.Result{}, ctx.Err()
		}, Config{})
		add(t, s, d, "k")
		<-began
	})
	_, _, pending := parts(t, dir, "s3", nilFunction, Config{})
	if len(pending) != 1 {
		t.Errorf("%d events are pending, want 1", len(pending))
	}
}

func nilFunction(context.Context, []byte) (lambda.Result, error) { return lambda.Result{}, nil }

// A dead letter that a crash cut short is dropped; its event is still pending.
func TestDeadLetterCut(t *testing.T) {
	dir := t.TempDir()
	reports := make(chan Invocation, 10)
	t.Run("dead", func(t *testing.T) {
		s, d, _ := parts(t, dir, "", func(context.Context, []byte) (lambda.Result, error) {
			return lambda.Result{}, errors.New("no")
		}, Config{Tries: 2, RetryDelay: time.Nanosecond, Report: func(i Invocation) { reports <- i }})
		add(t, s, d, "one")
		add(t, s, d, "two")
		for range 4 {
			<-reports
		}
		if st, err := d.Status(); err != nil || st.DeadLetters != 2 || st.Pending != 0 {
			t.Errorf("%+v, %v", st, err)
		}
	})
	path := filepath.Join(dir, "dead.jsonl")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b[:len(b)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var keys []string
	done := make(chan struct{}, 10)
	_, d, _ := parts(t, dir, "", func(_ context.Context, p []byte) (lambda.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, string(p))
		return lambda.Result{}, nil
	}, Config{Report: func(Invocation) { done <- struct{}{} }})
	n, err := d.Redrive()
	if n != 1 || err != nil {
		t.Fatalf("%d redriven, %v", n, err)
	}
	<-done
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 1 || strings.Contains(keys[0], `"two"`) == strings.Contains(keys[0], `"one"`) {
		t.Errorf("redriven: %q", keys)
	}
	if n, err := d.Redrive(); n != 0 || err != nil {
		t.Errorf("again: %d redriven, %v", n, err)
	}
}
