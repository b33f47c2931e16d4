package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

const token = "s3cret"

// program is the function as `make build-functions` builds it.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fn-serve-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "bootstrap")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if out, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(out))
	}
	os.Exit(code)
}

// A ground is the function behind a URL of the local cloud.
type ground struct {
	*testing.T

	cloud  *teststack.Stack
	bucket objstore.Bucket
	at     string
}

func newGround(t *testing.T, versions bool, env ...string) *ground {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the function, starts the local cloud")
	}
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--function", "fn-serve=" + bin, "--url", "fn-serve", "--env", "FARREAD_ROOTS=d=s3://data/sets/ one=s3://data/sets/plane.b2nd"}
	for _, e := range env {
		args = append(args, "--env", e)
	}
	c := teststack.Run(t, teststack.Options{Buckets: []string{"data"}, Versioning: versions, Args: args})
	client := farread.New(farread.Config{Endpoint: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey, PathStyle: true})
	t.Cleanup(client.CloseIdleConnections)
	b, _, err := client.Bucket(t.Context(), "s3://data/")
	if err != nil {
		t.Fatal(err)
	}
	return &ground{t, c, b, strings.TrimSuffix(c.URLs["fn-serve"], "/")}
}

func (g *ground) put(key string, p []byte) {
	g.Helper()
	if _, err := objstore.Put(g.Context(), g.bucket, key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		g.Fatal(err)
	}
}

// number is the item i of a plane: the first ones count, the others do not compress well.
func number(i int) uint16 {
	if i < 64*256 {
		return uint16(i)
	}
	return uint16(uint32(i) * 2654435761 >> 16)
}

