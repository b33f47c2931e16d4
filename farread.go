// Package farread opens chunked datasets where they lie: in S3 and stores that
// speak its protocol, behind any HTTP server that answers Range requests, or in
// local files. It wires the parts of this module together for the common case;
// each part can be used without it.
//
// A URI is s3://bucket/key, https://host/path, file:///path or a local path. One
// that ends in a slash names a prefix or folder.
//
// [OpenAny] finds out what a URI names and gives a [Dataset]: what it is, what is inside,
// whether it is sound, and by the interfaces that it implements what can be read of it
// ([Slicer], [Imager], [Itemer], [Viewer], [Chunker], [Ranger]), each with its plan and
// its cost beforehand. Who knows the format opens by name ([OpenArray], [OpenGulp], …),
// and has all that the format can do.
//
// Programs that read more than one object make a [Client], so that all reads
// share connections, one limit of requests in flight, one cache, one measured
// pace and one [objstore.Counter].
//
// To write a dataset, take the bucket and the key of a URI from [Client.Bucket],
// create the object with [objstore.Bucket.Create], and give the [objstore.Writer] to
// NewWriter of a format: of package b2nd, bloscpack, cframe, gulp or zoomcache below
// formats. Data stream through bounded memory; nothing is visible before Commit, and
// Abort drops all. The examples of Client.Bucket write an array and a gulp chunk.
// Servers behind http and https URLs are only read.
package farread

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/rangeio"
)

// Config says how a Client reaches stores and what it may spend. The zero value
// is right for most: the AWS SDK's own environment and files, 1 GiB of memory.
type Config struct {
	Endpoint  string // URL of another store than AWS, for s3:// URIs
	Region    string // "": from the environment or profile, else learned from the store
	Profile   string // of the shared AWS files
	Anonymous bool   // sign nothing: public buckets
	PathStyle bool   // bucket in the path instead of the host name

	// AccessKey and SecretKey are used instead of the SDK's search; both or none.
	AccessKey, SecretKey string

	Policy      rangeio.Policy        // of reads; zero: rangeio.Fast()
	Concurrency int                   // requests in flight, all objects together; 0: 64
	MaxMemory   int64                 // ceiling for buffers and caches; 0: 1 GiB
	Timeout     time.Duration         // a store that has not brought or taken 1 KiB for so long is given up; 0: 20 s, negative: never
	Counter     *objstore.Counter     // counts what all reads cost, shared with whoever has it; nil: one of the client's own
	Middleware  []objstore.Middleware // wrapped around every bucket, the first outermost
	Logger      *slog.Logger          // debug lines about requests; nil: none
}

const (
	// defaultConcurrency is what hides a round trip of 30 ms behind 1 000
	// small reads; more only queues at the client's own link.
	defaultConcurrency = 64
	defaultMemory      = 1 << 30
	// maxCache bounds the cache of small blocks: 4 000 of them cover the
	// directories and footers that a process reads again.
	maxCache = 256 << 20
)

func (c Config) withDefaults() Config {
	if c.Policy == (rangeio.Policy{}) {
		c.Policy = rangeio.Fast()
	}
	if c.Concurrency <= 0 {
		c.Concurrency = defaultConcurrency
	}
	if c.MaxMemory <= 0 {
		c.MaxMemory = defaultMemory
	}
	if c.Counter == nil {
		c.Counter = &objstore.Counter{}
	}
	return c
}

// A Client opens objects. Its methods are safe for concurrent use. It keeps
// idle connections, which CloseIdleConnections closes.
type Client struct {
	c     Config
	limit objstore.Middleware
	cache *objstore.Cache
	pace  *objstore.Pace
	trans *http.Transport // of all plain HTTP servers; it keeps connections by host

	mu      sync.Mutex
	buckets map[string]store
	besides map[string]bool // folders in which an index lay beside the file that was opened last
}

// A store is a bucket as its driver made it and as readers use it.
type store struct {
	driver, bucket objstore.Bucket
}

