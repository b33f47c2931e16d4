package gulp

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// maxDepth bounds nesting, since skipping recurses. GulpIO's own reader gives
// up near 1000, Python's recursion limit; real meta_data is a few levels deep.
const maxDepth = 512

// A scanner walks JSON text that arrives in windows. It was written by hand because
// the index has one fixed shape, and the text between the triplets is only checked and
// copied. encoding/json.Decoder allocates for every token, reads a 20 MB index about
// nine times slower, and reports offsets of whole values only; encoding/json/jsontext
// is still an experiment in Go 1.26.
//
// It accepts what RFC 8259 does, UTF-8 only. If number words are allowed it also
// accepts NaN, Infinity and -Infinity, which Python's json writes.
type scanner struct {
	more  func() ([]byte, error) // returns the next window; at the end it returns errEnd
	where func() string          // returns the Part of an error
	buf   []byte                 // the current window
	pos   int                    // next byte in buf
	base  int64                  // offset of buf[0] in the object
	mark  int                    // index in buf where the captured text starts; -1: no capture
	held  []byte                 // captured bytes of earlier windows
	split []byte                 // rune cut by the end of the last window
	words bool                   // accept NaN, Infinity, -Infinity
	err   error                  // why there is no next window
}

// errEnd marks the end of the text. It is no io.EOF, since a reader may fail
// with that.
var errEnd = errors.New("end of the text")

func (s *scanner) bad(format string, args ...any) error {
	return s.fail(s.base+int64(s.pos), formats.ErrCorrupt, format, args...)
}

func (s *scanner) fail(off int64, class error, format string, args ...any) error {
	return &formats.Error{Format: Format, Part: s.where(), Off: off,
		Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

// fill moves to the next window, or returns errEnd if there is none. An error stays.
func (s *scanner) fill() error {
	if s.err == nil {
		s.err = s.advance()
	}
	return s.err
}

func (s *scanner) advance() error {
	if s.mark >= 0 {
		s.held = append(s.held, s.buf[s.mark:]...)
		s.mark = 0
	}
	s.base += int64(len(s.buf))
	s.buf, s.pos = nil, 0
	p, err := s.more()
	if errors.Is(err, errEnd) {
		if len(s.split) > 0 {
			return s.bad("invalid UTF-8")
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: gmeta: %w", Format, err)
	}
	if err := s.checkUTF8(p); err != nil {
		return err // s does not see the window
	}
	s.buf = p
	return nil
}

// checkUTF8 checks the window, and the rune that the border may have cut.
func (s *scanner) checkUTF8(p []byte) error {
	i := 0
	for len(s.split) > 0 && i < len(p) {
		s.split = append(s.split, p[i])
		i++
		if utf8.FullRune(s.split) {
			if !utf8.Valid(s.split) {
				return s.fail(s.base, formats.ErrCorrupt, "invalid UTF-8")
			}
			s.split = s.split[:0]
		}
	}
	end := len(p)
	for k := end - 1; k >= i && k >= end-utf8.UTFMax; k-- {
		if utf8.RuneStart(p[k]) {
			if !utf8.FullRune(p[k:]) {
				end = k
			}
			break
		}
	}
	if utf8.Valid(p[i:end]) {
		s.split = append(s.split, p[end:]...)
		return nil
	}
	for i < end {
		r, n := utf8.DecodeRune(p[i:end])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		i += n
	}
	return s.fail(s.base+int64(i), formats.ErrCorrupt, "invalid UTF-8")
}

// peek is the next byte; the end of the text is an error.
func (s *scanner) peek() (byte, error) {
	for s.pos == len(s.buf) {
		if err := s.fill(); err != nil {
			if errors.Is(err, errEnd) {
				err = s.bad("the JSON text ends early")
			}
			return 0, err
		}
	}
	return s.buf[s.pos], nil
}

// token is the next byte that is not white space. token does not consume it.
func (s *scanner) token() (byte, error) {
	for {
		for s.pos < len(s.buf) {
			switch c := s.buf[s.pos]; c {
			case ' ', '\n', '\r', '\t':
				s.pos++
			default:
				return c, nil
			}
		}
		if _, err := s.peek(); err != nil {
			return 0, err
		}
	}
}

// expect consumes the next token, which must be c.
func (s *scanner) expect(c byte, what string) error {
	got, err := s.token()
	if err != nil {
		return err
	}
	if got != c {
		return s.bad("%q where %s should be", got, what)
	}
	s.pos++
	return nil
}

// atEnd checks that only white space is left.
func (s *scanner) atEnd() error {
	for {
		for ; s.pos < len(s.buf); s.pos++ {
			switch s.buf[s.pos] {
			case ' ', '\n', '\r', '\t':
			default:
				return s.bad("text after the JSON value")
			}
		}
		if err := s.fill(); err != nil {
			if errors.Is(err, errEnd) {
				return nil
			}
			return err
		}
	}
}

// list walks the members of an object or array whose opening byte is next and
// calls member at the start of each.
func (s *scanner) list(open, end byte, what string, member func() error) error {
	if err := s.expect(open, what); err != nil {
		return err
	}
	for n := 0; ; n++ {
		c, err := s.token()
		if err != nil {
			return err
		}
		switch {
		case c == end:
			s.pos++
			return nil
		case n > 0 && c != ',':
			return s.bad("%q between two members", c)
		case n > 0:
			s.pos++
			if c, err = s.token(); err != nil {
				return err
			}
			if c == end {
				return s.bad("%q after a comma", c)
			}
		}
		if err := member(); err != nil {
			return err
		}
	}
}

// capture starts to keep the scanned text; captured ends that.
func (s *scanner) capture() {
	s.mark, s.held = s.pos, s.held[:0]
}

// captured returns the bytes since capture, valid until the next fill.
func (s *scanner) captured() []byte {
	p := s.buf[s.mark:s.pos]
	if len(s.held) > 0 {
		s.held = append(s.held, p...)
		p = s.held
	}
	s.mark = -1
	return p
}

// skipString consumes the string that comes next, and reports whether it has
// escapes.
func (s *scanner) skipString() (escaped bool, err error) {
	if err := s.expect('"', "a string"); err != nil {
		return false, err
	}
	for {
		for s.pos < len(s.buf) {
			c := s.buf[s.pos]
			s.pos++
			switch {
			case c == '"':
				return escaped, nil
			case c == '\\':
				escaped = true
				if err := s.skipEscape(); err != nil {
					return false, err
				}
			case c < ' ':
				s.pos--
				return false, s.bad("control character %#x in a string", c)
			}
		}
		if _, err := s.peek(); err != nil {
			return false, err
		}
	}
}

func (s *scanner) skipEscape() error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			c, err := s.peek()
			if err != nil {
				return err
			}
			if hex(c) < 0 {
				return s.bad("%q in a \\u escape", c)
			}
			s.pos++
		}
		return nil
	}
	s.pos--
	return s.bad("escape %q in a string", c)
}

