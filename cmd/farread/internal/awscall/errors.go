package awscall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// Err wraps an error of a client in a sentinel of objstore that gives an exit code, without
// the text that the SDK puts around it.
func Err(err error) error {
	var api smithy.APIError
	var bad *smithy.DeserializationError
	var send *smithyhttp.RequestSendError
	var long *httplimit.BadAnswer
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case silence.Is(err), errors.As(err, new(*httplimit.Unreachable)):
		return Unavailable(err)
	case errors.As(err, new(*sdkhttp.NoCredentials)):
		return fmt.Errorf("%s: %w", sdkhttp.SetCredentials, objstore.ErrDenied)
	case errors.As(err, &long):
		return fmt.Errorf("%w: %w", objstore.ErrUnavailable, long)
	case errors.As(err, &bad):
		return fmt.Errorf("%w: %sthe answer cannot be read: %w", objstore.ErrUnavailable, operation(err), cmp.Or(bad.Err, error(bad)))
	case errors.As(err, &api):
		return said(err, api)
	case errors.As(err, &send):
		return fmt.Errorf("%w: %w", objstore.ErrUnavailable, send.Err)
	}
	return fmt.Errorf("%w: %w", objstore.ErrUnavailable, err)
}

func sentinel(api smithy.APIError) error {
	code := api.ErrorCode()
	switch {
	case strings.Contains(code, "Denied"), strings.Contains(code, "Token"), strings.Contains(code, "Signature"):
		return objstore.ErrDenied
	case strings.Contains(code, "DoesNotExist"), strings.Contains(code, "NonExistent"):
		return objstore.ErrNotFound
	case api.ErrorFault() == smithy.FaultClient && !strings.Contains(code, "Thrott"):
		return objstore.ErrInvalid
	}
	return objstore.ErrUnavailable
}

// said is an error with the text of the service.
func said(err error, api smithy.APIError) error {
	text := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" && m != text {
		text += ": " + m
	}
	var re *awshttp.ResponseError
	if errors.As(err, &re) && re.ServiceRequestID() != "" {
		text += " (request " + re.ServiceRequestID() + ")"
	}
	return fmt.Errorf("%w: %s%s", sentinel(api), operation(err), text)
}

// operation is the name of the request, and a colon.
func operation(err error) string {
	if op := (*smithy.OperationError)(nil); errors.As(err, &op) {
		return op.OperationName + ": "
	}
	return ""
}

// Unavailable turns an error of a request without an answer into objstore.ErrUnavailable,
// without the text that its client puts around it.
func Unavailable(err error) error {
	var quiet *silence.Error
	var out *httplimit.Unreachable
	switch {
	case errors.As(err, &quiet):
		err = quiet
	case errors.As(err, &out):
		err = out
	}
	return fmt.Errorf("%w: %w", err, objstore.ErrUnavailable)
}
