package deadletters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/cmd/farread/internal/awscall"
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
	if other := (*noQueue)(nil); !silence.Is(err) && errors.As(err, &other) {
		return other
	}
	return awscall.Err(err)
}
