package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/objstore"
)

// A Root is a place that a Server answers for, under a name.
type Root struct {
	// Name is the segment of paths that names the root. It is not empty, has no slash,
	// and is unique.
	Name string
	// Bucket and Key say where the root lies, as Client.Place returns them. A Key that
	// is "" or ends in a slash is a folder. Any other Key is a dataset, and what lies
	// below it.
	Bucket objstore.Bucket
	Key    string
}

// Config says what a Server answers, and what it may use. Client and Roots are needed.
// Any other zero field has a default.
type Config struct {
	Client *farread.Client
	Roots  []Root

	TTL         time.Duration // how long an open dataset is believed to be current; 0: 10 s; negative: not at all
	MaxResponse int64         // most bytes of an answer, except those of raw; 0: 64 MiB
	MaxRead     int64         // most stored bytes that an answer may need; 0: 256 MiB
	Memory      int64         // most bytes of all buffers of answers, until the last byte is written; 0: 512 MiB
	Cache       int64         // most bytes of stored chunks, decoded blocks and answers that are kept; 0: 256 MiB; negative: none
	Deadline    time.Duration // most time for making an answer; 0: 60 s
	Wait        time.Duration // most time that a request waits for memory; 0: 10 s
	Stall       time.Duration // time after which a client that takes nothing is given up; 0: 30 s

	// CORS lists the origins whose pages may read answers; "*" stands for all. If it is
	// empty, no page of another origin may.
	CORS []string
	// Token is the bearer token that every request must have, except to /healthz and
	// the page; "" means that none is needed. Links signed by Sign need none.
	Token string
	// Hosts are the Host headers that are answered besides localhost and addresses. Nil
	// means that all are. It keeps pages of others from reading a server on this machine
	// by a name that they let point to it.
	Hosts []string
	// Any answers for every place that Client can read besides the roots: the segment of a
	// root is then ~ and the URI in base64url without padding. Errors tell all that the
	// source says. It is for a server that one user alone can reach: it reads whatever that
	// user may.
	Any bool
	// NoRaw leaves out the verb raw, NoMetrics the path /metrics.
	NoRaw, NoMetrics bool
	// RedirectRaw is the length from which on an answer of raw is a redirection (307) to
	// a URL of the store that is good for five minutes, if the bucket is an
	// objstore.Signer; 0 means never. Who has such a URL needs no token. If the store
	// keeps versions, it answers for the same version.
	RedirectRaw int64
	// Viewer answers / and paths below /ui/; nil means that there is no page.
	Viewer http.Handler
	// Log receives a line for each request, with the errors that clients do not see in
	// full; nil means none.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	set := func(v *int64, to int64) {
		if *v == 0 {
			*v = to
		}
	}
	wait := func(v *time.Duration, to time.Duration) {
		if *v == 0 {
			*v = to
		}
	}
	set(&c.MaxResponse, 64<<20)
	set(&c.MaxRead, 256<<20)
	set(&c.Memory, 512<<20)
	set(&c.Cache, 256<<20)
	wait(&c.TTL, 10*time.Second)
	wait(&c.Deadline, time.Minute)
	wait(&c.Wait, 10*time.Second)
	wait(&c.Stall, 30*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// A Server is a handler of requests. It is safe for concurrent use.
type Server struct {
	c     Config
	roots map[string]Root
	verbs map[string]verb

	// base is the context of work that no single request owns. Close ends it.
	base context.Context //nolint:containedctx // flights live longer than any one request
	stop context.CancelFunc

	open    handles
	cache   *formats.Cache // stored chunks, decoded blocks, answers
	memory  *memory
	flights flights[*product]
	views   flights[*zarrface.View]
	tables  tables
	meter   meter
	pinned  []string     // Cache-Control of pinned versions
	passing []string     // Cache-Control of others
	lone    atomic.Int64 // flights that nobody may join
	now     func() time.Time
}

// New makes a Server. It makes no request. Close ends it.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	if c.Client == nil {
		return nil, fmt.Errorf("a gateway without a client: %w", objstore.ErrInvalid)
	}
	for _, o := range c.CORS {
		if err := checkOrigin(o); err != nil {
			return nil, err
		}
	}
	s := &Server{c: c, roots: map[string]Root{}, cache: formats.NewCache(c.Cache), memory: newMemory(c.Memory), now: time.Now}
	for _, r := range c.Roots {
		if _, twice := s.roots[r.Name]; twice || r.Name == "" || strings.Contains(r.Name, "/") || checkSegments(r.Name, true) != nil || r.Bucket == nil {
			return nil, fmt.Errorf("root %q: want a name of its own without slashes, and a bucket: %w", r.Name, objstore.ErrInvalid)
		}
		r.Bucket = objstore.Tally()(r.Bucket)
		s.roots[r.Name] = r
	}
	s.pinned, s.passing = cachings(&c)
	s.verbs = verbs()
	if c.NoRaw {
		delete(s.verbs, "raw")
	}
	s.base, s.stop = context.WithCancel(context.Background())
	s.open.init(c.Cache / 4)
	s.tables.init(c.TTL)
	return s, nil
}

// Close ends all reads in progress, so that requests that wait for them fail. It does
// not close the Client.
func (s *Server) Close() error {
	s.stop()
	return nil
}

// A verb answers one kind of path.
type verb struct {
	// params are the names of the parameters of a query that the verb takes.
	params []string
	// options are the words behind ~ that the verb takes besides a version.
	options []string
	// path reads the key of the path, if that is more than one of the root. done says that
	// the answer is sent.
	path func(s *Server, c *call) (done bool, err error)
	// plan says what the answer to a request about an open dataset will be, at the cost
	// of at most an index. It is nil if the verb opens no dataset.
	plan func(ctx context.Context, s *Server, c *call, h *handle) (*job, error)
	// serve answers a request in a way of its own; nil means as plan says.
	serve func(s *Server, c *call) error
}

func verbs() map[string]verb {
	return map[string]verb{
		"info":    {plan: planInfo},
		"ls":      {params: []string{"after", "limit"}, serve: (*Server).list},
		"slice":   {params: []string{"s", "nearest", "format", "field", "as", "colors", "range", "robust", "where", "axes", "width", "height", "title", "dark"}, plan: planSlice},
		"get":     {params: []string{"id", "frame", "item", "items", "chunk", "format"}, plan: planGet},
		"batches": {params: batchParams(), serve: (*Server).batches},
		"view":    {params: []string{"track", "tracks", "height", "title", "dark", "from", "to", "width", "samples_per_pixel", "format", "bits"}, plan: planView},
		"stats":   {params: []string{"column", "after", "limit", "format"}, plan: planStats},
		"raw":     {serve: (*Server).raw},
		"zarr":    {options: zarrWords, path: (*Server).zarrPath, plan: planZarr},
		"group":   {options: zarrWords, path: (*Server).groupPath, serve: (*Server).group},
	}
}