// plane is an array of n × 256 numbers of 16 bits.
func plane(t *testing.T, n int) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.b2nd")
	values := make([]uint16, n*256)
	for i := range values {
		values[i] = number(i)
	}
	_, err := farread.New(farread.Config{}).Write(t.Context(), file, objstore.PutOptions{}, func(w objstore.Writer) error {
		return b2nd.WriteValues(w, []int64{int64(n), 256}, values, b2nd.WriteOptions{})
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An answer is what a client got.
type answer struct {
	*http.Response

	body []byte
}

// ask makes a request, with headers as "Name: value". It follows no redirection. The path
// is sent as it is.
func (g *ground) ask(method, path string, headers ...string) answer {
	g.Helper()
	u, err := url.Parse(g.at)
	if err != nil {
		g.Fatal(err)
	}
	path, query, _ := strings.Cut(path, "?")
	u.Opaque, u.RawQuery = path, query
	r := &http.Request{Method: method, URL: u, Header: http.Header{"Authorization": {"Bearer " + token}}}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a, err := http.DefaultTransport.RoundTrip(r.WithContext(g.Context()))
	if err != nil {
		g.Fatal(path, err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		g.Fatalf("%s: %d bytes, %v", path, len(body), err)
	}
	return answer{a, body}
}

func (a answer) code() string {
	var e struct{ Code string }
	_ = json.Unmarshal(a.body, &e) // "" then
	return e.Code
}

// TestURL: the function answers what the server answers, over the protocol of a function
// URL: status, headers and bodies, of every kind.
func TestURL(t *testing.T) {
	t.Parallel()
	g := newGround(t, false, "FARREAD_TOKEN="+token, "FARREAD_CORS=https://viewer.example", "FARREAD_MAX_RESPONSE=12", "FARREAD_RAW=1")
	file, wide := plane(t, 64), plane(t, 24<<10) // 32 KiB, 12 MiB of items
	const odd = "sets/größe é%41 a+b?c#d;.b2nd"
	g.put("sets/plane.b2nd", file)
	g.put("sets/wide.b2nd", wide)
	g.put(odd, file)

	if a := g.ask("GET", "/info/d/plane.b2nd", "Authorization: Bearer wrong"); a.StatusCode != 401 || a.Header.Get("X-Amzn-Remapped-Www-Authenticate") == "" {
		t.Errorf("a wrong token: %d %v", a.StatusCode, a.Header)
	}
	info := g.ask("GET", "/info/d/plane.b2nd", "Accept-Encoding: gzip, zstd")
	if !bytes.Contains(info.body, []byte(`"version"`)) || info.Header.Get("Content-Encoding") != "" || info.Header.Get("Content-Type") != "application/json" {
		t.Errorf("info: %v %s", info.Header, info.body)
	}
	escaped := "/d/" + strings.TrimPrefix((&url.URL{Path: odd}).EscapedPath(), "sets/")
	for path, want := range map[string]struct {
		status int
		code   string
		body   string
	}{
		"/slice/one?s=1,:4&format=json":              {200, "", "[256,257,258,259]\n"},
		"/slice" + escaped + "?s=1,:2&format=json":   {200, "", "[256,257]\n"},
		"/slice/d/plane.b2nd?s=1%2C%3A2&format=json": {200, "", "[256,257]\n"},
		"/slice/d%2Fplane.b2nd?s=3,3&format=json":    {200, "", "771\n"},
		"/slice/d/plane.b2nd?s=99&format=json":       {400, "bad-slice", ""},
		"/slice/d/wide.b2nd":                         {413, "too-large", ""},
		"/slice/d/none.b2nd":                         {404, "not-found", ""},
		"/slice/e/plane.b2nd":                        {404, "no-root", ""},
		"/slice~v-0123456789abcdef/d/plane.b2nd":     {409, "changed", ""},
		"/slice/d/%zz":                               {400, "", ""},
		"/slice/d/..%2fplane.b2nd":                   {400, "bad-path", ""},
		"/slice/d//plane.b2nd":                       {404, "not-found", ""},
		"/raw" + escaped:                             {200, "", string(file)},
		"/zarr/d/plane.b2nd/c/7/7":                   {404, "", ""},
		"/zarr/d/none.b2nd/c/0/0":                    {410, "not-found", ""},
	} {
		a := g.ask("GET", path)
		if a.StatusCode != want.status || a.code() != want.code || want.body != "" && string(a.body) != want.body {
			t.Errorf("%s: %d %s %.80q", path, a.StatusCode, a.code(), a.body)
		}
		if h := g.ask("HEAD", path); h.StatusCode != want.status || len(h.body) != 0 || h.Header.Get("ETag") != a.Header.Get("ETag") {
			t.Errorf("HEAD %s: %d, %d bytes, %v", path, h.StatusCode, len(h.body), h.Header)
		}
	}
	if a := g.ask("POST", "/info/d/plane.b2nd"); a.StatusCode != 405 || a.Header.Get("Allow") == "" {
		t.Errorf("POST: %d %v", a.StatusCode, a.Header)
	}
	if a := g.ask("OPTIONS", "/info/d/plane.b2nd", "Origin: https://viewer.example"); a.StatusCode != 204 || a.Header.Get("Access-Control-Allow-Origin") != "https://viewer.example" {
		t.Errorf("OPTIONS: %d %v", a.StatusCode, a.Header)
	}
	g.conditions()
	g.long(wide)
}

// conditions: parts, and what a client has already.
func (g *ground) conditions() {
	g.Helper()
	whole := g.ask("GET", "/slice/d/plane.b2nd")
	etag := whole.Header.Get("ETag")
	if len(whole.body) != 128+64*256*2 || whole.Header.Get("X-Shape") != "64,256" || binary.LittleEndian.Uint16(whole.body[128+2*300:]) != 300 {
		g.Errorf("a slice of %d bytes, %v", len(whole.body), whole.Header)
	}
	part := g.ask("GET", "/slice/d/plane.b2nd", "Range: bytes=100-131")
	if part.StatusCode != 206 || !bytes.Equal(part.body, whole.body[100:132]) || part.Header.Get("Content-Range") != fmt.Sprintf("bytes 100-131/%d", len(whole.body)) {
		g.Errorf("a part: %d %v", part.StatusCode, part.Header)
	}
	if a := g.ask("GET", "/slice/d/plane.b2nd", "Range: bytes=99999999-"); a.StatusCode != 416 {
		g.Errorf("no part: %d", a.StatusCode)
	}
	if a := g.ask("GET", "/slice/d/plane.b2nd", "If-None-Match: "+etag); a.StatusCode != 304 || len(a.body) != 0 || a.Header.Get("ETag") != etag {
		g.Errorf("304: %d %v", a.StatusCode, a.Header)
	}
	if a := g.ask("GET", "/slice/d/plane.b2nd", `If-Match: "another"`); a.StatusCode != 412 {
		g.Errorf("412: %d", a.StatusCode)
	}
}

// long: answers beyond the 6 MB that Lambda buffers are streams, and bytes as they are
// stored come from S3.
func (g *ground) long(stored []byte) {
	g.Helper()
	a := g.ask("GET", "/slice/d/wide.b2nd?s=:20000&format=raw")
	for i := 0; i < len(a.body)/2; i += 4999 {
		if binary.LittleEndian.Uint16(a.body[2*i:]) != number(i) {
			g.Fatalf("item %d of %d", i, len(a.body)/2)
		}
	}
	if len(a.body) != 20000*256*2 {
		g.Errorf("%d bytes", len(a.body))
	}
	if len(stored) < 1<<20 {
		g.Fatalf("only %d bytes are stored", len(stored))
	}
	a = g.ask("GET", "/raw/d/wide.b2nd")
	to := a.Header.Get("Location")
	if a.StatusCode != 307 || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("ETag") != "" {
		g.Fatalf("raw: %d %v", a.StatusCode, a.Header)
	}
	if got := g.follow(to, ""); !bytes.Equal(got, stored) {
		g.Errorf("what S3 gives is %d bytes, not the %d stored", len(got), len(stored))
	}
	if got := g.follow(to, "bytes=5-1048999"); !bytes.Equal(got, stored[5:1049000]) {
		g.Errorf("a part of S3 is %d bytes", len(got))
	}
	if a = g.ask("GET", "/raw/d/wide.b2nd", "Range: bytes=5-24"); a.StatusCode != 206 || !bytes.Equal(a.body, stored[5:25]) {
		g.Errorf("a short part: %d", a.StatusCode)
	}
}

func (g *ground) follow(to, part string) []byte {
	g.Helper()
	r, err := http.NewRequestWithContext(g.Context(), http.MethodGet, to, nil)
	if err != nil {
		g.Fatal(err)
	}
	if part != "" {
		r.Header.Set("Range", part)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		g.Fatal(err)
	}
	defer a.Body.Close()
	p, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode >= 300 {
		g.Fatalf("%s: %v %.300s", a.Status, err, p)
	}
	return p
}

// TestVersions: a redirection is to the version that the server knows, even if the object
// is another one by then.
func TestVersions(t *testing.T) {
	t.Parallel()
	g := newGround(t, true, "FARREAD_TOKEN="+token, "FARREAD_RAW=1", "FARREAD_TTL=0s")
	old, young := bytes.Repeat([]byte("old "), 1<<18), bytes.Repeat([]byte("young"), 1<<18)
	g.put("sets/x.bin", old)
	to := g.ask("GET", "/raw/d/x.bin").Header.Get("Location")
	g.put("sets/x.bin", young)
	if !bytes.Equal(g.follow(to, ""), old) {
		t.Error("the redirection is to another version")
	}
	if !bytes.Equal(g.follow(g.ask("GET", "/raw/d/x.bin").Header.Get("Location"), ""), young) {
		t.Error("the next one is to the old version")
	}
}

// TestTimes prints what a request takes, cold and warm, and in parallel.
func TestTimes(t *testing.T) {
	t.Parallel()
	g := newGround(t, false)
	g.put("sets/plane.b2nd", plane(t, 64))
	for _, what := range []string{"cold", "warm"} {
		begun := time.Now()
		a := g.ask("GET", "/slice/one?s=1,:4&format=json")
		t.Logf("%s: %d in %s, %s", what, a.StatusCode, time.Since(begun).Round(100*time.Microsecond), a.Header.Get("Server-Timing"))
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			a := g.ask("GET", fmt.Sprintf("/slice/one?s=%d,0&format=json", i))
			if string(a.body) != fmt.Sprintf("%d\n", i*256) {
				t.Errorf("%d: %d %s", i, a.StatusCode, a.body)
			}
		})
	}
	all.Wait()
}
