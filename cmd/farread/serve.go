package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/gateway"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/viewer"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	as                          []string
	addr, metricsAddr           string
	ready, public, noRaw        bool
	open, noViewer              bool
	any, withStdin              bool
	cors, hosts                 []string
	tokenFile, cert, key        string
	ttl                         time.Duration
	cache, maxResponse, maxRead sizeFlag
	redirectRaw                 sizeFlag
	page                        string // what of the page is opened, for the command that shows one dataset
}

// defaultServe has the flags that are not zero if they are not given.
func defaultServe() *serveFlags {
	return &serveFlags{addr: "127.0.0.1:8080", ttl: 10 * time.Second, cache: 256 << 20, maxResponse: 64 << 20, maxRead: 256 << 20}
}

func newServe(a *app) *cobra.Command {
	o := defaultServe()
	c := &cobra.Command{
		Use: "serve [NAME=]URI... [--as NAME]", DisableFlagsInUseLine: true, Short: "Answer over HTTP for datasets below some places",
		Long: `Answer HTTP requests about everything below the given places, the roots, until
Ctrl-C. Nothing else can be reached, and nothing is written. A root is called NAME, or
as its last path element. The address itself is a page to look at all that in a browser
(--open). Other paths are /VERB/ROOT/KEY?...:

  /info/ROOT/KEY    what it is, as JSON
  /ls/ROOT/FOLDER/  a page of a folder; without the last slash, of what is in a dataset
  /slice/ROOT/KEY   ?s=0:10,5,::2 of an array as npy, json, png, arrow, ... (&format=)
  /get/ROOT/KEY     ?id=NAME&frame=3, ?item=7, ?items=0:10 or ?chunk=2
  /view/ROOT/KEY    ?track=1&width=2000 of a series as json, npy, csv, dat, png or svg
  /stats/ROOT/KEY   least, greatest, NaN and zeros of each chunk, if an index has them
  /batches/ROOT/KEY ?n=32&seed=1&rank=0&world=8: shuffled images of a gulp dataset
  /zarr/ROOT/KEY/   an array in chunks, for clients of Zarr v3: zarr.json, c/0/1, ...
  /group/ROOT/KEY/  an array, or the arrays of a folder, as a Zarr group, for xarray
  /raw/ROOT/KEY     bytes as they are stored, with Range
  /healthz, /metrics

An answer beyond --max-response, or that needs more than --max-read, is refused before
anything is read (413); requests wait in turn for memory. Answers have an ETag, and a
dataset is believed to be current for --ttl. /info tells a version: with
/slice~v-VERSION/... answers never change, or are refused (409).

On an address of this machine alone no token is needed. On any other, give
--token-file or --public. Pages of other origins may read answers only with --cors.
The log, a line of JSON for each request, goes to stderr unless --quiet is set.

For programs of yours, --addr unix: listens where nobody else can connect, --any lets
them ask for any URI that you can read, and --exit-with-stdin ends it with them.`,
		Example: `  farread serve weather.b2nd --open
  farread serve s3://arrays/ series=s3://datasets/series/ --addr 127.0.0.1:0
  farread serve --any --addr unix: --exit-with-stdin --ready-json
  farread serve . --as here --addr 127.0.0.1:0 --cors https://viewer.example --ready-json --quiet`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !o.any {
				return usagef("missing URI")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.serve(cmd.Context(), args, o)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.as, "as", nil, "`NAME` of the root; of several roots in their order")
	f.StringVar(&o.addr, "addr", o.addr, "`ADDRESS` to listen at; port 0 takes a free one; unix:FILE is a socket for you alone, unix: one in a new folder")
	f.BoolVar(&o.ready, "ready-json", false, "when it listens, say so by one line of JSON on stdout")
	f.BoolVar(&o.any, "any", false, "answer for any URI: /VERB/~BASE64URL, besides the roots")
	f.BoolVar(&o.withStdin, "exit-with-stdin", false, "end when standard input ends, as when the parent dies")
	f.StringSliceVar(&o.cors, "cors", nil, "`ORIGINS` whose pages may read answers, or *")
	f.StringVar(&o.tokenFile, "token-file", "", "`FILE` with the token that requests must bear; - is the first line of stdin")
	f.BoolVar(&o.public, "public", false, "answer everybody who can reach the address, without a token")
	f.StringSliceVar(&o.hosts, "host", nil, "host `NAMES` to answer for besides localhost and addresses")
	f.DurationVar(&o.ttl, "ttl", o.ttl, "how long a dataset is believed to be current")
	f.Var(&o.cache, "cache-memory", "memory for chunks and answers that are kept; --cache with a size is the same")
	f.Var(&o.maxResponse, "max-response", "largest answer, except of raw")
	f.Var(&o.maxRead, "max-read", "most stored bytes that an answer may need")
	f.StringVar(&o.cert, "tls-cert", "", "`FILE` of the certificate, for HTTPS and HTTP/2")
	f.StringVar(&o.key, "tls-key", "", "`FILE` of the certificate's key")
	f.StringVar(&o.metricsAddr, "metrics-addr", "", "`ADDRESS` for /metrics, instead of the same")
	f.Var(&o.redirectRaw, "redirect-raw", "from this `SIZE` on, send clients of raw to S3 by a presigned URL")
	f.Lookup("redirect-raw").DefValue = "0" // help leaves out what is off
	f.BoolVar(&o.noRaw, "no-raw", false, "do not serve bytes as they are stored")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	f.BoolVar(&o.noViewer, "no-viewer", false, "serve no page")
	return c
}

// serve runs the server of the arguments until the context ends.
func (a *app) serve(ctx context.Context, args []string, o *serveFlags) error {
	roots, err := a.roots(ctx, args, o.as)
	if err != nil {
		return err
	}
	return a.serveRoots(ctx, roots, o)
}

// serveRoots runs a server until the context ends.
func (a *app) serveRoots(ctx context.Context, roots []gateway.Root, o *serveFlags) (err error) {
	if o.cert == "" != (o.key == "") {
		return usagef("--tls-cert and --tls-key: want both")
	}
	if o.maxResponse < 1 || o.maxRead < 1 {
		return usagef("--max-response %s and --max-read %s: want more than 0", &o.maxResponse, &o.maxRead)
	}
	if err := o.checkLocal(); err != nil {
		return err
	}
	if a.memory > 0 {
		o.cache = a.memory
	}
	most := int64(a.flags.maxMemory)
	c := gateway.Config{Client: a.client, Roots: roots, Any: o.any, TTL: o.ttl, MaxResponse: int64(o.maxResponse), MaxRead: int64(o.maxRead),
		Cache: min(int64(o.cache), most/4), Memory: most / 2, CORS: o.cors, NoRaw: o.noRaw, RedirectRaw: int64(o.redirectRaw), NoMetrics: o.metricsAddr != "", Log: a.accessLog(o)}
	if o.ttl == 0 {
		c.TTL = -1
	}
	if c.Cache == 0 {
		c.Cache = -1
	}
	if o.local() {
		c.Stall = patient
	}
	ctx, secret, err := a.heed(ctx, o)
	if err != nil {
		return err
	}
	if c.Token = secret; secret == "" {
		c.Token, err = token(o.tokenFile)
	}
	if err != nil {
		return err
	}
	if o.noViewer && o.open {
		return usagef("--open: there is no page with --no-viewer")
	}
	if !o.noViewer {
		c.Viewer = viewer.Handler()
	}
	l, done, err := o.listener(ctx)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", human.Printable(o.addr), err)
	}
	defer done()
	defer func() { _ = l.Close() }() // the server may have closed it
	alone := o.local() || loopback(l.Addr())
	if !alone && o.any {
		return usagef("--any answers for whatever you can read: %s can be reached from elsewhere", human.Printable(o.addr))
	}
	if !alone && c.Token == "" && !o.public {
		return usagef("--addr %s can be reached from elsewhere: give --token-file, or --public", human.Printable(o.addr))
	}
	if alone || o.hosts != nil {
		c.Hosts = append([]string{}, o.hosts...)
	}
	g, err := gateway.New(c)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }() // it fails never
	debug.SetMemoryLimit(most)
	return a.listen(ctx, g, l, o)
}

