package main

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats/zoomcache"
)

// zoomReport is the JSON of `verify` for zoom-cache files.
type zoomReport struct {
	Format    string `json:"format"`
	URI       string `json:"uri"`
	OK        bool   `json:"ok"`
	Tracks    int    `json:"tracks"`
	Packets   int64  `json:"packets"`
	Samples   int64  `json:"samples"`
	Summaries int64  `json:"summaries"`
	// Undeclared blocks belong to no track of the header: an index, for one.
	Undeclared      int64 `json:"undeclared"`
	UndeclaredBytes int64 `json:"undeclared_bytes"`
	// Backward counts stamps that go back, WrongSpans headers of packets that name
	// other ends than their samples have.
	Backward   int64 `json:"backward_stamps"`
	WrongSpans int64 `json:"wrong_spans"`
}

func (t *zoomContent) verify(ctx context.Context) (any, string, error) {
	b := t.a.newBar("verify", t.f.Size())
	defer b.clear()
	r, err := t.f.Verify(ctx, b.set)
	v := &zoomReport{Format: zoomcache.Format, URI: t.uri, OK: err == nil, Tracks: len(r.Tracks), Undeclared: r.Undeclared,
		UndeclaredBytes: r.UndeclaredBytes, Backward: r.Backward, WrongSpans: r.WrongSpans}
	for i := range r.Tracks {
		c := &r.Tracks[i]
		v.Packets, v.Samples = v.Packets+c.Packets, v.Samples+c.Samples
		for _, n := range c.Levels {
			v.Summaries += n
		}
	}
	return v, v.text(), err
}

func (v *zoomReport) text() string {
	text := fmt.Sprintf("ok: %s, %s in %s, %s", plural(int64(v.Tracks), "track"), plural(v.Samples, "sample"), plural(v.Packets, "packet"),
		count(v.Summaries)+" summaries")
	if v.Undeclared > 0 {
		text += fmt.Sprintf("; %s of no track, %s", plural(v.Undeclared, "block"), humanSize(v.UndeclaredBytes))
	}
	if v.Backward > 0 {
		text += fmt.Sprintf("; %s back", plural(v.Backward, "stamp")+" going")
	}
	if v.WrongSpans > 0 {
		text += fmt.Sprintf("; %s other ends than the samples have", plural(v.WrongSpans, "packet")+" naming")
	}
	return text
}
