package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// serveBare answers every request with a file by a handler that does nothing else, or with
// 304: what net/http itself takes of what our server takes.
func serveBare(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("-bare: want an address and a file")
	}
	body, err := os.ReadFile(filepath.Clean(args[1]))
	if err != nil {
		return err
	}
	length := []string{strconv.Itoa(len(body))}
	s := &http.Server{Addr: args[0], ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["Etag"], h["Content-Type"] = []string{`"bare"`}, []string{"application/octet-stream"}
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h["Content-Length"] = length
		_, _ = w.Write(body) // the client may have gone
	})}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// startBare runs serveBare in a process of its own.
func startBare(ctx context.Context, file string) (*daemon, error) {
	bin, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	d, err := startDaemon(ctx, "http://127.0.0.1:"+port, bin, "-bare", "127.0.0.1:"+port, file)
	if err != nil {
		return nil, err
	}
	return d, d.ready(ctx)
}
