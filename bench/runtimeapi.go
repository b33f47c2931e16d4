package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A worker is a function's own binary under the smallest Runtime API that can
// start it and give it one event.
type worker struct {
	cmd    *exec.Cmd
	srv    *http.Server
	next   chan time.Time      // when it asked for work
	event  chan []byte         // events for the worker
	answer chan invocationDone // result of an event
}

type invocationDone struct {
	ok   bool
	body []byte
}

// startWorker starts the binary, and returns the time at which the process
// started.
func startWorker(ctx context.Context, bin string, env ...string) (*worker, time.Time, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, time.Time{}, err
	}
	w := &worker{next: make(chan time.Time, 16), event: make(chan []byte, 1), answer: make(chan invocationDone, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", w.serveNext)
	done := func(ok bool) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.answer <- invocationDone{ok, body}
			rw.WriteHeader(http.StatusAccepted)
		}
	}
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", done(true))
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", done(false))
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", done(false))
	w.srv = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = w.srv.Serve(l) }() // ends with close
	w.cmd = exec.CommandContext(ctx, bin)
	w.cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + l.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=fn-pack",
		"_HANDLER=bootstrap", `FARREAD_RULES=[{"bucket":"` + bucketName + `","job":"pack","out":{"bucket":"packed"}}]`}, env...)
	w.cmd.Stderr = os.Stderr
	start := time.Now()
	if err := w.cmd.Start(); err != nil {
		_ = w.srv.Close()
		return nil, start, err
	}
	return w, start, nil
}

func (w *worker) serveNext(rw http.ResponseWriter, r *http.Request) {
	w.next <- time.Now()
	select {
	case e := <-w.event:
		h := rw.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", "bench-1")
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(15*time.Minute).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:fn-pack")
		_, _ = rw.Write(e)
	case <-r.Context().Done():
	}
}

// ready waits for the first call of next.
func (w *worker) ready(ctx context.Context) (time.Time, error) {
	select {
	case t := <-w.next:
		return t, nil
	case a := <-w.answer:
		return time.Time{}, fmt.Errorf("the function does not start: %s", a.body)
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(20 * time.Second):
		return time.Time{}, fmt.Errorf("the function does not ask for work")
	}
}

// invoke gives it an event and waits for the answer.
func (w *worker) invoke(ctx context.Context, event any) error {
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	w.event <- text
	select {
	case a := <-w.answer:
		if !a.ok {
			return fmt.Errorf("the function failed: %s", a.body)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *worker) close() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait() // killed
	_ = w.srv.Close()
}

// memory reads a figure of /proc/PID/status in bytes: VmRSS, VmHWM.
func (w *worker) memory(what string) (int64, error) { return processMemory(w.cmd.Process.Pid, what) }

func processMemory(pid int, what string) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, &skipped{"no /proc here"}
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s", what)
}
