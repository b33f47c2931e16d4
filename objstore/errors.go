package objstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The sentinels answer "what should the caller do?". Every error of a Bucket
// or an Object matches exactly one of them, or context.Canceled or
// context.DeadlineExceeded. Match with errors.Is.
var (
	ErrNotFound    = errors.New("not found")           // the bucket, key or version does not exist
	ErrChanged     = errors.New("object changed")      // the object is not the pinned one any more, or the condition of a write is not met
	ErrExists      = errors.New("object exists")       // IfAbsent and the key is taken
	ErrDenied      = errors.New("access denied")       // credentials or policy
	ErrThrottled   = errors.New("slow down")           // after retries
	ErrUnavailable = errors.New("service unavailable") // a 5xx except 503, no answer, a silent store, or a body that ended early after all resumes
	ErrBadRange    = errors.New("bad range answer")    // a range behind the end, or the server refused, ignored or mixed up the range
	ErrCorrupt     = errors.New("corrupt data")        // the bytes do not match the store's checksum of them
	ErrInvalid     = errors.New("invalid request")     // a key, an option or an operation that this store cannot take
)

// Error is the error of a call, with the place in the store.
type Error struct {
	Op        string // "get", "put", "head", "list", "delete", "tags"; of memstore also "tag", of package farread also "open"
	Bucket    string // name of the bucket
	Key       string // key, or the prefix of a list
	Range     Range  // range of a get
	Status    int    // HTTP status, or 0
	Code      string // the service's own code, "NoSuchKey"
	RequestID string
	Err       error // wraps one of the sentinels, or is the reason why the context ended
}

// Error returns the text, outside-in: operation, place, range, cause, and the
// message of the service.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Op, e.Bucket)
	if e.Key != "" {
		if !strings.HasSuffix(e.Bucket, "/") && e.Bucket != "" {
			b.WriteByte('/')
		}
		b.WriteString(printable(e.Key))
	}
	if e.Range != (Range{}) {
		fmt.Fprintf(&b, " [%s]", e.Range)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Status != 0 || e.Code != "" {
		fmt.Fprintf(&b, " (%s)", strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, e.Code)))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " request %s", e.RequestID)
	}
	return b.String()
}

// printable quotes a key if it has characters that a terminal would obey. Anybody may
// choose keys, and errors end in logs and on terminals.
func printable(key string) string {
	for _, r := range key {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return strconv.Quote(key)
		}
	}
	return key
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StatusError is the sentinel for an HTTP status that is not a success.
func StatusError(status int) error {
	switch {
	case status == 404 || status == 410:
		return ErrNotFound
	case status == 401 || status == 403 || status == 407:
		return ErrDenied
	case status == 409 || status == 412:
		return ErrChanged
	case status == 416:
		return ErrBadRange
	case status == 429:
		return ErrThrottled
	case status == 503:
		return ErrThrottled
	case status == 408 || status >= 500:
		return ErrUnavailable
	default:
		return ErrInvalid
	}
}
