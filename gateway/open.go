package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/objstore"
)

// maxOpen is the most datasets that are kept open.
const maxOpen = 256

// A handle is an open dataset, pinned to one version.
type handle struct {
	d       farread.Dataset  // nil for raw
	ob      *objstore.Object // for raw, which asks for no format
	source  farread.Source
	id      string // identifies the bytes, on every machine
	weak    bool   // the store does not tell versions apart for certain
	loose   bool   // parts are replaced without a sign of it: nothing tells that an answer is still right
	version string // 16 hex digits of id; "" if it is loose
	views   views
	ahead   ahead
	sole    atomic.Int64 // when it was last known to be alone under its name in a group
}

// current reports whether the place still holds this version. Of what is loose nobody
// knows.
func (h *handle) current(ctx context.Context) (bool, error) {
	if h.loose {
		return false, nil
	}
	if h.ob != nil {
		return h.ob.Current(ctx)
	}
	return h.d.Current(ctx)
}

// held is about the memory that the handle keeps.
func (h *handle) held() int64 {
	if h.ob != nil {
		return h.ob.HeldBytes()
	}
	return h.d.HeldBytes() + h.views.size()
}

// handles keeps datasets open.
type handles struct {
	mu      sync.Mutex
	all     lru.Cache[string, *kept]
	most    int64 // bytes that they hold in memory, about
	flights flights[*handle]
}

// kept is a handle, and when it was last known to be current.
type kept struct {
	h       *handle
	checked time.Time
}

func (o *handles) init(most int64) {
	o.all.Max, o.most = maxOpen, most
}

// find returns an open dataset that was current not long ago.
func (o *handles) find(key string, now time.Time, ttl time.Duration) (h *handle, fresh bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok := o.all.Get(key)
	if !ok {
		return nil, false
	}
	return k.h, now.Sub(k.checked) < ttl
}

// put keeps a dataset, and forgets others until all are few and small.
func (o *handles) put(key string, h *handle, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all.Put(key, &kept{h, now}, 1)
	o.fit()
}

// trim forgets datasets after others have grown.
func (o *handles) trim() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fit()
}

// fit forgets datasets until all are small enough. The caller holds the lock.
func (o *handles) fit() {
	held := int64(0)
	for _, k := range o.all.All() {
		held += k.h.held()
	}
	for n := o.all.Cost(); held > o.most && n > 1; n-- {
		o.all.Trim(n - 1)
		held = 0
		for _, k := range o.all.All() {
			held += k.h.held()
		}
	}
}

// drop forgets a dataset that is not current any more.
func (o *handles) drop(key string, h *handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if k, ok := o.all.Peek(key); ok && k.h == h {
		o.all.Remove(key)
	}
}

// dataset returns the open dataset of a call. One that was not looked at for the time to
// live costs a look, and one that is not open is opened; all who wait for either share it.
func (s *Server) dataset(ctx context.Context, c *call) (*handle, error) {
	h, fresh := s.open.find(c.place, s.now(), s.c.TTL)
	fresh = fresh || h != nil && c.version != "" && c.version == h.version // its reads are pinned: another object would tell
	if !fresh {
		before := h
		var joined bool
		var err error
		h, joined, err = s.open.flights.do(ctx, s.base, s.c.Deadline, s.alone(c.place, s.c.TTL < 0), func(ctx context.Context) (*handle, error) {
			return s.reopen(c.count(ctx), c, before)
		}, nil)
		if c.joined = c.joined || joined; err != nil {
			return nil, err
		}
	}
	switch {
	case c.version != "" && h.weak:
		return nil, badf("option", "nothing names the bytes for certain: they have no version")
	case c.version != "" && c.version != h.version:
		return nil, refusef(409, "changed", "the version is %s now, not %s", h.version, clip(c.version))
	}
	return h, nil
}

// reopen looks whether an open dataset is current, and else opens it.
func (s *Server) reopen(ctx context.Context, c *call, h *handle) (*handle, error) {
	now := s.now()
	if h != nil {
		// A look that fails may mean that the object is gone: opening tells.
		if is, err := h.current(ctx); err == nil && is {
			s.open.put(c.place, h, now)
			return h, nil
		}
		s.open.drop(c.place, h)
		now = s.now()
	}
	h, err := s.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	s.open.put(c.place, h, now)
	return h, nil
}

