package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/rangeio"
)

// TestSlowOnceInEveryFormat: a server that gives no answer once, or stalls once, costs
// one request more and no wait for it, whatever is read. If this machine is busy, other
// answers may be slow as well; the tests of objstore in virtual time count exactly.
func TestSlowOnceInEveryFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selectors := everyFormat(t, dir, 4)
	for name, flaw := range map[string]flawedtest.Flaw{
		"no answer, once": flawedtest.First(1, flawedtest.Hang),
		"stalls, once":    flawedtest.First(1, flawedtest.HangInBody),
	} {
		for file, sel := range selectors {
			for _, scheme := range []string{"http", "s3"} {
				t.Run(strings.Join([]string{name, file, scheme}, "/"), func(t *testing.T) {
					t.Parallel()
					s := serve(t, dir)
					uri, flags := s.Base()+file, []string{"--stats", "--quiet"}
					if scheme == "s3" {
						uri, flags = "s3://data/"+file, append(flags, "--endpoint-url", s.URL, "--no-sign-request", "--path-style", "--region", "us-east-1")
					}
					out := t.TempDir()
					get := func(to string, more ...string) (n rangeio.Stats, took time.Duration) {
						t.Helper()
						start := time.Now()
						r := getFrom(t, uri, filepath.Join(out, to), sel, append(flags, more...))
						if err := json.Unmarshal([]byte(r.stderr), &n); r.code != exitOK || err != nil {
							t.Fatalf("exit %d %q", r.code, r.stderr)
						}
						return n, time.Since(start)
					}
					well, _ := get("want", "--no-hedge")
					s.Set(flaw)
					slow, took := get("got")
					if slow.Hedged < 1 || slow.Requests != well.Requests+slow.Hedged || well.Hedged != 0 || took > 8*time.Second {
						t.Errorf("%+v after %v, and well %+v", slow, took, well)
					}
					wrote := files(t, out)
					for name, p := range wrote {
						if rest, ok := strings.CutPrefix(name, "want"); ok && wrote["got"+rest] != p {
							t.Errorf("%s differs", name)
						}
					}
					if scheme == "s3" {
						return // the same, later
					}
					s.Set(flaw)
					if slow, _ = get("without", "--no-hedge", "--timeout", "6s"); slow.Hedged != 0 || slow.Retries < 1 {
						t.Errorf("--no-hedge: %+v", slow)
					}
				})
			}
		}
	}
}
