package bootstrap

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

// TestCall: errors have the names that a state machine retries by.
func TestCall(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	c := caller{func(_ context.Context, payload []byte) ([]byte, error) {
		switch string(payload) {
		case "bad":
			return nil, bad
		case "now":
			return nil, errors.New("not now")
		}
		return payload, nil
	}, func(err error) bool { return errors.Is(err, bad) }}
	for payload, want := range map[string]string{"bad": ErrorPermanent, "now": ErrorTemporary} {
		_, err := c.Invoke(t.Context(), []byte(payload))
		if e, ok := err.(messages.InvokeResponse_Error); !ok || e.Type != want || !strings.HasSuffix(e.Message, payload) {
			t.Errorf("%s: %#v", payload, err)
		}
	}
	if answer, err := c.Invoke(t.Context(), []byte("{}")); err != nil || string(answer) != "{}" {
		t.Errorf("%s, %v", answer, err)
	}
}

// TestLoadCall: the environment of a function that a state machine calls.
func TestLoadCall(t *testing.T) {
	t.Parallel()
	env := map[string]string{EnvMemory: "1769", EnvLog: "debug", EnvHedge: "off"}
	c, err := LoadCall(func(name string) string { return env[name] })
	if err != nil || c != (CallConfig{Memory: 1769 << 20, Level: slog.LevelDebug, NoHedge: true}) {
		t.Errorf("%+v, %v", c, err)
	}
	env = map[string]string{EnvMemory: "1", EnvLog: "loud", EnvHedge: "maybe"}
	_, err = LoadCall(func(name string) string { return env[name] })
	for name, v := range env {
		if err == nil || !strings.Contains(err.Error(), name+`="`+v+`"`) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
