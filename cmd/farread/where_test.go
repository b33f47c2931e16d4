package main

import (
	"context"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore/filestore"
)

// A countingServer counts the requests and bytes that it sends of a folder. Its ETags are
// those that the files have on this machine.
type countingServer struct {
	*httptest.Server

	requests, bytes atomic.Int64
}

type countedWriter struct {
	http.ResponseWriter

	s *countingServer
}

// WriteHeader counts the body before any of it is sent: after that, the reader may have it
// before it is counted.
func (w countedWriter) WriteHeader(status int) {
	n, _ := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64) // an error has none
	w.s.bytes.Add(n)
	w.ResponseWriter.WriteHeader(status)
}

func countingFolder(t *testing.T, dir string) *countingServer {
	t.Helper()
	s := &countingServer{}
	files := http.FileServer(http.Dir(dir))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		w.Header().Set("ETag", etag(r.Context(), filepath.Join(dir, r.URL.Path)))
		files.ServeHTTP(countedWriter{w, s}, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// etag is that of a file on this machine, or a made-up one.
func etag(ctx context.Context, name string) string {
	b, err := filestore.New(filestore.Config{Dir: filepath.Dir(name)})
	if err != nil {
		return `"none"`
	}
	in, err := b.Head(ctx, filepath.Base(name))
	if err != nil {
		return `"none"`
	}
	return in.ETag
}

// took returns the requests and bytes since the last call.
func (s *countingServer) took() (requests, bytes int64) {
	return s.requests.Swap(0), s.bytes.Swap(0)
}

// TestWhereOnSortedColumn: of a sorted column, in as many chunks and blocks as one of
// 1 GiB has, a search takes at most 2 % of the bytes, and a few requests, with the
// index inside, and beside an array that has none. Without one it finds the same.
func TestWhereOnSortedColumn(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Large)
	const n = 4 << 20
	dir := t.TempDir()
	srv := countingFolder(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]uint64, n)
	for i := range values {
		values[i] = r.Uint64() >> 2
	}
	slices.Sort(values)
	items := make([]byte, 0, 8*n)
	for _, v := range values {
		items = binary.LittleEndian.AppendUint64(items, v)
	}
	src := filepath.Join(dir, "x.npy")
	npyFile(t, src, "<i8", []int64{n}, false, items)
	pack := func(name string, flags ...string) string {
		run(t, append([]string{"pack", src, filepath.Join(dir, name), "--chunk-shape", fmt.Sprint(n / 256), "--block-shape", fmt.Sprint(n / 256 / 64), "--codec", "lz4"}, flags...)...)
		return srv.URL + "/" + name
	}
	inside, plain, beside := pack("inside.b2nd"), pack("plain.b2nd", "--index=false"), pack("beside.b2nd", "--index=false")
	run(t, "index", filepath.Join(dir, "beside.b2nd"), "--ranges")
	info, err := os.Stat(filepath.Join(dir, "plain.b2nd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []int{0, n / 3, n - 1000} {
		where := fmt.Sprintf("%d <= v <= %d", values[from], values[from+999])
		for uri, cheap := range map[string]bool{inside: true, plain: false, beside: true} {
			args := []string{"slice", uri, "...", "--where", where, "-o", "-", "--format", "raw"}
			srv.took()
			if got := run(t, args...); got != string(items[8*from:8*(from+1000)]) {
				t.Errorf("%s where %s: %d bytes, want 8,000", uri, where, len(got))
			}
			requests, bytes := srv.took()
			s := stats(t, args...)
			t.Logf("%s from item %d: %d requests, %d phases, %d bytes, %.2f %%", filepath.Base(uri), from, requests, s.Phases, bytes, 100*float64(bytes)/float64(info.Size()))
			if cheap && (bytes > info.Size()/50 || requests > 8 || s.Phases > map[string]int64{inside: 3, beside: 6}[uri]) || !cheap && bytes < info.Size() {
				t.Errorf("%s where %s: %d requests, %d bytes of %d, %+v", uri, where, requests, bytes, info.Size(), s)
			}
		}
	}
}

// TestWhereFormats: all formats have the same items and indexes; members and slices are
// those that were asked for.
func TestWhereFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var items []byte
	for i := range 600 {
		items = binary.LittleEndian.AppendUint16(items, uint16(i%100))
		items = binary.LittleEndian.AppendUint32(items, math.Float32bits(float32(i)/4))
	}
	npyFile(t, at("x.npy"), "[('a', '<u2'), ('b', '<f4')]", []int64{20, 30}, false, items)
	run(t, "pack", at("x.npy"), at("x.b2nd"), "--chunk-shape", "7,11", "--block-shape", "3,4", "--index")
	where := []string{"slice", at("x.b2nd"), "5:, ::-2", "--where", "a >= 98 and b < 100"}
	type hit struct {
		At []int64
		V  struct {
			A int
			B float64
		}
	}
	var want []hit // rows from 5 on, columns 29, 27, …
	for row := int64(5); row < 20; row++ {
		for col := int64(29); col >= 0; col -= 2 {
			i := row*30 + col
			if h := (hit{At: []int64{row, col}}); i%100 >= 98 && float64(i)/4 < 100 {
				h.V.A, h.V.B = int(i%100), float64(i)/4
				want = append(want, h)
			}
		}
	}
	var got []hit
	if err := json.Unmarshal([]byte(run(t, append(where, "--json")...)), &got); err != nil || len(want) < 3 {
		t.Fatal(err, want)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
	rows, err := csv.NewReader(strings.NewReader(run(t, append(where, "-o", "-", "--format", "csv")...))).ReadAll()
	if err != nil || fmt.Sprint(rows[0]) != "[at[0] at[1] v.a v.b]" || len(rows) != len(want)+1 {
		t.Errorf("CSV: %v, %v", rows, err)
	}
	for i, h := range want {
		if line := []string{fmt.Sprint(h.At[0]), fmt.Sprint(h.At[1]), fmt.Sprint(h.V.A), fmt.Sprint(h.V.B)}; !slices.Equal(rows[i+1], line) {
			t.Errorf("line %d: %v, want %v", i, rows[i+1], line)
		}
	}
	run(t, append(where, "-o", at("out.npy"), "--field", "b")...)
	stream := run(t, append(where, "-o", "-", "--format", "npy", "--field", "b")...)
	file, err := os.ReadFile(at("out.npy"))
	if err != nil || string(file) != stream {
		t.Errorf("the file and the stream have %d and %d bytes, %v", len(file), len(stream), err)
	}
	h, off, err := npy.ParseHeader(strings.NewReader(stream))
	if err != nil || !slices.Equal(h.Shape, []int64{int64(len(want))}) || h.DType.String() != "[('at', '<i8', (2,)), ('v', '<f4')]" {
		t.Errorf("%+v, %v", h, err)
	}
	for i, w := range want {
		rec := file[off+int64(20*i):]
		if r := int64(binary.LittleEndian.Uint64(rec)); r != w.At[0] || math.Float32frombits(binary.LittleEndian.Uint32(rec[16:])) != float32(w.V.B) {
			t.Errorf("record %d: %x", i, rec[:20])
		}
	}
	if raw := run(t, append(where, "-o", "-", "--format", "raw", "--field", "a")...); len(raw) != 2*len(want) || int(raw[0]) != want[0].V.A {
		t.Errorf("raw: %x", raw)
	}
	if text := run(t, where...); strings.Count(text, "\n") != len(want)+1 || !strings.Contains(text, "v.b") {
		t.Errorf("text: %s", text)
	}
	if text := run(t, "slice", at("x.b2nd"), "...", "--where", "b < 0"); text != "no item matches\n" {
		t.Errorf("nothing: %q", text)
	}
	if all, some := run(t, "slice", at("x.b2nd"), "--where", "a > 90"), run(t, "slice", at("x.b2nd"), "...", "--where", "a > 90"); all != some || strings.Count(all, "\n") < 9 {
		t.Errorf("without a slice: %s, want %s", all, some)
	}
	if text := run(t, "slice", at("x.b2nd"), "...", "--where", "b < 0", "--json"); text != "[]\n" {
		t.Errorf("nothing: %q", text)
	}
}

// TestExplainWhere: explain plans the requests of a search, and says what it skips.
func TestExplainWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "x.npy"), filepath.Join(dir, "x.b2nd")
	items := make([]byte, 0, 8<<17)
	for i := range uint64(1 << 17) {
		items = binary.LittleEndian.AppendUint64(items, i*i)
	}
	npyFile(t, src, "<u8", []int64{1 << 17}, false, items)
	run(t, "pack", src, obj, "--chunk-shape", "8192", "--block-shape", "512", "--codec", "lz4")
	args := []string{obj, "...", "--where", "v > 10000000000 and v < 10000900000", "--policy", "lean"}
	var p plan
	if err := json.Unmarshal([]byte(run(t, append([]string{"explain", "--json"}, args...)...)), &p); err != nil {
		t.Fatal(err)
	}
	s := stats(t, append([]string{"slice", "-o", filepath.Join(dir, "out.csv")}, args...)...)
	if int64(len(p.Requests)) != s.Requests || p.Phases != s.Phases || p.Bytes != s.Bytes {
		t.Errorf("%d requests, %d phases, %d bytes planned, %+v", len(p.Requests), p.Phases, p.Bytes, s)
	}
	if d := cmp.Diff(&b2nd.SearchReport{Chunks: 16, ChunksRead: 1, Blocks: 256, BlocksRead: 1, Statistics: true}, p.Search); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if text := run(t, append([]string{"explain"}, args...)...); !strings.Contains(text, "by statistics 1 of 16 chunks and 1 of 256 blocks\n") {
		t.Errorf("%s", text)
	}
	if text := run(t, "info", obj); !strings.Contains(text, "range       0 to 17179607041") {
		t.Errorf("%s", text)
	}
}

