package deadletters

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead: lines, one event on several lines, and letters of the local cloud are
// events. Empty lines are none. A line that is no JSON object is told and not given.
func TestRead(t *testing.T) {
	t.Parallel()
	errGive := errors.New("not taken")
	for name, c := range map[string]struct {
		in    string
		o     Options
		given []string
		told  []string
	}{
		"empty":            {"\n\n", Options{}, nil, nil},
		"lines":            {"{\"a\":1}\n\n {\"b\":2}\nno\n[3]\n{}", Options{}, []string{`{"a":1}`, `{"b":2}`, `{}`}, []string{"line 1", "line 3", "line 4!", "line 5!", "line 6"}},
		"on several lines": {"\n{\n\"a\":\n1}\n", Options{}, []string{"{\n\"a\":\n1}"}, []string{"line 2"}},
		"of a local cloud": {`{"function":"f","record":{"x":1}}`, Options{}, []string{`{"Records":[{"x":1}]}`}, []string{"line 1"}},
		"at most two":      {"{}\n{}\n{}\n", Options{Most: 2}, []string{"{}", "{}"}, []string{"line 1", "line 2"}},
		"dry":              {"{}\n{}\n", Options{DryRun: true}, nil, []string{"line 1", "line 2"}},
		"refused":          {"{}\n{\"x\":1}\n{}\n", Options{}, []string{"{}", `{"x":1}`, "{}"}, []string{"line 1", "line 2!", "line 3"}},
	} {
		var given, told []string
		c.o.Tell = func(l Letter) error {
			if l.Err != nil {
				l.ID += "!"
			}
			told = append(told, l.ID)
			return nil
		}
		err := Read(t.Context(), strings.NewReader(c.in), func(event []byte) error {
			given = append(given, string(event))
			if string(event) == `{"x":1}` {
				return errGive
			}
			return nil
		}, c.o)
		if d := cmp.Diff([][]string{c.given, c.told}, [][]string{given, told}); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

// TestReadEnds: a line that is too long, and an error of the one who is told, end the
// reading.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	told := 0
	o := Options{Tell: func(Letter) error { told++; return nil }}
	give := func([]byte) error { return nil }
	long := "{}\n{}\n\"" + strings.Repeat("x", maxLetter) + "\"\n"
	var bad *ArgumentError
	if err := Read(t.Context(), strings.NewReader(long), give, o); !errors.As(err, &bad) || bad.Text != "line 3 has more than 8.0 MiB" || told != 2 {
		t.Errorf("%v, %d told", err, told)
	}
	errTell := errors.New("nobody listens")
	o.Tell = func(Letter) error { return errTell }
	if err := Read(t.Context(), strings.NewReader("{}\n{}\n"), give, o); !errors.Is(err, errTell) {
		t.Error(err)
	}
}

// TestOpenQueue: what is no URL of a queue is an error about the argument.
func TestOpenQueue(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "dlq", "s3://queue/dlq", "https:///dlq", "http://[::1"} {
		var bad *ArgumentError
		if _, err := OpenQueue(t.Context(), url, QueueOptions{}); !errors.As(err, &bad) {
			t.Errorf("%q: %v", url, err)
		}
	}
}
