package main

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/cmd/farread/internal/doctor"
	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pagetest"
	"github.com/farread/farread/internal/teststack"
)

// TestDoctorInS3: a real S3 server is sound, and nothing is left in it; what is no store, or may not be written to, is told.
func TestDoctorInS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"data"}})
	out := run(t, "doctor", "s3://data/some/")
	if !strings.HasSuffix(out, "checks work\n") || !strings.Contains(out, "one of 8 won") {
		t.Error(out)
	}
	if r := (runner{}).run(t, "ls", "s3://data/"); r.code != exitNotFound {
		t.Errorf("left: %s", r.stdout)
	}
	var r doctor.Report
	report := []byte(run(t, "doctor", "s3://data/", "--json"))
	if err := json.Unmarshal(report, &r); err != nil || r.Count(doctor.Bad) > 0 || len(r.Findings) < 20 {
		t.Errorf("%v: %+v", err, r)
	}
	const store = "versitygw"
	head := pagetest.Doctor(t, scenario.Root(t), store, report, true)
	b, err := os.ReadFile(filepath.Join(scenario.Root(t), "localcloud", "go.mod"))
	if module := "versity/versitygw v" + strings.TrimPrefix(head, store+" ") + "\n"; err != nil || !strings.Contains(string(b), module) {
		t.Errorf("the table has a column %q; in localcloud/go.mod is no %q (%v): run make stores", head, module, err)
	}
	if r := (runner{}).run(t, "doctor", "s3://none/"); r.code != exitNotFound || !strings.Contains(r.stdout, "bad      write") {
		t.Errorf("no bucket: %+v", r)
	}
}

// TestDoctorInParts: uploads in parts are tried as such: a store that refuses them is found out, and so is one that
// takes only parts of one length.
func TestDoctorInParts(t *testing.T) {
	s := cloudHere(t, teststack.Options{Buckets: []string{"data"}})
	for name, c := range map[string]struct {
		refuse func(r *http.Request) bool
		want   []string
	}{
		"no uploads in parts": {func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploads") },
			[]string{"bad upload in parts", "skipped copy of parts", "skipped If-None-Match, in parts", "skipped If-Match, in parts"}},
		"no copies": {func(r *http.Request) bool { return r.Header.Get("X-Amz-Copy-Source") != "" },
			[]string{"bad copy of parts"}},
		"no conditional writes": {func(r *http.Request) bool {
			return r.Method != http.MethodGet && (r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Match") != "")
		}, []string{"bad If-None-Match on writes", "bad If-None-Match, several at once", "bad If-Match on writes", "bad If-Match, several at once",
			"bad If-None-Match, in parts", "bad If-Match, in parts", "warning If-Match on deletes"}},
		"parts of one length": {func(r *http.Request) bool { // but the last
			return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2" && r.ContentLength == 8<<20
		}, []string{"bad upload in parts", "skipped copy of parts", "skipped If-None-Match, in parts", "skipped If-Match, in parts"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_ENDPOINT_URL", refusing(t, s.Endpoint, c.refuse))
			var r doctor.Report
			res := runner{}.run(t, "doctor", "s3://data/", "--json")
			if err := json.Unmarshal([]byte(res.stdout), &r); err != nil {
				t.Fatalf("%v: %+v", err, res)
			}
			var got []string
			for _, f := range r.Findings {
				if f.Level != doctor.OK && f.Level != doctor.Note {
					got = append(got, string(f.Level)+" "+f.Check)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// refusing is a store before another one, which does not do some of what is asked.
func refusing(t *testing.T, endpoint string, refuse func(r *http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = p.In.Host // it is signed
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse(r) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusNotImplemented)
			_, _ = io.WriteString(w, "<Error><Code>NotImplemented</Code><Message>not here</Message></Error>")
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestDoctorReads: of a plain HTTP server an object is read, and one without ranges is not fit.
func TestDoctorReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.b2nd"), []byte("some bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	if out := run(t, "doctor", srv.URL+"/x.b2nd"); !strings.Contains(out, "ok       range  ") {
		t.Error(out)
	}
	if r := (runner{}).run(t, "doctor", srv.URL+"/none"); r.code != exitNotFound {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"doctor", dir}, {"doctor", "s3://data/x"}, {"doctor", "s3://data/x/", "--read-only"}, {"doctor", srv.URL + "/"}, {"doctor"}} {
		if r := (runner{}).run(t, args...); r.code != exitUsage || r.stdout != "" {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// TestDoctorCertificate: of a store behind TLS its certificate is told. One that is not trusted is what is bad, and
// nothing else.
func TestDoctorCertificate(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader("some bytes"))
	}))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	srv.StartTLS()
	defer srv.Close()
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	t.Setenv("AWS_CA_BUNDLE", "")
	for _, args := range [][]string{{"doctor", "s3://data/x", "--read-only"}, {"doctor", "s3://data/x/"}} {
		res := runner{}.run(t, append(args, "--no-sign-request", "--json")...)
		if res.code == exitOK || !strings.Contains(res.stderr, "no trust in the certificate") {
			t.Errorf("%q: %+v", args, res)
		}
		res = runner{}.run(t, append(args, "--no-sign-request")...)
		lines := strings.Split(strings.TrimSpace(res.stdout), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "bad      certificate ") || !strings.Contains(lines[0], "issued by Acme Co: x509: ") || !strings.Contains(lines[1], "set AWS_CA_BUNDLE ") {
			t.Errorf("%q: %q", args, lines)
		}
	}
	res := runner{}.run(t, "doctor", srv.URL+"/x")
	if !strings.Contains(res.stdout, "set SSL_CERT_FILE ") || strings.Contains(res.stdout, " find ") {
		t.Errorf("%+v", res)
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	write(t, bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	t.Setenv("AWS_CA_BUNDLE", bundle)
	if out := run(t, "doctor", "s3://data/x", "--read-only", "--no-sign-request"); !regexp.MustCompile(`^ok +certificate +issued by Acme Co, good for [\d,]+ days\n`).MatchString(out) || strings.Count(out, "certificate") != 1 {
		t.Error(out)
	}
}
