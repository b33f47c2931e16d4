package formattest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// A recorder keeps the failures of a test.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// TestDamaged makes sure that the suite finds the faults that it looks for.
func TestDamaged(t *testing.T) {
	kept := make([]byte, 0)
	calls := 0
	for _, c := range []struct {
		name string
		read Read
		want string
	}{
		{"the good bytes", func(context.Context) ([]byte, error) { return []byte("good"), nil }, ""},
		{"an allowed error", func(context.Context) ([]byte, error) { return nil, formats.ErrCorrupt }, ""},
		{"other bytes", func(context.Context) ([]byte, error) { return []byte("bad"), nil }, "other bytes"},
		{"another error", func(context.Context) ([]byte, error) { return nil, errors.New("odd") }, "no known class"},
		{"a panic", func(context.Context) ([]byte, error) { panic("oh") }, "panic: oh"},
		{"too much memory", func(context.Context) ([]byte, error) {
			kept = make([]byte, 3<<20)
			return []byte("good"), nil
		}, "bytes allocated"},
		{"memory of somebody else", func(context.Context) ([]byte, error) {
			if calls++; calls == 1 {
				kept = make([]byte, 3<<20)
			}
			return []byte("good"), nil
		}, ""},
	} {
		s := Suite{
			Objects: []Object{{Name: "object", Data: []byte("data")}},
			Open:    func(context.Context, []rangeio.Reader) (Read, error) { return c.read, nil },
		}.withDefaults()
		r := &recorder{TB: t}
		s.damaged(r, 0, []byte("date"), []byte("good"), c.name)
		got := strings.Join(r.said, "; ")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: said %q, want %q", c.name, got, c.want)
		}
	}
	_ = kept
}
