package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/rangeio"
)

// http2 compares one connection of HTTP/2, as the client takes it where a server offers
// it, with many of HTTP/1.1 to the same server, both encrypted. Cold is with new
// connections each time.
func http2(ctx context.Context, b *bench) ([]row, error) {
	data := make([]byte, pick(b, 128<<20, 8<<20))
	for n := 0; n < len(data); n += 1 << 20 {
		fillBlock(data[n:][:1<<20], n)
	}
	var rs []row
	for _, delay := range []time.Duration{0, 30 * time.Millisecond} {
		var dials atomic.Int64
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			<-time.After(delay)
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		}))
		srv.EnableHTTP2 = true
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				dials.Add(1)
			}
		}
		srv.StartTLS()
		r, err := b.http2At(ctx, srv, delay, data, &dials)
		srv.Close()
		if err != nil {
			return nil, err
		}
		rs = append(rs, r...)
	}
	return rs, nil
}

func (b *bench) http2At(ctx context.Context, srv *httptest.Server, delay time.Duration, data []byte, dials *atomic.Int64) ([]row, error) {
	var rs []row
	for _, small := range []bool{true, false} {
		for _, cold := range []bool{true, false} {
			two, one := httpSide(srv, true, cold, small, data), httpSide(srv, false, cold, small, data)
			before := dials.Load()
			if _, err := one(ctx); err != nil {
				return nil, err
			}
			many := dials.Load() - before
			d, err := b.interleave(ctx, two, one)
			if err != nil {
				return nil, err
			}
			what, amount := fmt.Sprintf("%d MiB into memory", len(data)>>20), float64(len(data))
			if small {
				what, amount = fmt.Sprintf("%d reads of 4 KiB here and there", smallReads), smallReads*4<<10
			}
			state := "warm"
			if cold {
				state = "cold"
			}
			r := against(fmt.Sprintf("HTTP/2 to HTTP/1.1: %s, %s, %v before each answer", what, state, delay), "B", amount, d[0], d[1], 0)
			r.note = fmt.Sprintf("one connection to %d", many)
			rs = append(rs, r)
		}
	}
	return rs, nil
}

const smallReads = 500

// httpSide reads by one version of HTTP. Warm sides have their connections already.
func httpSide(srv *httptest.Server, two, cold, small bool, data []byte) side {
	newTransport := func() *http.Transport {
		t := httpstore.NewTransport(0)
		t.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone() //nolint:forcetypeassert // httptest's own
		if t.ForceAttemptHTTP2 = two; !two {
			t.TLSClientConfig.NextProtos = nil
			t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			t.Protocols = nil
		}
		return t
	}
	transport := newTransport()
	return func(ctx context.Context) (time.Duration, error) {
		if cold {
			transport.CloseIdleConnections()
			transport = newTransport()
		}
		start := time.Now()
		bk, err := httpstore.New(httpstore.Config{Base: srv.URL, Transport: transport})
		if err != nil {
			return 0, err
		}
		o, err := objstore.Open(ctx, bk, "k", objstore.OpenOptions{})
		if err != nil {
			return 0, err
		}
		spans := []rangeio.Span{{P: make([]byte, len(data))}}
		if small {
			spans = nil
			for i := range smallReads {
				spans = append(spans, rangeio.Span{Off: int64(i) * int64(len(data)) / smallReads, P: make([]byte, 4<<10)})
			}
		}
		if err := o.ReadRanges(ctx, spans); err != nil {
			return 0, err
		}
		took := time.Since(start)
		for _, s := range spans {
			if !bytes.Equal(s.P, data[s.Off:s.End()]) {
				return 0, fmt.Errorf("wrong bytes at %d", s.Off)
			}
		}
		return took, nil
	}
}
