package objstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// CheckAnswer holds an HTTP answer to a ranged GET against the range that was
// asked, and returns the size of the whole object and how many bytes of the body
// belong to the range: the caller cuts the body there. status is 200 or 206,
// contentRange the header of that name, length the Content-Length or -1.
//
// An answer with other bytes than asked, or one that does not say which bytes it
// has, is ErrBadRange. A 200 is accepted if the whole object was asked for, or a
// range that begins at 0. A 206 may end before the range does (RFC 9110, 15.3.7), and
// its body may be shorter than its header says: n is then less than the length of
// asked.Resolve(size). The driver reports the end of that body as it reports one
// that broke, and an Object asks for the rest.
func CheckAnswer(asked Range, status int, contentRange string, length int64) (size, n int64, err error) {
	if status == 200 {
		if length < 0 {
			return 0, 0, fmt.Errorf("answer without a length: %w", ErrBadRange)
		}
		if asked.Off != 0 && -asked.Off < length {
			return 0, 0, fmt.Errorf("the server ignores Range, it sent the whole object for %s; download the file and read it from disk: %w", asked, ErrBadRange)
		}
		n = length
		if asked.Off >= 0 && asked.Len > 0 {
			n = min(n, asked.Len)
		}
		return length, n, nil
	}
	first, last, size, err := parseContentRange(contentRange)
	if err != nil {
		return 0, 0, err
	}
	from, to := asked.Resolve(size)
	if first != from || last >= to {
		return 0, 0, fmt.Errorf("bytes %d-%d instead of the range %s of %d: %w", first, last, asked, size, ErrBadRange)
	}
	n = last + 1 - first
	if length > n {
		return 0, 0, fmt.Errorf("%d bytes for the range %s of %d: %w", length, asked, size, ErrBadRange)
	}
	if length >= 0 {
		n = length
	}
	return size, n, nil
}

// Resolve is the part [from, to) of an object of the given size that the range
// means, cut to the object.
func (r Range) Resolve(size int64) (from, to int64) {
	if r.Off < 0 {
		return max(0, size+r.Off), size
	}
	from = min(r.Off, size)
	if r.Len <= 0 || r.Len > size-from {
		return from, size
	}
	return from, from + r.Len
}

// HTTP is the value of a Range header, or "" for the whole object.
func (r Range) HTTP() string {
	switch {
	case r == Range{}:
		return ""
	case r.Off < 0:
		return fmt.Sprintf("bytes=%d", r.Off)
	case r.Len <= 0 || r.Len > math.MaxInt64-r.Off: // the range runs to the end
		return fmt.Sprintf("bytes=%d-", r.Off)
	default:
		return fmt.Sprintf("bytes=%d-%d", r.Off, r.Off+r.Len-1)
	}
}

// parseContentRange reads "bytes 0-65535/123456" (RFC 9110, 14.4). The size
// must be known: nothing can be pinned to an object that is still growing.
func parseContentRange(h string) (first, last, size int64, err error) {
	bad := fmt.Errorf("Content-Range %q: %w", h, ErrBadRange)
	rest, ok := strings.CutPrefix(strings.TrimSpace(h), "bytes ")
	span, total, ok2 := strings.Cut(rest, "/")
	a, b, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, 0, bad
	}
	first, err1 := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	last, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	size, err3 := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || first < 0 || last < first || size <= last {
		return 0, 0, 0, bad
	}
	return first, last, size, nil
}
