package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
)

// A copier copies objects as they are.
type copier struct {
	a         *app
	force     bool
	recursive bool
}

func newCp(a *app) *cobra.Command {
	c := copier{a: a}
	cmd := &cobra.Command{
		Use: "cp SRC DST", DisableFlagsInUseLine: true, Short: "Copy an object as it is: files, S3, from https",
		Long: `Copy the bytes of SRC, a file or an object, to DST, in any two places; a https URL
can only be SRC. The bytes pass through this machine, in bounded memory. DST appears
when all of it is there, or not at all; one that exists stays, without --force. If DST
ends in a slash or is a folder, the copy has the name of SRC in it. The content type
is kept; one that a file has not got follows from its name.

With -r SRC is a folder or prefix, and everything below it is copied to the same
names below DST, four objects at a time. What was copied before an error stays. A
link to a file in the folder is copied as that file; other symbolic links (to a
folder, out of SRC, to nothing, to themselves), pipes and devices are passed over, and
named.`,
		Example: `  farread cp photos.tar s3://uploads/
  farread cp s3://datasets/t2m.b2nd .
  farread cp https://host/t2m.npy s3://uploads/t2m.npy
  farread cp -r day1/ s3://uploads/day1/`,
		Args: exactly("SRC", "DST"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.recursive {
				return c.all(cmd.Context(), args[0], args[1])
			}
			return c.one(cmd.Context(), args[0], args[1])
		},
	}
	cmd.Flags().BoolVar(&c.force, "force", false, "replace a DST that exists")
	cmd.Flags().BoolVarP(&c.recursive, "recursive", "r", false, "everything below the folder SRC")
	return cmd
}

// copyReport is the JSON of `cp`.
type copyReport struct {
	Objects int64  `json:"objects"`
	Bytes   int64  `json:"bytes"`
	Output  string `json:"output"`

	PassedOver []string `json:"passed_over,omitempty"` // names in SRC that are not copied
}

func (c *copier) tell(r copyReport) error {
	if c.a.flags.json {
		return writeJSON(c.a.stdout, r)
	}
	what := ""
	if c.recursive {
		what = human.Plural(r.Objects, "object") + ", "
	}
	_, err := fmt.Fprintf(c.a.stdout, "%s%s copied to %s\n", what, human.Size(r.Bytes), human.Printable(r.Output))
	return err
}

// place opens the bucket of a URI; a local folder gets a slash.
func (c *copier) place(ctx context.Context, uri string) (target, error) {
	if info, err := os.Stat(uri); err == nil && info.IsDir() && !strings.Contains(uri, "://") && !os.IsPathSeparator(uri[len(uri)-1]) {
		uri += string(filepath.Separator)
	}
	b, key, err := c.a.client.Bucket(ctx, uri)
	return target{uri: uri, bucket: b, key: key}, at(uri, err)
}

