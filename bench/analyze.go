package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// fourStats are what the sides are asked: the peers have no others that need all items.
const fourStats = "mean,std,min,max"

// analyzeLocal finds mean, deviation and extremes of an array in zstd 1 in a file: ours,
// python-blosc2 of the same file, and dask of a Zarr store with the same chunks. Each side
// opens its array anew.
func analyzeLocal(ctx context.Context, b *bench) ([]row, error) {
	p, x, err := b.analyzedArray(ctx)
	if err != nil {
		return nil, err
	}
	return b.analyzed(ctx, p, x, "a local file", x.c.dir, append(x.blosc2(),
		analyst{"dask + zarr + obstore, our chunks", "graph", "zarr", x.rows(1, 0), 2},
		analyst{"dask + zarr + obstore, eight of our chunks each", "graph", "zarr", x.rows(8, 0), 2}))
}

// analyzeAfar does the same from a server that is 30 ms away.
func analyzeAfar(ctx context.Context, b *bench) ([]row, error) {
	p, x, err := b.analyzedArray(ctx)
	if err != nil {
		return nil, err
	}
	s, err := newFarServer(ctx, x.c.dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	return b.analyzed(ctx, p, x, "rtt30", "http://"+s.l.Addr().String(), append(x.blosc2(),
		analyst{"dask + zarr + obstore, our chunks, 2 threads", "graph", "zarr", x.rows(1, 0), 2},
		analyst{"dask + zarr + obstore, our chunks, 32 threads", "graph", "zarr", x.rows(1, 32), 2},
		analyst{"dask + zarr + obstore, 16 of our chunks each", "graph", "zarr", x.rows(16, 0), 2}))
}

// An analyzedSet is an array as a b2nd and as a Zarr store with the same chunks, in a folder.
type analyzedSet struct {
	c     *cube
	chunk int // rows of a chunk
}

// analyzedArray starts the peers and makes the array, once.
func (b *bench) analyzedArray(ctx context.Context) (*python, *analyzedSet, error) {
	p, err := b.python(ctx, "analyze", "import blosc2, dask.array, fsspec, aiohttp, zarr, obstore", analyzeScript)
	if err != nil {
		return nil, nil, err
	}
	if b.array == nil {
		b.array, err = b.newAnalyzed(ctx, p)
	}
	return p, b.array, err
}

func (b *bench) newAnalyzed(ctx context.Context, p *python) (*analyzedSet, error) {
	c, err := b.newCube("analyzed", seriesOf("f32 sine"), pick(b, []int64{512, 512, 1024}, []int64{16, 64, 64})...)
	if err != nil {
		return nil, err
	}
	if err := c.pack(ctx, 1, 2); err != nil {
		return nil, err
	}
	f, err := os.Open(c.b2nd())
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	a, err := openFile(ctx, f)
	if err != nil {
		return nil, err
	}
	chunks, err := json.Marshal(a.Meta().ChunkShape)
	if err != nil {
		return nil, err
	}
	var w work
	if _, err := p.side(&w, "make", c.npy(), filepath.Join(c.dir, "zarr"), string(chunks))(ctx); err != nil {
		return nil, err
	}
	return &analyzedSet{c, a.Meta().ChunkShape[0]}, os.Remove(c.npy())
}

// blosc2 are the ways of python-blosc2.
func (x *analyzedSet) blosc2() []analyst {
	return []analyst{
		{"python-blosc2, four lazy expressions", "lazy", x.c.name + ".b2nd", nil, 1.5},
		{"python-blosc2, all into memory, then NumPy", "whole", x.c.name + ".b2nd", nil, 0},
	}
}

// rows are the arguments of a graph whose chunks are n of ours.
func (x *analyzedSet) rows(n, threads int) []string {
	return []string{strconv.Itoa(n * x.chunk), strconv.Itoa(threads)}
}

// An analyst is a peer's way to the same numbers.
type analyst struct {
	name, job, path string
	args            []string
	goal            float64
}

// analyzed measures ours and the peers, whose paths are below a folder or an address.
func (b *bench) analyzed(ctx context.Context, p *python, x *analyzedSet, where, below string, peers []analyst) ([]row, error) {
	var cpu spent
	var want []string
	ours := cpu.timed("analyze", func(ctx context.Context) (err error) {
		want, err = fourNumbers(ctx, below+"/"+x.c.name+".b2nd")
		return err
	})
	if _, err := ours(ctx); err != nil {
		return nil, err
	}
	cpu = nil
	sides, spents, works := []side{ours}, make([]spent, len(peers)), make([]work, len(peers))
	for i, a := range peers {
		args := append(append([]string{a.job, below + "/" + a.path}, a.args...), want...)
		do := p.side(&works[i], args...)
		sides = append(sides, func(ctx context.Context) (time.Duration, error) {
			took, err := do(ctx)
			spents[i] = append(spents[i], works[i].cpu)
			return took, err
		})
	}
	d, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	var rs []row
	for i, a := range peers {
		if works[i].bytes != x.c.nbytes {
			return nil, fmt.Errorf("%s: %d bytes of %d", a.name, works[i].bytes, x.c.nbytes)
		}
		r := against(fmt.Sprintf("%s of %s of float32, zstd 1, %s: %s", fourStats, mib(x.c.nbytes), where, a.name), "B", float64(x.c.nbytes), d[0], d[i+1], a.goal)
		r.note = fmt.Sprintf("%s, the peer %s; processor time %s, the peer %s", ms(d[0]), ms(d[i+1]), ms(median(cpu)), ms(median(spents[i])))
		rs = append(rs, r)
	}
	return rs, nil
}

// fourNumbers analyzes an array with a client of its own.
func fourNumbers(ctx context.Context, uri string) ([]string, error) {
	c := farread.New(farread.Config{Policy: rangeio.Fast()})
	defer c.CloseIdleConnections()
	a, err := c.OpenArray(ctx, uri, farread.FrameOptions{})
	if err != nil {
		return nil, err
	}
	list, err := answersOf(ctx, a, fourStats, nil)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(list))
	for _, r := range list {
		v := 0.0
		if len(r.Items) == 8 {
			v = math.Float64frombits(binary.LittleEndian.Uint64(r.Items))
		} else {
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(r.Items)))
		}
		out = append(out, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return out, nil
}

