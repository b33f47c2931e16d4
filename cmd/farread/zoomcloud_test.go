package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/teststack"
)

// indexed is the report of index about a file.
func indexed(t *testing.T, args ...string) (r indexReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(run(t, append([]string{"index", "--json"}, args...)...)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// informed is the JSON of info about a zoom-cache file.
func informed(t *testing.T, args ...string) (i zoomInfo) {
	t.Helper()
	if err := json.Unmarshal([]byte(run(t, append([]string{"info", "--json"}, args...)...)), &i); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestIndexInS3: a foreign file in S3 gets an index beside it. The index makes views
// cheap, tells counts without a scan, and is ignored once the file changes.
func TestIndexInS3(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"series"}})
	const uri, n = "s3://series/f.zoom", 3_000_000
	upload(t, uri, testFile(t, spiky(t, n, 1_234_567, false)))
	view := []string{"view", uri, "--width", "200", "--json"}
	want := viewOf(t, view[1:]...)
	if i := informed(t, uri); i.Index != nil || i.Tracks[0].Samples != nil {
		t.Errorf("before: %+v", i)
	}
	whole := stats(t, view...)
	r := indexed(t, uri)
	if !r.New || r.Index != uri+".fri" || r.Size < 1000 || r.Size > r.File/10 {
		t.Errorf("%+v", r)
	}
	if again := indexed(t, uri); again.New || again.Size != r.Size {
		t.Errorf("again: %+v", again)
	}
	if forced := indexed(t, uri, "--force"); !forced.New || forced.Size != r.Size {
		t.Errorf("forced: %+v", forced)
	}
	if got := viewOf(t, view[1:]...); len(got.Points) < 180 || highest(got) != "30000" || highest(want) != "30000" {
		t.Errorf("%d points, highest %s, before %s", len(got.Points), highest(got), highest(want))
	}
	if got := stats(t, view...); got.Requests > 4 || got.Bytes > 128<<10 || got.Bytes*10 > whole.Bytes {
		t.Errorf("with the index: %+v, without: %+v", got, whole)
	}
	i := informed(t, uri)
	if i.Index == nil || i.Index.Inside || i.Index.Bytes != r.Size || i.Tracks[0].Samples == nil || *i.Tracks[0].Samples != n || *i.Tracks[0].Packets != n/1024+2 {
		t.Errorf("after: %+v, %d packets, %+v", i, *i.Tracks[0].Packets, i.Index)
	}
	// Another file under the same name: the index is not used at all.
	upload(t, uri, testFile(t, spiky(t, n, 2_000_000, false)))
	if i := informed(t, uri); i.Index != nil {
		t.Errorf("of another file: %+v", i.Index)
	}
	got := viewOf(t, view[1:]...)
	for _, p := range got.Points {
		entry, exit := p["entry"].(json.Number), p["exit"].(json.Number)
		a, _ := entry.Int64()
		b, _ := exit.Int64()
		if high := p["max"].(json.Number) == "30000"; high != (a <= 2_000_001 && 2_000_001 <= b) {
			t.Errorf("stale: %v", p)
		}
	}
	if r = indexed(t, uri); !r.New {
		t.Errorf("of the new file: %+v", r)
	}
	if i := informed(t, uri); i.Index == nil {
		t.Error("the new index is not used")
	}
}

func highest(v viewed) (most json.Number) {
	for _, p := range v.Points {
		if m, ok := p["max"].(json.Number); ok && (len(m) > len(most) || len(m) == len(most) && m > most) {
			most = m
		}
	}
	return most
}

// TestViewOpensLikeTheLibrary: a file is opened by the requests of Client.OpenZoom. If
// the last file of a folder had its index beside it, the index of the next one is
// opened side by side with the head, and the end of the file is not read.
func TestViewOpensLikeTheLibrary(t *testing.T) {
	t.Parallel()
	name := spiky(t, 200_000, 700, false)
	run(t, "index", name)
	byLibrary := func(a *app) (*farread.Zoom, error) {
		return a.client.OpenZoom(t.Context(), name, farread.ZoomOptions{})
	}
	byCommand := func(a *app) (*farread.Zoom, error) {
		c, err := a.open(t.Context(), name, aim{})
		if err != nil {
			return nil, err
		}
		return c.(*zoomContent).f, nil
	}
	for which, open := range map[string]func(a *app) (*farread.Zoom, error){"library": byLibrary, "command": byCommand} {
		a := ready(t)
		for i, want := range []int64{3, 2} {
			before := a.client.Stats().Requests
			f, err := open(a)
			if err != nil {
				t.Fatal(err)
			}
			if _, inside, ok, err := f.HasIndex(t.Context()); inside || !ok || err != nil {
				t.Fatal(inside, ok, err)
			}
			if got := a.client.Stats().Requests - before; got != want {
				t.Errorf("%s, opened %d times before: %d requests, want %d", which, i, got, want)
			}
		}
	}
}

