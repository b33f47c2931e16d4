// Command recorder is a function that keeps the events it gets, as they are: one
// object each in the bucket of datasets.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func main() {
	var rules []struct {
		Out struct{ Bucket string }
	}
	if err := json.Unmarshal([]byte(os.Getenv("FARREAD_RULES")), &rules); err != nil || len(rules) == 0 {
		slog.Error("no rules in FARREAD_RULES", "error", err)
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, event json.RawMessage) (any, error) {
		c, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			return nil, err
		}
		lc, _ := lambdacontext.FromContext(ctx)
		key := "events/" + lc.AwsRequestID + ".json"
		_, err = s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }).PutObject(ctx,
			&s3.PutObjectInput{Bucket: &rules[0].Out.Bucket, Key: &key, Body: bytes.NewReader(event)})
		return map[string]any{"batchItemFailures": []string{}}, err
	})
}
