package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/teststack"
)

// servedArray serves a file under a strong ETag. on sees the number of each GET, from 1 on, and
// returns which version of the bytes is served.
func servedArray(t *testing.T, versions [][]byte, on func(n int64, r *http.Request) int) string {
	t.Helper()
	var gets atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/a.b2nd") {
			http.NotFound(w, r)
			return
		}
		v, n := 0, int64(0)
		if r.Method == http.MethodGet {
			n = gets.Add(1)
		}
		if on != nil {
			v = on(n, r)
		}
		w.Header().Set("ETag", `"v`+string(rune('0'+v))+`"`)
		http.ServeContent(w, r, "a.b2nd", time.Time{}, bytes.NewReader(versions[v]))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/a.b2nd"
}

// TestAnalyzeAnywhere: a file, a server and S3 give the same answer, byte for byte.
func TestAnalyzeAnywhere(t *testing.T) {
	name := localArray(t)
	s := cloudHere(t, teststack.Options{Buckets: []string{"arrays"}})
	run(t, "cp", name, "s3://arrays/a.b2nd", "--endpoint-url", s.Endpoint, "-q")
	web := servedArray(t, [][]byte{testFile(t, name)}, nil)
	for _, args := range [][]string{
		{"--stats", everyStat, "--format", "json"},
		{"--stats", everyStat, "--over", "1,2", "--where", "v > 1000000000", "--format", "csv"},
		{"--coarsen", "7,30,30", "--stat", "mean", "--format", "npy"},
	} {
		args = append(args, "-o", "-", "-q")
		want := run(t, append([]string{"analyze", name}, args...)...)
		for _, uri := range []string{web, "s3://arrays/a.b2nd"} {
			got := run(t, append([]string{"analyze", uri, "--endpoint-url", s.Endpoint, "--jobs", "3", "--part-size", "900kB"}, args...)...)
			if got != want || len(want) == 0 {
				t.Errorf("%s %q: %d bytes of %d are not the same", uri, args, len(got), len(want))
			}
		}
	}
}

const everyStat = "count,nan,min,max,argmin,argmax,sum,mean,std,hist(9,-2e9:2e9),quantiles(0.01,0.5,0.99)"

// TestAnalyzeInterrupted: an interrupt leaves the checkpoint and no output. The same command
// goes on from there, and its output is that of one that nobody interrupts.
func TestAnalyzeInterrupted(t *testing.T) {
	t.Parallel()
	name := localArray(t)
	for _, form := range []string{"json", "b2nd"} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			const at = 14 // each part takes a request or more, and at most five of them wait for one
			var mute atomic.Bool
			mute.Store(true)
			reached := make(chan struct{})
			uri := servedArray(t, [][]byte{testFile(t, name)}, func(n int64, r *http.Request) int {
				if n >= at && mute.Load() {
					if n == at {
						close(reached)
					}
					<-r.Context().Done()
				}
				return 0
			})
			file, kept := filepath.Join(dir, "out."+form), filepath.Join(dir, "run.part")
			args := []string{"analyze", uri, "--stats", "mean", "--over", "0,1,2", "--every", "7,20,20", "-o", file, "--checkpoint", kept, "--part-size", "400kB", "-q"}
			p := newProcess(t, args...)
			go func() {
				select {
				case <-reached:
					p.signal(os.Interrupt)
				case <-t.Context().Done():
				}
			}()
			p.start(t)
			p.interrupted(t, form)
			lines := strings.Count(string(testFile(t, kept)), "\n")
			if left := files(t, dir); len(left) != 1 || lines < 3 || lines > 1+at {
				t.Errorf("%d lines of %d files are left", lines, len(left))
			}
			mute.Store(false)
			run(t, args...)
			if left := files(t, dir); len(left) != 1 {
				t.Errorf("%d files are left", len(left))
			}
			want := filepath.Join(dir, "want."+form)
			run(t, "analyze", name, "--stats", "mean", "--over", "0,1,2", "--every", "7,20,20", "-o", want, "-q")
			if !bytes.Equal(testFile(t, file), testFile(t, want)) {
				t.Error("the output is another one")
			}
		})
	}
}

// TestAnalyzeReplaced: a source that is replaced meanwhile is read anew as a whole. A
// checkpoint of the old one is refused, and stays.
func TestAnalyzeReplaced(t *testing.T) {
	t.Parallel()
	old, now := localArray(t), localArray(t)
	versions := [][]byte{testFile(t, old), testFile(t, now)}
	begin := func() string {
		return servedArray(t, versions, func(n int64, r *http.Request) int {
			if n > 9 {
				return 1
			}
			return 0
		})
	}
	args := []string{"--stats", "sum,argmax", "--json", "--part-size", "400kB", "-q"}
	want := run(t, append([]string{"analyze", now}, args...)...)
	if got := run(t, append([]string{"analyze", begin()}, args...)...); got != want || got == run(t, append([]string{"analyze", old}, args...)...) {
		t.Errorf("%q, want %q", got, want)
	}
	dir := t.TempDir()
	kept := filepath.Join(dir, "run.part")
	refused(t, exitUsage, "of another plan", append([]string{"analyze", begin(), "-o", filepath.Join(dir, "x.json"), "--checkpoint", kept}, args...)...)
	if left := files(t, dir); len(left) != 1 || bytes.Count(testFile(t, kept), []byte("\n")) < 2 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestAnalyzeFailed: parts that fail are listed by their numbers; a checkpoint keeps the
// others, so that they are not read again.
func TestAnalyzeFailed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	p := make([]byte, 300*1000*4)
	for i := 0; i < len(p); i += 4 {
		p[i] = byte(rand.Uint32() % 5)
	}
	write(t, in("a.raw"), p)
	run(t, "pack", in("a.raw"), in("a.b2nd"), "--dtype", "<i4", "--shape", "300,1000", "--chunk-shape", "10,1000", "--codec", "zstd", "-q")
	broken, kept := in("bad.b2nd"), in("run.part")
	bad := testFile(t, in("a.b2nd"))
	for _, at := range []int{3, 5} { // within chunks, not at their headers
		copy(bad[at*len(bad)/8:], bytes.Repeat([]byte{0xff}, 50))
	}
	write(t, broken, bad)
	args := []string{"analyze", broken, "--stats", "sum", "--part-size", "40kB", "--json", "-q"}
	refused(t, exitCorrupt, "1 of 30 parts failed: part ", args...)
	refused(t, exitCorrupt, "2 of 30 parts failed: part ", append(args, "--checkpoint", kept)...)
	if n := bytes.Count(testFile(t, kept), []byte("\n")); n != 1+28 {
		t.Errorf("%d lines", n)
	}
}

