package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

func newUnpack(a *app) *cobra.Command {
	var force bool
	var how aim
	c := &cobra.Command{
		Use: "unpack URI DST", Short: "A container back into a folder of files",
		Long: `Write every frame of a gulp chunk or dataset to the local folder DST, as
DST/ID/0000.jpg …, with the labels and other meta_data in DST/labels.json. Packing
that folder gives the same frames and meta_data again; but for ids without frames,
and for a label that pack takes from the sub-folder of an id that has none.

DST must not be there yet, or be empty; with --force files of the same names are
replaced and others stay. Nothing shows before all of it was read.`,
		Example: `  farread unpack s3://frames/clips/sunrise.tar.gulp sunrise/
  farread pack sunrise/ sunrise.gulp`,
		Args: exactly("URI", "DST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return at(args[0], a.unpack(cmd.Context(), args[0], args[1], force, how))
		},
	}
	c.Flags().BoolVar(&force, "force", false, "write into a folder that has files already")
	c.Flags().BoolVar(new(bool), "no-verify", false, "do not check checksums (a gulp has none)")
	offsetFlag(c, &how.offset)
	return c
}

// labelsFile is where `pack` looks for meta_data in a folder.
const labelsFile = "labels.json"

func (a *app) unpack(ctx context.Context, uri, dst string, force bool, how aim) error {
	if strings.Contains(dst, "://") {
		return usagef("DST %q: unpack writes to a local folder", dst)
	}
	if names, err := os.ReadDir(dst); err == nil && len(names) > 0 && !force {
		return fmt.Errorf("%s has files already (--force writes into it): %w", printable(dst), objstore.ErrExists)
	} else if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%s is no folder: %w", printable(dst), fs.ErrExist)
	}
	return again(ctx, func() error {
		t, err := a.open(ctx, uri, how)
		if err != nil {
			return err
		}
		x, err := selector{}.of(ctx, t)
		if err != nil {
			return err
		}
		s, err := a.newFolderSink(dst, true)
		if err != nil {
			return err
		}
		defer s.abort()
		labels, err := labelsOf(ctx, t)
		if err != nil {
			return err
		}
		if err := s.file(labelsFile, labels); err != nil {
			return err
		}
		if err := a.copyFrames(ctx, x, s, "unpack"); err != nil {
			return err
		}
		if err := s.commit(); err != nil {
			return err
		}
		a.remark("%s of %s, %s, in %s", plural(int64(x.frames), "frame"), plural(ids(ctx, t), "id"), humanSize(x.bytes), dst)
		return nil
	})
}

func ids(ctx context.Context, t *target) int64 {
	n, err := t.totals(ctx)
	if err != nil {
		return 0
	}
	return n.IDs
}

// labelsOf is the JSON of labels.json: an object of id: list of meta_data, a
// line each, in file order.
func labelsOf(ctx context.Context, t *target) ([]byte, error) {
	var b bytes.Buffer
	sep := "{\n"
	err := t.chunks(ctx, func(c *gulp.Chunk, _ int) error {
		for it := range c.Items() {
			list, err := gulp.MetaList(it.MetaData)
			if err != nil || len(list) == 0 {
				continue // no list: nothing that pack could take
			}
			id, err := json.Marshal(it.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s%s: ", sep, id)
			if err := json.Compact(&b, gulp.PlainJSON(it.MetaData)); err != nil {
				return err
			}
			sep = ",\n"
		}
		return nil
	})
	if b.Len() == 0 {
		b.WriteString("{")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), err
}
