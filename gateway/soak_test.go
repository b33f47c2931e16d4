package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

// soakTime is how long TestSoak runs: a moment, or what FARREAD_SERVE_SOAK says, as `make
// soak-serve` sets it.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if text := os.Getenv("FARREAD_SERVE_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return time.Duration(racetest.Share(2000, 20)) * time.Millisecond
}

// A soak is a mixed load on a gateway whose source fails again and again.
type soak struct {
	g     *ground
	url   string
	paths []string
	want  map[string][]byte // by path
	ctx   context.Context   //nolint:containedctx // of all requests

	whole, broken, refused, left atomic.Int64
}

// soakPaths are a few of each kind of answer.
func soakPaths(r *rand.Rand) (paths []string) {
	for range 40 {
		z, y := r.IntN(60), r.IntN(90)
		paths = append(paths, fmt.Sprintf("/slice/d/v.b2nd?s=%d:%d,%d:%d&format=raw", z, z+1+r.IntN(4), y, y+1+r.IntN(6)),
			fmt.Sprintf("/slice/d/v.npy?s=%d:%d", z*10, z*10+40), fmt.Sprintf("/slice/d/v.b2nd?s=%d,%d&format=json", z, y),
			fmt.Sprintf("/zarr/d/v.b2nd/c/%d/%d/0", r.IntN(4), r.IntN(3)), fmt.Sprintf("/zarr~blocks/d/v.b2nd/c/%d/%d/0", r.IntN(16), r.IntN(6)),
			fmt.Sprintf("/zarr~raw/d/v.b2nd/c/%d/%d/0", r.IntN(4), r.IntN(3)), fmt.Sprintf("/get/d/items.blp?item=%d", r.IntN(200)),
			fmt.Sprintf("/view/d/day.zoom?track=%d&from=%d&to=%d&width=300&format=npy", 1+r.IntN(2), z, z+60), fmt.Sprintf("/get/d/v.b2nd?chunk=%d", r.IntN(12)))
	}
	return append(paths, "/raw/d/v.b2nd", "/raw/d/v.npy", "/zarr/d/v.b2nd/zarr.json", "/group/d/v.b2nd/zarr.json", "/ls/d/sub/", "/slice/d/v.b2nd?s=::31,::13,::127&format=csv")
}

// moving is an object of which all items are the same, another number in each version.
func moving(n int64) []byte {
	p := bytes.Clone(npyFile())
	for at := 128; at < len(p); at += 4 {
		binary.LittleEndian.PutUint32(p[at:], uint32(n))
	}
	return p
}

// one asks for one path, and compares what comes whole with what is right.
func (s *soak) one(client *http.Client, r *rand.Rand) error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	path, method := s.paths[r.IntN(len(s.paths))], "GET"
	switch r.IntN(12) {
	case 0:
		path = "/slice/d/moving.npy?s=:&format=raw"
	case 1:
		method = "HEAD"
	case 2:
		time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, nil)
	if err != nil {
		return err
	}
	a, err := client.Do(req)
	if err != nil {
		s.left.Add(1)
		return nil // the client has left, or the test ends
	}
	p, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	switch {
	case err != nil:
		s.broken.Add(1)
		return nil // a connection that ends is no whole answer
	case a.StatusCode == http.StatusOK && method == "HEAD":
	case a.StatusCode == http.StatusOK && strings.Contains(path, "moving"):
		if len(p) != 4*50_000 || !bytes.Equal(p[4:], p[:len(p)-4]) {
			return fmt.Errorf("%s: two versions in one answer", path)
		}
	case a.StatusCode == http.StatusOK:
		if !bytes.Equal(p, s.want[path]) {
			return fmt.Errorf("%s: %d wrong bytes", path, len(p))
		}
	case a.StatusCode == http.StatusServiceUnavailable || a.StatusCode == http.StatusGatewayTimeout || a.StatusCode == http.StatusConflict:
		s.refused.Add(1)
		return nil
	default:
		return fmt.Errorf("%s: %d %.200s", path, a.StatusCode, p)
	}
	s.whole.Add(1)
	return nil
}

