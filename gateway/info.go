package gateway

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
)

// infoSize is what a description takes, about. The limits of Open bound it.
const infoSize = 1 << 20

// info is the JSON of a dataset: its Description, with a place that names no source.
type info struct {
	farread.Description

	Place  placed      `json:"place"`
	Tracks []trackInfo `json:"tracks,omitempty"`
	// Statistics are what the index of an array says of the values of its items.
	Statistics *farread.ArrayStatistics `json:"statistics,omitempty"`

	Version string `json:"version"`          // 16 hex digits that name the bytes
	Pinned  string `json:"pinned,omitempty"` // path of this description that never changes
}

type placed struct {
	Root string `json:"root"`
	Key  string `json:"key"`
}

// trackInfo describes a track of a series. The last fields are there if an index tells.
type trackInfo struct {
	Track    int32    `json:"track"`
	Name     string   `json:"name"`
	Codec    string   `json:"codec"`
	Channels int      `json:"channels,omitempty"`
	Rate     [2]int64 `json:"rate"`
	Variable bool     `json:"variable_rate"`
	Samples  *int64   `json:"samples,omitempty"`
	Levels   *int     `json:"levels,omitempty"`
	Entry    *int64   `json:"entry,omitempty"` // first and last offset of samples, and their times in seconds
	Exit     *int64   `json:"exit,omitempty"`
	T0       *float64 `json:"t0,omitempty"`
	T1       *float64 `json:"t1,omitempty"`
}

func planInfo(_ context.Context, s *Server, c *call, h *handle) (*job, error) {
	c.part = c.place // its JSON has the place
	return &job{media: "application/json", text: true, size: min(infoSize, s.c.MaxResponse), make: func(ctx context.Context) ([]byte, error) {
		d, err := h.d.Describe(ctx, farread.DescribeOptions{})
		if err != nil {
			return nil, err
		}
		i := info{Description: d, Place: placed{c.root, c.key}, Version: h.version, Tracks: tracks(&d)}
		if a, ok := h.d.Handle().(*farread.Array); ok {
			if i.Statistics, err = a.Ranges(ctx); err != nil {
				return nil, err
			}
		}
		if !h.weak {
			i.Pinned = "/info~v-" + h.version + "/" + escapeKey(c.root, c.key)
		}
		out := newPage(4<<10, s.c.MaxResponse)
		err = json.NewEncoder(out).Encode(i)
		return out.Bytes(), err
	}}, nil
}

// tracks describes the tracks of a series.
func tracks(d *farread.Description) (list []trackInfo) {
	detail, _ := d.Detail.(farread.ZoomDetail)
	for i := range d.Tracks {
		k := &d.Tracks[i]
		t := trackInfo{Track: k.Number, Name: k.Name, Codec: k.Codec.String(), Channels: k.Codec.Channels, Rate: [2]int64{k.Rate.Num, k.Rate.Den}, Variable: k.Variable}
		if len(detail.Counts) == len(d.Tracks) {
			t.count(k, &detail.Counts[i])
		}
		list = append(list, t)
	}
	return list
}

func (t *trackInfo) count(k *zoomcache.Track, n *zoomcache.TrackCount) {
	levels := len(n.Levels)
	t.Samples, t.Levels = &n.Samples, &levels
	if n.Entry > n.Exit {
		return
	}
	t.Entry, t.Exit = &n.Entry, &n.Exit
	from, to := k.Rate.Seconds(n.Entry), k.Rate.Seconds(n.Exit)
	if !math.IsNaN(from+to) && !math.IsInf(from+to, 0) {
		t.T0, t.T1 = &from, &to
	}
}

// number reads a whole number from 0 on.
func number(what, text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, badf(what, "%s %q: want a number from 0 on", what, clip(text))
	}
	return n, nil
}