// listen answers until the context ends, and lets answers in progress end.
func (a *app) listen(ctx context.Context, g *gateway.Server, l net.Listener, o *serveFlags) error {
	servers := []*http.Server{newHTTP(g)}
	ended := make(chan error, 2)
	if o.metricsAddr != "" {
		m, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.metricsAddr)
		if err != nil {
			return fmt.Errorf("--metrics-addr %s: %w", human.Printable(o.metricsAddr), err)
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", g.Metrics())
		servers = append(servers, newHTTP(mux))
		go func() { ended <- servers[1].Serve(m) }()
	}
	address := "http://" + l.Addr().String()
	if o.local() {
		address = unixAddress + l.Addr().String()
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return usagef("--tls-cert and --tls-key: %s", err)
		}
		servers[0].TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		address = "https://" + l.Addr().String()
	}
	go func() {
		if o.cert != "" {
			ended <- servers[0].ServeTLS(l, "", "")
			return
		}
		ended <- servers[0].Serve(l)
	}()
	if err := a.tellAddress(address, o); err != nil {
		return errors.Join(err, stopAll(ctx, servers, 0))
	}
	if o.open {
		go func() {
			at := pageAddress(address) + o.page
			if err := openPage(ctx, at); err != nil {
				a.remark("--open: %s: open %s yourself", err, at)
			}
		}()
	}
	select {
	case err := <-ended:
		return errors.Join(err, stopAll(ctx, servers, 0))
	case <-ctx.Done():
		a.served = true
		return stopAll(ctx, servers, windDown)
	}
}

