package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/human"
)

// A zoomContent is a zoom-cache file.
type zoomContent struct {
	opened

	f    *farread.Zoom // the open file, for index
	v    farread.Viewer
	off  int64 // offset of the file in its object
	scan bool  // info makes a pass over the file
	plan bool  // the payload is not read
}

var _ content = (*zoomContent)(nil)

// zoomOptions returns the options for opening a zoom-cache file. With --resync, each
// skipped part is reported.
func (a *app) zoomOptions(how aim) (o zoomcache.Options) {
	o.Integers = how.bignum
	if how.resync {
		o.Resync = true
		o.Damaged = func(d zoomcache.Damage) {
			if !a.flags.quiet {
				fmt.Fprintf(a.stderr, "farread: passed over bytes %d to %d: %s\n", d.From, d.To, oneLine(d.Err))
			}
		}
	}
	return o
}

// resyncFlag adds --resync.
func resyncFlag(c *cobra.Command, on *bool) {
	c.Flags().BoolVar(on, "resync", false, "pass over damage of a zoom-cache file, telling where, up to the next whole block")
}

// zoomInfo is the JSON of `info` for zoom-cache files.
type zoomInfo struct {
	Format  string      `json:"format"`
	URI     string      `json:"uri"`
	Size    int64       `json:"size"`
	ETag    string      `json:"etag,omitempty"`
	Offset  int64       `json:"offset,omitempty"`
	Version [2]int      `json:"version"`
	Origin  *string     `json:"utc_origin"` // time in UTC; null: unknown
	Tracks  []zoomTrack `json:"tracks"`
	// Index is null if there is no usable index.
	Index *farread.ZoomIndex `json:"index"`
	// Unused is why an index beside the file is not used.
	Unused string `json:"index_unused,omitempty"`
	// Damaged says why the blocks of a local file could not be counted.
	Damaged string `json:"damaged,omitempty"`
}

// indexText describes the index of a file.
func indexText(x *farread.ZoomIndex, file int64) string {
	if x == nil {
		return noIndex
	}
	return usedIndexText(x.Bytes, x.Inside, file)
}

const noIndex = "none; farread index writes one"

// usedIndexText describes an index that is in use.
func usedIndexText(size int64, inside bool, file int64) string {
	where := "beside it"
	if inside {
		where = "inside"
	}
	return fmt.Sprintf("%s, %s, %s of the file", where, human.Size(size), share(size, file))
}

// share returns a part of a whole in percent, with as many digits as matter.
func share(part, whole int64) string {
	f := 100 * float64(part) / float64(max(whole, 1))
	digits := 0
	switch {
	case f < 0.1:
		digits = 2
	case f < 10:
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " %"
}

// zoomTrack is a track in `info`, and a line of `ls --json`. The last fields are there
// only if they are known without a full scan.
type zoomTrack struct {
	Track    int32    `json:"track"`
	Codec    string   `json:"codec"`
	Channels int      `json:"channels,omitempty"`
	Name     string   `json:"name"`
	Rate     [2]int64 `json:"rate"`
	Variable bool     `json:"variable_rate"`
	Delta    bool     `json:"delta"`
	Zlib     bool     `json:"zlib"`
	Packets  *int64   `json:"packets,omitempty"`
	Samples  *int64   `json:"samples,omitempty"`
	Levels   *int     `json:"levels,omitempty"`
	Entry    *int64   `json:"entry,omitempty"` // first offset; missing if there is no sample and no summary
	Exit     *int64   `json:"exit,omitempty"`
}

// tracks describes the tracks, with their counts if these are known.
func (t *zoomContent) tracks(counts []zoomcache.TrackCount) []zoomTrack {
	h := t.v.Header()
	list := make([]zoomTrack, 0, len(h.Tracks))
	for i, k := range h.Tracks {
		l := zoomTrack{Track: k.Number, Codec: k.Codec.String(), Channels: k.Codec.Channels, Name: k.Name,
			Rate: [2]int64{k.Rate.Num, k.Rate.Den}, Variable: k.Variable, Delta: k.Delta, Zlib: k.Zlib}
		if len(counts) == len(h.Tracks) {
			c := counts[i]
			levels := len(c.Levels)
			l.Packets, l.Samples, l.Levels = &c.Packets, &c.Samples, &levels
			if c.Entry <= c.Exit {
				l.Entry, l.Exit = &c.Entry, &c.Exit
			}
		}
		list = append(list, l)
	}
	return list
}

// describe describes the file, with counts if a scan was asked for or costs no
// requests. Damage that is found on the way is an error only if a scan was asked for.
func (t *zoomContent) describe(ctx context.Context, scan bool) (in farread.Description, d farread.ZoomDetail, damaged string, err error) {
	if in, err = t.d.Describe(ctx, farread.DescribeOptions{Scan: scan}); err != nil {
		return in, d, "", err
	}
	d, _ = in.Detail.(farread.ZoomDetail)
	if scan || d.Counts != nil || !isLocal(t.bucket) {
		return in, d, "", nil
	}
	all, err := t.d.Describe(ctx, farread.DescribeOptions{Scan: true})
	switch {
	case err != nil && exitCode(err) == exitCorrupt:
		return in, d, err.Error(), nil
	case err != nil:
		return in, d, "", err
	}
	d, _ = all.Detail.(farread.ZoomDetail)
	return all, d, "", nil
}

// counts returns the number of samples of each track, by the index, or by a pass over
// the file if scan is set. Otherwise it returns nil.
func (t *zoomContent) counts(ctx context.Context, scan bool) ([]zoomcache.TrackCount, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{Scan: scan})
	d, _ := in.Detail.(farread.ZoomDetail)
	return d.Counts, err
}

