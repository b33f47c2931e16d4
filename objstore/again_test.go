package objstore

import (
	"context"
	"errors"
	"testing"

	"github.com/farread/farread/internal/silence"
)

// TestAgainAfterLeaving: a caller who leaves after a body broke, and before it is
// continued, is told that he left.
func TestAgainAfterLeaving(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	c := call{clock: silence.With(ctx, 0)}
	defer c.clock.Stop()
	o := &object{o: OpenOptions{Resumes: 3}}
	if err := o.again(ctx, &c, errBroken); err != nil {
		t.Fatalf("a first broken body: %v", err)
	}
	leave()
	if err := o.again(ctx, &c, errBroken); !errors.Is(err, context.Canceled) || errors.Is(err, errBroken) {
		t.Errorf("after leaving: %v", err)
	}
	if err := o.again(ctx, &c, ErrDenied); !errors.Is(err, ErrDenied) {
		t.Errorf("an answer that came before: %v", err)
	}
}
