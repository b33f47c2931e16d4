package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"time"

	"github.com/farread/farread/objstore"
)

// errNoLocal: something answers, but not as a local cloud does.
var errNoLocal = fmt.Errorf("is no local cloud: %w", objstore.ErrInvalid)

const (
	localTimeout = 30 * time.Second // it answers from memory, but for the file of dead letters
	maxAnswer    = 1 << 20
)

// askLocal calls one of the pages that a local cloud has for whoever runs it.
func askLocal(ctx context.Context, method, url string) (s localStatus, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return s, usagef("--local: %s", err)
	}
	c := http.Client{Timeout: localTimeout}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return s, fmt.Errorf("%w: %w", objstore.ErrUnavailable, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusForbidden {
		return s, errNoLocal
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s %.200s: %w", resp.Status, b, errors.Join(objstore.ErrUnavailable, err))
	}
	if json.Unmarshal(b, &s) != nil {
		return s, errNoLocal
	}
	return s, nil
}

func openFile(name string) (io.ReadCloser, error) { return os.Open(name) }

// lettersIn are the lines of r that are not empty, with their numbers from 1.
func lettersIn(r io.Reader) iter.Seq2[int, fileLine] {
	return func(yield func(int, fileLine) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLetter)
		n := 1
		for ; in.Scan(); n++ {
			if text := bytes.TrimSpace(in.Bytes()); len(text) > 0 && !yield(n, fileLine{text: bytes.Clone(text)}) {
				return
			}
		}
		if err := in.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = usagef("line %d has more than %s", n, humanSize(maxLetter))
			}
			yield(n, fileLine{err: err})
		}
	}
}
