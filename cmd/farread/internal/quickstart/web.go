package quickstart

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log" //nolint:depguard // net/http takes no other logger
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/farread/farread/cmd/farread/internal/demo"
	"github.com/farread/farread/gateway"
	"github.com/farread/farread/internal/viewer"
)

// A Served is one answer over HTTP, checked.
type Served struct {
	URL  string  `json:"url"`  // of the server, while the quickstart runs
	Link string  `json:"link"` // what was asked for
	MS   float64 `json:"ms"`
	OK   bool    `json:"ok"` // equal to the source
}

// webMemory is more than any link of the page takes.
const webMemory = 128 << 20

// web is a server of the datasets.
type web struct {
	gateway *gateway.Server
	server  *http.Server
	ended   chan struct{}
}

// startWeb serves the bucket of datasets on loopback, as `farread serve` does.
func (t *tour) startWeb(ctx context.Context) error {
	g, err := gateway.New(gateway.Config{Client: t.writer, Roots: []gateway.Root{{Name: datasets, Bucket: t.datasets}}, Memory: webMemory, Cache: webMemory / 2,
		Hosts: []string{}, Viewer: viewer.Handler()})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(0))
	if err != nil {
		_ = g.Close() // it fails never
		return unavailable("serving the datasets: %v", err)
	}
	w := &web{gateway: g, ended: make(chan struct{}), server: &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}}
	go func() {
		defer close(w.ended)
		_ = w.server.Serve(l) // it ends by Close
	}()
	t.web, t.report.Served.URL = w, "http://"+l.Addr().String()
	return nil
}

// stop ends the server and what it reads.
func (w *web) stop() {
	if w == nil {
		return
	}
	_ = w.gateway.Close() // it fails never
	_ = w.server.Close()  // clients of others may be in the middle of an answer
	<-w.ended
}

// A row of the storm that is asked for, and its items from one column on.
const (
	servedTime, servedRow, servedFrom = 30, 100, 160
	servedItems                       = 4
)

// ask asks the server for a few items of the storm, and compares them.
func (t *tour) ask(ctx context.Context, storm demo.Volume) error {
	s := &t.report.Served
	begun := time.Now()
	s.Link = fmt.Sprintf("%s/slice/%s/%s?s=%d,%d,%d:%d&format=json", s.URL, datasets, t.report.Outputs[stormOutput].Key, servedTime, servedRow, servedFrom, servedFrom+servedItems)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Link, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		return unavailable("%v", err)
	}
	defer a.Body.Close()
	p, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	if err != nil {
		return unavailable("%s: %v", s.Link, err)
	}
	at := (servedTime*storm.Shape[1]+servedRow)*storm.Shape[2] + servedFrom
	var got []float32
	if err := json.Unmarshal(p, &got); err != nil || a.StatusCode != http.StatusOK || !slices.Equal(got, storm.Values[at:at+servedItems]) {
		return fmt.Errorf("%s: %s %.200s: %w", s.Link, a.Status, p, ErrMismatch)
	}
	s.MS, s.OK = ms(time.Since(begun)), true
	t.page.served(*s, string(p))
	return nil
}
