package deadletters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// errNoLocal means that a server answers, but that it is not a local cloud.
var errNoLocal = fmt.Errorf("is no local cloud: %w", objstore.ErrInvalid)

const maxAnswer = 1 << 20

// Local asks the local cloud at url to deliver its dead letters again. It returns how
// many there were; a dry run only counts them. limit is how long the cloud may be silent,
// as package silence has it.
func Local(ctx context.Context, url string, limit time.Duration, dryRun bool) (int, error) {
	var answer struct {
		DeadLetters *int `json:"dead_letters"`
		Redriven    *int `json:"redriven"`
	}
	method, page, n := http.MethodPost, "redrive", &answer.Redriven
	if dryRun {
		method, page, n = http.MethodGet, "status", &answer.DeadLetters
	}
	b, err := ask(ctx, limit, method, strings.TrimSuffix(url, "/")+"/_localcloud/"+page)
	if err != nil {
		return 0, err
	}
	if json.Unmarshal(b, &answer) != nil || *n == nil {
		return 0, errNoLocal
	}
	return **n, nil
}

// ask calls one of the pages that a local cloud has for people who run it.
func ask(ctx context.Context, limit time.Duration, method, url string) ([]byte, error) {
	clock := silence.With(ctx, 2*limit) // the single try gets half of the limit
	defer clock.Stop()
	ctx = clock.Context()
	req, err := http.NewRequestWithContext(ctx, method, url, nil) //nolint:contextcheck // the clock made it of ours
	if err != nil {
		return nil, &ArgumentError{err.Error()}
	}
	c := http.Client{Transport: httplimit.New(httpstore.NewTransport(1), httplimit.Options{MaxAnswer: maxAnswer, Place: "URL", Roots: "SSL_CERT_FILE"})}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return nil, awscall.Unavailable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode < http.StatusInternalServerError {
		return nil, errNoLocal
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %.200s: %w", resp.Status, b, errors.Join(objstore.ErrUnavailable, err))
	}
	return b, nil
}