// cheap returns the counts by the index, or by a pass if a pass costs no requests.
func (t *zoomContent) cheap(ctx context.Context) ([]zoomcache.TrackCount, error) {
	list, err := t.counts(ctx, false)
	if err == nil && list == nil && isLocal(t.bucket) {
		return t.counts(ctx, true)
	}
	return list, err
}

func (t *zoomContent) info(ctx context.Context) (description, error) {
	in, d, damaged, err := t.describe(ctx, t.scan)
	if err != nil {
		return description{}, err
	}
	i := &zoomInfo{Index: d.Index, Format: in.Format, URI: t.uri, Size: in.Source.Size, ETag: in.Source.ETag, Offset: t.off,
		Version: [2]int{d.Major, d.Minor}, Tracks: t.tracks(d.Counts), Damaged: damaged}
	if x := farread.FindUnusedIndex(t.d); x != nil {
		i.Unused = x.Reason
	}
	if in.Origin != "" {
		i.Origin = &in.Origin
	}
	return description{i, i.table(t.v.Header())}, nil
}

// fewTracks is the most tracks that `info` shows one by one; for more tracks there is
// `ls`.
const fewTracks = 16

func (i *zoomInfo) table(h *zoomcache.Header) *human.Table {
	t := human.NewTable("", "")
	t.Add("uri", human.Printable(i.URI))
	t.Add("format", fmt.Sprintf("%s, version %d.%d", i.Format, i.Version[0], i.Version[1]))
	t.Add("size", human.Size(i.Size))
	if i.Offset > 0 {
		t.Add("offset", human.Count(i.Offset))
	}
	if i.ETag != "" {
		t.Add("etag", i.ETag)
	}
	if i.Origin != nil {
		t.Add("begins", *i.Origin)
	}
	if i.Unused != "" {
		t.Add("index", "the one beside it is not used: "+human.Printable(i.Unused))
	} else {
		t.Add("index", indexText(i.Index, i.Size))
	}
	if i.Damaged != "" {
		t.Add("damaged", human.Printable(i.Damaged))
	}
	if len(i.Tracks) > fewTracks {
		t.Add("tracks", human.Count(int64(len(i.Tracks)))+", see: farread ls")
		return t
	}
	for k := range i.Tracks {
		t.Add("track "+strconv.Itoa(int(i.Tracks[k].Track)), i.Tracks[k].text(&h.Tracks[k]))
	}
	return t
}

// text describes a track in words.
func (z *zoomTrack) text(k *zoomcache.Track) string {
	parts := []string{shownName(k.Name), z.Codec}
	if k.Name == "" {
		parts = parts[1:]
	}
	if z.Channels > 0 {
		parts[len(parts)-1] += " x " + human.Plural(int64(z.Channels), "channel")
	}
	parts = append(parts, rateText(k))
	if flags := z.flags(); flags != "" {
		parts = append(parts, flags)
	}
	if z.Samples != nil {
		parts = append(parts, human.Plural(*z.Samples, "sample"), human.Plural(int64(*z.Levels), "level"))
	}
	if z.Entry != nil && k.Rate.Num != 0 {
		parts = append(parts, fmt.Sprintf("%s to %s", timeText(k.Rate.Seconds(*z.Entry)), timeText(k.Rate.Seconds(*z.Exit))))
	}
	return strings.Join(parts, ", ")
}

func (z *zoomTrack) flags() string {
	var parts []string
	for _, f := range []struct {
		on   bool
		name string
	}{{z.Delta, "delta"}, {z.Zlib, "zlib"}} {
		if f.on {
			parts = append(parts, f.name)
		}
	}
	return strings.Join(parts, " ")
}

// rateText returns a rate as text for people.
func rateText(k *zoomcache.Track) string {
	text := "rate unknown"
	if k.Rate.Num != 0 {
		text = nineDigits(float64(k.Rate.Num)/float64(k.Rate.Den)) + " Hz"
	}
	if k.Variable {
		return "variable rate, ticks at " + text
	}
	return text
}

// timeText returns a number of seconds as text for people.
func timeText(s float64) string { return nineDigits(s) + " s" }

// nineDigits writes a number in at most nine digits if possible. Centuries in seconds,
// or ticks of a nanosecond, have more digits before the point; these have no exponent
// either.
func nineDigits(f float64) string {
	if a := math.Abs(f); a >= 1e9 && a < 1e15 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 9, 64)
}
