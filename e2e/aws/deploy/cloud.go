// Package deploy makes pipelines of farread on AWS's interfaces for tests: buckets,
// functions from the archives of `make zip`, and each way of an upload's event to
// them. What stays in use is made by Terraform (terraform/modules/pipeline); this
// is its like in a few calls.
package deploy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/farread/farread/e2e/scenario"
)

// Config is the place to deploy to. Credentials and region come from the
// environment; where it has none they are "test" and us-east-1, which LocalStack
// takes.
type Config struct {
	Endpoint         string // endpoint of all services
	FunctionEndpoint string // endpoint for functions; "": the cloud sets it
	Role             string // ARN; "": one that LocalStack takes
	// Archive returns the archive of a function; nil: the archives of `make
	// zip`.
	Archive func(t *testing.T, function string) []byte
}

// A Cloud deploys pipelines. It is safe for concurrent use.
type Cloud struct {
	Config Config
	AWS    aws.Config
	// LocalStack says that the endpoint is one, which differs from AWS in what
	// Quoted and localstack/README.md tell.
	LocalStack bool

	S3     *s3.Client
	SQS    *sqs.Client
	SNS    *sns.Client
	Bus    *eventbridge.Client
	Lambda *lambda.Client
	States *sfn.Client
}

// New returns a cloud at an endpoint. It sends one request, to find out whether
// it is LocalStack.
func New(ctx context.Context, c Config) (*Cloud, error) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"} {
		if os.Getenv(name) == "" && os.Getenv("AWS_PROFILE") == "" {
			if err := os.Setenv(name, value); err != nil {
				return nil, err
			}
		}
	}
	if c.Role == "" {
		c.Role = "arn:aws:iam::000000000000:role/farread-e2e"
	}
	client := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) { tr.MaxIdleConnsPerHost = 32 }) // tests run side by side
	if c.Archive == nil {
		c.Archive = archive
	}
	a, err := config.LoadDefaultConfig(ctx, config.WithBaseEndpoint(c.Endpoint), config.WithHTTPClient(client))
	if err != nil {
		return nil, err
	}
	local, err := isLocalStack(ctx, c.Endpoint)
	if err != nil {
		return nil, err
	}
	return &Cloud{
		Config: c, AWS: a, LocalStack: local,
		S3:  s3.NewFromConfig(a, func(o *s3.Options) { o.UsePathStyle = true }),
		SQS: sqs.NewFromConfig(a), SNS: sns.NewFromConfig(a), Bus: eventbridge.NewFromConfig(a), Lambda: lambda.NewFromConfig(a), States: sfn.NewFromConfig(a),
	}, nil
}

// isLocalStack asks for what only LocalStack has.
func isLocalStack(ctx context.Context, endpoint string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/_localstack/health", nil)
	if err != nil {
		return false, err
	}
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	return resp.StatusCode == http.StatusOK, resp.Body.Close()
}

// Quoted is the key as this cloud's EventBridge names it. AWS leaves keys as they
// are; LocalStack 4.14 percent-encodes them, as in the notifications of S3, and so
// names another object.
func (c *Cloud) Quoted(path, key string) string {
	if !c.LocalStack || path != scenario.Bus && path != scenario.BusToQueue {
		return key
	}
	var b strings.Builder
	for _, x := range []byte(key) {
		if x >= 'a' && x <= 'z' || x >= 'A' && x <= 'Z' || x >= '0' && x <= '9' || strings.IndexByte("/_.-~", x) >= 0 {
			b.WriteByte(x)
		} else {
			fmt.Fprintf(&b, "%%%02X", x)
		}
	}
	return b.String()
}

// id returns a random name, which separates the resources of one test from
// others.
func id() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// archive is a function's archive for this machine, as `make zip` left it.
func archive(t *testing.T, name string) []byte {
	t.Helper()
	file := filepath.Join(scenario.Root(t), "dist", fmt.Sprintf("%s-%s.zip", name, runtime.GOARCH))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run `make zip` first", err)
	}
	return b
}
