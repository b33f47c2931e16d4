package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
)

// track is the track that a selector names, or the only one.
func (t *zoomContent) track(s selector) (*zoomcache.Track, error) {
	k, err := t.named(s)
	if err != nil || !s.bignum {
		return k, err
	}
	if k.Codec.Kind != zoomcache.Int || k.Codec.PCM {
		return nil, usagef("--bignum: track %d is of codec %s, only int may have integers of more than 64 bits", k.Number, k.Codec)
	}
	k.Codec.Kind = zoomcache.Integer
	return k, nil
}

func (t *zoomContent) named(s selector) (*zoomcache.Track, error) {
	tracks := t.f.Header().Tracks
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
	tracks := t.f.Header().Tracks
	if n, err := strconv.ParseInt(text, 0, 32); err == nil {
		if k, err := t.f.Track(int32(n)); err == nil {
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
			return t.f.Track(list[0].Number)
		default:
			return nil, usagef("--track %s: %s are called so: take one by its number, %s", human.Printable(text), human.Plural(int64(len(list)), "track"), listTracks(list))
		}
	}
	return nil, noTrack("track "+human.Printable(text), listTracks(tracks))
}

// noTrack is the error for a missing track. It lists those that exist.
func noTrack(part, list string) error {
	err := formats.ErrNoEntry
	if list != "" {
		err = fmt.Errorf("%w: there are %s", err, list)
	}
	return &formats.Error{Format: zoomcache.Format, Part: part, Off: -1, Err: err}
}

// shownName is the name of a track for people.
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
	bounds      []string // the flags that were given, with their values
}

// within turns --from and --to into offsets. A time that lies outside of the whole
// track is a mistake. within reports it if an index tells the extent of the track;
// else beside does, once nothing was found.
func (t *zoomContent) within(ctx context.Context, k *zoomcache.Track, s selector) (r timeRange, err error) {
	if r.first, r.last, err = t.f.Header().Offsets(k, s.fromTime, s.toTime); err != nil {
		return r, usagef("--from and --to: %s", err)
	}
	for _, b := range []struct{ flag, text string }{{"from", s.from}, {"to", s.to}} {
		if s.has(b.flag) {
			r.bounds = append(r.bounds, "--"+b.flag+" "+human.Printable(b.text))
		}
	}
	if s.fromTime != nil && s.toTime != nil {
		if ok, err := s.fromTime.Before(t.f.Header(), *s.toTime); err != nil || !ok {
			return r, t.backwards(ctx, k, r)
		}
	}
	// Samples of a variable rate may lie elsewhere than headers say: only reading
	// tells.
	if len(r.bounds) == 0 || k.Variable && !t.plan {
		return r, nil
	}
	list, ok, err := t.f.Totals(ctx)
	if err != nil || !ok {
		return r, err
	}
	return r, t.outside(k, r, list)
}

// backwards is the error for a time that ends before it begins. It tells the extent of
// the track, unless that costs a pass over a far object.
func (t *zoomContent) backwards(ctx context.Context, k *zoomcache.Track, r timeRange) error {
	text := strings.Join(r.bounds, " is not before ")
	list, ok, err := t.counts(ctx, false)
	if err != nil || !ok {
		return usagef("%s", text)
	}
	return usagef("%s%s", text, t.extent(k, list))
}

// beside is the error for a time without samples that lies outside of the whole track;
// nil if it lies in a gap.
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

// known counts the samples of all tracks, at any cost.
func (t *zoomContent) known(ctx context.Context) ([]zoomcache.TrackCount, error) {
	list, ok, err := t.counts(ctx, false)
	if err == nil && !ok {
		list, _, err = t.counts(ctx, true)
	}
	return list, err
}

// outside is the error for a time before or after all counted samples of a track. At a
// constant rate a sample ends the time that it is for.
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

// countOf is the count of a track; false if it is not known to have samples.
func countOf(k *zoomcache.Track, list []zoomcache.TrackCount) (zoomcache.TrackCount, bool) {
	i := slices.IndexFunc(list, func(c zoomcache.TrackCount) bool { return c.Track == k.Number })
	if i < 0 || list[i].Entry > list[i].Exit {
		return zoomcache.TrackCount{}, false
	}
	return list[i], true
}

// extent tells the times of the first and the last sample of a track.
func (t *zoomContent) extent(k *zoomcache.Track, list []zoomcache.TrackCount) string {
	c, ok := countOf(k, list)
	if !ok {
		return fmt.Sprintf(": track %d has no samples", k.Number)
	}
	from, to := k.Rate.Seconds(c.Entry), k.Rate.Seconds(c.Exit)
	text := fmt.Sprintf(": track %d has samples from %s to %s", k.Number, timeText(from), timeText(to))
	if utc, ok := t.f.Header().Origin.UTC(); ok {
		text += fmt.Sprintf(", which is %s to %s", stamp(utc, from), stamp(utc, to))
	}
	return text
}

// stamp is the time s seconds after t.
func stamp(t time.Time, s float64) string {
	whole := math.Floor(s)
	return time.Unix(t.Unix()+int64(whole), int64(t.Nanosecond())+int64(math.Round((s-whole)*1e9))).UTC().Format(time.RFC3339Nano)
}
