package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Pause is how long to wait before a request is repeated: own, or longer where the
// answer asks for more, but never longer than most. A nil answer asks for nothing.
func Pause(resp *http.Response, own, most time.Duration) time.Duration {
	if resp != nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable) {
		own = max(own, retryAfter(resp.Header.Get("Retry-After"), most))
	}
	return min(own, most)
}

// retryAfter reads what the header says, seconds or a date (RFC 9110, 10.2.3), up to
// most: more seconds than that may be more than a Duration holds.
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
