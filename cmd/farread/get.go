package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

const getLong = `Read payload bytes and write them to OUT.

Of a gulp chunk or dataset:
  --id ID --frames 3     one frame, to a file, or to stdout with -o -
  --id ID --frames A:B:STEP
                         a range as in Python, to a folder: 0000.jpg, 0002.jpg …,
                         named by frame index; a range of one frame goes to a
                         file where OUT ends in .jpg or .jpeg
  --id ID                every frame of the id, as --frames : does
  --frames A:B:STEP      without --id: of one chunk, counted over all ids in the order
                         of the file
  (none)                 every frame of every id, to a folder: ID/0000.jpg …

Of a Blosc chunk, frame or array:
  --chunk I, --chunks A:B
                         chunks of a frame, decoded, back to back; the last is -1
  (none)                 all of it, decoded; an array in C order, behind a header
                         where OUT ends in .npy; a small one with -o - on a
                         terminal as NumPy prints it

Of a Bloscpack file:
  --item I               an item of a file whose items have lengths of their own;
                         the last is -1
  --id NAME              the file of that name, where the items are files
  --chunk I, --chunks A:B
                         chunks or items, back to back
  (none)                 all of them; a NumPy array behind a header where OUT ends
                         in .npy, as numpy.save wrote it

Of a zoom-cache file:
  --track N              the samples of a track, by its number or its name; it may be
                         left out where there is only one: as CSV,
                         offset,seconds,value…, or as .npy
  --from T --to T        those from a time on up to another, without it: seconds,
                         durations (1h30m), or UTC where the file has an origin
  --stamps               the offsets of the samples instead of their values
  --bignum               of codec int: integers of any length as CSV; without it the
                         low 64 bits count, as in the original library
  --resync               of a damaged file: what is whole; what was passed over is
                         told on stderr

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
		Use: "get URI [selector] -o OUT", DisableFlagsInUseLine: true, Short: "Read payload bytes: frames of a gulp, chunks, items, arrays, samples",
		Long: getLong,
		Example: `  farread get s3://frames/train/ --id 702766 --frames 3 -o frame.jpg
  farread get s3://frames/train/data_0.gulp --id 702766 --frames 0:16:4 -o clip/
  farread get s3://arrays/temperature.b2nd -o temperature.npy
  farread get s3://records/day1.jsonl.blp --item 41823 -o -
  farread get s3://series/day.zoom --track 1 --from 6h --to 6h0m10s -o ten.csv
  farread get https://host/clips.gulp --id c1 -o - | ffplay -f mjpeg -`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sel.parse(nil); err != nil {
				return err
			}
			if out == "" {
				return usagef("missing -o: a file, a folder, or - for stdout")
			}
			how.item, how.bignum, how.byID, how.numbered = sel.wanted(), sel.bignum, sel.byID(), sel.byNumber()
			return at(args[0], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	offsetFlag(c, &how.offset)
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: file, folder, or - for stdout")
	resyncFlag(c, &how.resync)
	c.Flags().StringVar(&sel.format, "format", "", "csv or npy, whatever OUT is called: of samples")
	sel.register(c, []func(*pflag.FlagSet){sel.ofFrames, sel.ofChunks, sel.ofItems, sel.ofTrack, sel.ofSamples}, "resync", "format")
	noVerifyFlag(c, &how.noVerify)
	return c
}

// get writes the bytes that sel selects to out.
func (a *app) get(ctx context.Context, uri string, sel selector, out string, how aim) error {
	var stream *sink.Stream
	var late error // an error after the first byte on stdout: these bytes cannot be taken back, so there is no second try
	err := objstore.Again(ctx, func() error {
		c, err := a.open(ctx, uri, how)
		if err != nil {
			return err
		}
		if err := viewable(c, sel); err != nil {
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
		defer s.Abort()
		stream, _ = s.(*sink.Stream)
		if err = a.copy(ctx, x, s, sel.command()); err == nil {
			err = s.Commit()
		}
		if err != nil && stream != nil && stream.Wrote() {
			late, a.partly = err, errors.Is(err, objstore.ErrChanged)
			return nil
		}
		return err
	})
	if err == nil {
		err = late
	}
	return err
}

// viewable refuses a view of what has none.
func viewable(c content, s selector) error {
	switch c.(type) {
	case *zoomContent, *frameContent:
		return nil
	}
	if !s.plot || s.viewing() { // then pick names the flag
		return nil
	}
	return usagef("a view is of an array or a zoom-cache file, and this is a %s", c.dataset().Format())
}

// copy writes a selection to s and shows a progress bar.
func (a *app) copy(ctx context.Context, x selection, s sink.Sink, what string) error {
	b := a.newBar(what, x.total())
	defer b.clear()
	return x.copy(ctx, s, b)
}

// byteSink makes OUT for bytes: stdout or a file.
func (a *app) byteSink(out string) (sink.Sink, error) {
	if out == "-" {
		return sink.NewStream(a.stdout), nil
	}
	if info, err := os.Stat(out); os.IsPathSeparator(out[len(out)-1]) || err == nil && info.IsDir() {
		return nil, usagef("%s is a folder; name a file", human.Printable(out))
	}
	return sink.NewFile(&a.trash, out)
}

// folderSink makes the folder OUT; see sink.NewFolder for clash.
func (a *app) folderSink(out string, clash func(name string) error) (*sink.Folder, error) {
	if out == "-" {
		return nil, usagef("files go to a folder, not to stdout (./- is a folder of that name)")
	}
	if err := notFolder(out); err != nil {
		return nil, err
	}
	return sink.NewFolder(&a.trash, out, clash)
}
