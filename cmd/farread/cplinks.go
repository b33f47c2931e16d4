package main

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// mostPassed is how many names of what a copy has passed over are told, each in a line.
const mostPassed = 10

// passedOver tells what lies in a folder of this machine and is not copied, since a listing has no keys for it: symbolic
// links that do not lead to a file in the folder, and what is no file. keys are those of the listing.
func (c *copier) passedOver(ctx context.Context, from target, keys []string) ([]string, error) {
	dir, ok := sink.Local(from.bucket)
	if !ok {
		return nil, nil
	}
	listed := make(map[string]bool, len(keys))
	for _, k := range keys {
		listed[k] = true
	}
	var names []string
	top := strings.TrimSuffix(from.key, "/")
	root := filepath.Join(filepath.FromSlash(dir), filepath.FromSlash(top))
	if to, err := filepath.EvalSymlinks(root); err == nil {
		root = to // a walk does not go into a link
	}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err // each folder was listed before
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		key := path.Join(top, filepath.ToSlash(rel))
		if listed[key] || d.Type().IsRegular() && strings.HasPrefix(d.Name(), ".farread-") {
			return nil
		}
		names = append(names, filepath.ToSlash(rel))
		if len(names) <= mostPassed {
			c.a.warn(join(from.bucket.Name(), key), "passed over: "+c.reason(ctx, from.bucket, key, d))
		}
		return ctx.Err()
	})
	if n := len(names) - mostPassed; n > 0 {
		c.a.warn(from.uri, human.Plural(int64(n), "name")+" more passed over")
	}
	return names, err
}

// reason says why an entry of a folder has no key.
func (c *copier) reason(ctx context.Context, b objstore.Bucket, key string, d fs.DirEntry) string {
	if d.Type()&os.ModeSymlink == 0 {
		if d.Type().IsRegular() {
			return "its name is not UTF-8"
		}
		return "it is no file"
	}
	if l, ok := objstore.As[objstore.Linker](b); ok {
		links, err := l.Links(ctx, strings.TrimPrefix(path.Dir(key)+"/", "./"))
		if err != nil {
			return err.Error()
		}
		for _, k := range links {
			if k.Name == d.Name() && k.Err != nil {
				return k.Err.Error()
			}
			if k.Name == d.Name() {
				return "a symbolic link to a folder; cp -r with the link as SRC copies that"
			}
		}
	}
	return "a symbolic link to what is no file"
}
