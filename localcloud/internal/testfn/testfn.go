// Package testfn is a Lambda function for tests: what it does depends on the
// keys that it is given. A test binary becomes its bootstrap through Main.
package testfn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Env makes a test binary the function: give it to the function's environment.
const Env = "LOCALCLOUD_TEST_FUNCTION=1"

// Main runs the function and does not return if Env is in the environment. Else it
// does nothing.
func Main() {
	if os.Getenv("LOCALCLOUD_TEST_FUNCTION") != "1" {
		return
	}
	switch os.Getenv("TEST_INIT") {
	case "exit":
		os.Exit(3)
	case "hang":
		<-time.After(time.Hour)
	}
	lambda.Start(handle)
	os.Exit(0)
}

// Answer is what the function answers to a direct event {"do": …}.
type Answer struct {
	PID    int               `json:"pid"`
	Env    map[string]string `json:"env"`
	Memory string            `json:"memory"`
}

func handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var ask events.LambdaFunctionURLRequest
	if err := json.Unmarshal(raw, &ask); err == nil && ask.RequestContext.HTTP.Method != "" {
		return web(ask, raw)
	}
	var direct struct{ Do string }
	if err := json.Unmarshal(raw, &direct); err == nil && direct.Do != "" {
		return act(ctx, direct.Do)
	}
	var sqs events.SQSEvent
	if err := json.Unmarshal(raw, &sqs); err != nil {
		return nil, err
	}
	if len(sqs.Records) == 0 || sqs.Records[0].EventSource != "aws:sqs" {
		return nil, one(ctx, raw)
	}
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range sqs.Records {
		if err := one(ctx, []byte(m.Body)); err != nil {
			fmt.Fprintln(os.Stdout, "failed:", err)
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return out, nil
}

// one does what one message says, in the envelope of any service.
func one(ctx context.Context, raw []byte) error {
	var topic events.SNSEntity
	if err := json.Unmarshal(raw, &topic); err == nil && topic.Type == "Notification" {
		raw = []byte(topic.Message)
	}
	var s3e events.S3Event
	var bridge events.EventBridgeEvent
	if err := json.Unmarshal(raw, &bridge); err == nil && bridge.Source == "aws.s3" {
		var d struct {
			Bucket struct{ Name string }
			Object struct{ Key string }
		}
		if err := json.Unmarshal(bridge.Detail, &d); err != nil {
			return err
		}
		var r events.S3EventRecord
		r.S3.Bucket.Name, r.S3.Object.URLDecodedKey = d.Bucket.Name, d.Object.Key
		s3e.Records = append(s3e.Records, r)
		return each(ctx, s3e, raw)
	}
	if err := json.Unmarshal(raw, &s3e); err != nil {
		return err
	}
	return each(ctx, s3e, raw)
}

// each does what the keys say. It writes each event to the bucket OUT under the
// event's own key.
func each(ctx context.Context, e events.S3Event, raw []byte) error {
	for _, r := range e.Records {
		key := r.S3.Object.URLDecodedKey
		fmt.Fprintln(os.Stdout, "key", key)
		for _, do := range []string{"poison", "sleep", "hog", "exit", "spawn"} {
			if strings.Contains(key, do) {
				if _, err := act(ctx, do); err != nil {
					return err
				}
			}
		}
		// mended-… fails until the file of that name exists.
		if i := strings.Index(key, "mended"); i >= 0 {
			if _, err := os.Stat(filepath.Join(os.Getenv("TEST_DIR"), key[i:])); err != nil {
				return err
			}
		}
		cfg, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return err
		}
		c := s3.NewFromConfig(cfg)
		src, err := c.GetObject(ctx, &s3.GetObjectInput{Bucket: &r.S3.Bucket.Name, Key: &key})
		if err != nil {
			return err
		}
		_ = src.Body.Close()
		out := os.Getenv("OUT")
		if _, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: &out, Key: &key, Body: bytes.NewReader(raw)}); err != nil {
			return err
		}
	}
	return nil
}

func act(ctx context.Context, do string) (any, error) {
	switch do {
	case "poison":
		return nil, errors.New("poison")
	case "panic":
		panic("on purpose")
	case "exit":
		os.Exit(4)
	case "sleep":
		<-time.After(time.Hour)
	case "nap":
		<-time.After(100 * time.Millisecond)
	case "large":
		return strings.Repeat("x", 7<<20), nil
	case "log":
		fmt.Fprintln(os.Stdout, "one line")
		fmt.Fprint(os.Stderr, "half ")
		fmt.Fprintln(os.Stderr, "and half")
	case "hog":
		var all [][]byte
		for range 1024 {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
		<-time.After(time.Hour)
		fmt.Fprintln(os.Stdout, len(all))
	case "deadline":
		d, _ := ctx.Deadline()
		return time.Until(d).String(), nil
	}
	a := Answer{PID: os.Getpid(), Env: map[string]string{}, Memory: os.Getenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")}
	for _, kv := range os.Environ() {
		k, v, _ := strings.Cut(kv, "=")
		a.Env[k] = v
	}
	return a, nil
}

// web answers a request to a function URL: what it does depends on the path.
func web(ask events.LambdaFunctionURLRequest, raw []byte) (any, error) {
	a := &events.LambdaFunctionURLStreamingResponse{StatusCode: 201, Cookies: []string{"a=b", "c=d"},
		Headers: map[string]string{"content-type": "text/plain", "content-length": "7", "x-own": "yes", "x-pid": strconv.Itoa(os.Getpid())}}
	from, to := io.Pipe()
	a.Body = from
	write := func(n int) { _, _ = to.Write(bytes.Repeat([]byte("x"), n)) } // the runtime may have gone
	switch ask.RawPath {
	case "/poison":
		return nil, errors.New("poison")
	case "/plain":
		return "no document", nil
	case "/empty":
		a.StatusCode, a.Body = 204, nil
	case "/coded":
		a.Headers["Content-Encoding"], a.Body = "gzip", nil
	case "/status":
		a.StatusCode, a.Body = 99, nil
	case "/cut":
		go func() {
			write(100_000)
			_ = to.CloseWithError(errors.New("cut"))
		}()
	case "/exit":
		go func() {
			write(100_000)
			os.Exit(4)
		}()
	case "/long":
		go func() {
			for range 20 {
				write(1 << 20)
			}
			_ = to.Close()
		}()
	case "/slow": // the rest comes once a file is there
		go func() {
			write(5)
			for {
				if _, err := os.Stat(filepath.Join(os.Getenv("TEST_DIR"), "go")); err == nil {
					break
				}
				<-time.After(time.Millisecond)
			}
			write(5)
			_ = to.Close()
		}()
	default:
		a.Body = bytes.NewReader(raw)
	}
	return a, nil
}
