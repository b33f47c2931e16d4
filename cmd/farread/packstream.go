package main

import (
	"context"
	"slices"

	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/functions/pack"
)

// fromStdin is the SRC that is standard input.
const fromStdin = "-"

// stdinOnly refuses what does not go with standard input as a SRC.
func (f *packFlags) stdinOnly(srcs []string) error {
	switch {
	case !slices.Contains(srcs, fromStdin):
		return nil
	case len(srcs) > 1:
		return usagef("-: standard input is the only SRC, or none")
	case f.more:
		return usagef("-: standard input is read once, and --append looks at SRC before: give it a name")
	case f.on.on != "":
		return usagef("-: --on packs what workers can read")
	case f.array.member != "":
		return usagef("-: --member is for a .npz, which has a name")
	}
	return nil
}

// packStream packs the array that comes on standard input.
func (a *app) packStream(ctx context.Context, dst target, f *packFlags, encode blosc.EncodeOptions) error {
	note, err := f.array.note()
	if err != nil {
		return err
	}
	if err := free(ctx, dst, f.force); err != nil { // before anything is read
		return err
	}
	arr, err := pack.StreamedArray(a.stdin, note)
	if err != nil {
		return at(fromStdin, err)
	}
	w, beside, err := a.arrayWrite(ctx, arr, f, encode)
	if err != nil {
		return err
	}
	rep := &arrayReport{Format: all.B2ND}
	if err := a.writeBesides(ctx, dst, []target{dst}, beside, f.force, rep); err != nil {
		return err
	}
	if err := a.packArray(ctx, arr, dst, w, f.force, rep); err != nil {
		return at(fromStdin, err)
	}
	return rep.tell(a)
}
