package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
)

const (
	maxEntries = 1000     // of one page of a listing
	listMemory = 16 << 20 // of one page, or half of all memory: entries with keys, and meta_data of images
)

// listing is the JSON of ls. Next is the parameter after of the following page, "" if
// there is none.
type listing[T any] struct {
	Entries []T    `json:"entries"`
	Next    string `json:"next"`
}

// folderEntry is a line of a folder.
type folderEntry struct {
	Name   string     `json:"name"`
	Size   int64      `json:"size,omitempty"`
	Format string     `json:"format,omitempty"`
	Dir    bool       `json:"dir,omitempty"`
	Time   *time.Time `json:"modified,omitempty"`
}

// listRoots answers with the names of the roots.
func (s *Server) listRoots(c *call) error {
	if c.version != "" {
		return badf("option", "a folder has no version")
	}
	l := listing[folderEntry]{Entries: []folderEntry{}}
	for _, r := range s.c.Roots {
		l.Entries = append(l.Entries, folderEntry{Name: r.Name, Dir: r.Key == "" || strings.HasSuffix(r.Key, "/")})
	}
	slices.SortFunc(l.Entries, func(a, b folderEntry) int { return strings.Compare(a.Name, b.Name) })
	p, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return s.hashed(c, append([]byte{plainBody}, p...))
}

// limit is how many entries a page has, by the parameter of that name.
func (c *call) limit() (int64, error) {
	text := c.query.Get("limit")
	if text == "" {
		return maxEntries, nil
	}
	n, err := number("limit", text)
	return min(max(n, 1), maxEntries), err
}

// list answers with a page of a folder, or of what is in a dataset.
func (s *Server) list(c *call) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	after := c.query.Get("after")
	if c.bare || c.at.Key != "" && !strings.HasSuffix(c.at.Key, "/") {
		return s.again(c, func(h *handle) error {
			if f, ok := h.d.Handle().(*farread.Folder); ok {
				return s.page(c, "ls "+c.place+"\x00/", after, limit, func(ctx context.Context) ([]byte, error) {
					return s.folderPage(ctx, f.Bucket, f.Prefix, after, limit)
				})
			}
			return s.page(c, "ls "+c.place+"\x00"+h.id, after, limit, func(ctx context.Context) ([]byte, error) {
				return entriesPage(h.d.Entries(ctx, farread.EntriesOptions{After: after, Limit: limit + 1}), limit, s.listMemory(),
					func(e farread.Entry) string { return e.Cursor }, func(e farread.Entry) farread.Entry { return e })
			})
		})
	}
	if c.version != "" {
		return badf("option", "a folder has no version")
	}
	return s.page(c, "ls "+c.place+"\x00/", after, limit, func(ctx context.Context) ([]byte, error) {
		return s.folderPage(ctx, c.at.Bucket, c.at.Key, after, limit)
	})
}

// listMemory is the memory that a page may take. Half of all is left for others.
func (s *Server) listMemory() int64 { return max(min(listMemory, s.memory.all/2), 1) }

// page makes a page together with all who ask for the same, and answers with it.
func (s *Server) page(c *call, name, after string, limit int64, fn func(ctx context.Context) ([]byte, error)) error {
	name = s.alone(name+"\x00"+strconv.FormatInt(limit, 10)+"\x00"+after, s.c.TTL < 0)
	p, joined, err := s.flights.do(c.r.Context(), s.base, s.c.Deadline, name, func(ctx context.Context) (*product, error) {
		l, err := s.memory.take(ctx, s.listMemory(), s.c.Wait)
		if err != nil {
			return nil, err
		}
		made := false
		defer func() {
			if !made {
				l.release()
			}
		}()
		body, err := fn(c.count(ctx))
		if err != nil {
			return nil, err
		}
		made = true
		l.shrink(int64(cap(body)))
		return &product{body: body, loan: l}, nil
	}, func(p *product, callers int) { p.loan.held(callers) })
	c.joined = c.joined || joined
	if err != nil {
		return err
	}
	defer p.loan.release()
	return s.hashed(c, p.body)
}

// hashed answers with JSON whose ETag is a hash of its bytes. body begins with a mark.
func (s *Server) hashed(c *call, body []byte) error {
	coding := accepted(listed(c.r.Header, "Accept-Encoding"))
	names := namesOf(digest(encoding, string(body)), false)
	c.w.Header().Add("Vary", "Accept-Encoding")
	s.caching(c, c.w.Header())
	if done, err := s.conditions(c, names, coding); done || err != nil {
		return err
	}
	if coding != "" && (len(body) <= leastCoded || c.r.Header.Get("Range") != "") {
		coding = ""
	}
	if coding != "" {
		short, err := encode(coding, "application/json", body[1:])
		if err != nil {
			return err
		}
		if short == nil {
			coding = ""
		} else {
			body = short
		}
	}
	return s.deliver(c, &job{media: "application/json"}, names.of(coding), coding, int64(len(body)-1), body[1:])
}

// folderPage lists one level of a folder.
func (s *Server) folderPage(ctx context.Context, b objstore.Bucket, prefix, after string, limit int64) ([]byte, error) {
	from := ""
	if after != "" {
		from = prefix + after
	}
	p, err := entriesPage(objstore.ListFolder(ctx, b, prefix, from), limit, s.listMemory(),
		func(e objstore.FolderEntry) string { return strings.TrimPrefix(e.Key, prefix) },
		func(e objstore.FolderEntry) folderEntry {
			out := folderEntry{Name: strings.TrimPrefix(e.Key, prefix), Size: e.Size, Dir: e.Folder}
			if !e.Folder {
				out.Format = farread.NameOf(e.Key)
			}
			if !e.ModTime.IsZero() {
				out.Time = &e.ModTime
			}
			return out
		})
	if errors.Is(err, errors.ErrUnsupported) {
		err = errNoPages
	}
	return p, err
}

var errNoPages = refusef(http.StatusUnprocessableEntity, "unsupported", "a plain HTTP server lists nothing: name a file")

// entriesPage writes up to limit entries of a sequence, in up to most bytes.
func entriesPage[E, T any](list iter.Seq2[E, error], limit, most int64, cursor func(E) string, shown func(E) T) ([]byte, error) {
	l := listing[T]{Entries: []T{}}
	last := ""
	for e, err := range list {
		if err != nil {
			return nil, err
		}
		if int64(len(l.Entries)) == limit {
			l.Next = last
			break
		}
		last = cursor(e)
		l.Entries = append(l.Entries, shown(e))
	}
	out := newPage(1<<10, most)
	err := json.NewEncoder(out).Encode(l)
	return out.Bytes(), err
}

// escapeKey is a root and a key as they stand in a path.
func escapeKey(root, key string) string {
	segments := strings.Split(key, "/")
	for i, seg := range segments {
		segments[i] = url.PathEscape(seg)
	}
	return strings.TrimSuffix(url.PathEscape(root)+"/"+strings.Join(segments, "/"), "/")
}
