package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/human"
)

// track returns the track that a selector names, or the only track.
func (t *zoomContent) track(s selector) (*zoomcache.Track, error) {
	k, err := t.named(s)
	if err != nil || !s.bignum {
		return k, err
	}
	if k.Codec.Kind != zoomcache.Integer {
		return nil, usagef("--bignum: track %d is of codec %s, only int may have integers of more than 64 bits", k.Number, k.Codec)
	}
	return k, nil
}

func (t *zoomContent) named(s selector) (*zoomcache.Track, error) {
	tracks := t.v.Header().Tracks
	switch {
	case s.has("track"):
		return t.called(s.track)
	case len(tracks) == 1:
		return &tracks[0], nil
	case len(tracks) == 0:
		return nil, noTrack("any track", "")
	}
	return nil, usagef("which of %s? --track %s", human.Plural(int64(len(tracks)), "track"), listTracks(tracks))
}

// called finds a track by its number, or else by its name: the exact name, the name as
// info shows it, or the name in other capitals.
func (t *zoomContent) called(text string) (*zoomcache.Track, error) {
	tracks := t.v.Header().Tracks
	if n, err := strconv.ParseInt(text, 0, 32); err == nil {
		if k := byNumber(tracks, int32(n)); k != nil {
			return k, nil
		}
	}
	if text == "" {
		return nil, usagef("--track: want a number or a name of %s", listTracks(tracks))
	}
	for _, same := range []func(name string) bool{
		func(name string) bool { return name == text },
		func(name string) bool { return shownName(name) == text },
		func(name string) bool { return strings.EqualFold(name, text) },
	} {
		var list []zoomcache.Track
		for i := range tracks {
			if same(tracks[i].Name) {
				list = append(list, tracks[i])
			}
		}
		switch len(list) {
		case 0:
		case 1:
			return byNumber(tracks, list[0].Number), nil
		default:
			return nil, usagef("--track %s: %s are called so: take one by its number, %s", human.Printable(text), human.Plural(int64(len(list)), "track"), listTracks(list))
		}
	}
	return nil, noTrack("track "+human.Printable(text), listTracks(tracks))
}

// byNumber returns the track with the number n that reads use, or nil if there is no
// such track.
func byNumber(tracks []zoomcache.Track, n int32) *zoomcache.Track {
	for i := len(tracks) - 1; i >= 0; i-- {
		if tracks[i].Number == n {
			return &tracks[i]
		}
	}
	return nil
}

// noTrack returns the error for a missing track. It lists the tracks that exist.
func noTrack(part, list string) error {
	err := formats.ErrNoEntry
	if list != "" {
		err = fmt.Errorf("%w: there are %s", err, list)
	}
	return &formats.Error{Format: zoomcache.Format, Part: part, Off: -1, Err: err}
}

// shownName returns the name of a track for people.
func shownName(name string) string { return human.Printable(human.Shorten(name, 60)) }

