package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/racetest"
)

// status reads a line of /proc/PID/status in bytes: VmRSS or VmHWM.
func (p *process) status(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("no /proc tells what a process takes")
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Skip("no " + name)
	return 0
}

// TestServeMemory: under 64 clients of the largest answers, half of them slow, a server
// never takes more than --max-memory and 64 MiB, and nobody gets wrong bytes.
func TestServeMemory(t *testing.T) {
	racetest.Skip(t, racetest.Measures)
	const most, row, rows, take = 128 << 20, 1 << 20, 48, 10
	dir := t.TempDir()
	var o patchedFile
	w, err := b2nd.NewWriter(&o, b2nd.Meta{Shape: []int64{rows, row}, ChunkShape: []int{1, row}, DType: "|u1"}, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		p := make([]byte, row)
		for k := range p {
			p[k] = byte(i + k>>4*7)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.b2nd"), o.Bytes())
	p, url := serving(t, dir, "--as", "d", "--max-memory", "128MiB", "--quiet")
	idle := p.status(t, "VmRSS")
	var whole, refused atomic.Int64
	var wg sync.WaitGroup
	for n := range 64 {
		wg.Go(func() {
			from := n % (rows - take)
			format := []string{"raw", "npy", "arrow", "b2nd"}[n/2%4]
			many := take
			if format == "b2nd" { // is encoded in memory
				many = take / 2
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/slice/d/a.b2nd?s=%d:%d&format=%s", url, from, from+many, format), nil)
			if err != nil {
				t.Error(err)
				return
			}
			if n%8 > 1 { // the others take gzip, which Go's client undoes
				r.Header.Set("Accept-Encoding", "identity")
			}
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Body.Close()
			if a.StatusCode == http.StatusServiceUnavailable {
				refused.Add(1)
				return
			}
			got := []byte{}
			buf := make([]byte, 2<<20)
			for err == nil {
				var k int
				k, err = io.ReadFull(a.Body, buf)
				if got = append(got, buf[:k]...); n%2 == 0 {
					time.Sleep(30 * time.Millisecond)
				}
			}
			if a.StatusCode != http.StatusOK || !a.Uncompressed && int64(len(got)) != a.ContentLength || format == "raw" && (len(got) != take*row || got[0] != byte(from) || got[len(got)-1] != byte(from+take-1+(row-1)>>4*7)) {
				t.Errorf("%s: %s, %d bytes", format, a.Status, len(got))
			}
			whole.Add(1)
		})
	}
	wg.Wait()
	peak := p.status(t, "VmHWM")
	t.Logf("%d MiB at first, %d MiB at most, %d are allowed; %d answers, %d refused", idle>>20, peak>>20, (most+64<<20)>>20, whole.Load(), refused.Load())
	if peak > most+64<<20 || whole.Load() < 32 {
		t.Errorf("%d MiB resident at most, %d answers", peak>>20, whole.Load())
	}
	p.signal(os.Interrupt)
	p.wait()
}

// patchedFile is a file in memory.
type patchedFile struct{ bytes.Buffer }

func (o *patchedFile) Patch(off int64, p []byte) error {
	copy(o.Bytes()[off:], p)
	return nil
}

// TestServeIdle: 10,000 connections that are kept and have nothing to ask take at most 256
// MiB. Where few files may be open, there are fewer connections.
func TestServeIdle(t *testing.T) {
	racetest.Skip(t, racetest.Measures)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	const want, others = 10_000, 500
	if limit.Cur < want/10+others {
		t.Skipf("%d files may be open", limit.Cur)
	}
	n := int(min(want, limit.Cur-others))
	p, url := serving(t, bloscDir, "--as", "d", "--quiet")
	before := p.status(t, "VmRSS")
	var d net.Dialer
	for range n {
		c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || a.StatusCode != http.StatusOK || a.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	after := p.status(t, "VmRSS")
	t.Logf("%d connections: %d MiB, %d MiB without them", n, after>>20, before>>20)
	if most := int64(256<<20) * int64(n) / want; after-before > most || n == want && after > most {
		t.Errorf("%d connections take %d MiB, %d allowed", n, after>>20, most>>20)
	}
	p.signal(os.Interrupt)
	p.wait()
}
