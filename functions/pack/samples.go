package pack

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/functions/internal/kit"
)

// samples are the texts of the samples of a WebDataset.
type samples struct {
	by    map[string]*sample
	order []string // ids in the order of the source
	size  int64
}

type sample struct {
	texts []sampleText
	used  bool
}

type sampleText struct {
	ext string
	p   []byte
}

// add keeps a text of a sample.
func (t *samples) add(name string, p []byte, l Limits) error {
	key, ext := sampleOf(name)
	if p = bytes.TrimPrefix(p, []byte("\uFEFF")); !utf8.Valid(p) {
		return kit.Corrupt("a text that is not UTF-8")
	}
	if t.size += int64(len(p)); t.size > l.Meta {
		return kit.TooLarge("more than %d bytes of texts of samples", l.Meta)
	}
	if t.by == nil {
		t.by = map[string]*sample{}
	}
	x := t.by[key]
	if x == nil {
		x = &sample{}
		t.by[key] = x
		t.order = append(t.order, key)
	}
	for _, old := range x.texts {
		if old.ext == ext {
			return kit.Corrupt("twice in the upload")
		}
	}
	x.texts = append(x.texts, sampleText{ext, bytes.Clone(p)})
	return nil
}

// of returns the fields of a sample. Its .json is an object of fields, or the field
// "json"; .cls is the label, as a number if it is one.
func (t *samples) of(id string) (fields, error) {
	out := fields{}
	x := t.by[id]
	if x == nil {
		return out, nil
	}
	x.used = true
	names := sampleTexts()
	for _, m := range x.texts {
		if names[m.ext] != "" {
			continue
		}
		if !json.Valid(m.p) {
			return nil, kit.Corrupt(".%s is no JSON", m.ext)
		}
		var f fields
		if json.Unmarshal(m.p, &f) != nil || f == nil {
			f = fields{m.ext: bytes.TrimSpace(m.p)}
		}
		for name, v := range f {
			if _, twice := out[name]; twice {
				return nil, kit.Corrupt("the field %.80q twice", name)
			}
			out[name] = v
		}
	}
	for _, m := range x.texts {
		name := names[m.ext]
		if name == "" {
			continue
		}
		if _, taken := out[name]; taken {
			name = m.ext // the name that WebDataset gives it
		}
		if _, taken := out[name]; taken {
			return nil, kit.Corrupt("the field %.80q twice", name)
		}
		out[name] = m.value()
	}
	return out, nil
}

// value is a number, if the text is one and not prose; else a text.
func (m *sampleText) value() json.RawMessage {
	if names := sampleTexts(); names[m.ext] != "text" && names[m.ext] != "transcript" {
		if n := strings.TrimSpace(string(m.p)); isNumber(n) {
			return json.RawMessage(n)
		} else if m.ext != "" {
			return text(n)
		}
	}
	return text(string(m.p))
}

// unused counts samples without an image.
func (t *samples) unused() (n, all int64, first string) {
	for _, id := range t.order {
		if !t.by[id].used {
			if n++; n == 1 {
				first = id
			}
		}
	}
	return n, int64(len(t.order)), first
}
