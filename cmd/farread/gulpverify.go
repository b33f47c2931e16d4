package main

import (
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/human"
)

// verifyReport is the JSON of `verify` for gulp chunks and datasets.
type verifyReport struct {
	Format      string   `json:"format"`
	URI         string   `json:"uri"`
	OK          bool     `json:"ok"`
	Chunks      int      `json:"chunks"`
	IDs         int64    `json:"ids"`
	Frames      int64    `json:"frames"`
	Bytes       int64    `json:"bytes"` // bytes read
	JPEG        int64    `json:"jpeg"`
	Unended     int64    `json:"unended"` // JPEGs without an end marker
	Other       int64    `json:"other"`   // frames that are not JPEG
	FirstOther  string   `json:"first_other,omitempty"`
	Unclaimed   int64    `json:"unclaimed_bytes"`
	Unsafe      int64    `json:"unsafe_ids"` // ids that unpack refuses, since they are no path inside a folder
	FirstUnsafe string   `json:"first_unsafe,omitempty"`
	Unfinished  []string `json:"unfinished,omitempty"` // data objects without an index: they do not belong to the dataset
	// Index is the index beside the chunk, if there is one.
	Index *farread.GulpIndex `json:"index_beside,omitempty"`
}

func (t *gulpContent) verified(found farread.Report) (any, string) {
	r, _ := found.Detail.(farread.GulpReport)
	v := &verifyReport{Format: gulp.Format, URI: t.uri, OK: true, IDs: r.IDs, Frames: r.Frames, Bytes: r.Bytes + r.Padding,
		JPEG: r.JPEG, Unended: r.Unended, Other: r.Other, FirstOther: r.FirstOther, Unclaimed: r.Unclaimed(),
		Unsafe: r.Unsafe, FirstUnsafe: r.FirstUnsafe}
	v.Chunks, v.Unfinished, v.Index = t.n.Chunks, t.n.Unfinished, r.Index
	return v, v.text()
}

func (v *verifyReport) text() string {
	text := fmt.Sprintf("ok: %s, %s, %s", human.Plural(v.IDs, "id"), human.Plural(v.Frames, "frame"), human.Size(v.Bytes))
	if v.Chunks > 1 {
		text = fmt.Sprintf("ok: %s, %s, %s, %s", human.Plural(int64(v.Chunks), "chunk"), human.Plural(v.IDs, "id"), human.Plural(v.Frames, "frame"), human.Size(v.Bytes))
	}
	if v.Other > 0 {
		text += fmt.Sprintf("; %s no JPEG, the first is %s", verb(v.Other), v.FirstOther)
	}
	if v.Unended > 0 {
		text += fmt.Sprintf("; %s without JPEG's end marker", human.Plural(v.Unended, "frame"))
	}
	if v.Unclaimed > 0 {
		text += fmt.Sprintf("; %s of the data belong to no frame", human.Size(v.Unclaimed))
	}
	if v.Unsafe > 0 {
		text += fmt.Sprintf("; %s that unpack refuses, the first is %q", human.Plural(v.Unsafe, "id"), v.FirstUnsafe)
	}
	if v.Index != nil {
		text += "\n  index beside: " + besideText(v.Index)
	}
	for _, name := range v.Unfinished {
		text += "\n  unfinished: " + human.Printable(name)
	}
	return text
}

func verb(n int64) string {
	if n == 1 {
		return "1 frame is"
	}
	return human.Count(n) + " frames are"
}
