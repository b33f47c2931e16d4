package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// manyItems is the number of 4-byte items in a chunk of the arrays of many chunks.
const manyItems = 128

// A manyArray is a file with an array of n x manyItems in n chunks.
type manyArray struct {
	path string
	n    int64
	size int64
}

// manyRow returns row i of such an array: no two are equal, and lengths differ when encoded.
func manyRow(i int64) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // data
	p := make([]byte, 4*manyItems)
	for k := range 16 + int(i%7)*4 {
		binary.LittleEndian.PutUint32(p[4*k:], r.Uint32())
	}
	return p
}

func (b *bench) newMany(ctx context.Context, n int64, ix cframe.IndexChoice) (*manyArray, error) {
	sub, err := b.sub("many")
	if err != nil {
		return nil, err
	}
	dir, err := filestore.New(filestore.Config{Dir: sub, NoSync: true})
	if err != nil {
		return nil, err
	}
	out, err := dir.Create(ctx, "x.b2nd", objstore.PutOptions{})
	if err != nil {
		return nil, err
	}
	defer out.Abort()
	m := b2nd.Meta{Shape: []int64{n, manyItems}, ChunkShape: []int{1, manyItems}, BlockShape: []int{1, manyItems}, DType: "<u4"}
	w, err := b2nd.NewWriter(out, m, b2nd.WriteOptions{Index: ix, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}})
	if err != nil {
		return nil, err
	}
	for i := range n {
		if _, err := w.Write(manyRow(i)); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	in, err := out.Commit(ctx)
	return &manyArray{filepath.Join(sub, "x.b2nd"), n, in.Size}, err
}

// A farServer serves files with a delay before each answer, and counts.
type farServer struct {
	l               net.Listener
	server          *http.Server
	requests, bytes atomic.Int64
}

// countedBody counts the bytes of bodies.
type countedBody struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c countedBody) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p))) // before: once it is written, the client may ask for the count
	return c.ResponseWriter.Write(p)
}

func newFarServer(ctx context.Context, dir string, p profile) (*farServer, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &farServer{l: l}
	s.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(path.Clean("/"+r.URL.Path))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer func() { _ = f.Close() }()
		if i, err := f.Stat(); err != nil || i.IsDir() {
			http.NotFound(w, r)
			return
		}
		if !wait(r.Context(), p.first) {
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(countedBody{w, &s.bytes}, r, "", time.Time{}, f)
	})}
	go func() { _ = s.server.Serve(l) }() // ends with close
	return s, nil
}

func (s *farServer) close() { _ = s.server.Close() }

// afarMany reads one row of arrays of 10^2 to 10^6 chunks from a server that is 30 ms away,
// cold, with an index inside and without: time, requests and bytes at the server,
// phases, and the memory that the open array holds.
func afarMany(ctx context.Context, b *bench) ([]row, error) {
	var rs []row
	for _, n := range pick(b, []int64{100, 1000, 10_000, 100_000, 1_000_000}, []int64{100, 20_000}) {
		for _, with := range []bool{true, false} {
			r, err := b.manyRows(ctx, n, with)
			if err != nil {
				return nil, err
			}
			rs = append(rs, r...)
		}
	}
	return rs, nil
}

// manyRows measures one array by two policies.
func (b *bench) manyRows(ctx context.Context, n int64, with bool) ([]row, error) {
	ix := cframe.NoIndex
	if with {
		ix = cframe.CheapIndex
	}
	x, err := b.newMany(ctx, n, ix)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(x.path) }()
	s, err := newFarServer(ctx, filepath.Dir(x.path), rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	var rs []row
	for _, policy := range []struct {
		name string
		p    rangeio.Policy
	}{{"fast", rangeio.Fast()}, {"lean", rangeio.Lean()}} {
		p, err := b.manyPoint(ctx, x, s, policy.p)
		if err != nil {
			return nil, err
		}
		r := row{job: fmt.Sprintf("one row of %d chunks, index %t, %s", n, with, policy.name), ours: ms(p.took),
			note: fmt.Sprintf("%d requests, %d phases, %d bytes; %d held, opened in %s; a file of %s", p.requests, p.phases, p.bytes, p.held, ms(p.opened), mib(x.size))}
		if with && n >= 1_000_000 {
			r.goal, r.judged, r.met = "2 phases, <= 96 KB", true, p.phases == 2 && p.bytes <= 96_000
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// A farPoint is what a cold read took.
type farPoint struct {
	took, opened            time.Duration
	requests, phases, bytes int64
	held                    int64
}

// manyPoint opens an array and reads a row of it, each time with a client of its own.
func (b *bench) manyPoint(ctx context.Context, x *manyArray, s *farServer, policy rangeio.Policy) (out farPoint, err error) {
	var took, opened []time.Duration
	for round := range max(b.rounds, 1) {
		client := farread.New(farread.Config{Policy: policy, Counter: &objstore.Counter{}})
		i := x.n/2 + int64(round)
		requests, sent := s.requests.Load(), s.bytes.Load()
		start := time.Now()
		a, err := client.OpenArray(ctx, "http://"+s.l.Addr().String()+"/x.b2nd", farread.FrameOptions{})
		if err != nil {
			return out, err
		}
		opened = append(opened, time.Since(start))
		got := make([]byte, 4*manyItems)
		err = a.ReadSlice(ctx, got, b2nd.Sub([]int64{i, 0}, []int64{i + 1, manyItems}))
		took = append(took, time.Since(start))
		if err == nil && !bytes.Equal(got, manyRow(i)) {
			err = errors.New("the row is wrong")
		}
		client.CloseIdleConnections()
		if err != nil {
			return out, err
		}
		out.requests, out.bytes = s.requests.Load()-requests, s.bytes.Load()-sent
		out.phases, out.held = client.Stats().Phases, a.HeldBytes()
	}
	slices.Sort(took)
	slices.Sort(opened)
	out.took, out.opened = took[len(took)/2], opened[len(opened)/2]
	return out, nil
}
