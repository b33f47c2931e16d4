package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
)

// A selector says which part of a payload is meant. Each format has its own parts.
type selector struct {
	frameSelector
	chunkSelector
	itemSelector
	trackSelector

	format  string // format of OUT; "": by its suffix
	picture pictureFlags
	plot    bool // the command is view
	drawn   bool // and makes a picture
	look    lookFlags
	flags   *pflag.FlagSet // the flags that select; nil: there is no command line
}

// A frameSelector selects frames of a gulp, or a file of a Bloscpack file.
type frameSelector struct {
	id, frames string
	frameRange gulp.Slice
}

func (s *frameSelector) ofFrames(f *pflag.FlagSet) {
	f.StringVar(&s.id, "id", "", "`ID` of a gulp; name of a file in a Bloscpack file")
	f.StringVar(&s.frames, "frames", "", "one frame of the id, or of all ids, or a range `A:B:STEP`")
}

// A chunkSelector selects chunks of a frame, or chunks and items of a Bloscpack file.
type chunkSelector struct {
	chunk  int
	chunks b2nd.Slice
	item   int64
}

func (s *chunkSelector) ofChunks(f *pflag.FlagSet) {
	f.IntVar(&s.chunk, "chunk", 0, "chunk `I` of a frame or Bloscpack file, decoded")
	f.Var(&sliceFlag{&s.chunks}, "chunks", "chunks `A:B` of a frame or Bloscpack file, back to back")
	f.Int64Var(&s.item, "item", 0, "item `I` of a Bloscpack file, decoded")
}

// An itemSelector selects items of an array.
type itemSelector struct {
	slice        *b2nd.Slice // nil: the whole array, and the command is not slice
	sliceText    string
	nearest      bool   // labels of a slice mean the nearest item
	field, dtype string // name of a member of the items, and their type
	where        string // comparison that the items match
}

func (s *itemSelector) ofItems(f *pflag.FlagSet) {
	f.StringVar(&s.field, "field", "", "only the member `NAME` of items that have members")
	f.StringVar(&s.dtype, "dtype", "", "take items as `TYPE` of the same size: '<f4', '>i2', …")
}

// A trackSelector selects a part of a zoom-cache file.
type trackSelector struct {
	track            string   // number or name of the track
	tracks           []string // several of them, in one picture
	from, to         string
	fromTime, toTime *zoomcache.Moment // first and last time; nil: no bound
	bignum           bool              // read integers of any length
	stamps           bool
	level            int // level of summaries
	width            int // number of points of a view
	bits             int // bits of a number of a waveform
}

func (s *trackSelector) ofTrack(f *pflag.FlagSet) {
	s.ofTime(f)
	f.BoolVar(&s.bignum, "bignum", false, "integers of a track of codec int whole, of any length, instead of their low 64 bits")
}

// ofTime adds the flags for a track and a time.
func (s *trackSelector) ofTime(f *pflag.FlagSet) {
	f.StringVar(&s.track, "track", "", "track `N` of a zoom-cache file: its number, or its name as info shows it")
	f.StringVar(&s.from, "from", "", "from this time `T` on: seconds, a duration (1h30m) or UTC")
	f.StringVar(&s.to, "to", "", "up to this time `T`, without it")
}

func (s *trackSelector) ofSamples(f *pflag.FlagSet) {
	f.BoolVar(&s.stamps, "stamps", false, "the offsets of samples instead of their values")
}

// ofView adds the flags that say what a view shows.
func (s *trackSelector) ofView(f *pflag.FlagSet) {
	f.IntVar(&s.level, "level", 0, "the stored summaries of level `L`; 1 is the finest")
	f.IntVar(&s.width, "width", 0, "about `W` points, each with the least and the greatest of its samples")
	f.StringSliceVar(&s.tracks, "tracks", nil, "several tracks in one .png or .svg: numbers or names, `A,B`")
	f.IntVar(&s.bits, "bits", 16, "8 or 16 bits for each number of a .dat or of peaks: `N`")
}

