// Command faulty is fn-analyze, or with FAULTY=packs fn-packs, with faults: an object faults/N in the work bucket makes the
// batch of the parts from N on fail, as its bytes say: "once", "always" or "permanent".
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/bootstrap/analysis"
	"github.com/farread/farread/functions/bootstrap/packing"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/objstore"
)

func main() {
	wired := analysis.Function
	if os.Getenv("FAULTY") == "packs" {
		wired = packing.Function
	}
	function := func(c bootstrap.CallConfig, log *slog.Logger) bootstrap.Callee {
		f := wired(c, log)
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			if err := fault(ctx, f, payload); err != nil {
				return nil, err
			}
			return f.Handle(ctx, payload)
		}
	}
	if err := bootstrap.Call(function, parts.Permanent); err != nil {
		fmt.Fprintln(os.Stderr, "faulty:", err)
		os.Exit(1)
	}
}

// fault returns the error that an event is to have.
func fault(ctx context.Context, f *parts.Function, payload []byte) error {
	var e parts.Event
	if err := json.Unmarshal(payload, &e); err != nil || e.Make == nil {
		return err
	}
	b, err := f.Buckets(e.Make.Bucket)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("faults/%d", e.Make.From)
	r, _, err := b.Get(ctx, key, objstore.GetOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	kind, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	switch string(kind) {
	case "once":
		return errors.Join(errors.New("a fault"), b.Delete(ctx, key))
	case "permanent":
		return fmt.Errorf("a fault for ever: %w", formats.ErrCorrupt)
	}
	return errors.New("a fault again")
}
