package farread

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/zoomcache"
)

func TestViewers(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{false, true} {
		c, b := remote(Config{NoHedge: true})
		put(t, b, "a/x.zoom", twoTracks(t, 200_000, indexed), nil)
		v := opened[Viewer](t, c, "a/x.zoom", AnyOptions{})
		in, err := v.Describe(t.Context(), DescribeOptions{})
		if err != nil || len(in.Tracks) != 2 {
			t.Fatal(in, err)
		}
		track := in.Tracks[0].Number
		plan, err := v.ExplainView(t.Context(), track, 1000, 90_000, 100)
		if cost := plan.Cost(); cost.Requests == 0 || cost.Estimated == indexed {
			t.Errorf("planned %+v", cost)
		}
		costs(t, c, "view", plan, err, func() (int, error) {
			view, err := v.View(t.Context(), track, 1000, 90_000, 100)
			if len(view.Points) < 90 {
				t.Errorf("%d points", len(view.Points))
			}
			return 0, err
		})
		plan, err = v.ExplainPackets(t.Context(), track, 50_000, 60_000)
		samples := 0
		costs(t, c, "samples", plan, err, func() (int, error) {
			return 0, v.EachPacket(t.Context(), track, 50_000, 60_000, func(*zoomcache.Packet) error { samples++; return nil })
		})
		if samples == 0 {
			t.Error("no packets")
		}
		checkPasses(t, c, v)
	}
}

// checkPasses reads stored summaries, and the packets of all tracks, by one pass each.
func checkPasses(t *testing.T, c *Client, v Viewer) {
	t.Helper()
	track := v.Header().Tracks[1].Number
	for _, to := range []int64{50_000, zoomcache.LastOffset} {
		summaries := 0
		plan, err := v.ExplainSummaries(t.Context(), track, 1, 0, to)
		costs(t, c, "summaries", plan, err, func() (int, error) {
			return 0, v.EachSummary(t.Context(), track, 1, 0, to, func(s *zoomcache.Summary) error {
				if s.Track != track || s.Level != 1 {
					t.Errorf("a summary of track %d, level %d", s.Track, s.Level)
				}
				summaries++
				return nil
			})
		})
		if summaries == 0 || plan.Cost().Requests == 0 {
			t.Errorf("%d summaries, planned %+v", summaries, plan.Cost())
		}
	}
	want := map[int32]int{}
	for _, k := range v.Header().Tracks {
		err := v.EachPacket(t.Context(), k.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			want[p.Track] += int(p.Exit - p.Entry)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := map[int32]int{}
	plan, err := v.ExplainPacketsOfAll(t.Context())
	costs(t, c, "all packets", plan, err, func() (int, error) {
		return 0, v.EachPacketOfAll(t.Context(), func(p *zoomcache.Packet) error { got[p.Track] += int(p.Exit - p.Entry); return nil })
	})
	if d := cmp.Diff(want, got); d != "" || len(got) != 2 || plan.Cost().Estimated {
		t.Errorf("%s; %+v", d, plan.Cost())
	}
	stop := errors.New("stop")
	if err := v.EachPacketOfAll(t.Context(), func(*zoomcache.Packet) error { return stop }); err != stop { // the very same
		t.Error(err)
	}
}
