package objstore_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/racetest"

	"github.com/parquet-go/parquet-go"

	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// A pattern is a way in which a library reads an object by ReadAt.
type pattern struct {
	name string
	data func() []byte
	key  string
	read func(r checked)
	over float64 // most bytes received for each byte that is received without reading ahead; 0: not compared
	most int64   // most phases; 0: the golden file alone has them
}

var plain = sync.OnceValue(func() []byte {
	p := make([]byte, 48<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p)
	return p
})

// A checked reader compares what it reads with the object.
type checked struct {
	t    testing.TB
	r    io.ReaderAt
	data []byte
}

// at reads n bytes.
func (r checked) at(off, n int64) {
	r.t.Helper()
	n = min(n, r.size()-off)
	p := make([]byte, n)
	if k, err := r.r.ReadAt(p, off); err != nil && err != io.EOF || int64(k) != n || !bytes.Equal(p, r.data[off:off+n]) {
		r.t.Fatalf("%d bytes at %d: %d, %v", n, off, k, err)
	}
}

func (r checked) size() int64 { return int64(len(r.data)) }

// run reads [off, off+n) front to end by reads of one size.
func (r checked) run(off, n, size int64) {
	r.t.Helper()
	for end := off + n; off < end; off += size {
		r.at(off, min(size, end-off))
	}
}

// places are pseudo-random offsets of n bytes in size bytes.
func places(seed uint64, count int, size, n int64) []int64 {
	r := rand.New(rand.NewPCG(seed, 13))
	out := make([]int64, count)
	for i := range out {
		out[i] = r.Int64N(size - n)
	}
	return out
}

