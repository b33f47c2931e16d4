package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/zarrface"
)

const (
	zarrDoc  = "zarr.json"
	maxViews = 16 // of one dataset
)

// zarrWords are the options of the verbs for Zarr clients.
var zarrWords = []string{"blocks", "raw", "zstd", "gzip", "float32", "uint8", "uint16", "int32", "int64"}

// zarrOld are documents of Zarr v2, which every client looks for, too.
var zarrOld = []string{".zarray", ".zattrs", ".zgroup", ".zmetadata"}

// A zarrKey is what a path of a Zarr client names in an array or a group.
type zarrKey struct {
	o     zarrface.Options
	rest  string // "zarr.json", or the key of a chunk
	chunk bool   // it is that of a chunk
	node  node
	coord string // name of a coordinate
}

// cutZarr takes Zarr's own key off the end of a path.
func cutZarr(key string) (of, rest string, ok bool) {
	last := strings.LastIndexByte(key, '/')
	if name := key[last+1:]; name == zarrDoc || slices.Contains(zarrOld, name) {
		return key[:max(last, 0)], name, true
	}
	for end := len(key); end > 0; {
		at := strings.LastIndexByte(key[:end], '/')
		if key[at+1:end] == "c" {
			return key[:max(at, 0)], key[at+1:], true
		}
		end = at
	}
	return "", "", false
}

// zarrPath reads a path of a Zarr client. It answers those of Zarr v2 itself: nothing
// is there, whatever the root holds.
func (s *Server) zarrPath(c *call) (done bool, err error) {
	of, rest, ok := cutZarr(c.key)
	if !ok {
		return false, refusef(http.StatusNotFound, "no-route", "no such path: want KEY/zarr.json or KEY/c/...")
	}
	for _, word := range c.options {
		if err := c.zarr.o.Set(word); err != nil {
			return false, badf("option", "%s", err)
		}
	}
	if slices.Contains(zarrOld, rest) {
		s.caching(c, c.w.Header())
		s.send(c, http.StatusNotFound, nil)
		return true, nil
	}
	c.key, c.zarr.rest = of, rest
	if c.zarr.chunk = rest != zarrDoc; c.zarr.chunk && !isChunkKey(rest) {
		return false, badf("path", "no key of a chunk: want c/0/1 and so on")
	}
	return false, nil
}

// isChunkKey reports whether a key is c and numbers in their one spelling.
func isChunkKey(key string) bool {
	_, rest, more := strings.Cut(key, "/")
	if !more {
		return true
	}
	for w := range strings.SplitSeq(rest, "/") {
		if w == "" || strings.Trim(w, "0123456789") != "" || w[0] == '0' && len(w) > 1 {
			return false
		}
	}
	return true
}

// planZarr plans the document of an array, or one of its chunks.
func planZarr(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	v, err := s.view(ctx, c, h)
	if err != nil {
		return nil, err
	}
	if !c.zarr.chunk {
		return zarrDocument(c, v.Doc()), nil
	}
	c.part = strconv.Itoa(zarrface.Encoding) + " " + c.zarr.rest + " " + words(c.zarr.o)
	k, err := v.Key(c.zarr.rest)
	absent := errors.Is(err, zarrface.ErrAbsent)
	if absent && k.Number < 0 {
		return &job{absent: true}, nil
	}
	if err != nil && !absent {
		return nil, err
	}
	return planZarrChunk(ctx, s, c, h, v, k, absent)
}

// zarrDocument plans an answer that is there. It tells the path, so its ETag has that.
func zarrDocument(c *call, doc []byte) *job {
	c.part = fmt.Sprintf("%d %s %s %+v", zarrface.Encoding, zarrDoc, c.place, c.zarr.o)
	return &job{media: "application/json", text: true, exact: true, cheap: true, size: int64(len(doc)),
		make: func(context.Context) ([]byte, error) { return append(begin(int64(len(doc))), doc...), nil }}
}

// views are how Zarr clients see an array, by the options.
type views struct {
	mu   sync.Mutex
	all  map[zarrface.Options]*zarrface.View
	held int64
}

func (w *views) get(o zarrface.Options) *zarrface.View {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[o]
}

// put keeps a view. If there are too many it forgets another one: documents with
// attributes are long, and who uses many options is rare.
func (w *views) put(o zarrface.Options, v *zarrface.View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[zarrface.Options]*zarrface.View{}
	}
	for other := range w.all {
		if len(w.all) < maxViews {
			break
		}
		delete(w.all, other)
	}
	w.all[o] = v
	w.held = 0
	for _, v := range w.all {
		w.held += v.HeldBytes()
	}
}

// size is about the memory that the views keep.
func (w *views) size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

// view returns the array of a handle as the call wants to see it, and keeps it with the
// handle. The first one reads the metalayers behind the chunks, if the array has any that
// did not come with its tail.
func (s *Server) view(ctx context.Context, c *call, h *handle) (*zarrface.View, error) {
	a, ok := h.d.Handle().(*farread.Array)
	if !ok {
		return nil, wrongKind(h.d, "array in chunks, which Zarr clients read")
	}
	asked := c.zarr.o
	if v := h.views.get(asked); v != nil {
		return v, nil
	}
	o := asked
	if o.Version = h.version; o.Folder {
		o.Version = "" // the index of a group has the same documents, and does not know it
	} else if !h.weak {
		o.Pinned = "/zarr~v-" + h.version + words(o) + "/" + escapeKey(c.root, c.key)
	}
	v, joined, err := s.views.do(ctx, s.base, s.c.Deadline, fmt.Sprintf("%p %+v", h, o), func(ctx context.Context) (*zarrface.View, error) {
		ctx = c.count(ctx)
		layers, err := a.Frame().VLMetalayers(ctx)
		if err != nil {
			return nil, err
		}
		v, err := zarrface.New(ctx, a.Array, layers, o)
		if err == nil {
			h.views.put(asked, v)
			s.open.trim()
		}
		return v, err
	}, nil)
	c.joined = c.joined || joined
	return v, err
}

// words are options as they stand in a path, always in the same order.
func words(o zarrface.Options) (text string) {
	if o.Blocks {
		text = "~blocks"
	}
	text += [...]string{zarrface.Pass: "", zarrface.Raw: "~raw", zarrface.Zstd: "~zstd", zarrface.Gzip: "~gzip"}[o.Codec]
	if o.Cast != "" {
		text += "~" + o.Cast
	}
	return text
}
