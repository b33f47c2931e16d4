package main

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
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
  (none)                 every frame of every id, to a folder: ID/0000.jpg …

Of a Blosc chunk, frame or array:
  --chunk I, --chunks A:B
                         chunks of a frame, decoded, back to back; the last is -1
  (none)                 all of it, decoded; an array in C order, behind a header
                         where OUT ends in .npy

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
			if err := sel.parse(cmd, nil); err != nil {
				return err
			}
			if out == "" {
				return usagef("missing -o: a file, a folder, or - for stdout")
			}
			how.item = sel.wanted()
			return at(args[0], a.get(cmd.Context(), args[0], sel, out, how))
		},
	}
	sel.register(c)
	registerView(c, &sel)
	offsetFlag(c, &how.offset)
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT`: file, folder, or - for stdout")
	resyncFlag(c, &how.resync)
	c.Flags().StringVar(&sel.format, "format", "", "csv or npy, whatever OUT is called: of samples")
	noVerifyFlag(c, &how.noVerify)
	return c
}

// A selector says which part of a payload is meant.
type selector struct {
	id, frames string // of a gulp
	frameRange gulp.Slice

	chunk  int // of a frame
	chunks b2nd.Slice

	item int64 // of a Bloscpack file

	track            string // of a zoom-cache file: its number or name
	from, to         string
	fromTime, toTime *zoomcache.Moment // nil: no bound
	stamps           bool
	bignum           bool // integers of any length
	bits             int  // of a number of a waveform
	viewing          bool // the command is view
	level            int  // of summaries
	width            int  // points of a view

	slice        *b2nd.Slice // of an array; nil: all of it
	sliceText    string
	field, dtype string // member and type of its items
	slicing      bool   // the command is slice: OUT's suffix is a format
	format       string // of OUT; "": by its suffix
	picture      pictureFlags
	pictured     []string // flags of pictures that were given

	given []string               // flags, and "slice"
	knows func(name string) bool // whether the command has a flag; nil: not known
}

func (s *selector) register(c *cobra.Command) {
	c.Flags().StringVar(&s.id, "id", "", "`ID` of a gulp; name of a file in a Bloscpack file")
	c.Flags().StringVar(&s.frames, "frames", "", "one frame of the id, or a range `A:B:STEP`")
	c.Flags().IntVar(&s.chunk, "chunk", 0, "chunk `I` of a frame or Bloscpack file, decoded")
	c.Flags().Int64Var(&s.item, "item", 0, "item `I` of a Bloscpack file, decoded")
	registerTrack(c, s)
	c.Flags().BoolVar(&s.stamps, "stamps", false, "the offsets of samples instead of their values")
	c.Flags().Var(&sliceFlag{&s.chunks}, "chunks", "chunks `A:B` of a frame or Bloscpack file, back to back")
}

// registerTrack adds the flags that say which part of a zoom-cache file is meant.
func registerTrack(c *cobra.Command, s *selector) {
	c.Flags().StringVar(&s.track, "track", "", "track `N` of a zoom-cache file: its number, or its name as info shows it")
	c.Flags().StringVar(&s.from, "from", "", "from this time `T` on: seconds, a duration (1h30m) or UTC")
	c.Flags().StringVar(&s.to, "to", "", "up to this time `T`, without it")
	c.Flags().BoolVar(&s.bignum, "bignum", false, "integers of a track of codec int whole, of any length, instead of their low 64 bits")
}

// A sliceFlag is a slice as a flag's value.
type sliceFlag struct{ s *b2nd.Slice }

func (f *sliceFlag) String() string { return "" }
func (f *sliceFlag) Type() string   { return "A:B" }
func (f *sliceFlag) Set(text string) (err error) {
	*f.s, err = b2nd.ParseSlice(text)
	return err
}

// parse takes values that the flags do not keep by themselves. slice holds the text of
// a slice, or nothing.
func (s *selector) parse(cmd *cobra.Command, slice []string) (err error) {
	s.knows = func(name string) bool { return cmd.Flags().Lookup(name) != nil }
	for _, name := range []string{"id", "frames", "chunk", "chunks", "item", "field", "dtype", "track", "from", "to", "stamps", "bignum", "level", "width", "bits", "resync"} {
		if cmd.Flags().Changed(name) {
			s.given = append(s.given, name)
		}
	}
	if !s.slicing && s.format != "" {
		s.given = append(s.given, "format")
	}
	if len(slice) > 0 {
		s.given, s.sliceText = append(s.given, "slice"), slice[0]
		if s.slice, err = parseSlice(slice[0]); err != nil {
			return err
		}
	}
	for _, two := range [][2]string{{"chunk", "chunks"}, {"level", "width"}} {
		if s.has(two[0]) && s.has(two[1]) {
			return usagef("--%s and --%s: only one of them", two[0], two[1])
		}
	}
	if err := s.parseTimes(); err != nil || s.frames == "" {
		return err
	}
	if !s.has("id") {
		return usagef("--frames needs --id")
	}
	if s.frameRange, err = gulp.ParseSlice(s.frames); err != nil {
		return usagef("--%s", err)
	}
	return nil
}

// parseTimes reads --from and --to.
func (s *selector) parseTimes() error {
	for _, f := range []struct {
		name, text string
		to         **zoomcache.Moment
	}{{"from", s.from, &s.fromTime}, {"to", s.to, &s.toTime}} {
		if !s.has(f.name) {
			continue
		}
		t, err := zoomcache.ParseMoment(f.text)
		if err != nil {
			return usagef("--%s: %s", f.name, err)
		}
		*f.to = &t
	}
	return nil
}

// wanted is the number of the item that will be read, for opening. 0 means that it is
// not known, or is the first, which is near in every file.
func (s selector) wanted() int64 {
	switch {
	case s.has("item"):
		return max(s.item, 0)
	case s.has("chunk"):
		return int64(max(s.chunk, 0))
	case s.has("chunks"):
		// For any number of chunks: a range that is counted from the end resolves to a
		// start beyond all that there can be.
		const many = math.MaxInt32
		if box, err := s.chunks.Resolve([]int64{2 * many}); err == nil && box.Start[0] < many {
			return box.Start[0]
		}
	}
	return 0
}

// has says whether a part of the selector was given: an id may be empty.
func (s selector) has(name string) bool { return slices.Contains(s.given, name) }

// only refuses selectors of other formats.
func (s selector) only(format string, names ...string) error {
	for _, g := range s.given {
		switch {
		case slices.Contains(names, g):
		case g == "slice":
			return usagef("a slice %q is for arrays, this is a %s%s", s.sliceText, format, s.instead(names))
		default:
			return usagef("--%s does not go with a %s%s", g, format, s.instead(names))
		}
	}
	return nil
}

// instead says which flags select parts of a format that takes names. If this command
// has none of them, it names the command that has.
func (s selector) instead(names []string) string {
	for _, of := range []struct {
		what, flags string
	}{
		{"", "track, from, to"},
		{"", "item, chunk, chunks, id"},
		{"frames ", "id, frames"},
		{"chunks ", "chunk, chunks"},
	} {
		flags := strings.Split(of.flags, ", ")
		if !slices.Contains(names, flags[0]) {
			continue
		}
		text := "--" + strings.Join(flags[:len(flags)-1], ", --") + " and --" + flags[len(flags)-1]
		if s.knows != nil && !s.knows(flags[0]) {
			return ": farread get selects " + of.what + "with " + text
		}
		return ": select " + of.what + "with " + text
	}
	return ""
}

// command is the name of the command that selects, for the progress bar.
func (s *selector) command() string {
	switch {
	case s.slicing:
		return "slice"
	case s.viewing:
		return "view"
	}
	return "get"
}

// get writes what sel selects to out.
func (a *app) get(ctx context.Context, uri string, sel selector, out string, how aim) error {
	var stream *sink.Stream
	var late error // bytes that went to stdout cannot be taken back, so there is no second try
	err := objstore.Again(ctx, func() error {
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
		defer s.Abort()
		stream, _ = s.(*sink.Stream)
		if err = a.copy(ctx, x, s, sel.command()); err == nil {
			err = s.Commit()
		}
		if err != nil && stream != nil && stream.Wrote() {
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
func (a *app) copy(ctx context.Context, x selection, s sink.Sink, what string) error {
	b := a.newBar(what, x.total())
	defer b.clear()
	return x.copy(ctx, s, b)
}

// byteSink decides what OUT is for bytes: stdout or a file.
func (a *app) byteSink(out string) (sink.Sink, error) {
	if out == "-" {
		return sink.NewStream(a.stdout), nil
	}
	if info, err := os.Stat(out); os.IsPathSeparator(out[len(out)-1]) || err == nil && info.IsDir() {
		return nil, usagef("%s is a folder; name a file", printable(out))
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
