package main

import (
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/human"
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
	// Undeclared counts blocks that belong to no track of the header, such as an index.
	Undeclared      int64 `json:"undeclared"`
	UndeclaredBytes int64 `json:"undeclared_bytes"`
	// Backward counts stamps that go back. WrongSpans counts packets whose header has
	// other first and last times than their samples.
	Backward   int64 `json:"backward_stamps"`
	WrongSpans int64 `json:"wrong_spans"`
	// Compared counts summaries, and Spans counts entries of the index, that were
	// computed again from the samples. Skipped counts those that could not be computed.
	Compared int64 `json:"compared"`
	Skipped  int64 `json:"skipped"`
	Spans    int64 `json:"index_spans"`
	// Unused is why an index beside the file is not used.
	Unused string `json:"index_unused,omitempty"`
}

func (t *zoomContent) verified(found farread.Report) (any, string) {
	r, _ := found.Detail.(farread.ZoomReport)
	v := &zoomReport{Format: zoomcache.Format, URI: t.uri, OK: true, Tracks: len(r.Tracks), Undeclared: r.Undeclared,
		UndeclaredBytes: r.UndeclaredBytes, Backward: r.Backward, WrongSpans: r.WrongSpans,
		Compared: r.Again.Summaries, Skipped: r.Again.Skipped, Spans: r.Again.Spans}
	if x := farread.FindUnusedIndex(t.d); x != nil {
		v.Unused = x.Reason
	}
	for i := range r.Tracks {
		c := &r.Tracks[i]
		v.Packets, v.Samples = v.Packets+c.Packets, v.Samples+c.Samples
		for _, n := range c.Levels {
			v.Summaries += n
		}
	}
	return v, v.text()
}

func (v *zoomReport) text() string {
	text := fmt.Sprintf("ok: %s, %s in %s, %s", human.Plural(int64(v.Tracks), "track"), human.Plural(v.Samples, "sample"), human.Plural(v.Packets, "packet"),
		human.Count(v.Summaries)+" summaries")
	if v.Undeclared > 0 {
		text += fmt.Sprintf("; %s of no track, %s", human.Plural(v.Undeclared, "block"), human.Size(v.UndeclaredBytes))
	}
	if v.Backward > 0 {
		text += fmt.Sprintf("; %s back", human.Plural(v.Backward, "stamp")+" going")
	}
	if v.WrongSpans > 0 {
		text += fmt.Sprintf("; %s other ends than the samples have", human.Plural(v.WrongSpans, "packet")+" naming")
	}
	text += fmt.Sprintf("; %s made anew", human.Count(v.Compared))
	if v.Spans > 0 {
		text += fmt.Sprintf(", and %s of the index", human.Plural(v.Spans, "span"))
	}
	if v.Skipped > 0 {
		text += fmt.Sprintf(", %s not", human.Count(v.Skipped))
	}
	if v.Unused != "" {
		text += "; the index beside it is not used: " + human.Printable(v.Unused)
	}
	return text
}
