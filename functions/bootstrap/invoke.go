package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

// CallConfig is the configuration of a function that a state machine calls: EnvLog,
// EnvHedge and the memory that Lambda tells.
type CallConfig struct {
	Memory  int64 // bytes of the function
	Level   slog.Level
	NoHedge bool
}

// LoadCall reads and validates the configuration; the error has every fault. getenv is
// os.Getenv.
func LoadCall(getenv func(string) string) (CallConfig, error) {
	c := CallConfig{Memory: 512 << 20}
	var errs []error
	if v := getenv(EnvMemory); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 128 || n > 10240 {
			errs = append(errs, fmt.Errorf("%s=%q is not a number of MiB from 128 to 10240", EnvMemory, v))
		}
		c.Memory = n << 20
	}
	var err error
	c.Level, err = logLevel(getenv)
	errs = append(errs, err)
	c.NoHedge, err = noHedge(getenv)
	return c, errors.Join(append(errs, err)...)
}

// Names of errors for the Retry of a state machine.
const (
	ErrorPermanent = "Permanent" // another try would end in the same error
	ErrorTemporary = "Temporary"
)

// A Callee answers a call.
type Callee func(ctx context.Context, payload []byte) ([]byte, error)

// Call configures the function that f makes, and answers calls with it until the runtime ends
// the process. Errors have one of the names of this package. Call returns only if the
// configuration is wrong.
func Call(f func(c CallConfig, log *slog.Logger) Callee, permanent func(error) bool) error {
	c, err := LoadCall(os.Getenv)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	debug.SetMemoryLimit(c.Memory / 8 * 7)
	lambda.Start(caller{f(c, log), permanent})
	return nil
}

// caller is a lambda.Handler: bytes in, bytes out, without reflection.
type caller struct {
	f         Callee
	permanent func(error) bool
}

func (c caller) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	answer, err := c.f(ctx, payload)
	if err == nil {
		return answer, nil
	}
	name := ErrorTemporary
	if c.permanent(err) {
		name = ErrorPermanent
	}
	return nil, messages.InvokeResponse_Error{Message: err.Error(), Type: name}
}
