package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/farread/farread/e2e/scenario"
)

// settings are the numbers of a pipeline.
type settings struct {
	timeout  time.Duration // time limit of an invocation; messages stay hidden for as long
	receives int           // deliveries of a message before it is a dead letter
}

func settingsOf(o scenario.Options) settings {
	if o.Hasty {
		return settings{20 * time.Second, 3}
	}
	return settings{60 * time.Second, 5}
}

// A pipeline is under construction.
type pipeline struct {
	*Cloud
	*scenario.Pipeline
	id  string
	set settings

	notifications s3types.NotificationConfiguration
	dead          map[string]queue  // queues of dead letters by function
	functions     map[string]string // ARN by name
}

type queue struct{ url, arn string }

// Start deploys a pipeline and takes it down with the test.
func (c *Cloud) Start(t *testing.T, o scenario.Options) *scenario.Pipeline {
	t.Helper()
	ctx := t.Context()
	keys, err := c.AWS.Credentials.Retrieve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := id()
	p := &pipeline{Cloud: c, id: n, set: settingsOf(o), dead: map[string]queue{}, functions: map[string]string{}, Pipeline: &scenario.Pipeline{
		Endpoint: c.Config.Endpoint, Region: c.AWS.Region, AccessKey: keys.AccessKeyID, SecretKey: keys.SecretAccessKey,
		Uploads: "uploads-" + n, Datasets: "datasets-" + n, Spare: "spare-" + n,
	}}
	for _, b := range []string{p.Uploads, p.Datasets, p.Spare} {
		p.makeBucket(t, b, o.Versioned)
	}
	for name, prefixes := range scenario.Prefixes() {
		p.dead[name] = p.makeQueue(t, name+"-dead-"+n, nil)
		p.makeFunction(t, name)
		p.wire(t, o.Path, name, prefixes)
	}
	if _, err := c.S3.PutBucketNotificationConfiguration(ctx, &s3.PutBucketNotificationConfigurationInput{Bucket: &p.Uploads, NotificationConfiguration: &p.notifications}); err != nil {
		t.Fatal(err)
	}
	p.Dead = p.countDead
	p.Refuses = func(key string) string {
		if c.Quoted(o.Path, key) != key {
			return "LocalStack's EventBridge encodes it"
		}
		return ""
	}
	switch o.Path {
	case scenario.Queue, scenario.BusToQueue:
		p.ReplayDLQ = []string{"--queue", p.dead["fn-pack"].url}
	case scenario.Topic:
		p.Redrive = p.move
	default:
		p.Redrive = p.call
	}
	return p.Pipeline
}

// clean runs f when the test has ended, in time of its own.
func clean(t *testing.T, what string, f func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := f(ctx); err != nil {
			t.Logf("%s stays: %v", what, err)
		}
	})
}

// Bucket makes a bucket that ends with the test.
func (c *Cloud) Bucket(t *testing.T, versioned bool) string {
	t.Helper()
	name := "bucket-" + id()
	c.makeBucket(t, name, versioned)
	return name
}

func (c *Cloud) makeBucket(t *testing.T, name string, versioned bool) {
	t.Helper()
	in := &s3.CreateBucketInput{Bucket: &name}
	if c.AWS.Region != "us-east-1" {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(c.AWS.Region)}
	}
	if _, err := c.S3.CreateBucket(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	clean(t, "bucket "+name, func(ctx context.Context) error { return c.removeBucket(ctx, name) })
	if versioned {
		_, err := c.S3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: &name,
			VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// removeBucket removes a bucket with all versions in it, one by one: a list of keys in
// XML cannot name all that a key may be.
func (c *Cloud) removeBucket(ctx context.Context, name string) error {
	list := s3.NewListObjectVersionsPaginator(c.S3, &s3.ListObjectVersionsInput{Bucket: &name, EncodingType: s3types.EncodingTypeUrl})
	remove := func(encoded, version *string) error {
		key, err := url.QueryUnescape(aws.ToString(encoded))
		if err != nil {
			return err
		}
		_, err = c.S3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: &key, VersionId: version})
		return err
	}
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, v := range page.Versions {
			if err := remove(v.Key, v.VersionId); err != nil {
				return err
			}
		}
		for _, v := range page.DeleteMarkers {
			if err := remove(v.Key, v.VersionId); err != nil {
				return err
			}
		}
	}
	_, err := c.S3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	return err
}

