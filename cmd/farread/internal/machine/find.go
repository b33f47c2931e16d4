package machine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/objstore"
)

// Find returns the execution of a state machine that has exactly this name if it runs, or
// else nil.
func Find(ctx context.Context, cfg Config, arn, name string) (*Execution, error) {
	region, ok := ParseARN(arn)
	if !ok {
		return nil, fmt.Errorf("%q is no ARN of a state machine: %w", arn, objstore.ErrInvalid)
	}
	cfg.Region = region
	c, err := cfg.client(ctx)
	if err != nil {
		return nil, err
	}
	e := &Execution{ARN: executionARN(arn, name), Joined: true, c: c, pause: cfg.Pause}
	if e.pause <= 0 {
		e.pause = lastPause
	}
	out, err := c.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &e.ARN})
	var none *types.ExecutionDoesNotExist
	switch {
	case errors.As(err, &none):
		return nil, nil
	case err != nil:
		return nil, awscall.Err(err)
	case out.Status != types.ExecutionStatusRunning:
		return nil, nil
	}
	return e, nil
}

// executionARN is the ARN of an execution of a state machine, of which arn may name a
// version or an alias.
func executionARN(arn, name string) string {
	f := strings.Split(arn, ":")
	f[5] = "execution"
	return strings.Join(append(f[:7], name), ":")
}
