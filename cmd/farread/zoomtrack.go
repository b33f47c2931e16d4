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
)

// track is the one that a selector names, or the only one.
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
	return nil, usagef("which of %s? --track %s", plural(int64(len(tracks)), "track"), listTracks(tracks))
}

// called finds a track by its number, or else by its name: as it is, as info shows it,
// or in other capitals.
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
			return nil, usagef("--track %s: %s are called so: take one by its number, %s", printable(text), plural(int64(len(list)), "track"), listTracks(list))
		}
	}
	return nil, noTrack("track "+printable(text), listTracks(tracks))
}

// noTrack says that there is none, and which there are.
func noTrack(part, list string) error {
	err := formats.ErrNoEntry
	if list != "" {
		err = fmt.Errorf("%w: there are %s", err, list)
	}
	return &formats.Error{Format: zoomcache.Format, Part: part, Off: -1, Err: err}
}

// shownName is the name of a track for people.
func shownName(name string) string { return printable(shorten(name, 60)) }

// listTracks tells the numbers of tracks, and the names that they have.
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

// A timeRange is what --from and --to select of a track.
type timeRange struct {
	first, last int64    // offsets; none where last is below first
	bounds      []string // the flags that were given, with what they say
}

// within turns --from and --to into offsets. A time that lies beside all that there is
// of the track is a mistake; so far it is told where an index tells what there is,
// else once nothing was found, by beside.
func (t *zoomContent) within(ctx context.Context, k *zoomcache.Track, s selector) (r timeRange, err error) {
	if r.first, r.last, err = t.f.Header().Offsets(k, s.fromTime, s.toTime); err != nil {
		return r, usagef("--from and --to: %s", err)
	}
	for _, b := range []struct{ flag, text string }{{"from", s.from}, {"to", s.to}} {
		if s.has(b.flag) {
			r.bounds = append(r.bounds, "--"+b.flag+" "+printable(b.text))
		}
	}
	if s.fromTime != nil && s.toTime != nil {
		if ok, err := s.fromTime.Before(t.f.Header(), *s.toTime); err != nil || !ok {
			return r, t.backwards(ctx, k, r)
		}
	}
	// Stamps of a variable rate may lie elsewhere than headers say: reading tells.
	if len(r.bounds) == 0 || k.Variable && !t.plan {
		return r, nil
	}
	list, ok, err := t.f.Totals(ctx)
	if err != nil || !ok {
		return r, err
	}
	return r, t.outside(k, r, list)
}

// backwards says that a time ends before it begins, and what there is where that costs
// no pass over an object far away.
func (t *zoomContent) backwards(ctx context.Context, k *zoomcache.Track, r timeRange) error {
	text := strings.Join(r.bounds, " is not before ")
	list, ok, err := t.counts(ctx, false)
	if err != nil || !ok {
		return usagef("%s", text)
	}
	return usagef("%s%s", text, t.extent(k, list))
}

// beside says that a time in which nothing was found lies beside all that there is of
// the track; nil where it lies in a gap.
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

// known is what the tracks hold, whatever it costs to know that.
func (t *zoomContent) known(ctx context.Context) ([]zoomcache.TrackCount, error) {
	list, ok, err := t.counts(ctx, false)
	if err == nil && !ok {
		list, _, err = t.counts(ctx, true)
	}
	return list, err
}

// outside is an error for a time before or after all that was counted of a track. At a
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

// countOf is what was counted of a track; false where nothing is known to be there.
func countOf(k *zoomcache.Track, list []zoomcache.TrackCount) (zoomcache.TrackCount, bool) {
	i := slices.IndexFunc(list, func(c zoomcache.TrackCount) bool { return c.Track == k.Number })
	if i < 0 || list[i].Entry > list[i].Exit {
		return zoomcache.TrackCount{}, false
	}
	return list[i], true
}

// extent tells from when to when there are samples of a track.
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

// stamp is the time some seconds after another.
func stamp(t time.Time, s float64) string {
	whole := math.Floor(s)
	return time.Unix(t.Unix()+int64(whole), int64(t.Nanosecond())+int64(math.Round((s-whole)*1e9))).UTC().Format(time.RFC3339Nano)
}
