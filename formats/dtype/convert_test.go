package dtype_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// TestConvert: items become what NumPy makes of them. What has no place in the type is
// refused with the number of the item.
func TestConvert(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/convert.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, refused := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var l struct {
			From, To  string
			Src, Want []byte
			Refused   bool
			Unfit     *int
		}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		from, to := parsed(t, l.From), parsed(t, l.To)
		if from.CanConvert(to) == l.Refused {
			t.Errorf("%s to %s: can %t", from, to, !l.Refused)
		}
		n := 0
		if from.ItemSize() > 0 {
			n = len(l.Src) / from.ItemSize()
		}
		got := bytes.Repeat([]byte{0xa5}, n*to.ItemSize())
		err := from.Convert(got, to, l.Src)
		switch {
		case l.Refused || l.Unfit != nil:
			refused++
			if !errors.Is(err, formats.ErrUnsupported) || l.Unfit != nil && !strings.Contains(err.Error(), fmt.Sprintf("item %d:", *l.Unfit)) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		case err != nil || !bytes.Equal(plainNaN(to, got), plainNaN(to, l.Want)):
			t.Errorf("%s to %s: %x, %v, want %x", from, to, got, err, l.Want)
		}
	}
	if lines < 900 || refused < 100 {
		t.Errorf("%d lines, %d refused", lines, refused)
	}
}

func parsed(t *testing.T, text string) dtype.DType {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plainNaN makes all NaN of one float type alike: which bits one has is the processor's
// choice.
func plainNaN(d dtype.DType, p []byte) []byte {
	size := d.ItemSize()
	if d.Kind() == dtype.Complex {
		size /= 2
	} else if d.Kind() != dtype.Float {
		return p
	}
	order := "<"
	if d.BigEndian() {
		order = ">"
	}
	part, err := dtype.Parse(fmt.Sprintf("%sf%d", order, size))
	if err != nil {
		panic(err)
	}
	p = bytes.Clone(p)
	for i := 0; i < len(p); i += size {
		if v, _ := part.Float(p[i : i+size]); math.IsNaN(v) {
			copy(p[i:], bytes.Repeat([]byte{0xff}, size))
		}
	}
	return p
}

// TestConvertSizes: buffers that do not fit are refused.
func TestConvertSizes(t *testing.T) {
	t.Parallel()
	i4, f8, none := parsed(t, "<i4"), parsed(t, "<f8"), parsed(t, "|S0")
	for _, c := range []struct {
		from, to dtype.DType
		dst, src int
	}{{i4, f8, 8, 5}, {i4, f8, 7, 4}, {i4, f8, 8, 0}, {i4, f8, 0, 3}, {i4, i4, 8, 4}, {none, none, 0, 1}, {none, none, 1, 0}} {
		if err := c.from.Convert(make([]byte, c.dst), c.to, make([]byte, c.src)); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := i4.Convert(nil, f8, nil); err != nil {
		t.Error(err)
	}
	if err := none.Convert(nil, none, nil); err != nil {
		t.Error(err)
	}
}

// FuzzConvert: no types and bytes end in a panic, and numbers that go to a wider type and
// back are what they were.
func FuzzConvert(f *testing.F) {
	for _, s := range [][2]string{{"<i4", ">f8"}, {"|u1", "<f2"}, {"<f2", "<c16"}, {"<i8", "<f8"}, {"<U3", ">U3"}, {"|b1", "<u8"}, {"<M8[ns]", ">M8[ns]"}} {
		f.Add(s[0], s[1], []byte("some numbers of any size"))
	}
	f.Fuzz(func(t *testing.T, a, b string, src []byte) {
		from, err := dtype.Parse(a)
		to, err2 := dtype.Parse(b)
		if err != nil || err2 != nil || from.ItemSize() == 0 || to.ItemSize() > 1<<10 {
			return
		}
		n := len(src) / from.ItemSize()
		src = src[:n*from.ItemSize()]
		dst, back := make([]byte, n*to.ItemSize()), make([]byte, len(src))
		err = from.Convert(dst, to, src)
		if (err == nil || n > 0 && strings.Contains(err.Error(), "item")) != from.CanConvert(to) && n > 0 {
			t.Fatalf("%s to %s: %v", a, b, err)
		}
		if err != nil || from.Kind() != to.Kind() || to.ItemSize() < from.ItemSize() || !to.CanConvert(from) || from.Kind() == dtype.Bool {
			return
		}
		if err := to.Convert(back, from, dst); err != nil || !bytes.Equal(plainNaN(from, back), plainNaN(from, src)) {
			t.Errorf("%s to %s and back: %x, %v, want %x", a, b, back, err, src)
		}
	})
}