// New makes a Client. It reads no file and makes no request.
func New(c Config) *Client {
	c = c.withDefaults()
	return &Client{c: c, limit: objstore.Limit(c.Concurrency), cache: objstore.NewCache(min(c.MaxMemory/4, maxCache), 0),
		pace: &objstore.Pace{}, trans: httpstore.NewTransport(c.Concurrency), buckets: map[string]store{}, besides: map[string]bool{}}
}

// Open opens one object for io.ReaderAt and planned reads: one request. The
// object is pinned to the version that this request saw.
func (c *Client) Open(ctx context.Context, uri string) (*objstore.Object, error) {
	return c.OpenWith(ctx, uri, objstore.OpenOptions{})
}

// OpenWith is Open with other options. Those that o leaves at zero, and Cache,
// Pace, Counter and Logger, are the client's.
func (c *Client) OpenWith(ctx context.Context, uri string, o objstore.OpenOptions) (*objstore.Object, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.OpenObject(ctx, b, key, o)
}

// OpenObject is OpenWith for a key of a bucket, which is one of Client.Bucket's. No
// text is parsed: the key may hold what would mean something else in a URI.
func (c *Client) OpenObject(ctx context.Context, b objstore.Bucket, key string, o objstore.OpenOptions) (*objstore.Object, error) {
	if key == "" || key[len(key)-1] == '/' {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: key,
			Err: fmt.Errorf("a folder, not an object: %w", objstore.ErrInvalid)}
	}
	return c.open(ctx, b, key, o)
}

func (c *Client) open(ctx context.Context, b objstore.Bucket, key string, o objstore.OpenOptions) (*objstore.Object, error) {
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = c.c.Policy
	}
	o.Cache, o.Pace, o.Counter, o.Logger = c.cache, c.pace, c.c.Counter, c.c.Logger
	if isLocal(b) {
		o.Stall = -1 // no read of a file can be ended from outside
	}
	return objstore.Open(ctx, b, key, o)
}

// Stats is what the client has cost since New: every request that its buckets
// sent, listings, writes and repetitions included, the bytes of bodies received,
// and the phases, repetitions and cache hits of what it opened. Reads of local
// files count like requests. With Config.Counter it is what that has counted, also
// for others.
func (c *Client) Stats() rangeio.Stats { return c.c.Counter.Stats() }

// CloseIdleConnections closes connections that are kept for later requests.
func (c *Client) CloseIdleConnections() {
	c.trans.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.buckets {
		if d, ok := s.driver.(interface{ CloseIdleConnections() }); ok {
			d.CloseIdleConnections()
		}
	}
}

// shared is the client of Open and the functions like it: one, so that they share
// connections and caches. Nothing of it can be set. It sees the environment as it is
// when a bucket is named first.
var shared = sync.OnceValue(func() *Client { return New(Config{}) })

// Open opens one object with a Client that all functions of this package share: the
// whole of farread in one line for those who need an io.ReaderAt over an object. It
// costs one request.
func Open(ctx context.Context, uri string) (*objstore.Object, error) {
	return shared().Open(ctx, uri)
}

// OpenGulp opens one gulp chunk with the Client of Open; see Client.OpenGulp.
func OpenGulp(ctx context.Context, uri string) (*Gulp, error) {
	return shared().OpenGulp(ctx, uri, GulpOptions{})
}

// OpenGulpDataset opens a folder or prefix of gulp chunks with the
// Client of Open; see Client.OpenGulpDataset.
func OpenGulpDataset(ctx context.Context, uri string) (*GulpDataset, error) {
	return shared().OpenGulpDataset(ctx, uri, GulpOptions{})
}

// OpenFrame opens a Blosc2 frame with the Client of Open; see Client.OpenFrame.
func OpenFrame(ctx context.Context, uri string) (*Frame, error) {
	return shared().OpenFrame(ctx, uri, FrameOptions{})
}

// OpenArray opens an n-dimensional array with the Client of Open; see
// Client.OpenArray.
func OpenArray(ctx context.Context, uri string) (*Array, error) {
	return shared().OpenArray(ctx, uri, FrameOptions{})
}

// OpenChunk opens a bare Blosc chunk with the Client of Open; see
// Client.OpenChunk.
func OpenChunk(ctx context.Context, uri string) (*Chunk, error) {
	return shared().OpenChunk(ctx, uri, FrameOptions{})
}