// begin opens the dataset of a call.
func (s *Server) begin(ctx context.Context, c *call) (*handle, error) {
	h := &handle{}
	var err error
	if c.verb == "raw" {
		err = s.beginRaw(ctx, c, h)
	} else if h.d, err = s.c.Client.OpenPlace(ctx, c.at, s.options()); err == nil {
		h.source, err = h.d.Source(ctx)
	}
	if err != nil {
		return nil, err
	}
	if h.id = h.source.ID; h.id == "" {
		h.weak = true
		h.id = digest(c.place, h.source.ETag, h.source.Version, fmt.Sprint(h.source.Size), h.source.Time.UTC().Format(time.RFC3339Nano))
	}
	if h.loose = h.d != nil && isLoose(h.d); !h.loose {
		h.version = digest(h.id)[:16]
	}
	return h, nil
}

// isLoose reports whether parts of a dataset are replaced without a sign of it: entries
// of a folder, and chunks of a sparse frame.
func isLoose(d farread.Dataset) bool {
	switch x := d.Handle().(type) {
	case *farread.Folder:
		return true
	case *farread.Array:
		return x.Source.Info().Sparse
	case *farread.Frame:
		return x.Info().Sparse
	}
	return false
}

// alone is the name of a flight that no other request may join if only is set, because
// what it began to read may be too old for that one.
func (s *Server) alone(name string, only bool) string {
	if !only {
		return name
	}
	return name + "\x00" + strconv.FormatInt(s.lone.Add(1), 10)
}

// beginRaw opens an object of whatever format.
func (s *Server) beginRaw(ctx context.Context, c *call, h *handle) (err error) {
	if h.ob, err = s.c.Client.OpenObject(ctx, c.at.Bucket, c.at.Key, objstore.OpenOptions{}); err != nil {
		return err
	}
	in := h.ob.Info()
	h.source = farread.Source{Size: in.Size, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime}
	if in.VersionID != "" || in.ETag != "" && !strings.HasPrefix(in.ETag, "W/") {
		h.source.ID = digest(c.at.Bucket.Name(), in.Key, in.ETag, in.VersionID, fmt.Sprint(in.Size))
	}
	return nil
}

// options bound what one item or image takes by what one answer may take, and indexes by
// a part of the memory.
func (s *Server) options() farread.AnyOptions {
	lim := formats.Limits{MaxDecoded: s.c.MaxResponse, MaxMeta: max(s.c.Memory/4, 1<<20)}
	items := lim
	items.MaxDecoded = s.unknown()
	frame := lim
	frame.MaxDecoded = 0 // blocks of large chunks are read alone
	zoom := lim
	zoom.MaxMeta = min(lim.MaxMeta, mostWindows) // pages that are read together
	return farread.AnyOptions{Cache: s.cache, Bloscpack: bloscpack.Options{Limits: items},
		Gulp: gulp.Options{Limits: lim}, Zoom: zoomcache.Options{Limits: zoom}, Frame: cframe.Options{Limits: frame}}
}

// digest hashes texts and their lengths.
func digest(texts ...string) string {
	var room [512]byte
	p := room[:0]
	for _, t := range texts {
		p = append(append(strconv.AppendInt(p, int64(len(t)), 10), ' '), t...)
	}
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:16])
}

// anyRoot is what the segment of a root begins with that is no name but a URI.
const anyRoot = "~"

// root finds what the segment of a root stands for.
func (s *Server) root(ctx context.Context, name string) (Root, error) {
	if r, ok := s.roots[name]; ok {
		return r, nil
	}
	text, ok := strings.CutPrefix(name, anyRoot)
	if !ok || !s.c.Any {
		return Root{}, refusef(404, "no-root", "no root %q", clip(name))
	}
	uri, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(uri) || bytes.ContainsRune(uri, 0) {
		return Root{}, badf("path", "root %q: want ~ and a URI in base64url", clip(name))
	}
	at, err := s.c.Client.Place(ctx, string(uri))
	if err != nil {
		return Root{}, err
	}
	return Root{Name: name, Bucket: objstore.Tally()(at.Bucket), Key: at.Key}, nil
}

// place finds where a target lies.
func (s *Server) place(ctx context.Context, t target) (farread.Place, error) {
	r, err := s.root(ctx, t.root)
	if err != nil {
		return farread.Place{}, err
	}
	if err := checkSegments(t.key, strings.HasPrefix(r.Bucket.Name(), "file:")); err != nil {
		return farread.Place{}, err
	}
	at := farread.Place{URI: t.root, Bucket: r.Bucket, Key: r.Key}
	if t.key == "" {
		return at, nil
	}
	if at.URI += "/" + t.key; at.Key != "" && !strings.HasSuffix(at.Key, "/") {
		at.Key += "/"
	}
	at.Key += t.key
	return at, nil
}