func patterns() []pattern {
	const kib, mib = 1 << 10, 1 << 20
	random := func(size int64, count int, n int64) func(checked) {
		return func(r checked) {
			r.t.Helper()
			for _, off := range places(1, count, size, n) {
				r.at(off, n)
			}
		}
	}
	scattered := func(count int, length, n int64) func(checked) {
		return func(r checked) {
			r.t.Helper()
			for _, off := range places(2, count, r.size(), length) {
				r.run(off, length, n)
			}
		}
	}
	streams := func(count, length, n int64) func(checked) {
		return func(r checked) {
			r.t.Helper()
			for off := int64(0); off < length; off += n {
				for s := range count {
					r.at(s*r.size()/count+off, n)
				}
			}
		}
	}
	strided := func(first, stride, n int64) func(checked) {
		return func(r checked) {
			r.t.Helper()
			for off := first; off >= 0 && off < r.size(); off += stride {
				r.run(off, n, 4*kib)
			}
		}
	}
	return []pattern{
		{name: "front to end, 12 MiB by 4 KiB", read: func(r checked) { r.run(0, 12*mib, 4*kib) }},
		{name: "front to end, 12 MiB by 200 KiB", read: func(r checked) { r.run(3*mib+5, 12*mib, 200*kib) }},
		{name: "front to end, 40 MiB by 1 MiB", read: func(r checked) { r.run(3*mib+5, 40*mib, mib) }},
		{name: "the last 100 KiB by 4 KiB", read: func(r checked) {
			r.run(r.size()-100*kib, 100*kib, 4*kib)
		}},
		{name: "2 MiB by 4 KiB, twice", read: func(r checked) {
			r.run(8*mib, 2*mib, 4*kib)
			r.run(8*mib, 2*mib, 4*kib)
		}},
		{name: "backwards, 12 MiB by 4 KiB", read: func(r checked) {
			for off := int64(40*mib + 77); off > 28*mib; off -= 4 * kib {
				r.at(off, 4*kib)
			}
		}},
		{name: "backwards, 12 MiB by 300 KiB", read: func(r checked) {
			for off := int64(40*mib + 77); off > 28*mib; off -= 300 * kib {
				r.at(off, 300*kib)
			}
		}},
		{name: "strided, 4 KiB of each MiB", read: strided(100, mib, 4*kib)},
		{name: "strided, 4 KiB of each MiB, backwards", read: strided(47*mib+100, -mib, 4*kib)},
		{name: "strided, 512 KiB of each 4 MiB by 4 KiB", read: strided(100, 4*mib, 512*kib)},
		{name: "two streams, 6 MiB each by 4 KiB", read: streams(2, 6*mib, 4*kib)},
		{name: "four streams, 6 MiB each by 4 KiB", read: streams(4, 6*mib, 4*kib)},
		{name: "twelve streams, 1 MiB each by 4 KiB", read: streams(12, mib, 4*kib), over: 1.2},
		{name: "random, 600 times 4 KiB of 48 MiB", read: random(48*mib, 600, 4*kib), over: 1.2},
		{name: "random, 600 times 100 bytes of 2 MiB", read: random(2*mib, 600, 100), over: 1.2},
		{name: "random, 600 times 4 KiB of 12 MiB", read: random(12*mib, 600, 4*kib), over: 1.2},
		{name: "random, 100 times 300 KiB of 48 MiB", read: random(48*mib, 100, 300*kib), over: 1.2},
		{name: "scattered, 100 times 20 KiB by 4 KiB", read: scattered(100, 20*kib, 4*kib), over: 1.2},
		{name: "scattered, 100 times 150 KiB by 4 KiB", read: scattered(100, 150*kib, 4*kib), over: 1.2},
		{name: "scattered, 60 times 400 KiB by 32 KiB", read: scattered(60, 400*kib, 32*kib), over: 1.2},
		{name: "scattered, 20 times 2 MiB by 256 KiB", read: scattered(20, 2*mib, 256*kib), over: 1.2, most: 85},
		{name: "scattered, 30 times 1 MiB twice, 200 KiB by 32 KiB", over: 1.2, read: func(r checked) {
			r.t.Helper()
			for i, off := range places(4, 90, r.size(), mib) {
				r.run(off, []int64{mib, mib, 200 * kib}[i%3], 32*kib)
			}
		}},
		{name: "zip, directory of 3000 entries", key: "a.zip", data: manyEntries, most: 2, read: func(r checked) {
			directory(r)
		}},
		{name: "zip, 30 of 3000 entries", key: "a.zip", data: manyEntries, over: 1.2, read: func(r checked) {
			z := directory(r)
			for _, i := range places(3, 30, int64(len(z.File)), 0) {
				content(r, z.File[i])
			}
		}},
		{name: "parquet of 100 MB, a column of 10", key: "a.parquet", data: oneGroup, most: 8, read: column},
		{name: "parquet of 100 MB in 10 row groups, a column of 10", key: "a.parquet", data: tenGroups, read: column},
		{name: "parquet of pyarrow, a column of 10", key: "a.parquet", data: pyarrowTable, over: 1.1, most: 8, read: func(r checked) {
			r.t.Helper()
			for _, x := range pyarrowReads() {
				r.at(x.Off, x.Len)
			}
		}},
		{name: "parquet of pyarrow, front to end by 64 KiB", key: "a.parquet", data: pyarrowTable, over: 1.1, read: func(r checked) {
			r.run(0, r.size(), 64*kib)
		}},
		{name: "the same after Prefetch of the column", key: "a.parquet", data: tenGroups, most: 2, read: func(r checked) {
			f, err := parquet.OpenFile(r.r, r.size())
			if err != nil {
				r.t.Fatal(err)
			}
			var ranges []objstore.Range
			for _, g := range f.Metadata().RowGroups {
				c := g.Columns[5].MetaData
				ranges = append(ranges, objstore.Range{Off: c.DataPageOffset, Len: c.TotalCompressedSize})
			}
			if err := r.r.(settled).Prefetch(r.t.Context(), ranges); err != nil {
				r.t.Fatal(err)
			}
			column(r)
		}},
	}
}

// pyarrowReads are the reads by which parquet-go reads the sixth column of a table of ten columns of random float64,
// 1,250,000 rows that pyarrow has written by its defaults, in two row groups with dictionaries.
func pyarrowReads() (list []objstore.Range) {
	b, err := os.ReadFile("testdata/pyarrow.reads")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(b)) {
		var r objstore.Range
		if _, err := fmt.Sscan(line, &r.Off, &r.Len); err != nil {
			panic(err)
		}
		list = append(list, r)
	}
	return list
}

// pyarrowTable is a file of the length of that table, with zeros in place of all but its footer.
func pyarrowTable() []byte {
	footer, err := os.ReadFile("testdata/pyarrow.footer")
	if err != nil {
		panic(err)
	}
	p := make([]byte, 105_473_267)
	copy(p[len(p)-len(footer):], footer)
	return p
}

var manyEntries = sync.OnceValue(func() []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	r := rand.New(rand.NewPCG(1, 2))
	body := randomBytes(64 << 10)
	for i := range 3000 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("images/n%08d/%06d.jpeg", i%40, i), Method: zip.Store})
		if err == nil {
			_, err = f.Write(body[:4000+r.IntN(30_000)])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
})

