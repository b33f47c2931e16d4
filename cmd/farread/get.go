package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
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

// A selection is a selector held against an open target.
type selection struct {
	t     *target
	whole bool // every id
	id    string
	chunk *gulp.Chunk
	from, to, step,
	frames int
	single bool
	bytes  int64 // payload
}

func (s selector) of(ctx context.Context, t *target) (selection, error) {
	x := selection{t: t, id: s.id, whole: !s.byID, single: s.slice.Single && s.frames != ""}
	if x.whole {
		n, err := t.totals(ctx)
		x.bytes, x.frames = n.Bytes, int(n.Frames)
		return x, err
	}
	c, err := t.find(ctx, s.id)
	if err != nil {
		return x, err
	}
	n, err := c.Frames(s.id)
	if err != nil {
		return x, err
	}
	x.chunk = c
	if x.from, x.to, x.step, err = s.slice.Resolve(n); err != nil {
		return x, fmt.Errorf("id %s: %w", printable(s.id), err)
	}
	for i := x.from; x.step > 0 && i < x.to || x.step < 0 && i > x.to; i += x.step {
		f, err := c.Frame(s.id, i)
		if err != nil {
			return x, err
		}
		x.frames++
		x.bytes += f.Size
	}
	return x, nil
}

// each reads the selected frames in order. All reads are planned from the index
// alone, so they are one phase.
func (x selection) each(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	ctx = rangeio.OnePhase(ctx)
	if x.whole {
		return x.t.chunks(ctx, func(c *gulp.Chunk, _ int) error { return c.Each(ctx, fn) })
	}
	return x.chunk.EachFrame(ctx, x.id, x.from, x.to, x.step, func(i int, p []byte) error { return fn(x.id, i, p) })
}

func (a *app) get(ctx context.Context, uri string, sel selector, out string, how aim) error {
	var stream *streamSink
	var late error // bytes that went to stdout cannot be taken back: no second try
	err := again(ctx, func() error {
		t, err := a.open(ctx, uri, how)
		if err != nil {
			return err
		}
		x, err := sel.of(ctx, t)
		if err != nil {
			return err
		}
		s, err := a.sinkFor(x, out)
		if err != nil {
			return err
		}
		defer s.abort()
		stream, _ = s.(*streamSink)
		if err = a.copyFrames(ctx, x, s, "get"); err == nil {
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

// copyFrames moves the selected frames into s under a progress bar.
func (a *app) copyFrames(ctx context.Context, x selection, s sink, what string) error {
	b := a.newBar(what, x.bytes)
	defer b.clear()
	if f, ok := s.(*folderSink); ok && x.whole {
		if err := f.emptyIDs(ctx, x.t); err != nil {
			return err
		}
	}
	return x.each(ctx, func(id string, i int, p []byte) error {
		if ctx.Err() != nil { // small frames come from memory, where nothing else looks
			return context.Cause(ctx)
		}
		b.add(int64(len(p)))
		return s.frame(id, i, p)
	})
}

// emptyIDs makes the folders of ids without frames, and refuses hostile ids
// before anything is read.
func (s *folderSink) emptyIDs(ctx context.Context, t *target) error {
	return t.chunks(ctx, func(c *gulp.Chunk, _ int) error {
		for it := range c.Items() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			dir, err := gulp.SafePath(it.ID)
			if err != nil {
				return err
			}
			if it.Frames == 0 {
				if err := s.folder(dir); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// sinkFor decides what OUT is: see getLong.
func (a *app) sinkFor(x selection, out string) (sink, error) {
	if out == "-" {
		return &streamSink{w: a.stdout}, nil
	}
	asFile := x.single
	if !asFile && !x.whole && x.frames == 1 {
		ext := strings.ToLower(filepath.Ext(out))
		asFile = ext == ".jpg" || ext == ".jpeg"
	}
	if os.IsPathSeparator(out[len(out)-1]) {
		asFile = false
	} else if info, err := os.Stat(out); err == nil && info.IsDir() {
		asFile = false
	}
	if asFile {
		return a.newFileSink(out)
	}
	return a.newFolderSink(out, x.whole)
}
