package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// packChunks lets a state machine make the chunks of a dataset, each by a worker of its
// own.
func (a *app) packChunks(ctx context.Context, srcs []string, dst target, f *packFlags) error {
	layout, err := f.gulpLayout()
	if err != nil {
		return err
	}
	o := pack.ChunksOptions{Layout: layout, Full: f.gulpChunk()}
	if _, isPair := gulp.PairOf(dst.key); isPair {
		return usagef("--on: a single gulp chunk is made on this machine; a dataset of chunks is a DST that ends in a slash, with --format gulp")
	}
	if len(srcs) != 1 {
		return usagef("--on: want one SRC, a prefix of a bucket")
	}
	if o.Dest, err = placeOf(dst.bucket, folderKey(dst.key)); err != nil {
		return at(dst.uri, err)
	}
	src, err := a.prefixOf(ctx, srcs[0])
	if err != nil {
		return at(srcs[0], err)
	}
	if o.Source, err = placeOf(src.bucket, src.key); err != nil {
		return at(srcs[0], err)
	}
	c, err := pack.PlanChunks(ctx, ownlessBucket{src.bucket, ownFiles(dst.bucket, dst.key, gulp.Pair{}, false)}, o)
	if err != nil {
		return at(srcs[0], unlisted(err))
	}
	plan, err := a.chunksPlan(ctx, c, dst.bucket, &f.on.elsewhere)
	if err != nil {
		return err
	}
	text, err := f.on.run(ctx, a, plan)
	if err != nil || text == nil {
		return err
	}
	var done pack.ChunksAnswers
	if err := json.Unmarshal(text, &done); err != nil {
		return fmt.Errorf("answers: %w: %w", err, formats.ErrCorrupt)
	}
	rep := packReport{Format: gulp.Format, found: layout == pack.ByNames}
	rep.add(done.Result)
	if rep.Outputs, err = madeChunks(ctx, dst.bucket, o.Dest.Prefix, &done); err != nil {
		return err
	}
	return a.packedReport(rep)
}

// placeOf is a folder as a plan names it.
func placeOf(b objstore.Bucket, key string) (pack.Place, error) {
	name, ok := strings.CutPrefix(b.Name(), "s3://")
	if !ok {
		return pack.Place{}, usagef("--on: want s3://, which the state machine reads and writes")
	}
	return pack.Place{Bucket: name, Prefix: key}, nil
}

// prefixOf is a SRC that is listed.
func (a *app) prefixOf(ctx context.Context, uri string) (target, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return target{}, err
	}
	t := target{uri: uri, bucket: b, key: key}
	if key == "" || strings.HasSuffix(key, "/") {
		return t, nil
	}
	if !isLocal(b) {
		_, err = b.Head(ctx, key)
		if errors.Is(err, objstore.ErrNotFound) && isPrefix(ctx, b, key+"/") {
			t.key += "/"
			return t, nil
		}
	}
	if err == nil {
		err = usagef("--on: an archive or another file is packed on this machine; want a prefix of a bucket, whose images lie there one by one")
	}
	return target{}, err
}

// chunksPlan returns the plan that a state machine has or gets. If it is there already, its
// chunks may be, too: their numbers and ids are not taken by somebody else.
func (a *app) chunksPlan(ctx context.Context, c *pack.ImageChunks, dst objstore.Bucket, e *elsewhere) (*parts.Plan, error) {
	_, dir, err := e.folder(ctx, a, c.Plan.ID)
	if err != nil {
		return nil, err
	}
	have, err := dir.Plan(ctx)
	if err == nil && !e.stop {
		var gone bool
		if gone, err = chunksGone(ctx, dir, dst, &c.Plan); gone && err == nil {
			err = dir.Clear(ctx) // they are made anew
		}
		if err == nil && gone {
			err = objstore.ErrNotFound
		}
	}
	switch {
	case err == nil:
		return have, nil
	case !errors.Is(err, objstore.ErrNotFound):
		return nil, err
	case e.stop: // there is nothing to end, as will be said
		return parts.NewPlan(c.Plan)
	}
	next, taken, err := a.chunksThere(ctx, "s3://"+c.Plan.Dest.Bucket+"/"+c.Plan.Dest.Prefix)
	if err != nil {
		return nil, err
	}
	for id := range c.IDs() {
		if taken(id) {
			return nil, fmt.Errorf("id %s is in the dataset already: %w", human.Printable(id), objstore.ErrExists)
		}
	}
	c.Plan.First = next
	if err := c.PutLists(ctx, dir.Bucket, dir.Dir); err != nil {
		return nil, err
	}
	return parts.NewPlan(c.Plan)
}

// chunksGone reports whether a plan is done, and chunks of it are not there any more.
func chunksGone(ctx context.Context, dir parts.Folder, dst objstore.Bucket, p *pack.ChunksPlan) (bool, error) {
	text, ok, err := dir.Answers(ctx, p.ID)
	if !ok || err != nil {
		return false, err
	}
	var done pack.ChunksAnswers
	if err := json.Unmarshal(text, &done); err != nil {
		return false, fmt.Errorf("answers: %w: %w", err, formats.ErrCorrupt)
	}
	_, err = madeChunks(ctx, dst, p.Dest.Prefix, &done)
	if errors.Is(err, objstore.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// madeChunks returns the places of the chunks of a dataset, all of which have to be there.
func madeChunks(ctx context.Context, b objstore.Bucket, prefix string, done *pack.ChunksAnswers) (out []string, err error) {
	there := map[string]bool{}
	for in, err := range objstore.ListFolder(ctx, b, prefix, "") {
		if err != nil {
			return nil, err
		}
		there[in.Key] = true
	}
	for _, pair := range done.Pairs() {
		for _, name := range []string{pair.Data, pair.Meta} {
			if !there[prefix+name] {
				return nil, fmt.Errorf("%s: %w", human.Printable(join(b.Name(), prefix+name)), objstore.ErrNotFound)
			}
			out = append(out, join(b.Name(), prefix+name))
		}
	}
	return out, nil
}
