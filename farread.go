// Package farread opens chunked datasets where they lie: in S3 and stores that speak
// its protocol, behind any HTTP server that answers Range requests, or in local files.
// It connects the parts of this module for common uses; each part can be used without
// it.
//
// A URI is s3://bucket/key, https://host/path, file:///path or a local path. If it ends
// in a slash, it names a prefix or folder.
//
// [OpenAny] finds out what a URI names and returns a [Dataset]. A Dataset describes its
// content, lists it and verifies it. The interfaces that it implements read it:
// [Slicer], [Imager], [Itemer], [Viewer], [Chunker] and [Ranger]. Each of them also
// tells the requests and the cost of a read beforehand. If you know the format, open
// the dataset by [OpenArray], [OpenGulp] or another opener of a format: the result has
// all methods of the format.
//
// If a program reads more than one object, it should make a [Client]. Then all reads
// share connections, one limit of requests in flight, one cache, the measurements of
// each store and one [objstore.Counter].
//
// [Slice] reads a part of an array as numbers of Go, and [OpenSlice] does so in one
// call. b2nd.WriteValues writes numbers.
//
// To write a dataset, call [Client.Write] with a URI and a function. The function
// receives an [objstore.Writer] and passes it to the NewWriter of a format: of package
// b2nd, bloscpack, cframe, gulp or zoomcache below formats. Data stream through bounded
// memory. Nothing is visible before all bytes are written, and an error drops all of
// them. The examples of Client.Write write arrays; the example of Client.Bucket writes
// a gulp chunk, which is two objects. farread does not write to http and https URLs.
package farread

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/diskcache"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/rangeio"
)

// Config says how a Client reaches stores, and how much memory and how many requests it
// may use. The zero value is right for most: it means the environment and files of the
// AWS SDK, and 1 GiB of memory.
type Config struct {
	Endpoint  string // URL of a store other than AWS, for s3:// URIs
	Region    string // region; "": from the environment or profile, else learned from the store
	Profile   string // profile in the shared AWS files; "": the default
	Anonymous bool   // sign nothing: for public buckets
	PathStyle bool   // put the bucket in the path instead of the host name

	// AccessKey and SecretKey are used instead of the keys that the SDK finds. Set both
	// or none.
	AccessKey, SecretKey string

	Policy      rangeio.Policy        // planning of reads; zero: rangeio.Fast()
	Concurrency int                   // most requests in flight, for all objects together; 0: 64
	MaxMemory   int64                 // most bytes of buffers and caches; 0: 1 GiB
	Timeout     time.Duration         // time after which a store that has moved less than 1 KiB is given up; 0: 20 s; negative: never
	NoHedge     bool                  // make no second request beside a slow one: see objstore.Hedge
	Ahead       int64                 // most bytes that ReadAt of an object reads ahead: see objstore.OpenOptions
	Counter     *objstore.Counter     // counts the cost of all reads; clients may share it; nil: a new one
	Join        *objstore.Joiner      // for servers: short reads of different callers wait up to 2 ms for each other and share requests; nil: none
	DiskCache   *diskcache.Cache      // keeps what is read of S3 and of plain HTTP for the next run; clients may share it; nil: none
	Middleware  []objstore.Middleware // wrapped around every bucket; the first is the outermost
	Logger      *slog.Logger          // receives debug lines about requests; nil: none
}

const (
	// defaultConcurrency is enough to hide a round trip of 30 ms behind 1 000 small
	// reads. More requests would only wait for the client's own link.
	defaultConcurrency = 64
	defaultMemory      = 1 << 30
	// maxCache bounds the cache of small blocks. It has room for 4 000 blocks, which
	// cover the directories and footers that a process reads again.
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
	trans *http.Transport // transport for all plain HTTP servers; it keeps connections by host

	mu      sync.Mutex
	buckets map[string]store
	besides map[string]bool // folders in which the last opened file had its index beside it

	pacing sync.Mutex
	paces  map[string]*objstore.Pace // pace of each S3 bucket, and of each host of plain HTTP
}

