package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/gateway"
)

// openFlag adds --open.
func openFlag(c *cobra.Command, on *bool) {
	c.Flags().BoolVar(on, "open", false, "open the page of farread serve in the browser, at what is selected, until Ctrl-C")
}

// show serves one dataset to a browser on this machine, and opens the page at what sel
// selects, until the context ends. Nothing but the dataset is served. allowed are the
// flags of the command c that go with it.
func (a *app) show(ctx context.Context, uri string, sel selector, how aim, c *cobra.Command, allowed ...string) error {
	var wrong error
	own := c.LocalFlags()
	c.Flags().Visit(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil && wrong == nil && f.Name != "open" && !slices.Contains(allowed, f.Name) {
			wrong = usagef("--%s does not go with --open, which shows a page", f.Name)
		}
	})
	if wrong != nil {
		return wrong
	}
	d, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	state, err := stateOf(ctx, d, sel)
	if err != nil {
		return err
	}
	at, name := d.dataset().Place(), lastName(uri)
	if strings.Trim(name, "./") == "" {
		name = "data"
	}
	o := defaultServe()
	o.addr, o.open, o.ready, o.page = "127.0.0.1:0", true, a.flags.json, "#/"+url.PathEscape(name)+query(state)
	return a.serveRoots(ctx, []gateway.Root{{Name: name, Bucket: at.Bucket, Key: at.Key}}, o)
}

// A pageState is the state of a view in a link: names and values, in their order.
type pageState [][2]string

func (s *pageState) add(name, value string) {
	if value != "" {
		*s = append(*s, [2]string{name, value})
	}
}

// query writes a state as the page does. Commas are left as they are.
func query(s pageState) string {
	list := make([]string, 0, len(s))
	for _, p := range s {
		list = append(list, p[0]+"="+strings.ReplaceAll(url.QueryEscape(p[1]), "%2C", ","))
	}
	if len(list) == 0 {
		return ""
	}
	return "?" + strings.Join(list, "&")
}

// stateOf finds what the page has to show, and refuses what the command would.
func stateOf(ctx context.Context, c content, s selector) (pageState, error) {
	if s.slice == nil { // the command is view
		if t, ok := c.(*zoomContent); ok {
			return t.pageState(ctx, s)
		}
		return nil, usagef("a view is of a zoom-cache file: farread slice --open and farread serve --open show other datasets")
	}
	x, err := c.pick(ctx, s)
	if err != nil {
		return nil, err
	}
	items, ok := x.(*itemSelection)
	if !ok {
		return nil, usagef("--open: a slice is of an array, and this is a %s", c.dataset().Format())
	}
	return items.pageState()
}

// pageState is the selected part of a series: tracks, and seconds after time 0.
func (t *zoomContent) pageState(ctx context.Context, s selector) (pageState, error) {
	if err := s.only(zoomcache.Format, "track", "from", "to"); err != nil {
		return nil, err
	}
	h, state := t.v.Header(), pageState{}
	switch {
	case s.has("track"):
		k, err := t.track(s)
		if err != nil {
			return nil, err
		}
		if err = t.shows(ctx, k, s); err != nil {
			return nil, err
		}
		state.add("show", shownTrack(k))
	case len(h.Tracks) > 0: // all are shown: a time that one of them has is right
		var first error
		for i := range h.Tracks {
			err := t.shows(ctx, &h.Tracks[i], s)
			if err == nil {
				first = nil
				break
			}
			if first == nil {
				first = err
			}
		}
		if first != nil {
			return nil, first
		}
	}
	for _, b := range []struct {
		name string
		m    *zoomcache.Moment
	}{{"from", s.fromTime}, {"to", s.toTime}} {
		if b.m == nil {
			continue
		}
		sec, err := b.m.Seconds(h)
		if err != nil {
			return nil, usagef("--%s: %s", b.name, err)
		}
		state.add(b.name, strconv.FormatFloat(sec, 'g', -1, 64))
	}
	return state, nil
}

