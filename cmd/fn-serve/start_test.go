package main

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Most bytes of the function's archive. Lambda takes 50 MB in one piece; what it fetches
// is a part of each cold start.
const maxArchive = 16_000_000

// TestStart bounds the archive, and prints its size and the time from exec to the first
// request for work. The goal is 20 ms; machines differ too much for a bound.
func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the function")
	}
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "fn-serve.zip")
	if out, err := exec.Command("go", "run", "../../scripts/fnzip", archive, bin).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if n := size(archive); n > maxArchive {
		t.Errorf("the archive has %d bytes, %d allowed", n, maxArchive)
	}
	var took []time.Duration
	for range 11 {
		took = append(took, firstNext(t, bin))
	}
	slices.Sort(took)
	t.Logf("exec to first next: median %s, worst %s of %d; program %.1f MB, archive %.1f MB",
		took[len(took)/2], took[len(took)-1], len(took), float64(size(bin))/1e6, float64(size(archive))/1e6)
}

// firstNext starts the function with a Runtime API of its own, and tells when it asked
// for work.
func firstNext(t *testing.T, bin string) time.Duration {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan time.Time, 1)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			next <- time.Now()
			<-r.Context().Done()
		}
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	cmd := exec.Command(bin)
	cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + l.Addr().String(), "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "FARREAD_ROOTS=a=s3://one/ b=s3://two/x/ c=s3://two/y/"}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill()
		if err := <-ended; err == nil {
			t.Error("it ended by itself")
		}
	}()
	select {
	case at := <-next:
		return at.Sub(begun)
	case err := <-ended:
		ended <- err
		t.Fatal("it ended: ", err)
		return 0
	}
}

// TestWrong: a wrong configuration ends the function with one line.
func TestWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the function")
	}
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin)
	cmd.Env = []string{"FARREAD_ROOTS=a=https://example.org/"}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "fn-serve: FARREAD_ROOTS:") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("%v %s", err, out)
	}
}