// makeFunction deploys a function and waits until it can be called.
func (p *pipeline) makeFunction(t *testing.T, name string) {
	t.Helper()
	rules, err := json.Marshal(scenario.Rules(p.Pipeline, name, ""))
	if err != nil {
		t.Fatal(err)
	}
	p.functions[name] = p.Deploy(t, name+"-"+p.id, p.Config.Archive(t, name), map[string]string{"FARREAD_RULES": string(rules)}, p.set.timeout, p.dead[name].arn)
}

// Deploy deploys an archive as a function and waits until it can be called; dead is
// the queue for events that only Lambda holds.
func (c *Cloud) Deploy(t *testing.T, name string, zip []byte, env map[string]string, timeout time.Duration, dead string) (arn string) {
	t.Helper()
	if c.Config.FunctionEndpoint != "" {
		env["AWS_ENDPOINT_URL"] = c.Config.FunctionEndpoint
	}
	arch := lambdatypes.ArchitectureX8664
	if host() == "arm64" {
		arch = lambdatypes.ArchitectureArm64
	}
	in := &lambda.CreateFunctionInput{
		FunctionName: &name, Role: &c.Config.Role, Code: &lambdatypes.FunctionCode{ZipFile: zip},
		Runtime: lambdatypes.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Architectures: []lambdatypes.Architecture{arch},
		MemorySize: aws.Int32(512), Timeout: aws.Int32(int32(timeout / time.Second)),
		Environment: &lambdatypes.Environment{Variables: env},
	}
	if dead != "" {
		in.DeadLetterConfig = &lambdatypes.DeadLetterConfig{TargetArn: &dead}
	}
	f, err := c.Lambda.CreateFunction(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "function "+name, func(ctx context.Context) error {
		_, err := c.Lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &name})
		return err
	})
	w := lambda.NewFunctionActiveV2Waiter(c.Lambda, func(o *lambda.FunctionActiveV2WaiterOptions) {
		o.MinDelay = 50 * time.Millisecond
		o.MaxDelay = time.Second
	})
	if err := w.Wait(t.Context(), &lambda.GetFunctionInput{FunctionName: &name}, time.Minute); err != nil {
		t.Fatalf("function %s: %v", name, err)
	}
	return *f.FunctionArn
}

// makeQueue makes a queue.
func (p *pipeline) makeQueue(t *testing.T, name string, attributes map[string]string) queue {
	t.Helper()
	q, err := p.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "queue "+name, func(ctx context.Context) error {
		_, err := p.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: q.QueueUrl})
		return err
	})
	a, err := p.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: q.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	return queue{*q.QueueUrl, a.Attributes["QueueArn"]}
}

// countDead counts the dead letters.
func (p *pipeline) countDead(ctx context.Context) (n int, err error) {
	for _, q := range p.dead {
		a, err := p.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url,
			AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameApproximateNumberOfMessages}})
		if err != nil {
			return 0, err
		}
		k, err := strconv.Atoi(a.Attributes["ApproximateNumberOfMessages"])
		if err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}

// move delivers the dead letters again: SQS moves them to the queues they came from.
func (p *pipeline) move(ctx context.Context) error {
	for _, q := range p.dead {
		if _, err := p.SQS.StartMessageMoveTask(ctx, &sqs.StartMessageMoveTaskInput{SourceArn: &q.arn}); err != nil {
			return err
		}
	}
	return nil
}

// call delivers the dead letters of functions that no queue feeds: they are events to
// call the function with.
func (p *pipeline) call(ctx context.Context) error {
	for name, q := range p.dead {
		r, err := p.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &q.url, MaxNumberOfMessages: 10})
		if err != nil {
			return err
		}
		for _, m := range r.Messages {
			arn := p.functions[name]
			out, err := p.Lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &arn, Payload: []byte(*m.Body)})
			if err != nil {
				return err
			}
			if out.FunctionError != nil {
				return fmt.Errorf("%s: %s: %s", name, *out.FunctionError, out.Payload)
			}
			if _, err := p.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
	}
	return nil
}
