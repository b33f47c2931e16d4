package soak_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The goals of E3 in docs/reliability.md.
const (
	maxBinary = 14_000_000
	maxIdle   = 20 << 20
	maxStart  = 10 * time.Millisecond
)

// TestColdStart (docs/reliability.md, E3) measures for each function the size of its
// archive, its memory when idle, and the time from exec to its first request for work.
// The time is only a figure; machines differ too much for a bound.
func TestColdStart(t *testing.T) {
	apart(t)
	bins, err := built()
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(`[{"bucket":"uploads","prefix":"w/","job":"zoom","out":{"bucket":"datasets"}},
		{"bucket":"uploads","job":"pack","out":{"bucket":"datasets"}}]`, "\n", "")
	arches := map[string]string{runtime.GOARCH: bins}
	if full() { // what `make zip` builds
		for _, arch := range []string{"amd64", "arm64"} {
			if arches[arch] == "" {
				arches[arch] = t.TempDir()
				if err := buildFor(arches[arch], arch); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, name := range []string{"fn-pack", "fn-zoom"} {
		heavy := int64(0)
		for _, dir := range arches {
			info, err := os.Stat(filepath.Join(dir, name, "bootstrap"))
			if err != nil {
				t.Fatal(err)
			}
			heavy = max(heavy, info.Size())
		}
		var took []time.Duration
		var idle int64
		for range scale(3, 41) {
			d, rss := firstNext(t, filepath.Join(bins, name, "bootstrap"), doc)
			took = append(took, d)
			idle = max(idle, rss)
		}
		slices.Sort(took)
		if heavy > maxBinary || idle > maxIdle {
			t.Errorf("%s: %d bytes, %d KiB when idle", name, heavy, idle>>10)
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		median := took[len(took)/2]
		figure(t, "E3", fmt.Sprintf("%s (%d of 2 architectures built)", name, len(arches)),
			fmt.Sprintf("exec to first `next` %.1f ms (median of %d, worst %.1f), binary %.1f MB, idle RSS %.1f MiB", ms(median), len(took), ms(took[len(took)-1]), float64(heavy)/1e6, float64(idle)/(1<<20)),
			"<= 10 ms, <= 14 MB, <= 20 MiB", median <= maxStart && heavy <= maxBinary && idle <= maxIdle)
	}
}

// firstNext starts a function with a Runtime API of its own. It tells when the
// function asked for work, and how much memory it had then.
func firstNext(t *testing.T, bin, rules string) (took time.Duration, rss int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan time.Time, 1)
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			next <- time.Now()
			<-r.Context().Done()
		}
	})}
	go func() { _ = srv.Serve(ln) }()
	defer srv.Close()
	cmd := exec.Command(bin)
	cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + ln.Addr().String(), "AWS_REGION=us-east-1", "AWS_LAMBDA_FUNCTION_NAME=fn", "FARREAD_RULES=" + rules}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() { b, _ := io.ReadAll(out); ended <- string(b) }()
	select {
	case at := <-next:
		took = at.Sub(begun)
	case text := <-ended:
		t.Fatal(text)
	}
	// The peak so far bounds the memory of the waiting function.
	if rss, err = peak(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	<-ended
	_ = cmd.Wait()
	return took, rss
}