// str consumes a string and returns its value.
func (s *scanner) str() (string, error) { return s.key() }

// key is str, but allocates nothing for the strings in known.
func (s *scanner) key(known ...string) (string, error) {
	if _, err := s.token(); err != nil {
		return "", err
	}
	s.capture()
	escaped, err := s.skipString()
	if err != nil {
		return "", err
	}
	raw := s.captured()
	raw = raw[1 : len(raw)-1]
	if !escaped {
		for _, k := range known {
			if string(raw) == k {
				return k, nil
			}
		}
		return string(raw), nil
	}
	v, ok := unescape(raw)
	if !ok {
		return "", s.fail(s.base+int64(s.pos), formats.ErrUnsupported, "half of a surrogate pair in %q", raw)
	}
	return v, nil
}

// raw consumes a value within an object or a list, and returns its text, valid until the
// next fill.
func (s *scanner) raw() ([]byte, error) {
	if _, err := s.token(); err != nil {
		return nil, err
	}
	s.capture()
	if err := s.skip(1); err != nil {
		return nil, err
	}
	return s.captured(), nil
}

// skip consumes any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.bad("nested deeper than %d", maxDepth)
	}
	c, err := s.token()
	if err != nil {
		return err
	}
	switch {
	case c == '"':
		_, err := s.skipString()
		return err
	case c == '[':
		return s.list('[', ']', "a list", func() error { return s.skip(depth + 1) })
	case c == '{':
		return s.list('{', '}', "an object", func() error {
			if _, err := s.skipString(); err != nil {
				return err
			}
			if err := s.expect(':', "a colon"); err != nil {
				return err
			}
			return s.skip(depth + 1)
		})
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	case c == 'N' && s.words:
		return s.word("NaN")
	case c == 'I' && s.words:
		return s.word("Infinity")
	}
	return s.skipNumber(c)
}

func (s *scanner) word(w string) error {
	for i := range len(w) {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != w[i] {
			return s.bad("%q in the word %s", c, w)
		}
		s.pos++
	}
	return nil
}

// skipNumber consumes a number that starts with c, the next byte.
func (s *scanner) skipNumber(c byte) error {
	if c == '-' {
		s.pos++
		n, err := s.peek()
		if err != nil {
			return err
		}
		if n == 'I' && s.words {
			return s.word("Infinity")
		}
		c = n
	}
	if c == '0' {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if c, _ = s.soft(); c == '.' {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if c, _ = s.soft(); c == 'e' || c == 'E' {
		s.pos++
		if c, _ = s.soft(); c == '+' || c == '-' {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

// soft is peek without its error, since a number may end where the text ends. The next
// read returns the error again.
func (s *scanner) soft() (byte, bool) {
	if s.pos < len(s.buf) {
		return s.buf[s.pos], true
	}
	c, err := s.peek()
	return c, err == nil
}

func (s *scanner) digits() error {
	for n := 0; ; n++ {
		c, ok := s.soft()
		if !ok || c < '0' || c > '9' {
			if n == 0 {
				return s.noDigit(c, ok)
			}
			return nil
		}
		s.pos++
	}
}

func (s *scanner) noDigit(c byte, ok bool) error {
	if !ok {
		_, err := s.peek()
		if err == nil {
			err = s.bad("the JSON text ends early")
		}
		return err
	}
	return s.bad("%q where a value should be", c)
}

func hex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// unescape returns the value of a string body that skipString accepted; false
// for half a surrogate pair, which no Go string can hold.
func unescape(raw []byte) (string, bool) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := unit(raw[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				if len(raw) < i+7 || raw[i+1] != '\\' || raw[i+2] != 'u' {
					return "", false
				}
				if r = utf16.DecodeRune(r, unit(raw[i+3:])); r == utf8.RuneError {
					return "", false
				}
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, raw[i])
		}
	}
	return string(out), true
}

func unit(p []byte) rune {
	return hex(p[0])<<12 | hex(p[1])<<8 | hex(p[2])<<4 | hex(p[3])
}
