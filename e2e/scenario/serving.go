package scenario

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// Serve says how a function that serves datasets is to be set up: over a bucket, its root
// "d" at "sets/", with this token.
type Serve struct {
	Bucket, Token string
}

// Environment is the environment of the function.
func (s Serve) Environment() map[string]string {
	return map[string]string{"FARREAD_ROOTS": "d=s3://" + s.Bucket + "/sets/", "FARREAD_RAW": "1", "FARREAD_CORS": "*", "FARREAD_TTL": "0s"}
}

// Served is such a function behind its URL.
type Served struct {
	Serve

	Endpoint, Region, AccessKey, SecretKey string // of the store
	URL                                    string // where requests go, without a slash at its end
	Host                                   string // their Host; "": that of URL
	// LocalStack says that it is a URL of LocalStack 4.14, which sends only answers that
	// are UTF-8, decodes paths, and decides itself about pages of other origins.
	LocalStack bool
}

// Serving asks a function for what it serves: what is there, numbers, a chunk, a view,
// stored bytes, and what it refuses.
func Serving(t *testing.T, s Served) {
	t.Helper()
	c := farread.New(farread.Config{Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
	t.Cleanup(c.CloseIdleConnections)
	name := "größe a%41+b.b2nd"
	if s.LocalStack {
		name = "größe a+b.b2nd" // of a path that is decoded, nobody knows whether %41 is an A
	}
	s.write(t, c, name, func(w objstore.Writer) error {
		return b2nd.WriteValues(w, []int64{4, 26}, letters(4*26), b2nd.WriteOptions{})
	})
	s.write(t, c, "tone.zoom", series)
	long := bytes.Repeat([]byte("stored as it is. "), 100_000)
	s.write(t, c, "long.txt", func(w objstore.Writer) error { _, err := w.Write(long); return err })

	at := "/d/" + strings.ReplaceAll(url.PathEscape(name), "+", "%2B")
	var info struct {
		Format, Version, Pinned string
		Dims                    []string
	}
	a := s.ask(t, http.MethodGet, "/info"+at)
	if err := json.Unmarshal(a.body, &info); err != nil || info.Format == "" || len(info.Version) != 16 {
		t.Errorf("info: %s %v %s", a.Status, err, a.body)
	}
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/slice" + at + "?s=1,:3&format=json":     {200, "[97,98,99]\n"},
		"/slice" + at + "?s=1,:3&format=raw":      {200, "abc"},
		"/slice" + at + "?s=9&format=json":        {400, ""},
		"/zarr~raw" + at + "/c/0/0":               {200, strings.Repeat("abcdefghijklmnopqrstuvwxyz", 4)},
		"/zarr" + at + "/c/9/9":                   {404, ""},
		"/zarr/d/none.b2nd/c/0/0":                 {410, ""},
		"/slice/d/none.b2nd":                      {404, ""},
		"/slice~v-0123456789abcdef" + at + "?s=1": {409, ""},
	} {
		if a := s.ask(t, http.MethodGet, path); a.StatusCode != want.status || want.body != "" && string(a.body) != want.body {
			t.Errorf("%s: %s %.200q", path, a.Status, a.body)
		}
	}
	s.conditions(t, at)
	var view struct{ Max []float64 }
	if a := s.ask(t, http.MethodGet, "/view/d/tone.zoom?track=1&width=10"); a.StatusCode != 200 || !json.Valid(a.body) || json.Unmarshal(a.body, &view) != nil {
		t.Errorf("view: %s %.200s", a.Status, a.body)
	}
	s.redirected(t, long)
	if s.LocalStack {
		return
	}
	if a := s.ask(t, http.MethodGet, "/view/d/tone.zoom?track=1&width=200&format=png"); a.StatusCode != 200 || !bytes.HasPrefix(a.body, []byte("\x89PNG")) {
		t.Errorf("a picture: %s %.20q", a.Status, a.body)
	}
	if a := s.ask(t, http.MethodGet, "/slice"+at); a.StatusCode != 200 || !bytes.HasPrefix(a.body, []byte("\x93NUMPY")) || !bytes.HasSuffix(a.body, []byte("xyz")) {
		t.Errorf("npy: %s %.20q", a.Status, a.body)
	}
	if a := s.ask(t, http.MethodGet, "/zarr"+at+"/c/0/0"); a.StatusCode != 200 || len(a.body) < 16 || a.body[0] != 2 {
		t.Errorf("a chunk: %s %.20q", a.Status, a.body)
	}
}

// conditions: what a client has already, parts, and who may ask.
func (s Served) conditions(t *testing.T, at string) {
	t.Helper()
	path := "/slice" + at + "?s=0&format=raw"
	whole := s.ask(t, http.MethodGet, path)
	etag := whole.Header.Get("ETag")
	if a := s.ask(t, http.MethodGet, path, "If-None-Match", etag); etag == "" || a.StatusCode != http.StatusNotModified || len(a.body) != 0 {
		t.Errorf("304: %s %q %q", a.Status, etag, a.body)
	}
	if a := s.ask(t, http.MethodGet, path, "Range", "bytes=2-4"); a.StatusCode != http.StatusPartialContent || string(a.body) != "cde" || a.Header.Get("Content-Range") != "bytes 2-4/26" {
		t.Errorf("206: %s %q %v", a.Status, a.body, a.Header)
	}
	if a := s.ask(t, http.MethodHead, path); a.StatusCode != 200 || len(a.body) != 0 || a.Header.Get("ETag") != etag {
		t.Errorf("HEAD: %s %v", a.Status, a.Header)
	}
	if a := s.ask(t, http.MethodGet, path, "Authorization", "Bearer wrong"); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("401: %s", a.Status)
	}
	if a := s.ask(t, http.MethodGet, path, "Origin", "https://viewer.example"); !s.LocalStack && a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("CORS: %v", a.Header)
	}
}

