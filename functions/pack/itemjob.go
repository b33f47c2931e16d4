package pack

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// itemLayout must change if the same upload would give another Bloscpack file.
const itemLayout = "blp-1"

// forced reports whether the rule makes Bloscpack files of all uploads.
func (j *Job) forced() bool { return j.Format == bloscpack.Format }

// takesEmpty reports whether an upload without bytes counts as one without
// records.
func (j *Job) takesEmpty(key string) bool {
	return j.forced() || j.Format == "" && textName(key) != ByContent
}

// items tells what an upload becomes in a Bloscpack file. It is nil if the upload is to
// be packed as images; then first holds the source if it is open already. Under a rule
// for files, single files wait for the marker of their folder. Under other rules for
// Bloscpack a marker closes nothing.
func (j *Job) items(ctx context.Context, src objstore.Bucket, f *found, closing bool) (it *Items, first Source, err error) {
	switch {
	case j.Format != "" && !j.forced(), closing && !j.forced():
		return nil, nil, nil
	case closing && j.Records != Files:
		return nil, nil, fmt.Errorf("a marker, and the rule packs no folders: %w", functions.ErrSkip)
	case closing:
		s, err := j.source(ctx, src, f)
		if err != nil {
			return nil, nil, err
		}
		all := ItemsOf(s, j.Options.Limits)
		return &all, nil, nil
	case f.kind == kindJPEG && !j.forced():
		return nil, nil, nil // it waits for its folder's marker
	case j.Records == Files && (f.kind == kindNone || f.kind == kindJPEG || f.kind == kindNPY):
		return nil, nil, fmt.Errorf("a file waits for the marker of its folder: %w", functions.ErrSkip)
	}
	all, err := f.items(ctx, ItemOptions{Limits: j.Options.Limits, Records: j.Records})
	if err != nil || all.By != Files || j.forced() {
		return &all, nil, err
	}
	images, err := ofImages(ctx, all.src)
	if err != nil || images {
		return nil, all.src, err
	}
	return &all, nil, nil
}

// publishItems writes an object with the items of u.
func (j *Job) publishItems(ctx context.Context, src objstore.Bucket, u functions.Upload, it *Items) ([]objstore.Info, error) {
	if err := kit.Fits(ctx, max(it.Size, u.Size), slowest); err != nil {
		return nil, err
	}
	s := functions.Single{Bucket: j.Out, Key: functions.OutputKey(j.Prefix, u.Key, bloscpack.Suffix), Layout: j.itemLayout(it), Replace: j.Replace}
	_, _, closing := functions.Closing(u.Key)
	infos, err := s.Publish(ctx, src, u, func(ctx context.Context, u functions.Upload, w objstore.Writer, seal []byte) error {
		now := *it
		if closing { // the folder is listed again: what lies there now counts
			again, err := j.again(ctx, src, u)
			if err != nil {
				return err
			}
			if now = ItemsOf(again, j.Options.Limits); j.itemLayout(&now) != s.Layout {
				return fmt.Errorf("objects of %s changed while they were packed: %w", u.Key, objstore.ErrUnavailable)
			}
		}
		o := j.Items
		o.Seal, o.MaxAppend = seal, bloscpack.NoAppend
		_, err := now.Write(ctx, w, o)
		return err
	})
	if err != nil || closing {
		return infos, err
	}
	return infos, j.retire(ctx, src, u, oneBloscpack, infos, nil)
}

// itemLayout names everything besides the upload's bytes that decides the file.
func (j *Job) itemLayout(it *Items) string {
	text := itemLayout + " " + it.By.String()
	if it.src != nil && it.src.About().Layout != "" {
		text += " " + it.src.About().Layout
	}
	if e := j.Items.Encode; e != nil {
		text += fmt.Sprintf(" %s-%d", e.Codec, e.Level)
		for _, f := range e.Filters {
			text += fmt.Sprintf("-%d", f.ID)
		}
	}
	if !it.Variable() {
		text += fmt.Sprintf(" %d", it.chunkSize(j.Items))
	}
	if j.Items.TypeSize > 1 {
		text += fmt.Sprintf(" of %d", j.Items.TypeSize)
	}
	switch {
	case j.Items.NoChecksum:
		text += " " + bloscpack.None.String()
	case j.Items.Checksum != bloscpack.None && j.Items.Checksum != bloscpack.Adler32:
		text += " " + j.Items.Checksum.String()
	}
	return text
}

// commandSuffix is the suffix of a rule's output, as far as the upload's name tells.
func commandSuffix(r functions.Rule, u functions.Upload) string {
	_, _, closing := functions.Closing(u.Key)
	ext := strings.ToLower(path.Ext(u.Key))
	switch {
	case r.Format == bloscpack.Format:
		return bloscpack.Suffix
	case r.Format == b2nd.Format:
		return ArraySuffix
	case r.Format == gulp.Format, closing, stemOf(u.Key) != path.Base(u.Key), ext == ".jpg", ext == ".jpeg":
		return gulp.DataSuffix
	case ext == npySuffix, ext == npzSuffix:
		return ArraySuffix
	}
	return bloscpack.Suffix
}

// commandFlags are the flags without which the command would make another file.
func commandFlags(r functions.Rule) string {
	text := ""
	if r.Records != "" {
		text += " --records " + r.Records
	}
	if r.Chunk > 0 {
		text += fmt.Sprintf(" --chunk %d", r.Chunk)
	}
	if r.Layout != "" {
		text += " --layout " + r.Layout
	}
	if r.Codec != "" {
		text += " --codec " + r.Codec
	}
	return text
}
