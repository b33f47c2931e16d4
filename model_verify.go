package farread

import (
	"context"
	"fmt"
	"strconv"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

// A ZoomReport is the Report.Detail of a series. It counts blocks by kind, and says how
// the summaries and the index differ from those that the samples make.
type ZoomReport struct {
	zoomcache.Report

	Again zoomindex.Recomputed
}

// Verify reads the file, and then computes its summaries and its index again.
func (x *zoomData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	size := x.f.Size()
	r, err := x.f.Verify(ctx, func(done, _ int64) { progress.Tell(done, 2*size) })
	out := Report{Entries: int64(len(r.Tracks)), NBytes: -1, CBytes: size, Detail: ZoomReport{Report: r}}
	if err != nil {
		return out, err
	}
	again, err := x.f.Recompute(ctx, func(done, _ int64) { progress.Tell(size+done, 2*size) })
	out.Detail = ZoomReport{r, again}
	if err == nil {
		err = mismatch(again)
	}
	return out, err
}

// mismatch returns an error if a summary or the index differs from the samples. Nothing
// else may reveal a flipped bit.
func mismatch(r zoomindex.Recomputed) error {
	if r.Wrong == 0 || len(r.First) == 0 {
		return nil
	}
	m := r.First[0]
	fail := func(part, text string) error {
		return &formats.Error{Format: zoomcache.Format, Part: part, Off: m.Off, Err: fmt.Errorf("%s: %w", text, formats.ErrCorrupt)}
	}
	if m.Level == 0 && m.Off >= 0 { // the index as a whole is wrong
		return fail("index", m.Text)
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
		more = fmt.Sprintf(", and %s more", grouped(r.Wrong-1))
	}
	return fail(fmt.Sprintf("track %d, %s", m.Track, part), "not what the samples say: "+m.Text+more)
}

// Verify reads every chunk that was written. If the metadata of an array cannot be
// used, or an item was never written, it returns an error, too.
func (x *blpData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := x.f.Verify(ctx, progress)
	if err == nil {
		_, _, err = x.f.Array()
	}
	if err == nil && r.Missing > 0 {
		err = &formats.Error{Format: bloscpack.Format, Part: x.f.Header().Part(r.FirstMissing), Off: -1,
			Err: fmt.Errorf("never written, %s in all of %s: %w", grouped(r.Missing), grouped(x.f.Len()), formats.ErrNoEntry)}
	}
	return Report{Entries: r.Chunks, NBytes: r.NBytes, CBytes: r.CBytes, Detail: r}, err
}

// grouped returns a number that is not negative, with a comma between groups of three
// digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
