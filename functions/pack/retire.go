package pack

import (
	"context"
	"errors"
	"strings"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// A result is a kind of output.
type result int

const (
	oneGulp result = iota
	oneArray
	memberArrays // of a .npz
	oneBloscpack
)

// output names the objects of u's output of a kind.
func (j *Job) output(u functions.Upload, kind result) functions.Output {
	key := func(suffix string) string { return functions.OutputKey(j.Prefix, u.Key, suffix) }
	switch kind {
	case oneGulp:
		return functions.Output{Keys: []string{key(gulp.MetaSuffix), key(gulp.DataSuffix)}}
	case oneArray:
		return functions.Output{Keys: []string{key(ArraySuffix)}}
	case memberArrays:
		return functions.Output{Below: j.Prefix + u.Key + "/", Suffix: ArraySuffix}
	default:
		return functions.Output{Keys: []string{key(bloscpack.Suffix)}}
	}
}

// others are the kinds that versions of u may have been made into, besides kind.
// Rules that name a format leave one. Members are looked for, by a listing, where
// the upload holds some, or is called like an archive that does.
func (j *Job) others(u functions.Upload, kind result, members map[string]bool) []functions.Output {
	var all []functions.Output
	for _, k := range []result{oneGulp, oneArray, oneBloscpack} {
		if k != kind && (j.Format == "" || j.Format == b2nd.Format && k == oneArray) {
			all = append(all, j.output(u, k))
		}
	}
	name := strings.ToLower(u.Key)
	archive := strings.HasSuffix(name, npzSuffix) || strings.HasSuffix(name, ".zip")
	if kind == memberArrays || archive && (j.Format == "" || j.Format == b2nd.Format) {
		o := j.output(u, memberArrays)
		o.Keep = members
		all = append(all, o)
	}
	return all
}

// retire deletes what older versions of u were made into otherwise, once that of kind
// stands. An object that is unchanged is looked at again only for an event: one that
// comes again may be that of a worker which ended in between.
func (j *Job) retire(ctx context.Context, src objstore.Bucket, u functions.Upload, kind result, infos []objstore.Info, members map[string]bool) error {
	others := j.others(u, kind, members)
	if len(others) == 0 || len(infos) == 0 && u.Sequencer == "" {
		return nil
	}
	err := functions.Retirement{Bucket: j.Out, Own: j.output(u, kind), Others: others}.After(ctx, src, u)
	if errors.Is(err, functions.ErrLeft) {
		if j.Options.Warn != nil {
			j.Options.Warn(u.Key, err.Error())
		}
		return nil
	}
	return err
}