// one copies one object.
func (c *copier) one(ctx context.Context, src, dst string) error {
	from, err := c.place(ctx, src)
	if err != nil {
		return err
	}
	to, err := c.place(ctx, dst)
	if err != nil {
		return err
	}
	if from.key == "" || strings.HasSuffix(from.key, "/") {
		return usagef("%s is a folder: add -r", human.Printable(src))
	}
	if to.key == "" || strings.HasSuffix(to.key, "/") {
		name := baseOf(from)
		if isLocal(from.bucket) && !strings.Contains(src, "://") {
			name = filepath.Base(src) // of a link its own name
		}
		to.key += name
	}
	defer sink.NewFolders(to.bucket)()
	var n int64
	err = objstore.Again(ctx, func() error {
		b := c.a.newBar("cp", -1)
		defer b.clear()
		n, err = c.copy(ctx, from, to, b.add)
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) && hasAny(ctx, from) {
		return usagef("%s is a folder: add -r", human.Printable(src))
	}
	if err != nil {
		return err
	}
	return c.tell(copyReport{Objects: 1, Bytes: n, Output: join(to.bucket.Name(), to.key)})
}

// baseOf returns the name of an object without its folder, and of a URL without its query.
func baseOf(t target) string {
	if u, err := url.Parse(t.uri); err == nil && strings.HasPrefix(u.Scheme, "http") && u.Path != "" {
		return path.Base(u.Path)
	}
	return path.Base(t.key)
}

// hasAny reports whether there are objects below the key of a target.
func hasAny(ctx context.Context, t target) bool {
	for _, err := range t.bucket.List(ctx, t.key+"/") {
		return err == nil
	}
	return false
}

// all copies what lies below a folder.
func (c *copier) all(ctx context.Context, src, dst string) error {
	from, err := c.place(ctx, src)
	if err != nil {
		return err
	}
	to, err := c.place(ctx, dst)
	if err != nil {
		return err
	}
	for _, t := range []*target{&from, &to} {
		if t.key != "" && !strings.HasSuffix(t.key, "/") {
			t.key += "/"
		}
	}
	var keys []string
	total := int64(0)
	for in, err := range from.bucket.List(ctx, from.key) {
		if err != nil {
			return at(src, unlisted(err))
		}
		if !strings.HasSuffix(in.Key, "/") {
			keys, total = append(keys, in.Key), total+in.Size
		}
	}
	passed, err := c.passedOver(ctx, from, keys)
	if err != nil {
		return at(src, err)
	}
	if len(keys) == 0 {
		return at(src, errNothingThere)
	}
	defer sink.NewFolders(to.bucket)()
	b := c.a.newBar("cp", total)
	defer b.clear()
	var bytes atomic.Int64
	err = par.Do(ctx, len(keys), copies, func(ctx context.Context, i int) error {
		name := strings.TrimPrefix(keys[i], from.key)
		one, other := from, to
		one.key, other.key = keys[i], to.key+name
		one.uri = join(from.bucket.Name(), keys[i])
		return objstore.Again(ctx, func() error {
			n, err := c.copy(ctx, one, other, b.add)
			bytes.Add(n)
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.tell(copyReport{int64(len(keys)), bytes.Load(), join(to.bucket.Name(), to.key), passed})
}

// copies is how many objects are copied side by side.
const copies = 4

// copy copies one object, and returns its length. If it fails, DST is as it was.
func (c *copier) copy(ctx context.Context, from, to target, progress func(int64)) (int64, error) {
	name := join(to.bucket.Name(), to.key)
	if !c.force {
		if _, err := to.bucket.Head(ctx, to.key); err == nil {
			return 0, taken(to.bucket, to.key)
		} else if !errors.Is(err, objstore.ErrNotFound) {
			return 0, at(name, err)
		}
	}
	ob, err := c.a.client.OpenObject(ctx, from.bucket, from.key, objstore.OpenOptions{})
	if err != nil {
		return 0, at(from.uri, err)
	}
	in := ob.Info()
	if in.ContentEncoding != "" && in.ContentEncoding != "identity" && !c.a.flags.quiet {
		fmt.Fprintf(c.a.stderr, "%s: the bytes are copied as they are stored; that they are Content-Encoding %s is not kept\n",
			human.Printable(from.uri), human.Printable(in.ContentEncoding))
	}
	media := in.ContentType
	if media == "" {
		media = mime.TypeByExtension(path.Ext(from.key))
	}
	w, err := to.bucket.Create(ctx, to.key, objstore.PutOptions{IfAbsent: !c.force, ContentType: media})
	if err != nil {
		return 0, at(name, err)
	}
	defer w.Abort()
	r := ob.NewReader(ctx, objstore.ReadOptions{})
	defer r.Close()
	n, err := io.Copy(w, &told{r, progress})
	if err != nil {
		return 0, at(from.uri, err)
	}
	_, err = w.Commit(ctx)
	if errors.Is(err, objstore.ErrExists) {
		return 0, taken(to.bucket, to.key)
	}
	return n, at(name, err)
}

// told is a reader that tells how many bytes were read.
type told struct {
	r    io.Reader
	tell func(int64)
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.tell(int64(n))
	return n, err
}
