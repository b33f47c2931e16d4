package gateway

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread"
)

// planGet plans one part of a dataset: a frame of an id, an item, a run of items, or a
// stored chunk.
func planGet(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	var which string
	for _, name := range []string{"id", "item", "items", "chunk"} {
		if !c.query.Has(name) {
			continue
		}
		if which != "" {
			return nil, badf("query", "%s and %s: only one of them", which, name)
		}
		which = name
	}
	switch {
	case which == "":
		return nil, badf("query", "want id and frame, item, items or chunk")
	case which != "id" && c.query.Has("frame"):
		return nil, badf("query", "frame goes with id")
	case which != "items" && c.query.Has("format"):
		return nil, badf("query", "format goes with items")
	}
	switch which {
	case "id":
		return planFrame(ctx, c, h)
	case "item":
		return planItem(ctx, s, c, h)
	case "items":
		return planItems(s, c, h)
	}
	return planChunk(ctx, c, h)
}

func planFrame(ctx context.Context, c *call, h *handle) (*job, error) {
	im, ok := h.d.(farread.Imager)
	if !ok {
		return nil, wrongKind(h.d, "set of images")
	}
	id := c.query.Get("id")
	n, err := number("frame", c.query.Get("frame"))
	if err != nil {
		return nil, err
	}
	if int64(int32(n)) != n {
		return nil, badf("frame", "no frame %d", n)
	}
	i := int(n)
	p, err := im.ExplainImages(ctx, id, i, i+1, 1)
	if err != nil {
		return nil, err
	}
	return &job{size: p.Size, exact: true, read: p.Cost().Bytes, make: func(ctx context.Context) ([]byte, error) {
		body, _, err := im.AppendImage(ctx, begin(p.Size), id, i)
		return body, err
	}}, nil
}

// begin is room for an answer of a size, with its mark.
func begin(size int64) []byte {
	p := make([]byte, 1, 1+size)
	p[0] = plainBody
	return p
}

func planItem(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	it, ok := h.d.(farread.Itemer)
	if !ok {
		return nil, wrongKind(h.d, "list of items")
	}
	text := c.query.Get("item")
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil || i < 0 {
		if i, err = it.ItemNumber(ctx, text); err != nil {
			return nil, err
		}
	}
	j := &job{media: "application/octet-stream", text: true, size: s.unknown(), read: -1, cost: func(ctx context.Context) (farread.Cost, error) {
		p, err := it.ExplainItems(ctx, i, i+1)
		return p.Cost(), err
	}, make: func(ctx context.Context) ([]byte, error) {
		return it.AppendItem(ctx, []byte{plainBody}, i)
	}}
	if st, ok := it.(farread.Starter); ok {
		j.size = 0
		j.learn = func(ctx context.Context) error {
			most, finish, err := st.StartItem(ctx, i)
			if err != nil {
				return err
			}
			room := int64(0)
			if j.size = most; it.Format() == "bloscpack" {
				room = most
			} else {
				j.work = most // frames decode into memory of their own
			}
			j.make = func(ctx context.Context) ([]byte, error) { return finish(ctx, begin(room)) }
			return nil
		}
	}
	return j, nil
}

// maxItems is the most items of one answer.
const maxItems = 100_000

// item is a line of an answer of several items. What is no UTF-8 is base64.
type item struct {
	N      int64   `json:"n"`
	Text   *string `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"`
}

func planItems(s *Server, c *call, h *handle) (*job, error) {
	it, ok := h.d.(farread.Itemer)
	if !ok {
		return nil, wrongKind(h.d, "list of items")
	}
	a, b, colon := strings.Cut(c.query.Get("items"), ":")
	from, err1 := strconv.ParseInt(a, 10, 64)
	to, err2 := strconv.ParseInt(b, 10, 64)
	if !colon || err1 != nil || err2 != nil || from < 0 || to < from {
		return nil, badf("items", "items %q: want A:B", clip(c.query.Get("items")))
	}
	format := c.query.Get("format")
	if format != "" && format != "binary" {
		return nil, badf("format", "format %q: want binary, or none for JSON Lines", clip(format))
	}
	if to-from > maxItems {
		return nil, refusef(http.StatusRequestEntityTooLarge, "too-large", "%d items, %d allowed", to-from, maxItems)
	}
	if n := it.Items(); n >= 0 {
		from, to = min(from, n), min(to, n)
	}
	most := s.unknown() // how long items are is known once they are decoded
	media, encode := "application/x-ndjson", itemsAsLines
	if format != "" {
		media, encode = "application/octet-stream", itemsAsBytes
	}
	return &job{media: media, text: true, size: most, work: most, read: -1,
		cost: func(ctx context.Context) (farread.Cost, error) {
			p, err := it.ExplainItems(ctx, from, to)
			return p.Cost(), err
		},
		make: func(ctx context.Context) ([]byte, error) {
			out := newPage(min(firstPage, most), most)
			err := it.EachItem(ctx, from, to, encode(out))
			return out.Bytes(), err
		}}, nil
}

// itemsAsLines writes items as lines of JSON.
func itemsAsLines(out *page) func(i int64, p []byte) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return func(i int64, p []byte) error {
		l := item{N: i}
		if utf8.Valid(p) {
			text := string(p)
			l.Text = &text
		} else {
			l.Base64 = base64.StdEncoding.EncodeToString(p)
		}
		return e.Encode(l)
	}
}

// itemsAsBytes writes items behind their lengths, of 8 bytes in little endian.
func itemsAsBytes(out *page) func(i int64, p []byte) error {
	var size [8]byte
	return func(_ int64, p []byte) error {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		if _, err := out.Write(size[:]); err != nil {
			return err
		}
		_, err := out.Write(p)
		return err
	}
}

func planChunk(ctx context.Context, c *call, h *handle) (*job, error) {
	k, ok := h.d.(farread.Chunker)
	if !ok {
		return nil, wrongKind(h.d, "data in chunks")
	}
	i, err := number("chunk", c.query.Get("chunk"))
	if err != nil {
		return nil, err
	}
	p, err := k.ExplainStored(ctx, i)
	if err != nil {
		return nil, err
	}
	return &job{media: "application/octet-stream", size: p.Size, read: max(p.Cost().Bytes, 0), cheap: true, make: func(ctx context.Context) ([]byte, error) {
		return k.AppendStored(ctx, begin(max(p.Size, 0)), i)
	}}, nil
}