// shows refuses a time that lies beside all that a track has, if that is known without a
// pass over a far object.
func (t *zoomContent) shows(ctx context.Context, k *zoomcache.Track, s selector) error {
	r, err := t.within(ctx, k, s)
	if err != nil || len(r.bounds) == 0 {
		return err
	}
	list, err := t.cheap(ctx)
	if err != nil || list == nil {
		return err
	}
	return t.outside(k, r, list)
}

// shownTrack is how the page calls the lines of a track: its number, or one name for each
// of its channels.
func shownTrack(k *zoomcache.Track) string {
	n := k.Codec.Channels
	if n < 2 {
		return strconv.Itoa(int(k.Number))
	}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%d.%d", k.Number, i)
	}
	return strings.Join(list, ",")
}

// pageState is the selected part of an array, and the member and colours of it.
func (x *itemSelection) pageState() (pageState, error) {
	if x.box.Empty() {
		return nil, usagef("--open: the slice has no items")
	}
	s := make(pageState, 0, 8)
	if x.field != nil {
		s.add("field", x.s.field)
	}
	s = append(s, boxState(x.box, x.t.arr.Shape())...)
	p := x.s.picture
	if slices.Contains(changed(p.flags), "colors") {
		s.add("map", p.colors.m.String())
	}
	if slices.Contains(changed(p.flags), "range") {
		s.add("range", strconv.FormatFloat(p.scale.low, 'g', -1, 64)+","+strconv.FormatFloat(p.scale.high, 'g', -1, 64))
	}
	return s, nil
}

// boxState is axes, place, window, point and profile of a box. Of the axes of which more
// than one item is selected, the last two are the picture, and the others begin where the
// box does. If only one is left of the picture's, a point marks where it lies, and if it
// is the only one of the box, it is the profile.
func boxState(b b2nd.Box, shape []int64) (s pageState) {
	n := len(shape)
	if n == 0 {
		return nil
	}
	var free []int
	lo, hi := make([]int64, n), make([]int64, n)
	for i := range n {
		if lo[i], hi[i] = b.Cover(i); hi[i] > lo[i]+1 {
			free = append(free, i)
		}
	}
	axes := planeAxes(n, free)
	if n > 1 && !slices.Equal(axes, []int{n - 2, n - 1}) {
		s.add("ax", joined(axes))
	}
	if slices.ContainsFunc(lo, func(v int64) bool { return v != 0 }) {
		s.add("i", joined(lo))
	}
	var window, point []int64
	whole, single := true, false
	for _, i := range axes {
		from, to := lo[i], hi[i]
		if to == from+1 { // the point lies there, and all of the axis is shown
			from, to, single = 0, shape[i], single || shape[i] > 1
		}
		whole = whole && from == 0 && to == shape[i]
		window, point = append(window, from, to), append(point, lo[i])
	}
	if !whole {
		s.add("win", joined(window))
	}
	if !single {
		return s
	}
	if n == 1 {
		point = []int64{0, point[0]}
	}
	s.add("point", joined(point))
	if n > 1 && len(free) == 1 {
		s.add("profile", strconv.Itoa(free[0]))
	}
	return s
}

// planeAxes are the axes of the picture, of an array of n axes: one, or two in their order.
func planeAxes(n int, free []int) []int {
	if n == 1 {
		return []int{0}
	}
	axes := slices.Clone(free[max(len(free)-2, 0):])
	for i := n - 1; len(axes) < 2; i-- {
		if !slices.Contains(axes, i) {
			axes = append(axes, i)
		}
	}
	slices.Sort(axes)
	return axes
}

// joined writes numbers with commas between them.
func joined[T int | int64](list []T) string {
	text := make([]string, len(list))
	for i, v := range list {
		text[i] = strconv.FormatInt(int64(v), 10)
	}
	return strings.Join(text, ",")
}