func directory(r checked) *zip.Reader {
	r.t.Helper()
	z, err := zip.NewReader(r.r, r.size())
	if err != nil || len(z.File) != 3000 {
		r.t.Fatal(err)
	}
	return z
}

// content reads a whole entry. The reader of archive/zip compares the CRC-32 of it.
func content(r checked, f *zip.File) {
	r.t.Helper()
	rc, err := f.Open()
	if err != nil {
		r.t.Fatal(err)
	}
	defer rc.Close()
	if n, err := io.Copy(io.Discard, rc); err != nil || n != int64(f.UncompressedSize64) {
		r.t.Fatal(n, err)
	}
}

// tableRows is the number of rows of a table of ten columns of float64: 100 MB.
const tableRows = 1_250_000

func oneGroup() []byte  { return table(tableRows) }
func tenGroups() []byte { return table(tableRows / 10) }

// table writes a parquet file with groups of so many rows.
func table(group int) []byte {
	type row struct{ A, B, C, D, E, F, G, H, I, J float64 }
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf, parquet.MaxRowsPerRowGroup(int64(group)))
	rows := make([]row, 10_000)
	for i := range tableRows / len(rows) {
		for k := range rows {
			v := float64(i*len(rows) + k)
			rows[k] = row{v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9}
		}
		if _, err := w.Write(rows); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// column reads the sixth column of a table.
func column(r checked) {
	t := r.t
	t.Helper()
	f, err := parquet.OpenFile(r.r, r.size())
	if err != nil {
		t.Fatal(err)
	}
	values, n := make([]parquet.Value, 4096), 0
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[5].Pages()
		for {
			page, err := pages.ReadPage()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for read := page.Values(); ; {
				k, err := read.ReadValues(values)
				for _, v := range values[:k] {
					if v.Double() != float64(n+5) {
						t.Fatalf("row %d: %v", n, v)
					}
					n++
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			parquet.Release(page)
		}
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n != tableRows {
		t.Fatalf("%d rows", n)
	}
}

// cost opens an object, reads it by a pattern, and returns what that cost, the opening
// included. trips is the time in round trips, on a link that takes no time for bytes.
func (p pattern) cost(t *testing.T, o objstore.OpenOptions) (requests, received, phases, trips int64) {
	t.Helper()
	bytesOf, key := plain, "k"
	if p.data != nil {
		bytesOf, key = p.data, p.key
	}
	data := bytesOf()
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, key, data)
		var c objstore.Counter
		b := objstore.Chain(mem, simstore.Latency(rtt), objstore.Count(&c))
		start := time.Now()
		o.Counter = &c
		obj, err := objstore.Open(t.Context(), b, key, o)
		if err != nil {
			t.Fatal(err)
		}
		p.read(checked{t, settled{obj.WithContext(t.Context())}, data})
		took := time.Since(start)
		synctest.Wait()
		s := c.Stats()
		requests, received, phases, trips = s.Requests, s.Bytes, s.Phases, int64(took/rtt)
	})
	return requests, received, phases, trips
}

// A settled reader lets all that came at one instant arrive before the next read, so that
// the cost does not depend on the scheduler.
type settled struct{ *objstore.Object }

func (s settled) ReadAt(p []byte, off int64) (int, error) {
	synctest.Wait()
	return s.Object.ReadAt(p, off)
}

// TestReadAtCost has the requests, bytes and phases of each pattern in a golden file.
func TestReadAtCost(t *testing.T) {
	racetest.Skip(t, racetest.Alone)
	var log tracetest.Log
	for _, p := range patterns() {
		o := objstore.OptionsFor(p.key)
		requests, received, phases, trips := p.cost(t, o)
		log.Note(fmt.Sprintf("%-55s %5d requests %10d bytes %5d phases %5d round trips", p.name, requests, received, phases, trips))
		if p.most > 0 && phases > p.most {
			t.Errorf("%s: %d phases, at most %d allowed", p.name, phases, p.most)
		}
		if p.over == 0 {
			continue
		}
		o.Ahead = -1
		_, today, deep, _ := p.cost(t, o)
		if float64(received) > p.over*float64(today) || phases > deep {
			t.Errorf("%s: %d bytes in %d phases; %d in %d without reading ahead", p.name, received, phases, today, deep)
		}
	}
	log.Golden(t, "testdata/readat.trace")
}
