package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// A farSet is one array in the forms of all sides, in a folder that a server serves:
// x.b2nd, and for zarr the folders small, objects and shards.
type farSet struct {
	dir   string
	shape []int64
	size  int64 // bytes of the items
}

// peersFrom are the peers, by the names of their forms.
func peersFrom() []struct{ name, reader, path string } {
	return []struct{ name, reader, path string }{
		{"python-blosc2 lazy, same file", "blosc2", "x.b2nd"},
		{"zarr + obstore, an object for each of our blocks", "zarr", "small"},
		{"zarr + obstore, an object for each of our chunks", "zarr", "objects"},
		{"zarr + obstore, shards", "zarr", "shards"},
	}
}

// afarPeers reads the same items from afar with all peers, cold: a point, a column through all
// chunks, a plane, everything; and finds numbers of a sorted column by their values.
func afarPeers(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.farPython(ctx)
	if err != nil {
		return nil, err
	}
	n := pick(b, int64(1000), 40)
	cube, err := b.farCube(ctx, p, n)
	if err != nil {
		return nil, err
	}
	rs, err := b.farReads(ctx, p, cube, []farRead{
		{"a point", fmt.Sprintf("[%d, 100, 100]", n/2), b2nd.Sub([]int64{n / 2, 100, 100}, []int64{n/2 + 1, 101, 101})},
		{fmt.Sprintf("a column through %d chunks", n), "[null, 100, 100]", b2nd.Sub([]int64{0, 100, 100}, []int64{n, 101, 101})},
		{"a plane", fmt.Sprintf("[%d, null, null]", n/2), b2nd.Sub([]int64{n / 2, 0, 0}, []int64{n/2 + 1, 256, 256})},
		{"all of it", "[null, null, null]", b2nd.Whole(cube.shape)},
	})
	if err != nil {
		return nil, err
	}
	more, err := b.farSearch(ctx, p)
	return append(rs, more...), err
}

// farPython starts the peers, or says why it cannot.
func (b *bench) farPython(ctx context.Context) (*python, error) {
	return b.python(ctx, "far", "import blosc2, fsspec, aiohttp, zarr, obstore", farScript)
}

