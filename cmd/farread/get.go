package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/gulp"
)

const getLong = `Read payload bytes and write them to OUT.

Of a gulp chunk or dataset:
  --id ID --frames 3     one frame, to a file, or to stdout with -o -
  --id ID --frames A:B:STEP
                         a range as in Python, to a folder: 0000.jpg, 0002.jpg …,
                         named by frame index; a range of one frame goes to a
                         file where OUT ends in .jpg or .jpeg
  --id ID                every frame of the id, as --frames : does
  (none)                 every frame of every id, to a folder: ID/0000.jpg …

With -o - frames come back to back, as ffmpeg -f mjpeg reads them. A file OUT is
replaced. In a folder OUT that is there already, files of the same names are
replaced one by one and others stay. Nothing shows before all of it was read.`

func newGet(a *app) *cobra.Command {
	var (
		sel selector
		how aim
		out string
	)
	c := &cobra.Command{
		Use: "get URI [selector] -o OUT", DisableFlagsInUseLine: true, Short: "Read payload bytes: frames of a gulp",
		Long: getLong,
		Example: `  farread get s3://frames/train/ --id 702766 --frames 3 -o frame.jpg
  farread get s3://frames/train/data_0.gulp --id 702766 --frames 0:16:4 -o clip/
  farread get https://host/clips.gulp --id c1 -o - | ffplay -f mjpeg -`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sel.parse(cmd); err != nil {
				return err
			}
			if out == "" {
				return usagef("missing -o: a file, a folder, or - for stdout")
			}
			return at(args[0], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	sel.register(c)
	offsetFlag(c, &how.offset)
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: file, folder, or - for stdout")
	c.Flags().BoolVar(new(bool), "no-verify", false, "do not check checksums (a gulp has none)")
	return c
}

// A selector says which part of a payload is meant.
type selector struct {
	id, frames string
	byID       bool // --id was given; an id may be empty
	slice      gulp.Slice
}

func (s *selector) register(c *cobra.Command) {
	c.Flags().StringVar(&s.id, "id", "", "`ID` of a gulp")
	c.Flags().StringVar(&s.frames, "frames", "", "one frame of the id, or a range `A:B:STEP`")
}

func (s *selector) parse(cmd *cobra.Command) (err error) {
	s.byID = cmd.Flags().Changed("id")
	if s.frames == "" {
		return nil
	}
	if !s.byID {
		return usagef("--frames needs --id")
	}
	if s.slice, err = gulp.ParseSlice(s.frames); err != nil {
		return usagef("--%s", err)
	}
	return nil
}

// why names the selection in `explain`.
func (s selector) why() string {
	switch {
	case !s.byID:
		return "every frame"
	case s.frames == "":
		return fmt.Sprintf("frames of %q", s.id)
	case s.slice.Single:
		return fmt.Sprintf("frame %s of %q", s.frames, s.id)
	}
	return fmt.Sprintf("frames %s of %q", s.frames, s.id)
}

// get writes what sel selects to out.
func (a *app) get(ctx context.Context, uri string, sel selector, out string, how aim) error {
	var stream *streamSink
	var late error // bytes that went to stdout cannot be taken back: no second try
	err := again(ctx, func() error {
		c, err := a.open(ctx, uri, how)
		if err != nil {
			return err
		}
		x, err := c.pick(ctx, sel)
		if err != nil {
			return err
		}
		s, err := x.sink(out)
		if err != nil {
			return err
		}
		defer s.abort()
		stream, _ = s.(*streamSink)
		if err = a.copy(ctx, x, s, "get"); err == nil {
			err = s.commit()
		}
		if err != nil && stream != nil && stream.wrote {
			late = err
			return nil
		}
		return err
	})
	if err == nil {
		err = late
	}
	return err
}

// copy moves a selection into s under a progress bar.
func (a *app) copy(ctx context.Context, x selection, s sink, what string) error {
	b := a.newBar(what, x.total())
	defer b.clear()
	return x.copy(ctx, s, b)
}
