package main

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
)

// appendReport is the JSON of `pack --append`.
type appendReport struct {
	Format string  `json:"format"`
	Output string  `json:"output"`
	Shape  []int64 `json:"shape"`  // after the append
	Added  int64   `json:"added"`  // along the first axis
	Bytes  int64   `json:"bytes"`  // bytes of the items that were added
	Stored int64   `json:"stored"` // bytes of the output
	Sent   int64   `json:"sent"`   // of them, bytes that went to the store
	Copied int64   `json:"copied"` // of them, bytes that the store copied itself
}

func (r *appendReport) tell(a *app) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	how := human.Size(r.Sent) + " sent"
	if r.Copied > 0 {
		how += ", " + human.Size(r.Copied) + " copied by the store"
	}
	_, err := fmt.Fprintf(a.stdout, "%d added, now %s: %s stored in %s (%s)\n  %s\n", r.Added, human.Shape(r.Shape), human.Size(r.Bytes), human.Size(r.Stored), how, human.Printable(r.Output))
	return err
}

// appendable refuses what does not go with --append.
func appendable(p *packer, f *packFlags, cmd *cobra.Command) error {
	switch {
	case p.format != all.B2ND:
		return usagef("--append is for a .b2nd; a folder of --format gulp grows without it")
	case f.force:
		return usagef("--append keeps what is there, --force replaces it")
	}
	for _, name := range append([]string{"chunk-shape", "block-shape", "for"}, metaFlagNames()...) {
		if cmd.Flags().Changed(name) {
			return usagef("--%s does not go with --append: the array has its own already", name)
		}
	}
	return nil
}

// appendArray packs the array of SRC behind the items of DST.
func (a *app) appendArray(ctx context.Context, srcs []string, dst target, f *packFlags) error {
	if len(srcs) != 1 {
		return usagef("%d SRC: an array is made of one", len(srcs))
	}
	if path.Ext(dst.key) != pack.ArraySuffix {
		return usagef("--append wants one .b2nd as DST")
	}
	if zarrNamed(srcs[0]) {
		return usagef("--append takes a .npy, a member of a .npz or raw bytes, not Zarr")
	}
	arrays, _, err := a.arrays(ctx, srcs[0], f)
	if err != nil {
		return at(srcs[0], err)
	}
	if len(arrays) > 1 {
		return usagef("%s has %s: name one with --member", srcs[0], human.Plural(int64(len(arrays)), "array"))
	}
	name := join(dst.bucket.Name(), dst.key)
	o, err := objstore.Open(ctx, dst.bucket, dst.key, objstore.OpenOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return at(name, fmt.Errorf("there is no array to append to; the first one is packed without --append: %w", err))
	}
	if err != nil {
		return at(name, err)
	}
	rep := &appendReport{Format: all.B2ND, Output: name, Bytes: arrays[0].NBytes}
	if err := a.draft(ctx, o, func(file *draft.File) error { return a.growArray(ctx, file, arrays[0], srcs[0], name, f, rep) }, rep); err != nil {
		return err
	}
	return rep.tell(a)
}

// growArray appends arr to the array in file.
func (a *app) growArray(ctx context.Context, file *draft.File, arr pack.Array, src, name string, f *packFlags, rep *appendReport) error {
	eo := b2nd.EditOptions{Draft: true, Index: f.blosc.choice()}
	if f.blosc.codec != "" || f.blosc.level.given || f.blosc.filters != nil {
		encode, err := f.blosc.options()
		if err != nil {
			return err
		}
		eo.Encode = &encode
	}
	e, err := b2nd.Edit(ctx, file, eo)
	if err != nil {
		return at(name, err)
	}
	b := a.newBar("pack", arr.NBytes)
	defer b.clear()
	if err := arr.Append(ctx, e, int64(a.flags.maxMemory)/2, b.set); err != nil {
		return at(src, err)
	}
	rep.Shape, rep.Added = e.Meta().Shape, arr.Shape[0]
	return at(name, e.Close()) //nolint:contextcheck // writes to a temporary file
}

// draft changes the object o, and publishes it if change succeeds.
func (a *app) draft(ctx context.Context, o *objstore.Object, change func(*draft.File) error, rep *appendReport) error {
	name := join(o.Bucket().Name(), o.Info().Key)
	file, err := draft.Open(ctx, o, draft.Options{})
	if err != nil {
		return at(name, err)
	}
	defer file.Close() //nolint:errcheck // a temporary file
	if err := change(file); err != nil {
		return err
	}
	info, cost, err := file.Commit(ctx, objstore.PutOptions{ContentType: o.Info().ContentType, Meta: o.Info().Meta})
	if errors.Is(err, objstore.ErrChanged) {
		err = fmt.Errorf("somebody else has changed it; nothing was appended, try again: %w", err)
	}
	if err != nil {
		return at(name, err)
	}
	rep.Stored, rep.Sent, rep.Copied = info.Size, cost.Sent, cost.Copied
	return nil
}