const (
	windDown  = 500 * time.Millisecond // for answers in progress: the command is abandoned after sink.Grace
	mostHead  = 16 << 10
	idleLimit = 2 * time.Minute
	headLimit = 10 * time.Second
)

func newHTTP(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headLimit, IdleTimeout: idleLimit, MaxHeaderBytes: mostHead, ErrorLog: log.New(io.Discard, "", 0)}
}

// stopAll ends servers: new connections at once, answers in progress after a time.
func stopAll(ctx context.Context, servers []*http.Server, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	var all error
	for _, s := range servers {
		if s.Shutdown(ctx) != nil {
			all = errors.Join(all, s.Close())
		}
	}
	return all
}

// tellAddress says where the server listens.
func (a *app) tellAddress(address string, o *serveFlags) error {
	if o.page != "" {
		address = pageAddress(address) + o.page
	}
	if o.ready {
		return writeJSON(a.stdout, struct {
			URL string `json:"url"`
		}{address})
	}
	if o.page != "" {
		_, err := fmt.Fprintf(a.stdout, "showing %s until Ctrl-C\n", address)
		return err
	}
	path := "/"
	switch {
	case o.local():
		path = ""
	case o.noViewer:
		path = "/ls/"
	}
	_, err := fmt.Fprintf(a.stdout, "serving at %s%s until Ctrl-C\n", address, path)
	return err
}

// accessLog returns the logger of requests. There is none of a page that shows one dataset.
func (a *app) accessLog(o *serveFlags) *slog.Logger {
	if a.flags.quiet || o.page != "" {
		return nil
	}
	return slog.New(slog.NewJSONHandler(a.stderr, nil))
}

// loopback reports whether only this machine can reach an address.
func loopback(at net.Addr) bool {
	t, ok := at.(*net.TCPAddr)
	return ok && t.IP.IsLoopback()
}

// token reads a token from a file, or nothing if there is no file.
func token(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	p, err := os.ReadFile(file)
	if err != nil {
		return "", at(file, err)
	}
	return oneToken(human.Printable(file), string(p))
}

// oneToken is the token that a text is.
func oneToken(what, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, " \t\r\n") || len(text) > 4096 {
		return "", usagef("%s: want one token, without blanks", what)
	}
	return text, nil
}

var rootName = regexp.MustCompile(`^[A-Za-z0-9._-]+=`)

// roots finds the places of the arguments, and their names.
func (a *app) roots(ctx context.Context, args, as []string) ([]gateway.Root, error) {
	if len(as) > len(args) {
		return nil, usagef("--as %s: there is no root for it", human.Printable(as[len(as)-1]))
	}
	var list []gateway.Root
	for i, arg := range args {
		name, uri := "", arg
		if head := rootName.FindString(arg); head != "" {
			name, uri = strings.TrimSuffix(head, "="), arg[len(head):]
		}
		if i < len(as) {
			name = as[i]
		}
		p, err := a.client.Place(ctx, uri)
		if err == nil {
			err = there(ctx, p)
		}
		if err != nil {
			return nil, at(uri, err)
		}
		if name == "" {
			name = lastName(uri)
		}
		if slices.ContainsFunc(list, func(r gateway.Root) bool { return r.Name == name }) {
			return nil, usagef("two roots are called %s: give one another name, NAME=URI", human.Printable(name))
		}
		if name == "" || strings.Contains(name, "/") || name == "." || name == ".." {
			return nil, usagef("%s: give it a name, NAME=URI", human.Printable(uri))
		}
		list = append(list, gateway.Root{Name: name, Bucket: p.Bucket, Key: p.Key})
	}
	return list, nil
}

// there refuses a local path that does not exist. Of stores nothing is asked.
func there(ctx context.Context, p farread.Place) error {
	if !isLocal(p.Bucket) || p.Key == "" {
		return nil
	}
	_, err := p.Bucket.Head(ctx, p.Key)
	return err
}

// lastName is the last path element of a URI.
func lastName(uri string) string {
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		if u, err := url.Parse(uri); err == nil && strings.HasPrefix(scheme, "http") {
			rest = u.Host + u.Path
		}
		return path.Base(strings.TrimRight(rest, "/"))
	}
	if full, err := filepath.Abs(uri); err == nil {
		uri = full
	}
	return filepath.Base(uri)
}