// farFile writes an array, and its raw items for the peers.
func (b *bench) farFile(ctx context.Context, m b2nd.Meta, items []byte) (dir string, err error) {
	if dir, err = b.sub("far"); err != nil {
		return "", err
	}
	out, err := filestore.New(filestore.Config{Dir: dir, NoSync: true})
	if err != nil {
		return "", err
	}
	w, err := out.Create(ctx, "x.b2nd", objstore.PutOptions{})
	if err != nil {
		return "", err
	}
	defer w.Abort()
	a, err := b2nd.NewWriter(w, m, b2nd.WriteOptions{Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	if err == nil {
		_, err = a.Write(items)
	}
	if err == nil {
		err = a.Close()
	}
	if err == nil {
		_, err = w.Commit(ctx)
	}
	return dir, errors.Join(err, os.WriteFile(filepath.Join(dir, "raw"), items, 0o600))
}

// farZarr lets the peer write its forms: objects of chunks of two sizes, and shards of the smaller ones.
func (b *bench) farZarr(ctx context.Context, p *python, s *farSet, dtype string, small, large, shards []int64) error {
	text := func(v any) string {
		t, _ := json.Marshal(v) // numbers
		return string(t)
	}
	var w work
	for name, cut := range map[string][2]string{"small": {text(small), "[]"}, "objects": {text(large), "[]"}, "shards": {text(small), text(shards)}} {
		args := append([]string{"make", filepath.Join(s.dir, "raw"), dtype, text(s.shape), filepath.Join(s.dir, name)}, cut[:]...)
		if _, err := p.side(&w, args...)(ctx); err != nil {
			return err
		}
		if w.bytes != s.size {
			return fmt.Errorf("the peer wrote %d bytes of %d", w.bytes, s.size)
		}
	}
	return os.Remove(filepath.Join(s.dir, "raw"))
}

// farCube is n planes of 256 x 256 items of two bytes, of which one is noise.
func (b *bench) farCube(ctx context.Context, p *python, n int64) (*farSet, error) {
	s := &farSet{shape: []int64{n, 256, 256}, size: n << 17}
	items := make([]byte, s.size)
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // data
	for i := 0; i < len(items); i += 2 {
		items[i] = byte(r.Uint32())
	}
	m := b2nd.Meta{Shape: s.shape, ChunkShape: []int{1, 256, 256}, BlockShape: []int{1, 64, 64}, DType: "<u2"}
	var err error
	if s.dir, err = b.farFile(ctx, m, items); err != nil {
		return nil, err
	}
	return s, b.farZarr(ctx, p, s, "<u2", []int64{1, 64, 64}, []int64{1, 256, 256}, []int64{max(n/4, 1), 256, 256})
}

// A farRead is a slice in the peer's words and in ours.
type farRead struct {
	what, index string
	box         b2nd.Box
}

// A farSide is a side whose requests and bytes are counted at the server.
type farSide struct {
	do              side
	requests, bytes int64
	phases          int64 // ours only
	sum             uint32
	n               int64
}

// counted notes what the last call of a side cost.
func (x *farSide) counted(s *farServer) side {
	return func(ctx context.Context) (time.Duration, error) {
		requests, bytes := s.requests.Load(), s.bytes.Load()
		took, err := x.do(ctx)
		x.requests, x.bytes = s.requests.Load()-requests, s.bytes.Load()-bytes
		return took, err
	}
}

func (b *bench) farReads(ctx context.Context, p *python, set *farSet, reads []farRead) ([]row, error) {
	s, err := newFarServer(ctx, set.dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	var rs []row
	for _, read := range reads {
		some, err := b.farRows(ctx, s, read.what+", cold, rtt30",
			func(ctx context.Context, a *farread.Array) ([]byte, error) {
				n, err := a.SizeOf(read.box)
				if err != nil {
					return nil, err
				}
				got := make([]byte, n)
				return got, a.ReadSlice(ctx, got, read.box)
			},
			func(w *work, reader, url string) side { return p.side(w, "read", reader, url, read.index) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", read.what, err)
		}
		rs = append(rs, some...)
	}
	return rs, nil
}

// farRows measures one job of ours and of each peer in turn. All must give the same bytes.
func (b *bench) farRows(ctx context.Context, s *farServer, job string, ours func(context.Context, *farread.Array) ([]byte, error),
	peer func(w *work, reader, url string) side,
) ([]row, error) {
	url := "http://" + s.l.Addr().String() + "/"
	our := &farSide{}
	our.do = timed(func(ctx context.Context) error {
		c := farread.New(farread.Config{Policy: rangeio.Fast(), Counter: &objstore.Counter{}})
		defer c.CloseIdleConnections()
		a, err := c.OpenArray(ctx, url+"x.b2nd", farread.FrameOptions{})
		if err != nil {
			return err
		}
		got, err := ours(ctx, a)
		our.sum, our.n, our.phases = crc32.ChecksumIEEE(got), int64(len(got)), c.Stats().Phases
		return err
	})
	rs, err := b.farBeside(ctx, s, job, our, peer)
	for i := range rs {
		rs[i].note = fmt.Sprintf("%d phases, %s", our.phases, rs[i].note)
	}
	return rs, err
}

// farBeside measures a side of ours and each peer in turn. All must give the same bytes.
func (b *bench) farBeside(ctx context.Context, s *farServer, job string, our *farSide, peer func(w *work, reader, url string) side) ([]row, error) {
	url := "http://" + s.l.Addr().String() + "/"
	works := make([]work, len(peersFrom()))
	sides, all := make([]side, 1+len(works)), make([]*farSide, 1+len(works))
	sides[0], all[0] = our.counted(s), our
	for i, p := range peersFrom() {
		x := &farSide{do: peer(&works[i], p.reader, url+p.path)}
		sides[i+1], all[i+1] = x.counted(s), x
	}
	took, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	var rs []row
	for i, p := range peersFrom() {
		if w := works[i]; w.sum != our.sum || w.bytes != our.n {
			return nil, fmt.Errorf("%s gives other bytes: %d, %08x; ours %d, %08x", p.name, w.bytes, w.sum, our.n, our.sum)
		}
		x := all[i+1]
		rs = append(rs, row{job: job + ": " + p.name, ours: ms(took[0]), peer: ms(took[i+1]), ratio: took[i+1].Seconds() / took[0].Seconds(),
			note: fmt.Sprintf("%d requests, %.2f MB; the peer %d, %.2f MB", our.requests, float64(our.bytes)/1e6, x.requests, float64(x.bytes)/1e6)})
	}
	return rs, nil
}

// farSearch finds 1,000 numbers of a sorted column by their values. The peers read all of it.
func (b *bench) farSearch(ctx context.Context, p *python) ([]row, error) {
	n := pick(b, int64(1<<22), 1<<18)
	items := make([]byte, 8*n)
	for i := range n {
		binary.LittleEndian.PutUint64(items[8*i:], sortedNumber(uint64(i)))
	}
	s := &farSet{shape: []int64{n}, size: 8 * n}
	chunk := min(n, 1<<18)
	m := b2nd.Meta{Shape: s.shape, ChunkShape: []int{int(chunk)}, BlockShape: []int{8192}, DType: "<u8"}
	var err error
	if s.dir, err = b.farFile(ctx, m, items); err != nil {
		return nil, err
	}
	if err := b.farZarr(ctx, p, s, "<u8", []int64{chunk / 16}, []int64{chunk}, []int64{chunk}); err != nil {
		return nil, err
	}
	server, err := newFarServer(ctx, s.dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer server.close()
	low, high := sortedNumber(uint64(n/3)), sortedNumber(uint64(n/3+1000))
	e, err := predicate.Parse(fmt.Sprintf("%d <= v < %d", low, high))
	if err != nil {
		return nil, err
	}
	return b.farRows(ctx, server, fmt.Sprintf("1,000 of %s of sorted numbers by their values, cold, rtt30", mib(8*n)),
		func(ctx context.Context, a *farread.Array) (got []byte, err error) {
			w, err := e.Bind(a.DType())
			if err != nil {
				return nil, err
			}
			_, err = a.Search(ctx, b2nd.Whole(a.Shape()), w, b2nd.SearchOptions{}, func(h b2nd.Hit) error {
				got = append(got, h.Items...)
				return nil
			})
			return got, err
		},
		func(w *work, reader, url string) side {
			return p.side(w, "find", reader, url, fmt.Sprint(low), fmt.Sprint(high))
		})
}