// listTracks lists the numbers of tracks, with their names if they have any.
func listTracks(tracks []zoomcache.Track) string {
	var list []string
	for i := range tracks {
		if i == fewTracks {
			list = append(list, "…")
			break
		}
		text := strconv.Itoa(int(tracks[i].Number))
		if name := shownName(tracks[i].Name); tracks[i].Name != "" {
			text += " (" + name + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// A timeRange is the part of a track that --from and --to select.
type timeRange struct {
	first, last int64    // offsets; the range is empty if last is below first
	bounds      []string // flags that were given, with their values
}

// within converts --from and --to to offsets. A time outside the whole track is an
// error. If an index tells the extent of the track, within returns this error.
// Otherwise beside returns it, after a read without samples.
func (t *zoomContent) within(ctx context.Context, k *zoomcache.Track, s selector) (r timeRange, err error) {
	if r.first, r.last, err = t.v.Header().Offsets(k, s.fromTime, s.toTime); err != nil {
		return r, usagef("--from and --to: %s", err)
	}
	for _, b := range []struct{ flag, text string }{{"from", s.from}, {"to", s.to}} {
		if s.has(b.flag) {
			r.bounds = append(r.bounds, "--"+b.flag+" "+human.Printable(b.text))
		}
	}
	if s.fromTime != nil && s.toTime != nil {
		if ok, err := s.fromTime.Before(t.v.Header(), *s.toTime); err != nil || !ok {
			return r, t.backwards(ctx, k, r)
		}
	}
	// Samples of a variable rate may lie at other times than headers say: only a read
	// tells.
	if len(r.bounds) == 0 || k.Variable && !t.plan {
		return r, nil
	}
	list, err := t.counts(ctx, false)
	if err != nil || list == nil {
		return r, err
	}
	return r, t.outside(k, r, list)
}

// backwards returns the error for a time that ends before it begins. It also tells the
// extent of the track, unless this costs a pass over a far object.
func (t *zoomContent) backwards(ctx context.Context, k *zoomcache.Track, r timeRange) error {
	text := strings.Join(r.bounds, " is not before ")
	list, err := t.cheap(ctx)
	if err != nil || list == nil {
		return usagef("%s", text)
	}
	return usagef("%s%s", text, t.extent(k, list))
}

// beside is called for a time without samples. It returns an error if the time lies
// outside the whole track, and nil if it lies in a gap.
func (t *zoomContent) beside(ctx context.Context, k *zoomcache.Track, r timeRange) error {
	if len(r.bounds) == 0 {
		return nil
	}
	list, err := t.known(ctx)
	if err != nil {
		return err
	}
	return t.outside(k, r, list)
}

// known returns the number of samples of each track, at any cost.
func (t *zoomContent) known(ctx context.Context) ([]zoomcache.TrackCount, error) {
	list, err := t.counts(ctx, false)
	if err == nil && list == nil {
		list, err = t.counts(ctx, true)
	}
	return list, err
}

// outside returns the error for a time before or after all counted samples of a track.
// At a constant rate, the offset of a sample is the end of the time that it covers, so
// the first sample begins one offset earlier.
func (t *zoomContent) outside(k *zoomcache.Track, r timeRange, list []zoomcache.TrackCount) error {
	if len(r.bounds) == 0 {
		return nil
	}
	c, ok := countOf(k, list)
	if !ok {
		return nil
	}
	begin := c.Entry
	if !k.Variable && begin > zoomcache.FirstOffset {
		begin--
	}
	where := ""
	switch {
	case r.first > c.Exit:
		where = " is past the end"
	case r.last < begin:
		where = " is before the beginning"
	default:
		return nil
	}
	bound := r.bounds[0]
	if r.first <= c.Exit {
		bound = r.bounds[len(r.bounds)-1]
	}
	return usagef("%s%s%s", bound, where, t.extent(k, list))
}

// countOf returns the count of a track. It returns false if no samples of the track are
// known.
func countOf(k *zoomcache.Track, list []zoomcache.TrackCount) (zoomcache.TrackCount, bool) {
	i := slices.IndexFunc(list, func(c zoomcache.TrackCount) bool { return c.Track == k.Number })
	if i < 0 || list[i].Entry > list[i].Exit {
		return zoomcache.TrackCount{}, false
	}
	return list[i], true
}

// extent returns a text with the times of the first and the last sample of a track.
func (t *zoomContent) extent(k *zoomcache.Track, list []zoomcache.TrackCount) string {
	c, ok := countOf(k, list)
	if !ok {
		return fmt.Sprintf(": track %d has no samples", k.Number)
	}
	from, to := k.Rate.Seconds(c.Entry), k.Rate.Seconds(c.Exit)
	text := fmt.Sprintf(": track %d has samples from %s to %s", k.Number, timeText(from), timeText(to))
	if utc, ok := t.v.Header().Origin.UTC(); ok {
		text += fmt.Sprintf(", which is %s to %s", stamp(utc, from), stamp(utc, to))
	}
	return text
}

// stamp returns the time s seconds after t.
func stamp(t time.Time, s float64) string {
	whole := math.Floor(s)
	return time.Unix(t.Unix()+int64(whole), int64(t.Nanosecond())+int64(math.Round((s-whole)*1e9))).UTC().Format(time.RFC3339Nano)
}
