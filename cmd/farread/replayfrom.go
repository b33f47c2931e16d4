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

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// errNoLocal: something answers, but it is no local cloud.
var errNoLocal = fmt.Errorf("is no local cloud: %w", objstore.ErrInvalid)

const maxAnswer = 1 << 20

// askLocal calls one of the pages that a local cloud has for people who run it.
func askLocal(ctx context.Context, limit time.Duration, method, url string) (s localStatus, err error) {
	clock := silence.With(ctx, 2*limit) // there is a single try, which gets half of it
	defer clock.Stop()
	ctx = clock.Context()
	req, err := http.NewRequestWithContext(ctx, method, url, nil) //nolint:contextcheck // the clock made it of ours
	if err != nil {
		return s, usagef("--local: %s", err)
	}
	c := http.Client{Transport: httplimit.New(httpstore.NewTransport(1), httplimit.Options{MaxAnswer: maxAnswer, Place: "URL", Roots: "SSL_CERT_FILE"})}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	if err != nil {
		return s, unavailable(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode < http.StatusInternalServerError {
		return s, errNoLocal
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%s %.200s: %w", resp.Status, b, errors.Join(objstore.ErrUnavailable, err))
	}
	if json.Unmarshal(b, &s) != nil {
		return s, errNoLocal
	}
	return s, nil
}

func openFile(name string) (io.ReadCloser, error) { return os.Open(name) }

// lettersIn are the lines of r that are not empty, with their numbers from 1. If r is
// one event that was written over several lines, it is r as a whole.
func lettersIn(r io.Reader) iter.Seq2[int, fileLine] {
	return func(yield func(int, fileLine) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLetter)
		n := 1
		if held, from := heldLines(in, &n); len(held) > 1 && json.Valid(bytes.Join(held, []byte("\n"))) {
			yield(from, fileLine{text: bytes.Join(held, []byte("\n"))})
			return
		} else if !yieldLines(held, from, yield) {
			return
		}
		for ; in.Scan(); n++ {
			if !yieldLines([][]byte{in.Bytes()}, n, yield) {
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

// heldLines reads the first line that is not empty. If that is no JSON by itself it
// also reads the lines after it, as long as they may be one letter. It counts lines in
// n.
func heldLines(in *bufio.Scanner, n *int) (held [][]byte, from int) {
	size := 0
	for size <= maxLetter && in.Scan() {
		text := bytes.Clone(in.Bytes())
		*n++
		if len(held) == 0 && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if held = append(held, text); len(held) == 1 {
			from = *n - 1
			if json.Valid(text) {
				break
			}
		}
		size += len(text) + 1
	}
	return held, from
}

// yieldLines gives those lines that are not empty, the first one as line n.
func yieldLines(lines [][]byte, n int, yield func(int, fileLine) bool) bool {
	for i, text := range lines {
		if text = bytes.TrimSpace(text); len(text) > 0 && !yield(n+i, fileLine{text: bytes.Clone(text)}) {
			return false
		}
	}
	return true
}