// load asks by some clients for a time.
func (s *soak) load(t *testing.T, took time.Duration, seed uint64) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	end := time.Now().Add(took)
	var wg sync.WaitGroup
	for n := range uint64(12) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, n))
			for time.Now().Before(end) && !t.Failed() {
				if err := s.one(client, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := int64(1); time.Now().Before(end); n++ { // time goes by, and an object is replaced
		time.Sleep(20 * time.Millisecond)
		s.g.pass(time.Second)
		if n%10 == 0 {
			s.g.put(t, "moving.npy", moving(int64(seed)<<16+n))
		}
	}
	wg.Wait()
}

// A possession is what a gateway could hold too long.
type possession struct{ goroutines, files int }

func holdings() possession {
	list, _ := os.ReadDir("/proc/self/fd") // none on other systems
	return possession{runtime.NumGoroutine(), len(list)}
}

// TestSoak: mixed load on a source that cuts, throttles, fails and is replaced. Every answer
// that looks whole is right, and nothing grows.
func TestSoak(t *testing.T) {
	var calls atomic.Int64
	faults := simstore.Replace(func(_ context.Context, c simstore.Call) error {
		switch n := calls.Add(1); {
		case n%17 == 0:
			return &objstore.Error{Op: c.Op, Key: c.Key, Err: objstore.ErrThrottled}
		case n%23 == 0:
			return &objstore.Error{Op: c.Op, Key: c.Key, Err: objstore.ErrUnavailable}
		}
		return nil
	})
	const memory, cache = 160 << 20, 2 << 20 // an item counts for the longest answer
	s := &soak{want: map[string][]byte{}, ctx: t.Context()}
	s.paths = soakPaths(rand.New(rand.NewPCG(1, 2)))
	s.g = newGround(t, Config{Memory: memory, Cache: cache, TTL: 3 * time.Second}, simstore.Cut(29, 3000), simstore.Short(31, 2000), faults)
	s.g.put(t, "moving.npy", moving(1))
	calm, err := New(Config{Client: s.g.client, Roots: []Root{{Name: "d", Bucket: s.g.mem, Key: "data/"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer calm.Close()
	for _, path := range s.paths {
		s.want[path] = (&ground{Server: calm}).get(t, path).Body.Bytes()
	}
	server := httptest.NewServer(s.g)
	defer server.Close()
	s.url = server.URL
	took := soakTime(t)
	s.load(t, took/4, 1) // what is made once
	server.CloseClientConnections()
	until(t, "the end of the requests", func() bool { return s.g.meter.active.Load() == 0 })
	before, m := holdings(), heaptest.Start()
	s.load(t, took-took/4, 2)
	server.CloseClientConnections()
	until(t, "the end of the requests", func() bool { return s.g.meter.active.Load() == 0 && s.g.memory.used.Load() == 0 })
	m.Look()
	after := holdings()
	for range 100 { // connections end in goroutines of their own
		if after.goroutines <= before.goroutines+8 && after.files <= before.files+4 {
			break
		}
		time.Sleep(20 * time.Millisecond)
		after = holdings()
	}
	if after.goroutines > before.goroutines+8 || after.files > before.files+4 {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if grown := m.Live(); !racetest.On && grown > cache+(16<<20) {
		t.Errorf("%d MiB more live", grown>>20)
	}
	whole, broken := s.whole.Load(), s.broken.Load()
	t.Logf("%v: %d whole answers, %d cut, %d refused for now, %d given up; %d faults at the source; %+v before, %+v after, %d MiB more",
		took, whole, broken, s.refused.Load(), s.left.Load(), calls.Load()/17+calls.Load()/23, before, after, m.Live()>>20)
	if bad := broken + s.refused.Load(); whole+bad > 1000 && whole < 10*bad { // of few answers chance decides
		t.Errorf("only %d whole answers, %d cut, %d refused", whole, broken, s.refused.Load())
	}
	if errors.Is(t.Context().Err(), context.DeadlineExceeded) {
		t.Error("too slow")
	}
}