// register gives a command flags that select: the flags of parts, and others, flags
// that the command already has and that suit only some formats.
func (s *selector) register(c *cobra.Command, parts []func(*pflag.FlagSet), others ...string) {
	s.flags = newFlags()
	for _, add := range parts {
		add(s.flags)
	}
	for _, name := range others {
		s.flags.AddFlag(c.Flags().Lookup(name))
	}
	c.Flags().AddFlagSet(s.flags)
}

// newFlags returns a set of flags that keeps their order.
func newFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	return f
}

// changed returns the flags of a set that were given.
func changed(f *pflag.FlagSet) (names []string) {
	if f != nil {
		f.VisitAll(func(g *pflag.Flag) {
			if g.Changed {
				names = append(names, g.Name)
			}
		})
	}
	return names
}

// A sliceFlag is a flag whose value is a slice.
type sliceFlag struct{ s *b2nd.Slice }

func (f *sliceFlag) String() string { return "" }
func (f *sliceFlag) Type() string   { return "A:B" }
func (f *sliceFlag) Set(text string) (err error) {
	*f.s, err = b2nd.ParseSlice(text)
	return err
}

// parse reads the values that the flags do not store by themselves. slice is empty or
// holds the text of a slice.
func (s *selector) parse(slice []string) (err error) {
	if len(slice) > 0 {
		s.sliceText = slice[0]
		if s.slice, err = parseSlice(slice[0]); err != nil {
			return err
		}
	}
	for _, two := range [][2]string{{"chunk", "chunks"}, {"level", "width"}, {"track", "tracks"}} {
		if s.has(two[0]) && s.has(two[1]) {
			return usagef("--%s and --%s: only one of them", two[0], two[1])
		}
	}
	if err := s.parseTimes(); err != nil || s.frames == "" {
		return err
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

// wanted returns the number of the item that will be read, for the opener. 0 means that
// the number is unknown or 0: item 0 is near the head of every file.
func (s selector) wanted() int64 {
	switch {
	case s.has("item"):
		return max(s.item, 0)
	case s.has("chunk"):
		return int64(max(s.chunk, 0))
	case s.has("chunks"):
		// This works for any number of chunks: a range that counts from the end has a
		// start beyond every possible chunk.
		const many = math.MaxInt32
		if box, err := s.chunks.Resolve([]int64{2 * many}); err == nil && box.Start[0] < many {
			return box.Start[0]
		}
	}
	return 0
}

// given returns the flags that were given, and "slice" if there is a slice.
func (s selector) given() []string {
	names := slices.DeleteFunc(changed(s.flags), func(name string) bool { return name == "format" && s.format == "" })
	if s.slice != nil {
		names = append(names, "slice")
	}
	return names
}

// has reports whether a part of the selector was given. An empty value counts, since an
// id may be empty.
func (s selector) has(name string) bool { return slices.Contains(s.given(), name) }

// byID reports whether an index of frames serves: those of an id, or by number, are meant.
func (s selector) byID() bool { return s.has("id") || s.frames != "" }

// byNumber reports whether frames of a chunk are meant by their number in the file.
func (s selector) byNumber() bool { return !s.has("id") && s.frames != "" }

// viewing reports whether points or summaries are meant, and not samples.
func (s selector) viewing() bool { return s.has("width") || s.has("level") }

// only refuses selectors of other formats.
func (s selector) only(format string, names ...string) error {
	for _, g := range s.given() {
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

// instead says which flags select parts of a format; names are these flags. If this
// command has none of them, it names the command that has them.
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
		if s.flags != nil && s.flags.Lookup(flags[0]) == nil {
			return ": farread get selects " + of.what + "with " + text
		}
		return ": select " + of.what + "with " + text
	}
	return ""
}

// command returns the name of the command, for the progress bar.
func (s *selector) command() string {
	switch {
	case s.plot || s.viewing():
		return "view"
	case s.slice != nil:
		return "slice"
	}
	return "get"
}
