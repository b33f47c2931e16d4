package cframe_test

import (
	"errors"
	"testing"

	"github.com/farread/farread/formats/cframe"
)

// TestNewMetalayer: the bytes of Python's msgpack.packb of the same values.
func TestNewMetalayer(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"\xc4\x02\x01\x02":                     []byte{1, 2},
		"\x05":                                 5,
		"\xd1\xff\x00":                         int64(-256),
		"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00": 1.5,
		"\xc0":                                 nil,
		"\xa4text":                             "text",
		"\x83\xa1a\x01\xa1b\x92\xc3\xc2\xa1c\xc0": map[string]any{"c": nil, "b": []any{true, false}, "a": 1},
	} {
		m, err := cframe.NewMetalayer("x", v)
		if err != nil || m.Name != "x" || string(m.Data) != want {
			t.Errorf("%v: %q, %v; want %q", v, m.Data, err, want)
		}
	}
	if _, err := cframe.NewMetalayer("x", make(chan int)); !errors.Is(err, cframe.ErrRefused) {
		t.Errorf("a channel: %v", err)
	}
}
