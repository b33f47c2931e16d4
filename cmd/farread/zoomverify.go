package main

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
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
	// Backward counts stamps that go back. WrongSpans counts headers of packets whose
	// ends are not those of their samples.
	Backward   int64 `json:"backward_stamps"`
	WrongSpans int64 `json:"wrong_spans"`
	// Compared counts summaries, and Spans entries of the index, that were made anew
	// from the samples; Skipped could not be made.
	Compared int64 `json:"compared"`
	Skipped  int64 `json:"skipped"`
	Spans    int64 `json:"index_spans"`
}

func (t *zoomContent) verify(ctx context.Context) (any, string, error) {
	b := t.a.newBar("verify", 2*t.f.Size())
	defer b.clear()
	r, err := t.f.Verify(ctx, b.set)
	v := &zoomReport{Format: zoomcache.Format, URI: t.uri, Tracks: len(r.Tracks), Undeclared: r.Undeclared,
		UndeclaredBytes: r.UndeclaredBytes, Backward: r.Backward, WrongSpans: r.WrongSpans}
	for i := range r.Tracks {
		c := &r.Tracks[i]
		v.Packets, v.Samples = v.Packets+c.Packets, v.Samples+c.Samples
		for _, n := range c.Levels {
			v.Summaries += n
		}
	}
	if err == nil {
		err = t.recompute(ctx, v, func(done, total int64) { b.set(t.f.Size()+done, total) })
	}
	v.OK = err == nil
	return v, v.text(), err
}

// recompute compares summaries and index with the samples. A difference is damage: a
// flipped bit may show nowhere else.
func (t *zoomContent) recompute(ctx context.Context, v *zoomReport, progress formats.Progress) error {
	r, err := t.f.Recompute(ctx, progress)
	if err != nil {
		return err
	}
	v.Compared, v.Skipped, v.Spans = r.Summaries, r.Skipped, r.Spans
	if r.Wrong == 0 || len(r.First) == 0 {
		return nil
	}
	m := r.First[0]
	if m.Level == 0 && m.Off >= 0 { // the index as a whole
		return &formats.Error{Format: zoomcache.Format, Part: "index", Off: m.Off, Err: fmt.Errorf("%s: %w", m.Text, formats.ErrCorrupt)}
	}
	part := "index"
	switch {
	case m.Off >= 0:
		part = fmt.Sprintf("summary of level %d", m.Level)
	case m.Level > 0:
		part = fmt.Sprintf("index, level %d", m.Level)
	case m.Bin > 0:
		part = fmt.Sprintf("index, bins of %d", m.Bin)
	}
	more := ""
	if r.Wrong > 1 {
		more = fmt.Sprintf(", and %s more", count(r.Wrong-1))
	}
	return &formats.Error{Format: zoomcache.Format, Part: fmt.Sprintf("track %d, %s", m.Track, part), Off: m.Off,
		Err: fmt.Errorf("not what the samples say: %s%s: %w", m.Text, more, formats.ErrCorrupt)}
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
	text += fmt.Sprintf("; %s made anew", count(v.Compared))
	if v.Spans > 0 {
		text += fmt.Sprintf(", and %s of the index", plural(v.Spans, "span"))
	}
	if v.Skipped > 0 {
		text += fmt.Sprintf(", %s not", count(v.Skipped))
	}
	return text
}
