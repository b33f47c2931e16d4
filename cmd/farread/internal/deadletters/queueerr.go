package deadletters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// A noQueue error is an answer that SQS would not give: something else listens there.
type noQueue struct {
	host, op, kind string
	status         int
	resp           *http.Response // for its header
	advice         string
}

// Error implements error.
func (e *noQueue) Error() string {
	text := fmt.Sprintf("%s answers %s with %d", e.host, e.op, e.status)
	if e.kind != "" {
		text += " and " + e.kind
	}
	return text + ", as SQS does not: " + e.advice
}

// RetryableError tells the AWS SDK whether another try may help.
func (e *noQueue) RetryableError() bool {
	return e.status >= http.StatusInternalServerError || e.status == http.StatusTooManyRequests
}

// HTTPResponse lets the SDK's client wait as long as the answer asks for.
func (e *noQueue) HTTPResponse() *smithyhttp.Response { return &smithyhttp.Response{Response: e.resp} }

// Unwrap gives the sentinel that decides the exit code.
func (e *noQueue) Unwrap() error {
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return objstore.ErrDenied
	case e.RetryableError():
		return objstore.ErrUnavailable
	}
	return objstore.ErrInvalid
}

// ofQueues lets answers through that may be of SQS. From other JSON or HTML the SDK
// would make an answer without messages, or an error about its decoder.
type ofQueues struct {
	d      sdkhttp.Doer
	advice string
}

// Do implements sdkhttp.Doer.
func (o ofQueues) Do(r *http.Request) (*http.Response, error) {
	resp, err := o.d.Do(r)
	if err != nil {
		return resp, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if strings.HasPrefix(kind, "application/x-amz-json-") {
		return resp, nil
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if !saysQueue(resp.StatusCode, body) {
		op := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
		return nil, &noQueue{r.URL.Host, op, kind, resp.StatusCode, resp, o.advice}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// saysQueue reports whether JSON without the media type of SQS is nevertheless the
// answer of a queue: some stores that speak SQS's protocol mark their answers as plain
// JSON.
func saysQueue(status int, body []byte) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return false
	}
	known := []string{"queueUrls", "Messages", "Successful", "Failed", "MessageId"}
	if status >= http.StatusMultipleChoices {
		known = []string{"__type"}
	} else if len(members) == 0 { // no messages
		return true
	}
	for _, k := range known {
		if _, ok := members[k]; ok {
			return true
		}
	}
	return false
}

// queueErr wraps an error of SQS in a sentinel that gives an exit code, without the text
// that the SDK puts around it.
func queueErr(err error) error {
	if err == nil {
		return nil
	}
	var other *noQueue
	var none *types.QueueDoesNotExist
	var api smithy.APIError
	var bad *smithy.DeserializationError
	var send *smithyhttp.RequestSendError
	var long *httplimit.BadAnswer
	switch {
	case silence.Is(err), errors.As(err, new(*httplimit.Unreachable)):
		return unavailable(err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &other):
		return other
	case errors.As(err, new(*sdkhttp.NoCredentials)):
		return fmt.Errorf("%s: %w", sdkhttp.SetCredentials, objstore.ErrDenied)
	case errors.As(err, &long):
		return fmt.Errorf("%w: %w", objstore.ErrUnavailable, long)
	case errors.As(err, &none):
		return said(objstore.ErrNotFound, err, none)
	case errors.As(err, &bad):
		return fmt.Errorf("%w: %sthe answer cannot be read: %w", objstore.ErrUnavailable, operation(err), cmp.Or(bad.Err, error(bad)))
	case errors.As(err, &api):
		return said(apiSentinel(api), err, api)
	case errors.As(err, &send):
		return fmt.Errorf("%w: %w", objstore.ErrUnavailable, send.Err)
	}
	return fmt.Errorf("%w: %w", objstore.ErrUnavailable, err)
}

func apiSentinel(api smithy.APIError) error {
	code := api.ErrorCode()
	switch {
	case strings.Contains(code, "Denied"), strings.Contains(code, "Token"), strings.Contains(code, "Signature"):
		return objstore.ErrDenied
	case api.ErrorFault() == smithy.FaultClient && !strings.Contains(code, "Thrott"):
		return objstore.ErrInvalid
	}
	return objstore.ErrUnavailable
}

// said is an error with the text of SQS.
func said(sentinel, err error, api smithy.APIError) error {
	text := api.ErrorCode()
	if m := api.ErrorMessage(); m != "" && m != text {
		text += ": " + m
	}
	var re *awshttp.ResponseError
	if errors.As(err, &re) && re.ServiceRequestID() != "" {
		text += " (request " + re.ServiceRequestID() + ")"
	}
	return fmt.Errorf("%w: %s%s", sentinel, operation(err), text)
}

// operation is the name of the request, and a colon.
func operation(err error) string {
	if op := (*smithy.OperationError)(nil); errors.As(err, &op) {
		return op.OperationName + ": "
	}
	return ""
}

// unavailable turns an error of a request without an answer into ErrUnavailable,
// without the text that its client puts around it.
func unavailable(err error) error {
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
