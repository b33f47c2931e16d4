package farread

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// column is n sorted numbers of 8 bytes in 64 chunks of 16 blocks, and the array of them.
func column(t *testing.T, n int, seed uint64, ix cframe.IndexChoice) (values []int64, p []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 6))
	values = make([]int64, n)
	for i := range values {
		values[i] = r.Int64N(1 << 40)
	}
	slices.Sort(values)
	var items []byte
	for _, v := range values {
		items = binary.LittleEndian.AppendUint64(items, uint64(v))
	}
	var out bloscpackOutput
	m := b2nd.Meta{Shape: []int64{int64(n)}, ChunkShape: []int{n / 64}, BlockShape: []int{n / 1024}, DType: "<i8"}
	w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Index: ix, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(items); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return values, out.Bytes()
}

// arrayIn opens an array in memory.
func arrayIn(t *testing.T, p []byte) *b2nd.Array {
	t.Helper()
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// falseIndex makes an index whose statistics of each block of an array were changed.
func falseIndex(t *testing.T, p []byte, etag string, change func(chunk int, s *stats.Stat)) []byte {
	t.Helper()
	a := arrayIn(t, p)
	about, _ := a.Frame().Metalayer("b2nd")
	var b frameindex.Builder
	sum := sha256.Sum256(about)
	of := frameindex.StatsOf{Columns: a.StatColumns(), Blocks: 16, About: int64(binary.BigEndian.Uint64(sum[:]))}
	b.Stats(of)
	err := a.Frame().Each(t.Context(), 0, a.Frame().Chunks(), func(chunk, _ int, p []byte) error {
		var list []stats.Stat
		for block := range slices.Chunk(p, len(p)/of.Blocks) {
			s := of.Columns[0].Of(block)
			change(chunk, &s)
			list = append(list, s)
		}
		b.AddStats(list)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	side, err := a.Frame().BuildIndexWith(t.Context(), etag, &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// sum finds items, and returns how many there are and their sum.
func sumOf(ctx context.Context, t *testing.T, s Searcher, where string) (n, sum int64, r b2nd.SearchReport, err error) {
	t.Helper()
	e, err := predicate.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Bind(s.DType())
	if err != nil {
		t.Fatal(err)
	}
	r, err = s.Search(ctx, b2nd.Whole(s.Shape()), p, b2nd.SearchOptions{}, func(h b2nd.Hit) error {
		n += int64(len(h.At))
		for item := range slices.Chunk(h.Items, 8) {
			sum += int64(binary.LittleEndian.Uint64(item))
		}
		return nil
	})
	return n, sum, r, err
}

// TestSearchFaults: whatever the statistics of an array are, right, of another version,
// damaged, of another array, about another type or false in a way that shows, a search
// finds the same; what is not used is told, and the requests are those of the trace.
func TestSearchFaults(t *testing.T) {
	t.Parallel()
	const n = 1 << 17
	values, inside := column(t, n, 5, cframe.WithIndex)
	_, plain := column(t, n, 5, cframe.NoIndex)
	_, other := column(t, n, 7, cframe.NoIndex)
	right := func(t *testing.T, p []byte, etag string) []byte {
		t.Helper()
		side, err := arrayIn(t, p).BuildIndex(t.Context(), etag, nil)
		if err != nil {
			t.Fatal(err)
		}
		return side
	}
	damaged := func(at func(p []byte) int) func(t *testing.T, p []byte, etag string) []byte {
		return func(t *testing.T, p []byte, etag string) []byte {
			t.Helper()
			side := right(t, p, etag)
			side[at(side)] ^= 1
			return side
		}
	}
	lo, hi := values[n/2], values[n/2+300]
	var want int64
	for _, v := range values[n/2 : n/2+300] {
		want += v
	}
	for name, c := range map[string]struct {
		file   []byte
		side   func(t *testing.T, p []byte, etag string) []byte
		unused string // a part of why statistics are not used
		skips  bool
	}{
		"inside":            {inside, nil, "", true},
		"beside":            {plain, right, "", true},
		"none":              {plain, nil, "", false},
		"heads-alone":       {plain, func(t *testing.T, p []byte, etag string) []byte { t.Helper(); return besideOf(t, p, etag) }, "", false},
		"stale":             {plain, func(t *testing.T, p []byte, _ string) []byte { t.Helper(); return right(t, p, "older") }, "another version", false},
		"of-another":        {plain, func(t *testing.T, _ []byte, etag string) []byte { t.Helper(); return right(t, other, etag) }, "another", false},
		"blocks-damaged":    {plain, damaged(func([]byte) int { return 100 }), "damaged", false},
		"directory-damaged": {plain, damaged(func(p []byte) int { return len(p) - index.TrailerLen - 20 }), "damaged", false},
		"of-another-type":   {bytes.Replace(inside, []byte("<i8"), []byte("<u8"), 1), nil, "another type", false},
		"false-count": {plain, func(t *testing.T, p []byte, etag string) []byte {
			t.Helper()
			return falseIndex(t, p, etag, func(chunk int, s *stats.Stat) { s.Items -= int64(chunk % 2) })
		}, "items, not", false},
		"too-wide": {plain, func(t *testing.T, p []byte, etag string) []byte {
			t.Helper()
			return falseIndex(t, p, etag, func(_ int, s *stats.Stat) { s.Min, s.Max = s.Min-1000, s.Max+1000 })
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := New(Config{Counter: &objstore.Counter{}, Policy: rangeio.Lean()})
			b := memstore.New(memstore.Config{Name: "s3://b"})
			in := put(t, b, "x.b2nd", c.file, nil)
			if c.side != nil {
				put(t, b, "x.b2nd"+index.Suffix, c.side(t, c.file, in.ETag), nil)
			}
			var log tracetest.Log
			client.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(client.c.Counter))}
			s := opened[Searcher](t, client, "x.b2nd", AnyOptions{Beside: c.side != nil})
			log.Step("open")
			got, sum, r, err := sumOf(t.Context(), t, s, fmt.Sprintf("%d <= v < %d", lo, hi))
			if err != nil || got != 300 || sum != want {
				t.Errorf("%d items, sum %d, want 300, %d; %v", got, sum, want, err)
			}
			if r.Blocks != 1024 || (r.BlocksRead < 10) != c.skips || r.Statistics != c.skips {
				t.Errorf("%+v", r)
			}
			log.Note(fmt.Sprintf("%d of %d blocks", r.BlocksRead, r.Blocks))
			log.Step("a search")
			log.Golden(t, "testdata/search-"+name+".trace")
			x, err := s.Handle().(*Array).Source.UsedIndex(t.Context())
			if told := r.Unused + x.Unused; err != nil || c.unused == "" && told != "" || !strings.Contains(told, c.unused) {
				t.Errorf("told %q, want %q; %v", told, c.unused, err)
			}
			if d, err := s.Describe(t.Context(), DescribeOptions{}); err != nil {
				t.Error(err)
			} else if f, _ := d.Detail.(FrameDetail); c.skips && (f.Statistics == nil || len(f.Statistics.Columns) != 1 || f.Statistics.Columns[0].Items != n) {
				t.Errorf("%+v", f.Statistics)
			}
			if v, err := s.Verify(t.Context(), nil); err != nil || name == "blocks-damaged" && !strings.Contains(fmt.Sprintf("%+v", v), "damaged") {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestVerifyFindsFalseStatistics: only verify can tell that extremes are too narrow, or
// that counts are of other items.
func TestVerifyFindsFalseStatistics(t *testing.T) {
	t.Parallel()
	_, p := column(t, 1<<13, 5, cframe.NoIndex)
	for name, change := range map[string]func(chunk int, s *stats.Stat){
		"narrow": func(chunk int, s *stats.Stat) {
			if chunk == 40 {
				s.Max--
			}
		},
		"zeros": func(chunk int, s *stats.Stat) {
			if chunk == 3 {
				s.Fill = 1
			}
		},
	} {
		client, b := remote(Config{})
		in := put(t, b, "x.b2nd", p, nil)
		put(t, b, "x.b2nd"+index.Suffix, falseIndex(t, p, in.ETag, change), nil)
		s := opened[Searcher](t, client, "x.b2nd", AnyOptions{})
		if _, err := s.Verify(t.Context(), nil); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "statistics of chunk") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
