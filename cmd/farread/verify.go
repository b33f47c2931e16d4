package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

func newVerify(a *app) *cobra.Command {
	var how aim
	c := &cobra.Command{
		Use: "verify URI", Short: "Read everything, check every bound, count and checksum",
		Long: `Read all of it and check whatever can be checked. Of a gulp chunk or dataset: the
JSON of the index, every id and frame against the size of the data and against
each other, and every byte of data and padding. GulpIO stores no checksums, so
images are only looked at for JPEG's markers, and those that have none are counted.

Some things are no fault and only remarked: ids that unpack refuses, since they are
no path inside a folder ("../x"), and unfinished chunks, data that an interrupted
writer left without an index. No reader takes those for part of the dataset, and
they may be deleted.

The exit code is 7 when something is wrong, and the line says where.`,
		Example: `  farread verify s3://frames/train/
  farread verify data_0.gulp --json`,
		Args: exactly("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], again(cmd.Context(), func() error { return a.verify(cmd.Context(), args[0], how) }))
		},
	}
	offsetFlag(c, &how.offset)
	return c
}

// verifyReport is the JSON of `verify`.
type verifyReport struct {
	Format      string   `json:"format"`
	URI         string   `json:"uri"`
	OK          bool     `json:"ok"`
	Chunks      int      `json:"chunks"`
	IDs         int64    `json:"ids"`
	Frames      int64    `json:"frames"`
	Bytes       int64    `json:"bytes"` // read
	JPEG        int64    `json:"jpeg"`
	Unended     int64    `json:"unended"` // JPEGs without an end marker
	Other       int64    `json:"other"`   // frames that are no JPEG
	FirstOther  string   `json:"first_other,omitempty"`
	Unclaimed   int64    `json:"unclaimed_bytes"`
	Unsafe      int64    `json:"unsafe_ids"` // unpack refuses them: no path inside a folder
	FirstUnsafe string   `json:"first_unsafe,omitempty"`
	Unfinished  []string `json:"unfinished,omitempty"` // data objects without an index: no part of the dataset
}

func (a *app) verify(ctx context.Context, uri string, how aim) error {
	t, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	sum, err := t.totals(ctx)
	if err != nil {
		return err
	}
	v := verifyReport{Format: gulp.Format, URI: t.uri, OK: true, IDs: sum.IDs, Frames: sum.Frames,
		Bytes: sum.Bytes + sum.Padding, Unclaimed: sum.Unclaimed(), Chunks: 1}
	if t.set != nil {
		v.Chunks, v.Unfinished = t.set.Len(), t.set.Unfinished()
	}
	b := a.newBar("verify", v.Bytes)
	defer b.clear()
	ctx = rangeio.OnePhase(ctx)
	var before int64
	err = t.chunks(ctx, func(c *gulp.Chunk, _ int) error {
		r, err := c.Verify(ctx, func(done, _ int64) { b.set(before + done) })
		before += r.Bytes + r.Padding
		v.JPEG += r.JPEG
		v.Unended += r.Unended
		v.Other += r.Other
		if v.FirstOther == "" {
			v.FirstOther = r.FirstOther
		}
		v.unsafe(c)
		return err
	})
	if err != nil {
		return err
	}
	b.clear()
	if a.flags.json {
		return writeJSON(a.stdout, v)
	}
	return a.tellVerified(v)
}

// unsafe counts the ids of a chunk that unpack would refuse.
func (v *verifyReport) unsafe(c *gulp.Chunk) {
	for it := range c.Items() {
		if _, err := gulp.SafePath(it.ID); err == nil {
			continue
		}
		if v.Unsafe++; v.Unsafe == 1 {
			v.FirstUnsafe = it.ID
		}
	}
}

func (a *app) tellVerified(v verifyReport) error {
	text := fmt.Sprintf("ok: %s, %s, %s", plural(v.IDs, "id"), plural(v.Frames, "frame"), humanSize(v.Bytes))
	if v.Chunks > 1 {
		text = fmt.Sprintf("ok: %s, %s, %s, %s", plural(int64(v.Chunks), "chunk"), plural(v.IDs, "id"), plural(v.Frames, "frame"), humanSize(v.Bytes))
	}
	if v.Other > 0 {
		text += fmt.Sprintf("; %s no JPEG, the first is %s", verb(v.Other), v.FirstOther)
	}
	if v.Unended > 0 {
		text += fmt.Sprintf("; %s without JPEG's end marker", plural(v.Unended, "frame"))
	}
	if v.Unclaimed > 0 {
		text += fmt.Sprintf("; %s of the data belong to no frame", humanSize(v.Unclaimed))
	}
	if v.Unsafe > 0 {
		text += fmt.Sprintf("; %s that unpack refuses, the first is %q", plural(v.Unsafe, "id"), v.FirstUnsafe)
	}
	for _, name := range v.Unfinished {
		text += "\n  unfinished: " + printable(name)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

func verb(n int64) string {
	if n == 1 {
		return "1 frame is"
	}
	return count(n) + " frames are"
}
