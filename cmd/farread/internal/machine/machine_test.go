package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/objstore"
)

const arn = "arn:aws:states:eu-west-1:123456789012:stateMachine:demo-analysis"

// states answers as Step Functions does, with the names of executions that have ended and
// the states of the one that is asked about, one after the other.
type states struct {
	mu      sync.Mutex
	ended   map[string]bool
	answers []string // of DescribeExecution; the last one stays
	fails   string   // the code of all answers
	heard   []string
}

func (s *states) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct{ Name, Input, Cause, ExecutionArn string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AWSStepFunctions.")
	s.heard = append(s.heard, strings.TrimSpace(op+" "+in.Name+in.Cause+in.Input))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	code, answer := s.fails, ""
	switch op {
	case "StartExecution":
		if s.ended[in.Name] {
			code = "ExecutionAlreadyExists"
		}
		answer = fmt.Sprintf(`{"executionArn":"arn:aws:states:eu-west-1:123456789012:execution:demo:%s","startDate":%d}`, in.Name, time.Now().Unix())
	case "DescribeExecution":
		answer = s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
	case "StopExecution":
		answer = `{"stopDate":1}`
	}
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		answer = fmt.Sprintf(`{"__type":%q,"message":"said"}`, code)
	}
	fmt.Fprint(w, answer)
}

func cloud(t *testing.T, s *states) Config {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return Config{Options: awscall.Options{Endpoint: srv.URL, Silence: time.Minute}, Pause: time.Millisecond}
}

const running = `{"status":"RUNNING"}`

// TestWatch: an execution whose name is taken gets a number; it is asked about until it ends,
// and what it ends in is the result.
func TestWatch(t *testing.T) {
	s := &states{ended: map[string]bool{"a": true, "a-2": true}, answers: []string{running, running, `{"status":"SUCCEEDED"}`}}
	e, err := Start(t.Context(), cloud(t, s), arn, "a", map[string]int{"n": 1})
	if err != nil || !strings.HasSuffix(e.ARN, ":a-3") || e.Joined {
		t.Fatal(e, err)
	}
	polls := 0
	if err := Watch(t.Context(), e, func(context.Context) error { polls++; return nil }); err != nil || polls != 3 {
		t.Error(polls, err)
	}
	if got := strings.Join(s.heard, ","); got != `StartExecution a{"n":1},StartExecution a-2{"n":1},StartExecution a-3{"n":1},DescribeExecution,DescribeExecution,DescribeExecution` {
		t.Error(got)
	}
}

// TestEnds: how an execution ends that does not succeed. It is never stopped.
func TestEnds(t *testing.T) {
	polled := errors.New("polled")
	for name, c := range map[string]struct {
		answers []string
		fails   string
		poll    error
		cancel  bool
		is      error
		text    string
	}{
		"failed":         {answers: []string{running, `{"status":"FAILED","error":"States.Runtime","cause":"no"}`}, text: "the execution failed: States.Runtime: no"},
		"timed out":      {answers: []string{`{"status":"TIMED_OUT"}`}, text: "the execution timed out"},
		"stopped":        {answers: []string{`{"status":"ABORTED","cause":"enough"}`}, poll: polled, text: "the execution was stopped: enough"},
		"poll":           {answers: []string{running}, poll: polled, is: polled, text: "polled"},
		"poll at end":    {answers: []string{`{"status":"SUCCEEDED"}`}, poll: polled, is: polled, text: "polled"},
		"interrupt":      {answers: []string{running}, cancel: true, is: context.Canceled, text: "context canceled"},
		"no right":       {answers: []string{running}, fails: "AccessDeniedException", is: objstore.ErrDenied, text: "access denied: DescribeExecution: AccessDeniedException: said; the execution may run on"},
		"not there":      {answers: []string{running}, fails: "ExecutionDoesNotExist", is: objstore.ErrNotFound, text: "not found: DescribeExecution: ExecutionDoesNotExist: said; the execution may run on"},
		"cannot be read": {answers: []string{"<html>"}, is: objstore.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := &states{answers: c.answers}
			e, err := Start(t.Context(), cloud(t, s), arn, "a", 1)
			if err != nil {
				t.Fatal(err)
			}
			s.mu.Lock()
			s.fails = c.fails
			s.mu.Unlock()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = Watch(ctx, e, func(context.Context) error {
				if c.cancel {
					cancel()
				}
				return c.poll
			})
			if err == nil || c.text != "" && err.Error() != c.text || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v", err)
			}
			if slices.ContainsFunc(s.heard, func(call string) bool { return strings.HasPrefix(call, "StopExecution") }) {
				t.Errorf("%q", s.heard)
			}
		})
	}
}

// TestStart: what cannot be started.
func TestStart(t *testing.T) {
	long := strings.Repeat("x", MaxInput)
	for _, c := range []struct {
		arn, fails string
		input      any
		is         error
		text       string
	}{
		{"demo", "", 1, objstore.ErrInvalid, `"demo" is no ARN of a state machine: invalid request`},
		{"arn:aws:states:eu-west-1:123456789012:execution:demo:a", "", 1, objstore.ErrInvalid, ""},
		{arn, "", long, objstore.ErrInvalid, "input of 262146 bytes, over 262144: invalid request"},
		{arn, "StateMachineDoesNotExist", 1, objstore.ErrNotFound, "not found: StartExecution: StateMachineDoesNotExist: said"},
		{arn, "AccessDeniedException", 1, objstore.ErrDenied, ""},
		{arn, "ExecutionAlreadyExists", 1, objstore.ErrInvalid, "a has run 99 times within 90 days: invalid request"},
	} {
		_, err := Start(t.Context(), cloud(t, &states{fails: c.fails}), c.arn, "a", c.input)
		if !errors.Is(err, c.is) || c.text != "" && err.Error() != c.text {
			t.Errorf("%s %s: %v", c.arn, c.fails, err)
		}
	}
}
