// Package machine runs executions of state machines of AWS Step Functions: it starts one,
// follows it to its end, and stops it if nobody waits for it any more.
package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/objstore"
)

const (
	maxReceived = 4 << 20 // bytes of an answer: input and output of an execution have 256 KiB, which JSON makes six times as long at most
	// MaxInput is how many bytes the input of an execution has at most:
	// https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
	MaxInput = 256 << 10
	maxRuns  = 100 // executions of one name
	// Pauses between two questions about an execution; they double.
	firstPause = 500 * time.Millisecond
	lastPause  = 5 * time.Second
	brief      = 10 * time.Second // time to stop an execution after ctx has ended
)

// A Config says how state machines are asked. The ARN of the machine tells the region.
type Config struct {
	awscall.Options

	Pause time.Duration // the longest pause between two questions about an execution; 0: 5 s
}

// machines are ARNs of state machines: partition, region, account, and name.
var machines = regexp.MustCompile(`^arn:(aws[a-z0-9-]*):states:([a-z0-9-]+):([0-9]{12}):stateMachine:([A-Za-z0-9_.-]{1,80})(:[A-Za-z0-9_-]+)?$`)

// ParseARN reports whether arn is that of a state machine, and the region of it.
func ParseARN(arn string) (region string, ok bool) {
	m := machines.FindStringSubmatch(arn)
	if m == nil {
		return "", false
	}
	return m[2], true
}

// An Execution is a run of a state machine.
type Execution struct {
	ARN    string
	Joined bool // it was running already

	c     *sfn.Client
	pause time.Duration
}

// An EndError is the end of an execution that did not succeed.
type EndError struct {
	Status, Code, Cause string
}

// Error implements error.
func (e *EndError) Error() string {
	text := "the execution " + map[string]string{"FAILED": "failed", "TIMED_OUT": "timed out", "ABORTED": "was stopped"}[e.Status]
	for _, more := range []string{e.Code, e.Cause} {
		if more != "" {
			text += ": " + more
		}
	}
	return text
}

// Start starts an execution of the state machine arn, with input as JSON. If one of that
// name and input runs, Start joins it instead; if it has ended, the new one has a number
// behind its name.
func Start(ctx context.Context, cfg Config, arn, name string, input any) (*Execution, error) {
	region, ok := ParseARN(arn)
	if !ok {
		return nil, fmt.Errorf("%q is no ARN of a state machine: %w", arn, objstore.ErrInvalid)
	}
	text, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxInput {
		return nil, fmt.Errorf("input of %d bytes, over %d: %w", len(text), MaxInput, objstore.ErrInvalid)
	}
	cfg.Region = region
	c, err := cfg.client(ctx)
	if err != nil {
		return nil, err
	}
	e := &Execution{c: c, pause: cfg.Pause}
	if e.pause <= 0 {
		e.pause = lastPause
	}
	begun := time.Now()
	in, run := string(text), name
	for n := 2; n <= maxRuns; n++ {
		out, err := c.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &arn, Name: &run, Input: &in})
		var exists *types.ExecutionAlreadyExists
		switch {
		case err == nil && out.ExecutionArn != nil:
			e.ARN = *out.ExecutionArn
			e.Joined = out.StartDate != nil && begun.Sub(*out.StartDate) > joinedAge
			return e, nil
		case err == nil:
			return nil, fmt.Errorf("%w: StartExecution: an answer without an execution", objstore.ErrUnavailable)
		case !errors.As(err, &exists):
			return nil, awscall.Err(err)
		}
		run = fmt.Sprintf("%s-%d", name, n)
	}
	return nil, fmt.Errorf("%s has run %d times within 90 days: %w", name, maxRuns-1, objstore.ErrInvalid)
}

// joinedAge is how much older an execution is than its start was asked for, clocks apart,
// if another start began it.
const joinedAge = 5 * time.Second

func (cfg Config) client(ctx context.Context) (*sfn.Client, error) {
	a, err := cfg.Load(ctx, maxReceived, "endpoint")
	if err != nil {
		return nil, err
	}
	return sfn.NewFromConfig(a, func(o *sfn.Options) {
		if cfg.Endpoint != "" {
			o.BaseEndpoint = &cfg.Endpoint
		}
	}), nil
}

// errAsking means that the state of the execution is not known: it may run on.
var errAsking = errors.New("the execution may run on")

// Watch calls poll now and then until the execution ends, and once more then. The error is
// nil if the execution succeeded, an EndError if it did not, or that of poll. The execution
// is never stopped: others may watch it later.
func Watch(ctx context.Context, e *Execution, poll func(context.Context) error) error {
	for pause := min(firstPause, e.pause); ; pause = min(2*pause, e.pause) {
		out, err := e.c.DescribeExecution(ctx, &sfn.DescribeExecutionInput{ExecutionArn: &e.ARN})
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w; %w", awscall.Err(err), errAsking)
		}
		end := ended(out)
		if err := poll(ctx); err != nil && (end == nil || out.Status == types.ExecutionStatusSucceeded) {
			return err
		}
		switch {
		case end != nil:
			return end
		case out.Status == types.ExecutionStatusSucceeded:
			return nil
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		}
	}
}

// ended is the error of an execution that did not succeed.
func ended(out *sfn.DescribeExecutionOutput) error {
	switch out.Status {
	case types.ExecutionStatusFailed, types.ExecutionStatusTimedOut, types.ExecutionStatusAborted:
		return &EndError{string(out.Status), said(out.Error), said(out.Cause)}
	case types.ExecutionStatusRunning, types.ExecutionStatusSucceeded, types.ExecutionStatusPendingRedrive:
	}
	return nil
}

func said(text *string) string {
	if text == nil {
		return ""
	}
	return strings.TrimSpace(*text)
}

// Stop stops the execution, even if ctx has ended.
func (e *Execution) Stop(ctx context.Context, cause string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), brief)
	defer cancel()
	if _, err := e.c.StopExecution(ctx, &sfn.StopExecutionInput{ExecutionArn: &e.ARN, Cause: &cause}); err != nil {
		return fmt.Errorf("%s runs on: %w", e.ARN, awscall.Err(err))
	}
	return nil
}