// TestIndexInterrupted: an interrupt while the file is read ends the command, and
// there is no index.
func TestIndexInterrupted(t *testing.T) {
	s := stackEnv(t, teststack.Options{Buckets: []string{"series"}})
	upload(t, "s3://series/f.zoom", testFile(t, spiky(t, 6_000_000, 5, false)))
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	var left atomic.Int64
	left.Store(4) // head and end, the place of an index, the first of the blocks
	p := newProcess(t, "index", "s3://series/f.zoom")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left.Add(-1) == 0 {
			p.signal(os.Interrupt)
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer srv.Close()
	p.start(t, "--endpoint-url", srv.URL).interrupted(t, "index")
	if got := run(t, "ls", "s3://series/"); strings.Contains(got, ".fri") {
		t.Errorf("left behind:\n%s", got)
	}
}

// TestExplainViews: explain names the requests, bytes and phases that view and get
// take: with an index inside, with one beside, with none, far out and close by.
func TestExplainViews(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 3_000_000
	write(t, filepath.Join(dir, "in.zoom"), testFile(t, spiky(t, n, 999_999, true)))
	write(t, filepath.Join(dir, "by.zoom"), testFile(t, spiky(t, n, 999_999, false)))
	write(t, filepath.Join(dir, "no.zoom"), testFile(t, spiky(t, n, 999_999, false)))
	run(t, "index", filepath.Join(dir, "by.zoom"))
	srv := served(t, dir)
	for _, name := range []string{"in", "by", "no"} {
		for _, c := range [][]string{
			{"--width", "20"}, {"--width", "2000"}, {"--width", "2000", "--from", "1000", "--to", "1100"}, {"--width", "2000", "--from", "1000", "--to", "1003"},
			{"--width", "100", "--from", "2990"}, {"--level", "3"},
			{"--from", "1000", "--to", "1003"}, {"--from", "2500"},
		} {
			place := srv
			if name == "by" { // an index belongs to an ETag, and the server has other ones
				place = dir
			}
			args := append([]string{place + "/" + name + ".zoom"}, c...)
			command := []string{"view", "--format", "json"}
			if c[0] == "--from" {
				command = []string{"get", "--format", "csv"}
			}
			p, _ := planAndRead(t, command, args...)
			if !slices.ContainsFunc(p.Requests, func(r traceRow) bool { return r.Estimated }) { // a pass may end early
				explainedAs(t, command, args...)
			}
		}
	}
	spent := stats(t, "explain", srv+"/in.zoom", "--width", "2000", "--from", "1000", "--to", "1003")
	if spent.Bytes > 64<<10 {
		t.Errorf("explain itself took %+v", spent)
	}
	if text := run(t, "explain", srv+"/in.zoom", "--width", "2000", "--from", "1000", "--to", "1100"); !strings.Contains(text, "packets") || !strings.Contains(text, "requests in") {
		t.Errorf("table:\n%s", text)
	}
}

// TestVerifyAnew: a summary or an index that belongs to other samples is damage, even
// if its form is right.
func TestVerifyAnew(t *testing.T) {
	t.Parallel()
	name, other := spiky(t, 50_000, 700, false), spiky(t, 50_000, 9999, false)
	var v zoomReport
	if err := json.Unmarshal([]byte(run(t, "verify", "--json", name)), &v); err != nil || !v.OK || v.Compared != v.Summaries || v.Skipped != 0 || v.Spans != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	p := testFile(t, name)
	run(t, "index", name)
	if err := json.Unmarshal([]byte(run(t, "verify", "--json", name)), &v); err != nil || !v.OK || v.Spans < 90 {
		t.Errorf("with an index: %+v, %v", v, err)
	}
	// An index that was made of other samples and claims to be about these.
	a := ready(t)
	z, err := a.client.OpenZoom(t.Context(), other, farread.ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.client.OpenZoom(t.Context(), name, farread.ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ix, err := z.BuildIndex(t.Context(), o.Object.Info().ETag, zoomindex.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, name+".fri", ix)
	if r := (runner{}).run(t, "verify", name); r.code != exitCorrupt || !strings.Contains(r.stderr, "track 1, index") || !strings.Contains(r.stderr, "not what the samples say") {
		t.Errorf("a wrong index: exit %d, %q", r.code, r.stderr)
	}
	sealed, _ := sound(t, 50_000, true)
	q := testFile(t, sealed)
	q[len(q)-30] ^= 1 // of the hash in the trailer
	write(t, sealed, q)
	if r := (runner{}).run(t, "verify", sealed); r.code != exitCorrupt || !strings.Contains(r.stderr, "index at ") || !strings.Contains(r.stderr, "hash") {
		t.Errorf("another hash: exit %d, %q", r.code, r.stderr)
	}
	at := bytes.Index(p, []byte("\xe5ZX5umm\x00"))
	high := bytes.Index(p[at+32:], []byte{0x75, 0x30}) + at + 32 // 30000, the greatest
	p[high+1]++
	write(t, other, p)
	if r := (runner{}).run(t, "verify", other); r.code != exitCorrupt || !strings.Contains(r.stderr, "track 1, summary of level 1 at "+strconv.Itoa(at)) {
		t.Errorf("a wrong summary: exit %d, %q", r.code, r.stderr)
	}
}
