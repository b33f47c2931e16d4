package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/cmd/farread/internal/doctor"
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
	if err := json.Unmarshal([]byte(run(t, "doctor", "s3://data/", "--json")), &r); err != nil || r.Count(doctor.Bad) > 0 || len(r.Findings) < 20 {
		t.Errorf("%v: %+v", err, r)
	}
	if r := (runner{}).run(t, "doctor", "s3://none/"); r.code != exitNotFound || !strings.Contains(r.stdout, "bad      write") {
		t.Errorf("no bucket: %+v", r)
	}
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
