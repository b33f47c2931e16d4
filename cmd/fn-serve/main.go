// Command fn-serve is the function that serves datasets of S3 over HTTP, behind a
// function URL of invoke mode RESPONSE_STREAM. It answers what `farread serve` answers.
// See functions/bootstrap for its environment.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"

	"github.com/farread/farread"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/gateway"
	"github.com/farread/farread/internal/viewer"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "fn-serve:", err)
		os.Exit(1)
	}
}

// run serves until the runtime ends the process. It returns only if the configuration is
// wrong.
func run(ctx context.Context) error {
	c, err := bootstrap.LoadServe(os.Getenv)
	if err != nil {
		return err
	}
	if c.Parameter != "" {
		if c.Token, err = bootstrap.Parameter(ctx, c.Parameter); err != nil {
			return err
		}
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: c.Level}))
	g, err := server(ctx, c, log)
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(c.Memory / 8 * 7)
	bootstrap.Serve(g, log)
	return nil
}

// server makes the gateway. It makes no request.
func server(ctx context.Context, c bootstrap.ServeConfig, log *slog.Logger) (*gateway.Server, error) {
	cl := farread.New(farread.Config{MaxMemory: c.Memory / 4, NoHedge: c.NoHedge, Logger: log})
	g := gateway.Config{
		Client: cl, TTL: c.TTL, MaxResponse: c.MaxResponse, MaxRead: c.MaxRead, Memory: c.Memory / 2, Cache: c.Memory / 4,
		Viewer: viewer.Handler(), CORS: c.CORS, Token: c.Token, NoRaw: c.NoRaw, RedirectRaw: c.Redirect, Log: log,
	}
	if c.TTL == 0 {
		g.TTL = -1
	}
	for _, name := range slices.Sorted(maps.Keys(c.Roots)) {
		at, err := cl.Place(ctx, c.Roots[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", bootstrap.EnvRoots, name, err)
		}
		g.Roots = append(g.Roots, gateway.Root{Name: name, Bucket: at.Bucket, Key: at.Key})
	}
	return gateway.New(g)
}
