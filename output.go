package farread

import (
	"context"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// Output is the folder or prefix that uri names, with or without its slash, for writers
// of several objects: gulp.NewDatasetWriter, GulpDataset.Extend and cframe.NewSetWriter.
// It creates nothing. An object that is there already is never replaced: the writer
// fails with objstore.ErrExists.
func (c *Client) Output(ctx context.Context, uri string) (formats.SetOutput, error) {
	b, prefix, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return OutputIn(b, prefix), nil
}

// OutputIn is Client.Output for a prefix of a bucket; "" is all of the bucket.
func OutputIn(b objstore.Bucket, prefix string) formats.SetOutput {
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return output{b, prefix}
}

type output struct {
	b      objstore.Bucket
	prefix string
}

func (o output) Create(ctx context.Context, name string) (formats.Object, error) {
	w, err := o.b.Create(ctx, o.prefix+name, objstore.PutOptions{IfAbsent: true})
	if err != nil {
		return nil, err
	}
	return outputObject{w}, nil
}

type outputObject struct{ objstore.Writer }

// Commit drops what the store tells of the object.
func (o outputObject) Commit(ctx context.Context) error {
	_, err := o.Writer.Commit(ctx)
	return err
}
