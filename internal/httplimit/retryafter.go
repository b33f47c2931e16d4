package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxWait returns the longest time that a driver waits before it repeats a request, by
// default: 5 s, or a quarter of its timeout if that is less. Drivers repeat a request
// four times, so all waits together stay within the timeout.
func MaxWait(timeout time.Duration) time.Duration {
	const usual = 5 * time.Second // four of them fit into a function's minute
	if timeout > 0 {
		return min(usual, timeout/4)
	}
	return usual
}

// Pause returns the time to wait before a request is repeated. It is own, or the time
// that the answer asks for if that is longer, but never more than most. A nil answer
// asks for no time.
func Pause(resp *http.Response, own, most time.Duration) time.Duration {
	if resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		own = max(own, retryAfter(resp.Header.Get("Retry-After"), most))
	}
	return min(own, most)
}

// retryAfter reads the header's value, seconds or a date (RFC 9110, 10.2.3), up to
// most. It compares before it converts, since many seconds overflow a Duration.
func retryAfter(text string, most time.Duration) time.Duration {
	if text = strings.TrimSpace(text); text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > int64(most/time.Second) {
			return most
		}
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return time.Until(t)
	}
	return 0
}
