package pack

import (
	"context"
	"errors"
	"strings"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// A result is a kind of output.
type result int

const (
	noResult result = iota
	oneGulp
	oneArray
	memberArrays // arrays of the members of a .npz
	oneBloscpack
)

// output returns the names of the objects of u's output of a kind. Raw data that
// came before their note were packed as bytes; if the array exists as well, src is
// asked for the note.
func (j *Job) output(src objstore.Bucket, u functions.Upload, kind result) functions.Output {
	key := func(suffix string) string { return functions.OutputKey(j.Prefix, u.Key, suffix) }
	switch kind {
	case oneGulp:
		return functions.Output{Keys: []string{key(gulp.MetaSuffix), key(gulp.DataSuffix)}, Side: []string{key(gulp.DataSuffix) + index.Suffix}}
	case oneArray:
		return functions.Output{Keys: []string{key(ArraySuffix)}, Same: ifNoted(src, u, 1)}
	case memberArrays:
		return functions.Output{Below: j.Prefix + u.Key + "/", Suffix: ArraySuffix}
	default:
		return functions.Output{Keys: []string{key(bloscpack.Suffix)}, Same: ifNoted(src, u, -1)}
	}
}

// ifNoted is n if a note lies beside u, otherwise 0.
func ifNoted(src objstore.Bucket, u functions.Upload, n int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		switch _, err := src.Head(ctx, u.Key+npy.NoteSuffix); {
		case err == nil:
			return n, nil
		case errors.Is(err, objstore.ErrNotFound):
			return 0, nil
		default:
			return 0, err
		}
	}
}

// others are the other kinds that versions of u may have become. A rule that names a
// format leaves one kind. A listing looks for members, if the upload holds some or has
// the name of an archive that does.
func (j *Job) others(src objstore.Bucket, u functions.Upload, kind result, members map[string]bool) []functions.Output {
	var all []functions.Output
	for _, k := range []result{oneGulp, oneArray, oneBloscpack} {
		if k != kind && (j.Format == "" || j.Format == b2nd.Format && k == oneArray) {
			all = append(all, j.output(src, u, k))
		}
	}
	name := strings.ToLower(u.Key)
	archive := strings.HasSuffix(name, npzSuffix) || strings.HasSuffix(name, ".zip")
	if kind == memberArrays || archive && (j.Format == "" || j.Format == b2nd.Format) {
		o := j.output(src, u, memberArrays)
		o.Keep = members
		all = append(all, o)
	}
	return all
}

// retire deletes the outputs of other kinds that older versions of u became, once the
// output of this kind exists. If the output existed before, it does so only for an
// event or a repeated message: an earlier worker may have ended in between.
func (j *Job) retire(ctx context.Context, src objstore.Bucket, u functions.Upload, kind result, infos []objstore.Info, members map[string]bool) error {
	if len(infos) == 0 && u.Sequencer == "" && !functions.IsAgain(ctx) {
		return nil
	}
	r := functions.Retirement{Bucket: j.Out, Own: j.output(src, u, kind), Others: j.others(src, u, kind, members)}
	return j.left(u, r.After(ctx, src, u))
}

// replaced does what retire does for a version of u that was replaced and whose kind is
// no longer known: an earlier try may have written its output and ended before retire.
func (j *Job) replaced(ctx context.Context, src objstore.Bucket, u functions.Upload) error {
	others := j.others(src, u, noResult, nil)
	if len(others) < 2 {
		return nil
	}
	return j.left(u, functions.Retirement{Bucket: j.Out, Others: others}.Replaced(ctx, src, u))
}

// left reports an output that could not be deleted. That is not a failure of the job.
func (j *Job) left(u functions.Upload, err error) error {
	if errors.Is(err, functions.ErrLeft) {
		j.warn(u, err.Error())
		return nil
	}
	return err
}

func (j *Job) warn(u functions.Upload, text string) {
	if j.Options.Warn != nil {
		j.Options.Warn(u.Key, text)
	}
}
