package machine

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestFind: an execution is found by its name while it runs.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		answer, fails string
		found, bad    bool
	}{
		"runs":       {answer: running, found: true},
		"has ended":  {answer: `{"status":"SUCCEEDED"}`},
		"never was":  {answer: running, fails: "ExecutionDoesNotExist"},
		"not to see": {answer: running, fails: "AccessDeniedException", bad: true},
	} {
		s := &states{answers: []string{c.answer}, fails: c.fails}
		x, err := Find(t.Context(), cloud(t, s), arn+":live", "run")
		if (x != nil) != c.found || (err != nil) != c.bad {
			t.Errorf("%s: %v, %v", name, x, err)
		}
		if c.found && (!x.Joined || x.ARN != strings.Replace(arn, "stateMachine", "execution", 1)+":run") {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

// TestWatchLeaves: an execution that nobody watches any more goes on.
func TestWatchLeaves(t *testing.T) {
	s := &states{answers: []string{running}}
	x, err := Find(t.Context(), cloud(t, s), arn, "run")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err = Watch(ctx, x, func(context.Context) error {
		cancel(enough)
		return nil
	})
	if !errors.Is(err, enough) || strings.Contains(strings.Join(s.heard, ","), "StopExecution") {
		t.Errorf("%v, %v", err, s.heard)
	}
}
