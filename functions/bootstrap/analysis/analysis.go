// Package analysis wires the function that makes parts of an analysis: plans name their
// sources, and a client opens them.
package analysis

import (
	"context"
	"log/slog"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	fn "github.com/farread/farread/functions/analyze"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/parts"
)

// Function makes the function. It makes no request.
func Function(c bootstrap.CallConfig, log *slog.Logger) *parts.Function {
	client := farread.New(farread.Config{MaxMemory: c.Memory / 4, NoHedge: c.NoHedge, Logger: log})
	b := &bootstrap.Buckets{Log: log, NoHedge: c.NoHedge}
	return &parts.Function{Buckets: b.Open, Log: log, Open: fn.Open(func(ctx context.Context, p *analyze.Plan) (analyze.Work, error) {
		return open(ctx, client, p, c.Memory/2)
	})}
}

// open plans the work of a plan again.
func open(ctx context.Context, client *farread.Client, p *analyze.Plan, memory int64) (analyze.Work, error) {
	a, err := client.OpenArray(ctx, p.Source.URI, farread.FrameOptions{Offset: p.Source.Offset})
	if err != nil {
		return nil, err
	}
	in := a.Source.Object.Info()
	return p.OpenArray(ctx, a.Array, analyze.Source{
		URI: p.Source.URI, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, Size: in.Size, Offset: p.Source.Offset,
	}, memory)
}