// TestWhereRefused: what --where cannot do is told with its place in the text.
func TestWhereRefused(t *testing.T) {
	t.Parallel()
	array := bloscDir + "/nd2.b2nd"
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		`--where: character 4, at "> 3"`:                          {exitUsage, []string{"slice", array, ":", "--where", "v >> 3"}},
		`--where: character 1, at "w > 3": an item has no member`: {exitNotFound, []string{"slice", array, ":", "--where", "w > 3"}},
		`it takes no --dtype`:                                     {exitUsage, []string{"slice", array, ":", "--where", "v > 3", "--dtype", "<u2"}},
		`are written as npy, raw, json, csv or text, not as png`:  {exitUsage, []string{"slice", array, ":", "--where", "v > 3", "-o", "x.png"}},
		`are not compared`:                                        {exitCorrupt, []string{"slice", "../../formats/b2nd/testdata/dtype_S7.b2nd", ":", "--where", "v == 3"}},
		`chunks are bytes`:                                        {exitUsage, []string{"explain", array, "--chunk", "1", "--where", "v > 3"}},
		`--where does not go with a gulp`:                         {exitUsage, []string{"explain", sample(t, t.TempDir()), "--where", "v > 3"}},
		`are no numbers`:                                          {exitCorrupt, []string{"index", "--ranges", "../../formats/b2nd/testdata/dtype_S7.b2nd"}},
	} {
		if r := (runner{}).run(t, c.args...); r.code != c.code || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.args, r.code, r.stderr, c.code, want)
		}
	}
}