// A store is a bucket in two forms: as its driver made it, and as readers use it.
type store struct {
	driver, bucket objstore.Bucket
}

// New makes a Client. It reads no file and makes no request.
func New(c Config) *Client {
	c = c.withDefaults()
	return &Client{c: c, limit: objstore.Limit(c.Concurrency), cache: objstore.NewCache(min(c.MaxMemory/4, maxCache), 0),
		trans: httpstore.NewTransport(c.Concurrency), buckets: map[string]store{}, paces: map[string]*objstore.Pace{}, besides: map[string]bool{}}
}

// Open opens one object for planned reads and as an io.ReaderAt. It costs one request,
// and pins the object to the version that this request saw. If the name says that the
// directory of the object is at its end (.zip, .npz, .parquet …), Open fetches that as
// well, by one more request in the same phase: see objstore.OptionsFor. If
// Config.DiskCache has what Open reads, the request is for one byte, or none is needed;
// see diskcache.Config.
func (c *Client) Open(ctx context.Context, uri string) (*objstore.Object, error) {
	return c.OpenWith(ctx, uri, objstore.OpenOptions{})
}

// OpenWith is Open with other options. The client sets Cache, Keep, Pace, Counter and
// Logger, and the options that are zero in o. If o says which part to fetch (Head, Tail
// or Also), the name does not matter.
func (c *Client) OpenWith(ctx context.Context, uri string, o objstore.OpenOptions) (*objstore.Object, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.OpenObject(ctx, b, key, o)
}

// OpenObject is OpenWith for a key of a bucket. It parses no text: the key may hold
// characters that have a meaning in a URI. The bucket comes from Client.Bucket, or is
// any other one. Every method of Client that takes a bucket gives another bucket the
// client's limit, counter and middlewares, for the opened objects only: the calls of
// this bucket are counted then. If the bucket already counts with Config.Counter, the
// client uses it as it is. If the bucket wraps one from Client.Bucket, it must be an
// objstore.Wrapper, or its calls are counted twice.
func (c *Client) OpenObject(ctx context.Context, b objstore.Bucket, key string, o objstore.OpenOptions) (*objstore.Object, error) {
	if key == "" || key[len(key)-1] == '/' {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: key,
			Err: fmt.Errorf("a folder, not an object: %w", objstore.ErrInvalid)}
	}
	if o.Head == 0 && o.Tail == 0 && o.Also.Len == 0 && !isLocal(b) {
		ends := objstore.OptionsFor(key)
		o.Head, o.Tail = ends.Head, ends.Tail
	}
	return c.open(ctx, b, key, o)
}

func (c *Client) open(ctx context.Context, b objstore.Bucket, key string, o objstore.OpenOptions) (*objstore.Object, error) {
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = c.c.Policy
	}
	b = c.ours(b)
	if o.Join == nil {
		o.Join = c.c.Join
	}
	o.Cache, o.Keep, o.Pace, o.Counter, o.Logger = c.cache, c.keeper(b), c.pace(b), c.c.Counter, c.c.Logger
	if o.Ahead == 0 {
		o.Ahead = c.c.Ahead
	}
	if isLocal(b) {
		o.Stall = -1 // nothing can interrupt a read of a file
	}
	return objstore.Open(ctx, b, key, o)
}

// Stats returns the cost of the client since New: every request of its buckets, also of
// listings, writes and repetitions; the received bytes of bodies; and the phases,
// repetitions and cache hits of its objects. Reads of local files count like requests.
// If Config.Counter is set, Stats returns everything that it has counted, for other
// clients, too.
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

// shared returns the client of Open and similar functions. There is only one, so that
// they share connections and caches. It has no options. It reads the environment when a
// bucket is first named.
var shared = sync.OnceValue(func() *Client { return New(Config{}) })

// Open opens one object with a Client that all functions of this package share. It is
// the shortest way to an io.ReaderAt over an object. It costs one request.
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
