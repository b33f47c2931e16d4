package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A presigner tells which URL it would sign.
type presigner struct{ *memstore.Bucket }

func (presigner) SignGet(_ context.Context, key, versionID string, ttl time.Duration) (string, error) {
	if strings.HasSuffix(key, "/fails") {
		return "", fmt.Errorf("no credentials: %w", objstore.ErrDenied)
	}
	return "https://store.example/" + key + "?v=" + versionID + "&ttl=" + ttl.String(), nil
}

// TestRedirect: which answers of raw the store gives itself, and of which version.
func TestRedirect(t *testing.T) {
	t.Parallel()
	for name, versions := range map[string]bool{"plain": false, "versions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := memstore.New(memstore.Config{Name: "mem://secret-bucket", Versioned: versions})
			g := &ground{mem: mem}
			g.put(t, "x.bin", make([]byte, 1000))
			g.put(t, "fails", make([]byte, 1000))
			in, err := mem.Head(t.Context(), "data/x.bin")
			if err != nil {
				t.Fatal(err)
			}
			c := Config{Client: farread.New(farread.Config{}), RedirectRaw: 500, CORS: []string{"*"}, Token: "t",
				Roots: []Root{{Name: "d", Bucket: objstore.Chain(presigner{mem}, objstore.Count(&objstore.Counter{})), Key: "data/"}, {Name: "e", Bucket: mem, Key: "data/"}}}
			if g.Server, err = New(c); err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			auth := "Authorization: Bearer t"
			direct := 0
			if !versions {
				direct = 200
			}
			pinned := "/raw~v-" + digest(digest(mem.Name(), "data/x.bin", in.ETag, in.VersionID, "1000"))[:16] + "/d/x.bin"
			for _, ask := range []struct {
				method, path string
				headers      []string
				status       int
			}{
				{"GET", "/raw/d/x.bin", []string{auth}, 307},
				{"GET", "/raw/d/x.bin", nil, 401},
				{"HEAD", "/raw/d/x.bin", []string{auth}, 200},
				{"GET", "/raw/e/x.bin", []string{auth}, 200}, // this bucket cannot sign
				{"GET", "/raw/d/x.bin", []string{auth, "Range: bytes=0-498"}, 206},
				{"GET", "/raw/d/x.bin", []string{auth, "Range: bytes=0-499"}, 307},
				{"GET", "/raw/d/x.bin", []string{auth, "Range: bytes=2000-"}, 416},
				{"GET", "/raw/d/x.bin", []string{auth, "If-None-Match: " + in.ETag}, 304},
				{"GET", "/raw/d/x.bin", []string{auth, `If-Match: "another"`}, 412},
				{"GET", pinned, []string{auth}, max(direct, map[bool]int{true: 307}[versions])},
				{"GET", "/raw/d/fails", []string{auth}, 424},
				{"GET", "/slice/d/x.bin", []string{auth}, 422},
			} {
				w := g.ask(ask.method, ask.path, ask.headers...)
				if w.Code != ask.status || w.Header().Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s %s %v: %d %v %s", ask.method, ask.path, ask.headers, w.Code, w.Header(), w.Body)
				}
				if to := w.Header().Get("Location"); (to != "") != (w.Code == http.StatusTemporaryRedirect) {
					t.Errorf("%s: %d to %q", ask.path, w.Code, to)
				} else if want := "https://store.example/data/x.bin?v=" + in.VersionID + "&ttl=5m0s"; to != "" && (to != want || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("ETag") != "" || w.Body.Len() != 0) {
					t.Errorf("%s: %v", ask.path, w.Header())
				}
			}
		})
	}
}
