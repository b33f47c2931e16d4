package main

import (
	"context"
	"errors"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// packDataset writes new chunks into a dataset. The dataset may already exist.
func (a *app) packDataset(ctx context.Context, inputs []input, dst string, chunk int64, layout pack.Layout, rep *packReport) error {
	if !strings.HasSuffix(dst, "/") {
		dst += "/"
	}
	next, taken, err := a.chunksThere(ctx, dst)
	if err != nil {
		return err
	}
	b, prefix, err := a.client.Bucket(ctx, dst)
	if err != nil {
		return at(dst, err)
	}
	o := sink.NewChunks(b, false)
	defer sink.NewFolders(b)()
	defer o.Abort(ctx)
	err = a.stream(ctx, inputs, sink.NewDataset(ctx, o, sink.DatasetOptions{Prefix: prefix, Next: next, Full: chunk, Taken: taken}), layout, rep)
	if err == nil {
		err = o.Finish(ctx)
	}
	if errors.Is(err, objstore.ErrExists) {
		return err
	}
	a.unindexed(o.Unindexed())
	rep.Outputs = published(o, b)
	return err
}

// chunksThere returns the number of the next chunk of a dataset, and whether an id is in it,
// for a dataset that is not there, too.
func (a *app) chunksThere(ctx context.Context, dst string) (next int, taken func(id string) bool, err error) {
	d, err := a.client.OpenGulpDataset(ctx, dst, farread.GulpOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return 0, func(string) bool { return false }, nil
	}
	if err == nil {
		err = d.Load(ctx)
	}
	if err != nil {
		return 0, nil, at(dst, err)
	}
	return d.Next(), func(id string) bool {
		_, _, err := d.Find(ctx, id)
		return err == nil
	}, nil
}

// published returns the places of the chunks that have appeared.
func published(o *sink.Chunks, b objstore.Bucket) (out []string) {
	for _, pair := range o.Published() {
		out = append(out, join(b.Name(), pair.Data), join(b.Name(), pair.Meta))
	}
	return out
}

// isLocal reports whether a bucket is a folder of this machine.
func isLocal(b objstore.Bucket) bool {
	_, is := sink.Local(b)
	return is
}
