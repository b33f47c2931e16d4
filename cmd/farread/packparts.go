package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/packs"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A packElsewhere is the flags of a pack that a state machine does.
type packElsewhere struct {
	elsewhere

	part  sizeFlag
	given func(string) bool
}

func elsewhereNames() []string { return []string{"on", "work", "batch-size", "stop", "part-size"} }

func (f *packElsewhere) register(c *cobra.Command) {
	f.elsewhere.register(c)
	f.part, f.given = packs.DefaultPartBytes, c.Flags().Changed
	c.Flags().Var(&f.part, "part-size", "with --on, decoded bytes of a part")
}

// check looks at the flags.
func (f *packElsewhere) check() error {
	if f.on == "" && f.given("part-size") {
		return usagef("--part-size is for --on")
	}
	if f.part < 1 {
		return usagef("--part-size %s: want a size such as 64MiB", &f.part)
	}
	return f.elsewhere.check(f.given)
}

// A dividedPack is an array that a state machine packs.
type dividedPack struct {
	arr    pack.Array
	source analyze.Source
	zarr   bool
	to     target
	write  pack.ArrayWrite
	beside []besideCoord
}

// packDivided packs an array on a state machine.
func (a *app) packDivided(ctx context.Context, x dividedPack, f *packFlags, rep *arrayReport) error {
	if err := f.on.remote(x.source.URI); err != nil {
		return err
	}
	bucket, ok := strings.CutPrefix(x.to.bucket.Name(), "s3://")
	if !ok {
		return usagef("--on: the state machine writes into buckets only; want DST s3://…")
	}
	d, err := x.arr.Divide(x.write)
	if err != nil {
		return err
	}
	plan := packs.NewArrayPlan(d, x.source, packs.ArrayAsk{
		Bucket: bucket, Key: x.to.key, Force: f.force, Items: d.Items(), Zarr: x.zarr, DeniedIsAbsent: f.array.deniedIsAbsent,
		ChunkShape: x.write.ChunkShape, BlockShape: x.write.BlockShape,
		Encode: x.write.Write.Encode, Layers: x.write.Write.VLMetalayers, Index: x.write.Write.Index, PartBytes: int64(f.on.part),
	})
	head, err := parts.NewPlan(plan)
	if err != nil {
		return err
	}
	if !f.on.stop {
		in, made, err := packs.Made(ctx, x.to.bucket, x.to.key, plan.ID, f.force)
		switch {
		case errors.Is(err, objstore.ErrExists):
			return taken(x.to.bucket, x.to.key)
		case err != nil:
			return err
		case made:
			rep.Unchanged = true
			return x.tell(a, rep, in.Size)
		}
		if err := a.again(ctx, f, head.ID); err != nil {
			return err
		}
		if err := a.writeBesides(ctx, x.to, []target{x.to}, x.beside, f.force, rep); err != nil {
			return err
		}
	}
	text, err := f.on.run(ctx, a, head)
	if err != nil || text == nil {
		return err
	}
	var r packs.ArrayReport
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("no report of a pack: %w", formats.ErrCorrupt)
	}
	return x.tell(a, rep, r.Stored)
}

// tell tells what was made.
func (x *dividedPack) tell(a *app, rep *arrayReport, stored int64) error {
	rep.Bytes, rep.Stored = x.arr.NBytes, stored
	rep.Outputs = append(rep.Outputs, join(x.to.bucket.Name(), x.to.key))
	return rep.tell(a)
}

// again forgets the answer to a plan whose output is not there any more: it is made anew.
func (a *app) again(ctx context.Context, f *packFlags, id string) error {
	_, dir, err := f.on.folder(ctx, a, id)
	if err != nil {
		return err
	}
	if _, ok, err := dir.Answers(ctx, id); err != nil || !ok {
		return err
	}
	return dir.Clear(ctx)
}

// onlyOne refuses --on for what makes several arrays.
func (f *packElsewhere) onlyOne(src string, n int) error {
	if f.on == "" || n == 1 {
		return nil
	}
	return usagef("--on makes one array, and %s has %s", human.Printable(src), human.Plural(int64(n), "array"))
}