// answersOf asks about all items of an array, or those that match.
func answersOf(ctx context.Context, a *farread.Array, stats string, where *predicate.Expr) ([]analyze.Result, error) {
	list, err := analyze.ParseStats(stats)
	if err != nil {
		return nil, err
	}
	j, err := analyze.NewArray(ctx, a.Array, analyze.ArrayOptions{Box: b2nd.Whole(a.Shape()), Stats: list, Where: where})
	if err != nil {
		return nil, err
	}
	got, err := j.Run(ctx, analyze.Options{})
	if err != nil {
		return nil, err
	}
	return got.Results, nil
}

// analyzeWhere asks about a thousand numbers of a sorted column of 1 GiB, from afar.
func analyzeWhere(ctx context.Context, b *bench) ([]row, error) {
	n := pick(b, int64(1<<27), 1<<20)
	dir, err := b.sub("where")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out, err := filestore.New(filestore.Config{Dir: dir, NoSync: true})
	if err != nil {
		return nil, err
	}
	w, err := out.Create(ctx, "x.b2nd", objstore.PutOptions{})
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := writeSorted(ctx, w, n, false); err != nil {
		return nil, err
	}
	info, err := w.Commit(ctx)
	if err != nil {
		return nil, err
	}
	s, err := newFarServer(ctx, dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	from := uint64(n / 3)
	e, err := predicate.Parse(fmt.Sprintf("%d <= v < %d", sortedNumber(from), sortedNumber(from+1000)))
	if err != nil {
		return nil, err
	}
	x := &farSide{}
	x.do = timed(func(ctx context.Context) error {
		return x.sumOfSorted(ctx, "http://"+s.l.Addr().String()+"/x.b2nd", e, from)
	})
	d, err := b.interleave(ctx, x.counted(s))
	if err != nil {
		return nil, err
	}
	return []row{{job: fmt.Sprintf("count,sum,max of 1,000 of %s of sorted numbers by their values, cold, rtt30", mib(8*n)), goal: "<= 2 % of the bytes",
		ours:   fmt.Sprintf("%s, %d phases, %d requests, %.2f %% of %s", ms(d[0]), x.phases, x.requests, 100*float64(x.bytes)/float64(info.Size), mib(info.Size)),
		judged: !b.quick, met: x.bytes <= info.Size/50}}, nil
}

// sumOfSorted asks with a client of its own about the thousand numbers from number from on.
func (x *farSide) sumOfSorted(ctx context.Context, url string, e *predicate.Expr, from uint64) error {
	c := farread.New(farread.Config{Policy: rangeio.Fast(), Counter: &objstore.Counter{}})
	defer c.CloseIdleConnections()
	a, err := c.OpenArray(ctx, url, farread.FrameOptions{})
	if err != nil {
		return err
	}
	list, err := answersOf(ctx, a, "count,sum,max", e)
	if err != nil {
		return err
	}
	x.phases = c.Stats().Phases
	sum := uint64(0)
	for i := range uint64(1000) {
		sum += sortedNumber(from + i)
	}
	for i, want := range []uint64{1000, sum, sortedNumber(from + 999)} {
		if got := binary.LittleEndian.Uint64(list[i].Items); got != want {
			return fmt.Errorf("%s %d, want %d", list[i].Stat.Key(), got, want)
		}
	}
	return nil
}
