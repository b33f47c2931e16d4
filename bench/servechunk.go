package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// pmtilesModule is the peer that serves parts of one object, as the gateway does.
const pmtilesModule = "github.com/protomaps/go-pmtiles@v1.31.2"

// A hose is what wrk measures of one URL.
type hose struct {
	name, url string
	server    *daemon
	header    string // of requests; "": none

	rates []float64 // requests a second, of each round
	cpu   []time.Duration
	p99   string // of the last round
}

// wrk asks for the URL by 32 connections for a time.
func (h *hose) wrk(ctx context.Context, took time.Duration) error {
	bin, err := tool("wrk")
	if err != nil {
		return err
	}
	args := []string{"-t1", "-c32", "-d" + strconv.Itoa(int(took.Seconds())) + "s", "--latency"}
	if h.header != "" {
		args = append(args, "-H", h.header)
	}
	before, err := h.server.cpu()
	if err != nil {
		return err
	}
	text, err := exec.CommandContext(ctx, bin, append(args, h.url)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("wrk: %w\n%s", err, text)
	}
	after, err := h.server.cpu()
	if err != nil {
		return err
	}
	rate := regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`).FindSubmatch(text)
	p99 := regexp.MustCompile(`99%\s+(\S+)`).FindSubmatch(text)
	all := regexp.MustCompile(`([0-9]+) requests in`).FindSubmatch(text)
	if rate == nil || p99 == nil || all == nil || strings.Contains(string(text), "Socket errors") || h.header == "" && strings.Contains(string(text), "Non-2xx") {
		return fmt.Errorf("%s: wrk says\n%s", h.name, text)
	}
	perSecond, err := strconv.ParseFloat(string(rate[1]), 64)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(string(all[1]), 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("%s: wrk says\n%s", h.name, text)
	}
	h.rates, h.p99, h.cpu = append(h.rates, perSecond), string(p99[1]), append(h.cpu, (after-before)/time.Duration(n))
	return nil
}

// servedChunk: a warm chunk of 64 KiB to 32 connections, beside nginx with a file of the
// same bytes and go-pmtiles with a tile of them; and the same with its ETag.
func servedChunk(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.zarr(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("chunk")
	if err != nil {
		return nil, err
	}
	var w work // 16 chunks of 128 KiB, of which zstd leaves about the half
	if _, err := p.side(&w, "make", filepath.Join(dir, "a.b2nd"), filepath.Join(dir, "a.zarr"), "16,256,256", "1,256,256")(ctx); err != nil {
		return nil, err
	}
	gw, err := b.startGateway(ctx, dir, "--ttl", "10m")
	if err != nil {
		return nil, err
	}
	defer func() { _ = gw.stop() }()
	ours := &hose{name: "farread", url: gw.url + "/zarr/d/a.b2nd/c/3/0/0", server: gw}
	body, etag, err := fetch(ctx, ours.url)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "chunk"), body, 0o600); err != nil {
		return nil, err
	}
	ng, err := b.startNginx(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = ng.stop() }()
	same := &hose{name: "farread, If-None-Match", url: ours.url, server: gw, header: "If-None-Match: " + etag}
	floor, err := startBare(ctx, filepath.Join(dir, "chunk"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = floor.stop() }()
	all := []*hose{ours, {name: "nginx", url: ng.url + "/chunk", server: ng}, same, {name: bareChunk, url: floor.url, server: floor},
		{name: bare304, url: floor.url, server: floor, header: same.header}}
	note := ""
	if pm, err := b.startPmtiles(ctx, p, dir); err != nil {
		note = "; go-pmtiles: " + strings.ReplaceAll(err.Error(), "\n", " ")
	} else {
		defer func() { _ = pm.stop() }()
		all = append(all, &hose{name: "go-pmtiles", url: pm.url + "/t/0/0/0.png", server: pm})
	}
	for _, h := range all {
		if got, _, err := fetch(ctx, h.url); err != nil || string(got) != string(body) {
			return nil, fmt.Errorf("%s: other bytes than the chunk: %w", h.name, err)
		}
	}
	for n := range b.rounds + 1 {
		for k := range all {
			if err := all[(k+n)%len(all)].wrk(ctx, pick(b, 3*time.Second, time.Second)); err != nil {
				return nil, err
			}
		}
	}
	return chunkRows(len(body), all, note), nil
}

// What net/http takes for the same answers, from a handler that does nothing else.
const (
	bareChunk = "a handler of net/http alone"
	bare304   = "same, to a handler of net/http that answers 304 alone"
)

// chunkRows compares the best rounds: what else this machine does only takes away.
func chunkRows(size int, all []*hose, note string) []row {
	best := func(h *hose) (rate float64, cpu time.Duration) {
		cpu = h.cpu[0]
		for i := range h.rates {
			rate, cpu = max(rate, h.rates[i]), min(cpu, h.cpu[i])
		}
		return rate, cpu
	}
	ours, cost := best(all[0])
	told := func(rate float64, cpu time.Duration, p99 string) string {
		return fmt.Sprintf("%.1f k/s, p99 %s, %.0f µs of CPU", rate/1000, p99, float64(cpu.Nanoseconds())/1000)
	}
	rs := make([]row, 0, len(all))
	for _, h := range all[1:] {
		rate, cpu := best(h)
		r := row{job: fmt.Sprintf("warm chunk of %d KiB by 32 connections, to %s", size>>10, h.name), ours: told(ours, cost, all[0].p99),
			peer: told(rate, cpu, h.p99), ratio: ours / rate, judged: true, note: fmt.Sprintf("by CPU %.2fx", cpu.Seconds()/cost.Seconds())}
		switch h.name {
		case "nginx":
			r.goal, r.met = ">= 0.6x", r.ratio >= 0.6
			r.note += note
		case "go-pmtiles":
			r.goal, r.met = ">= 2x", r.ratio >= 2
		case bareChunk:
			r.judged = false
		case bare304:
			mine, least := best(all[2])
			r = row{job: h.name, ours: told(mine, least, all[2].p99), peer: told(rate, cpu, h.p99), ratio: mine / rate, note: fmt.Sprintf("by CPU %.2fx", cpu.Seconds()/least.Seconds())}
		default:
			r = row{job: "same, 304 by its ETag", ours: told(rate, cpu, h.p99), goal: ">= 30 k/s", judged: true, met: rate >= 30_000}
		}
		rs = append(rs, r)
	}
	return rs
}

// startPmtiles serves an archive with one tile of the file "chunk".
func (b *bench) startPmtiles(ctx context.Context, p *python, dir string) (*daemon, error) {
	bin, err := b.install(ctx, pmtilesModule, "go-pmtiles")
	if err != nil {
		return nil, err
	}
	var w work
	tiles := filepath.Join(dir, "t.mbtiles")
	if _, err := p.side(&w, "tiles", tiles, filepath.Join(dir, "chunk"))(ctx); err != nil && w.frames == 0 {
		return nil, err
	}
	archive := filepath.Join(dir, "pm", "t.pmtiles")
	if err := os.MkdirAll(filepath.Dir(archive), 0o700); err != nil {
		return nil, err
	}
	if text, err := exec.CommandContext(ctx, bin, "convert", tiles, archive).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("convert: %w: %s", err, text)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	d := &daemon{cmd: exec.CommandContext(ctx, bin, "serve", filepath.Dir(archive), "--port", port, "--interface", "127.0.0.1"), url: "http://127.0.0.1:" + port}
	if err := d.cmd.Start(); err != nil { // without its log, a line a request
		return nil, err
	}
	return d, d.ready(ctx)
}

// install builds a program of another module, outside of this one.
func (b *bench) install(ctx context.Context, module, name string) (string, error) {
	dir := filepath.Join(b.dir, "bin")
	cmd := exec.CommandContext(ctx, "go", "install", module)
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	cmd.Dir = b.dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s: %w: %s", module, err, text)
	}
	return filepath.Join(dir, name), nil
}

// fetching keeps connections from one answer to the next.
var fetching = &http.Client{Timeout: time.Minute}

// fetch reads one answer.
func fetch(ctx context.Context, url string) (body []byte, etag string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := fetching.Do(req)
	if err != nil {
		return nil, "", err
	}
	body, err = io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", url, resp.Status, body)
	}
	return body, resp.Header.Get("ETag"), err
}
