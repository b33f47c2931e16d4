package main

import (
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/human"
)

// frameReport is the JSON of `verify` for frames and arrays.
type frameReport struct {
	Format       string           `json:"format"`
	URI          string           `json:"uri"`
	OK           bool             `json:"ok"`
	Chunks       int              `json:"chunks"`
	NBytes       int64            `json:"nbytes"` // decoded bytes
	CBytes       int64            `json:"cbytes"` // bytes of the chunks, as their headers say
	Dead         int64            `json:"dead_bytes"`
	Special      map[string]int64 `json:"special"` // number of special chunks, by kind
	VLMetalayers int              `json:"vlmetalayers"`
	// Index tells of the index that was compared with the chunks; its bytes are 0 if none
	// is used.
	Index farread.FrameIndex `json:"index"`
	// Statistics is the number of columns of an array whose statistics were compared with
	// the items.
	Statistics int `json:"statistics"`
	// StatisticsUnused is why there are statistics that are not used.
	StatisticsUnused string `json:"statistics_unused,omitempty"`
}

func (t *frameContent) verified(found farread.Report) (any, string) {
	r, _ := found.Detail.(cframe.Report)
	array, isArray := found.Detail.(b2nd.Report)
	if isArray {
		r = array.Report
	}
	v := &frameReport{Format: t.d.Format(), URI: t.uri, OK: true, Chunks: r.Chunks, NBytes: r.NBytes, CBytes: r.CBytes,
		Dead: r.Dead, Special: map[string]int64{}, VLMetalayers: r.VLMetalayers, Index: farread.FrameIndexOf(r.Index)}
	if v.Statistics = array.Statistics; array.Unused != nil {
		v.StatisticsUnused = array.Unused.Error()
	}
	for kind, n := range r.Special {
		v.Special[kind.String()] = n
	}
	return v, v.text()
}

func (v *frameReport) text() string {
	text := fmt.Sprintf("ok: %s, %s decoded from %s", human.Plural(int64(v.Chunks), "chunk"), human.Size(v.NBytes), human.Size(v.CBytes))
	for _, kind := range []blosc.Special{blosc.Zeros, blosc.NaN, blosc.Value, blosc.Uninit} {
		if n := v.Special[kind.String()]; n > 0 {
			text += fmt.Sprintf("; %s of %s", human.Plural(n, "chunk"), kind)
		}
	}
	if v.Dead > 0 {
		text += fmt.Sprintf("; %s belong to no chunk", human.Size(v.Dead))
	}
	switch x := v.Index; {
	case x.Bytes > 0:
		text += fmt.Sprintf("; the index, %s, agrees", human.Size(x.Bytes))
		if v.Statistics > 0 {
			text += ", and so do the statistics in it"
		}
	case x.Unused != "":
		text += "; index: " + frameIndexText(x, 0)
	}
	if v.StatisticsUnused != "" {
		text += "; its statistics are not used: " + human.Printable(v.StatisticsUnused)
	}
	return text
}

// chunkReport is the JSON of `verify` for a bare chunk.
type chunkReport struct {
	Format string `json:"format"`
	URI    string `json:"uri"`
	OK     bool   `json:"ok"`
	NBytes int64  `json:"nbytes"`
	CBytes int64  `json:"cbytes"`
	After  int64  `json:"bytes_after"`
}

func (t *chunkContent) verified(r farread.Report) (any, string) {
	v := chunkReport{Format: all.Blosc, URI: t.uri, OK: true, NBytes: r.NBytes, CBytes: r.CBytes, After: t.size - t.off - r.CBytes}
	text := fmt.Sprintf("ok: a chunk of %s decoded from %s", human.Size(v.NBytes), human.Size(v.CBytes))
	if v.After > 0 {
		text += fmt.Sprintf("; %s behind it are not part of it", human.Plural(v.After, "byte"))
	}
	return v, text
}
