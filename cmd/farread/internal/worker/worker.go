// Package worker is a worker of uploads on this machine: the handler of the cloud
// functions, with the jobs of all of them. The commands that run one event, the objects
// of a prefix, or dead letters of a file stand on it.
package worker

import (
	"context"
	"log/slog"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
)

// Options are the options of a worker.
type Options struct {
	Rules   functions.Rules
	Buckets func(name string) (objstore.Bucket, error) // a bucket by its bare name
	Counter *objstore.Counter                          // counter of the requests to all buckets
	Warn    func(key, text string)                     // called with an upload's key and a text if a part of it is wrong, or some work is left
	Log     *slog.Logger                               // receives the lines of the log; nil: no log
}

// New makes a handler, and refuses rules that a job does not take.
func New(o Options) (*functions.Handler, error) {
	h := &functions.Handler{
		Rules: o.Rules, Buckets: o.Buckets, Log: o.Log,
		Jobs:    map[string]functions.JobMaker{"pack": pack.New(pack.Options{Warn: o.Warn}), "zoom": zoom.New(zoom.WriteOptions{}, o.Warn)},
		Counter: func(string) *objstore.Counter { return o.Counter },
		Command: func(r functions.Rule, u functions.Upload) string {
			if r.Job == "zoom" {
				return zoom.Command(r, u)
			}
			return pack.Command(r, u)
		},
	}
	return h, h.Check()
}

// Give runs one event. If a queue would have to deliver the event again, it
// returns the reason.
func Give(ctx context.Context, h *functions.Handler, event []byte) error {
	r, err := h.Handle(ctx, event)
	if err == nil {
		err = r.Err
	}
	return err
}