// redirected: long bytes come from the store.
func (s Served) redirected(t *testing.T, want []byte) {
	t.Helper()
	a := s.ask(t, http.MethodGet, "/raw/d/long.txt")
	if a.StatusCode != http.StatusTemporaryRedirect {
		t.Fatalf("raw: %s", a.Status)
	}
	to, err := url.Parse(a.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	// The function may know the store under another address.
	store, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	to.Scheme, to.Host = store.Scheme, store.Host
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := do(t, r); got.StatusCode != 200 || !bytes.Equal(got.body, want) {
		t.Errorf("the store: %s, %d bytes", got.Status, len(got.body))
	}
}

// write puts a dataset below the root.
func (s Served) write(t *testing.T, c *farread.Client, name string, fn func(objstore.Writer) error) {
	t.Helper()
	b, _, err := c.Bucket(t.Context(), "s3://"+s.Bucket+"/")
	if err != nil {
		t.Fatal(err)
	}
	w, err := b.Create(t.Context(), "sets/"+name, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err = fn(w); err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		w.Abort()
		t.Fatal(err)
	}
}

// letters are n bytes that are UTF-8.
func letters(n int) []uint8 {
	p := make([]uint8, n)
	for i := range p {
		p[i] = 'a' + uint8(i%26)
	}
	return p
}

// series is a short one.
func series(w objstore.Writer) error {
	z, err := zoomcache.NewWriter(w, zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}})
	if err != nil {
		return err
	}
	samples := make([]int16, 5000)
	for i := range samples {
		samples[i] = int16(i)
	}
	if err := zoomcache.WriteSamples(z.Track(1), samples); err != nil {
		return err
	}
	return z.Close()
}

// An answered request.
type answered struct {
	*http.Response

	body []byte
}

// ask makes a request with the token, and headers as name and value. It follows no
// redirection.
func (s Served) ask(t *testing.T, method, path string, headers ...string) answered {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Host != "" {
		r.Host = s.Host
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return do(t, r)
}

func do(t *testing.T, r *http.Request) answered {
	t.Helper()
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatalf("%s: %s bytes, %v", r.URL.Path, strconv.Itoa(len(body)), err)
	}
	return answered{a, body}
}
