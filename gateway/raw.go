package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/objstore"
)

// raw answers with bytes as they are stored.
func (s *Server) raw(c *call) error {
	if c.key == "" && (c.at.Key == "" || strings.HasSuffix(c.at.Key, "/")) {
		return refusef(http.StatusUnprocessableEntity, "unsupported", "the root is a folder: name an object in it")
	}
	return s.again(c, func(h *handle) error {
		return s.stored(c, h, h.ob)
	})
}

// stored sends a part of an object.
func (s *Server) stored(c *call, h *handle, ob *objstore.Object) error {
	in, hd := ob.Info(), c.w.Header()
	etag := in.ETag
	if etag == "" {
		etag = `W/"` + digest(h.id, encoding, "raw") + `"`
	}
	s.caching(c, hd)
	if !in.ModTime.IsZero() {
		hd.Set("Last-Modified", in.ModTime.UTC().Format(http.TimeFormat))
	}
	if done, err := s.conditions(c, names{only: etag}, ""); done || err != nil {
		return err
	}
	if in.ContentEncoding != "" {
		hd.Set("Content-Encoding", in.ContentEncoding)
	}
	hd.Set("ETag", etag)
	hd.Set("Content-Type", "application/octet-stream")
	hd.Set("Accept-Ranges", "bytes")
	from, n, part, err := s.part(c, in.Size, etag)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if part {
		status = http.StatusPartialContent
		hd.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, in.Size))
	}
	hd.Set("Content-Length", strconv.FormatInt(n, 10))
	if c.head() || n == 0 {
		s.begin200(c, status)
		return nil
	}
	if to, err := s.elsewhere(c, ob, n); to != "" || err != nil {
		if err == nil {
			s.redirect(c, to)
		}
		return err
	}
	return s.stream(c, ob, status, from, n)
}

// signedFor is how long the URL of a redirection is good: for clients that follow it at
// once. A download may take longer.
const signedFor = 5 * time.Minute

// elsewhere is where the store itself answers for n bytes of an object, "" if the gateway
// is to do so: then they are few, or the store has no means to answer for the version
// that was asked for.
func (s *Server) elsewhere(c *call, ob *objstore.Object, n int64) (string, error) {
	if s.c.RedirectRaw <= 0 || n < s.c.RedirectRaw || c.version != "" && ob.Info().VersionID == "" {
		return "", nil
	}
	signer, ok := objstore.As[objstore.Signer](c.at.Bucket)
	if !ok {
		return "", nil
	}
	return signer.SignGet(c.r.Context(), ob.Info().Key, ob.Info().VersionID, signedFor)
}

// redirect sends a client to another URL. Range and conditions go with it.
func (s *Server) redirect(c *call, to string) {
	h := c.w.Header()
	for _, name := range []string{"ETag", "Content-Encoding", "Content-Range", "Content-Type", "Last-Modified", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store") // the URL ends
	h.Set("Location", to)
	s.send(c, http.StatusTemporaryRedirect, nil)
}

// rawPart is what one request to a store brings of a long answer.
const (
	rawPart   = 4 << 20
	leastPart = 64 << 10 // if there is little memory
	rawAhead  = 3
)

// stream sends stored bytes. What fits into one part is read before anything is sent; if
// a longer answer fails in its middle, the connection ends.
func (s *Server) stream(c *call, ob *objstore.Object, status int, from, n int64) error {
	ctx := c.count(c.r.Context())
	size := min(rawPart, max(s.memory.all/2/(rawAhead+2), leastPart)) // half of little memory is left for others
	part, ahead := min(n, size), int(min((n-1)/size, rawAhead))
	l, err := s.memory.take(ctx, part*int64(ahead+2), s.c.Wait)
	if err != nil {
		return err
	}
	defer l.release()
	r := ob.NewReader(ctx, objstore.ReadOptions{Off: from, Len: n, Part: size, Ahead: max(ahead, 1)})
	defer r.Close()
	buf := make([]byte, part)
	for left := n; left > 0; left -= int64(len(buf)) {
		buf = buf[:min(left, int64(len(buf)))]
		s.unhurried(c)
		if _, err := io.ReadFull(r, buf); err != nil {
			if !c.begun {
				return err
			}
			c.err, c.code = err, "cut"
			panic(http.ErrAbortHandler) // never a short answer that looks whole
		}
		if !c.begun {
			s.begin200(c, status)
		}
		if s.write(c, buf); c.err != nil {
			return nil // the client has gone: nobody is there to be told
		}
	}
	return nil
}