// TestAnalyzeNothing: NaN in ranges, comparisons with NaN and selections without items.
func TestAnalyzeNothing(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	dir := filepath.Dir(plain)
	for want, args := range map[string][]string{
		`{"count":0,"min":null,"argmax":null,"sum":0,"mean":"nan","quantiles":{"0.5":"nan"}}` + "\n": {"2:2", "--stats", "count,min,argmax,sum,mean,quantiles(0.5)"},
		`{"max":[]}` + "\n":  {"2:2", "--stats", "max", "--over", "1"},
		`{"count":0}` + "\n": {"--stats", "count", "--where", "v > 1e9"},
	} {
		if got := run(t, append([]string{"analyze", plain, "--json"}, args...)...); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	for _, form := range []string{"npy", "b2nd", "parquet", "csv"} {
		run(t, "analyze", plain, "2:2", "--coarsen", "4,4", "--stat", "mean", "-o", filepath.Join(dir, "none."+form))
	}
	var info struct{ Shape []int64 }
	if err := json.Unmarshal([]byte(run(t, "info", filepath.Join(dir, "none.b2nd"), "--json")), &info); err != nil || len(info.Shape) != 2 || info.Shape[0] != 0 || info.Shape[1] != 3 {
		t.Errorf("%v, %v", err, info)
	}
	// NaN first, last and alone in chunks that have ranges.
	const nan, one, two = "\x00\x00\xc0\x7f", "\x00\x00\x80\x3f", "\x00\x00\x00\x40"
	npyFile(t, filepath.Join(dir, "nan.npy"), "<f4", []int64{6}, false, []byte(nan+one+two+nan+nan+nan))
	file := filepath.Join(dir, "nan.b2nd")
	run(t, "pack", filepath.Join(dir, "nan.npy"), file, "--chunk-shape", "2", "--block-shape", "2", "--index")
	for _, stats := range []string{"count,nan,min,max", "count,nan,min,max,argmax"} { // from ranges, and from items
		if got := run(t, "analyze", file, "--stats", stats, "--json"); !strings.HasPrefix(got, `{"count":2,"nan":4,"min":1,"max":2`) {
			t.Errorf("%s: %q", stats, got)
		}
		if got := run(t, "analyze", file, "--over", "0", "--every", "2", "--stats", stats, "--json"); !strings.HasPrefix(got, `{"count":[1,1,0],"nan":[1,1,2],"min":[1,2,null],"max":[1,2,null]`) {
			t.Errorf("%s: %q", stats, got)
		}
	}
}

// TestAnalyzeIndexOfOthers: extremes of an index that was made of another file, or of another
// version of it, are not told.
func TestAnalyzeIndexOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, first := range map[string]byte{"a": 10, "b": 1} {
		p := bytes.Repeat([]byte{5}, 60_000)
		p[7] = first
		npyFile(t, in(name+".npy"), "|u1", []int64{60_000}, false, p)
		run(t, "pack", in(name+".npy"), in(name+".b2nd"), "--chunk-shape", "10000", "--index=false", "-q")
	}
	run(t, "index", in("b.b2nd"), "--ranges", "-q")
	ask := func(name string) (report string, read int64) {
		args := []string{"analyze", in(name), "--stats", "min,max", "--json"}
		var p analysisPlan
		if err := json.Unmarshal([]byte(run(t, append(args, "--explain")...)), &p); err != nil {
			t.Fatal(err)
		}
		return run(t, args...), p.Search.ChunksRead
	}
	if got, read := ask("b.b2nd"); got != `{"min":1,"max":5}`+"\n" || read != 0 {
		t.Errorf("its own: %s, %d chunks are read", got, read)
	}
	write(t, in("a.b2nd.fri"), testFile(t, in("b.b2nd.fri")))
	if got, read := ask("a.b2nd"); got != `{"min":5,"max":10}`+"\n" || read != 6 {
		t.Errorf("that of another file: %s, %d chunks are read", got, read)
	}
	write(t, in("b.b2nd"), testFile(t, in("a.b2nd")))
	if got, read := ask("b.b2nd"); got != `{"min":5,"max":10}`+"\n" || read != 6 {
		t.Errorf("that of another version: %s, %d chunks are read", got, read)
	}
}
