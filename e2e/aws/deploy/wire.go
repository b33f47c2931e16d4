package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/farread/farread/e2e/scenario"
)

func host() string { return runtime.GOARCH }

// wire leads the events of uploads under some prefixes to a function, on one of the
// paths.
func (p *pipeline) wire(t *testing.T, path, function string, prefixes []string) {
	t.Helper()
	arn := p.functions[function]
	created := []s3types.Event{"s3:ObjectCreated:*"}
	switch path {
	case scenario.Direct:
		p.allow(t, arn, "s3.amazonaws.com")
		for _, prefix := range prefixes {
			p.notifications.LambdaFunctionConfigurations = append(p.notifications.LambdaFunctionConfigurations,
				s3types.LambdaFunctionConfiguration{LambdaFunctionArn: &arn, Events: created, Filter: below(prefix)})
		}
	case scenario.Queue:
		queue := p.feed(t, function, "s3.amazonaws.com")
		for _, prefix := range prefixes {
			p.notifications.QueueConfigurations = append(p.notifications.QueueConfigurations,
				s3types.QueueConfiguration{QueueArn: &queue, Events: created, Filter: below(prefix)})
		}
	case scenario.Topic:
		topic := p.makeTopic(t, function)
		for _, prefix := range prefixes {
			p.notifications.TopicConfigurations = append(p.notifications.TopicConfigurations,
				s3types.TopicConfiguration{TopicArn: &topic, Events: created, Filter: below(prefix)})
		}
	case scenario.Bus:
		p.allow(t, arn, "events.amazonaws.com")
		p.makeRule(t, function, prefixes, arn)
	case scenario.BusToQueue:
		p.makeRule(t, function, prefixes, p.feed(t, function, "events.amazonaws.com"))
	default:
		t.Fatalf("no path %q", path)
	}
}

func below(prefix string) *s3types.NotificationConfigurationFilter {
	return &s3types.NotificationConfigurationFilter{Key: &s3types.S3KeyFilter{FilterRules: []s3types.FilterRule{{Name: s3types.FilterRuleNamePrefix, Value: &prefix}}}}
}

// allow lets a service call a function.
func (p *pipeline) allow(t *testing.T, function, service string) {
	t.Helper()
	_, err := p.Lambda.AddPermission(t.Context(), &lambda.AddPermissionInput{FunctionName: &function, StatementId: aws.String("events"),
		Action: aws.String("lambda:InvokeFunction"), Principal: &service})
	if err != nil {
		t.Fatal(err)
	}
}

// feed makes a queue that service may write to and whose messages start a function
// in batches that answer one by one.
func (p *pipeline) feed(t *testing.T, function, service string) (arn string) {
	t.Helper()
	redrive, err := json.Marshal(map[string]any{"deadLetterTargetArn": p.dead[function].arn, "maxReceiveCount": p.set.receives})
	if err != nil {
		t.Fatal(err)
	}
	q := p.makeQueue(t, function+"-"+p.id, map[string]string{"RedrivePolicy": string(redrive), "VisibilityTimeout": strconv.Itoa(int(p.set.timeout / time.Second))})
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":%q},"Action":"sqs:SendMessage","Resource":%q}]}`, service, q.arn)
	if _, err := p.SQS.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: map[string]string{"Policy": policy}}); err != nil {
		t.Fatal(err)
	}
	name := p.functions[function]
	m, err := p.Lambda.CreateEventSourceMapping(t.Context(), &lambda.CreateEventSourceMappingInput{FunctionName: &name, EventSourceArn: &q.arn,
		BatchSize: aws.Int32(10), FunctionResponseTypes: []lambdatypes.FunctionResponseType{lambdatypes.FunctionResponseTypeReportBatchItemFailures}})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "mapping of "+function, func(ctx context.Context) error {
		_, err := p.Lambda.DeleteEventSourceMapping(ctx, &lambda.DeleteEventSourceMappingInput{UUID: m.UUID})
		return err
	})
	return q.arn
}

// makeTopic makes a topic whose messages go to a function's queue.
func (p *pipeline) makeTopic(t *testing.T, function string) (arn string) {
	t.Helper()
	topic, err := p.SNS.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String(function + "-" + p.id)})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, "topic of "+function, func(ctx context.Context) error {
		_, err := p.SNS.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: topic.TopicArn})
		return err
	})
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sns:Publish","Resource":%q}]}`, *topic.TopicArn)
	if _, err := p.SNS.SetTopicAttributes(t.Context(), &sns.SetTopicAttributesInput{TopicArn: topic.TopicArn, AttributeName: aws.String("Policy"), AttributeValue: &policy}); err != nil {
		t.Fatal(err)
	}
	queue := p.feed(t, function, "sns.amazonaws.com")
	if _, err := p.SNS.Subscribe(t.Context(), &sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: &queue}); err != nil {
		t.Fatal(err)
	}
	return *topic.TopicArn
}

// makeRule makes a rule of EventBridge for uploads below the prefixes.
func (p *pipeline) makeRule(t *testing.T, function string, prefixes []string, target string) {
	t.Helper()
	p.notifications.EventBridgeConfiguration = &s3types.EventBridgeConfiguration{}
	type prefix struct {
		Prefix string `json:"prefix"`
	}
	list := make([]prefix, 0, len(prefixes))
	for _, s := range prefixes {
		list = append(list, prefix{s})
	}
	pattern, err := json.Marshal(map[string]any{"source": []string{"aws.s3"}, "detail-type": []string{"Object Created"},
		"detail": map[string]any{"bucket": map[string]any{"name": []string{p.Uploads}}, "object": map[string]any{"key": list}}})
	if err != nil {
		t.Fatal(err)
	}
	name := function + "-" + p.id
	if _, err := p.Bus.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &name, EventPattern: aws.String(string(pattern))}); err != nil {
		t.Fatal(err)
	}
	clean(t, "rule "+name, func(ctx context.Context) error {
		if _, err := p.Bus.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: &name, Ids: []string{"1"}}); err != nil {
			return err
		}
		_, err := p.Bus.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &name})
		return err
	})
	out, err := p.Bus.PutTargets(t.Context(), &eventbridge.PutTargetsInput{Rule: &name, Targets: []bustypes.Target{{Id: aws.String("1"), Arn: &target}}})
	if err != nil || out.FailedEntryCount > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
}
