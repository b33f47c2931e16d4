package farread

import (
	"context"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// Write makes the object that uri names. It creates the object with the options o,
// calls write, and commits the written bytes. If write fails, Write drops all bytes and
// returns the error of write as it is. Nothing is visible before the commit. Other
// errors are those of Bucket.Create and Commit.
//
//	_, err := client.Write(ctx, "s3://datasets/ramp.b2nd", objstore.PutOptions{IfAbsent: true}, func(w objstore.Writer) error {
//		return b2nd.WriteValues(w, []int64{100, 1000}, values, b2nd.WriteOptions{})
//	})
//
// The Writer suits the NewWriter of every format. Formats of several objects write to
// Client.Output, or write each object to Client.Bucket.
func (c *Client) Write(ctx context.Context, uri string, o objstore.PutOptions, write func(w objstore.Writer) error) (objstore.Info, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return objstore.Info{}, err
	}
	w, err := b.Create(ctx, key, o)
	if err != nil {
		return objstore.Info{}, err
	}
	defer w.Abort() // Abort does nothing after Commit
	if err := write(w); err != nil {
		return objstore.Info{}, err
	}
	return w.Commit(ctx)
}

// Output returns the folder or prefix that uri names, with or without its slash. It is
// for writers of several objects: gulp.NewDatasetWriter, GulpDataset.Extend and
// cframe.NewSetWriter. Output creates nothing. A writer never replaces an object: if
// the object exists, the writer fails with objstore.ErrExists.
func (c *Client) Output(ctx context.Context, uri string) (formats.SetOutput, error) {
	b, prefix, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return OutputIn(b, prefix), nil
}

// OutputIn is Client.Output for a prefix of a bucket; "" means the whole bucket.
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

// Commit ignores the Info that the store returns for the object.
func (o outputObject) Commit(ctx context.Context) error {
	_, err := o.Writer.Commit(ctx)
	return err
}
