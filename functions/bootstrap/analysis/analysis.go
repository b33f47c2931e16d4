// Package analysis wires the function that makes parts of an analysis: plans name their
// sources, and a client opens them.
package analysis

import (
	"context"
	"log/slog"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/analyze/origin"
	fn "github.com/farread/farread/functions/analyze"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/parts"
)

// Function makes the function. It makes no request.
func Function(c bootstrap.CallConfig, log *slog.Logger) *parts.Function {
	client := farread.New(farread.Config{MaxMemory: c.Memory / 4, NoHedge: c.NoHedge, Logger: log})
	b := &bootstrap.Buckets{Log: log, NoHedge: c.NoHedge}
	return &parts.Function{Buckets: b.Open, Log: log, Open: fn.Open(func(ctx context.Context, p *analyze.Plan) (analyze.Work, error) {
		return origin.Open(ctx, client, p, c.Memory/2)
	})}
}
