package httplimit

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// depthOf is how deep elements nest as encoding/xml sees them, and how many there are,
// up to the place where it stops.
func depthOf(text string) (depth, elements int) {
	d := xml.NewDecoder(strings.NewReader(text))
	now := 0
	for {
		tok, err := d.RawToken()
		if err != nil {
			return depth, elements
		}
		switch tok.(type) {
		case xml.StartElement:
			now++
			elements++
			depth = max(depth, now)
		case xml.EndElement:
			now--
		}
	}
}

func feed(text string, n int) error {
	x := &nesting{}
	for len(text) > 0 {
		k := min(n, len(text))
		if err := x.feed([]byte(text[:k])); err != nil {
			return err
		}
		text = text[k:]
	}
	return nil
}

func TestNesting(t *testing.T) {
	deep := strings.Repeat("<a>", maxDepth+1)
	for text, bad := range map[string]bool{
		"": false, "no XML": false, "<": false, "<>": false, "<a": false,
		strings.Repeat("<a>", maxDepth):          false,
		deep:                                     true,
		strings.Repeat("<a>", maxDepth) + "<b/>": true,
		strings.Repeat("<a>", maxDepth-1) + "<b/><b/>":         false,
		strings.Repeat("<a>\n</a>", 1000):                      false,
		strings.Repeat("<a x='>' y=\"'>\"/>", 1000):            false,
		"<!-- " + deep + " -->":                                false,
		"<!-- -- > -->" + deep:                                 true,
		"<a><![CDATA[" + deep + "]] > ]]></a>":                 false,
		"<a><![CDATA[]]>" + deep:                               true,
		"<?xml version='1.0'?>" + deep:                         true,
		"<?x \"?>" + deep:                                      true,
		"<?x " + deep + "?>":                                   false,
		"<!DOCTYPE x [<!ENTITY a \"aaa\">]><x/>":               true,
		"<!>" + deep:                                           true,
		strings.Repeat("<a/>", maxElements):                    false,
		strings.Repeat("<a/>", maxElements+1):                  true,
		strings.Repeat("<a></a>", maxElements) + "<a/>":        true,
		"<a>" + strings.Repeat("x", 1<<20) + "</a><b/><c></c>": false,
	} {
		for _, n := range []int{1, 3, 1 << 20} {
			err := feed(text, n)
			var answer *BadAnswer
			if bad != (err != nil) || bad && !errors.As(err, &answer) {
				t.Errorf("%.40q in pieces of %d: %v", text, n, err)
			}
		}
	}
}

// FuzzNesting: in text that passes, encoding/xml sees no deeper nesting.
func FuzzNesting(f *testing.F) {
	for _, s := range []string{"<a><b x='>'/></a>", "<?x \"?><a>", "<!-- '--><a>", "<![CDATA[<a>]]>", "<!x \"<\" '><a>", "</a/><a/>", "<a b=\"<c>\">"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if len(s) == 0 {
			return
		}
		text := strings.Repeat(s, min(max(n, 1), 200))
		if feed(text, len(s)) != nil {
			return
		}
		if depth, elements := depthOf(text); depth > maxDepth || elements > maxElements {
			t.Errorf("%q: %d deep, %d elements", s, depth, elements)
		}
	})
}

// TestBodies: what each reader of a body gets at its limits.
func TestBodies(t *testing.T) {
	long := strings.Repeat("x", 1000)
	b := &body{rc: io.NopCloser(strings.NewReader(long)), most: 1000, cancel: func() {}}
	if p, err := io.ReadAll(b); err != nil || len(p) != 1000 {
		t.Errorf("%d bytes, %v", len(p), err)
	}
	b = &body{rc: io.NopCloser(strings.NewReader(long)), most: 999, cancel: func() {}}
	if _, err := io.ReadAll(b); !errors.As(err, new(*BadAnswer)) {
		t.Error(err)
	}
	r := &refusal{rc: io.NopCloser(strings.NewReader(long)), left: 10}
	if p, err := io.ReadAll(r); err != nil || len(p) != 10 {
		t.Errorf("%d bytes, %v", len(p), err)
	}
}
