package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
)

// keepFlight is how many arrays of a folder are opened side by side.
const keepFlight = 8

// A namer is an array, with those of its coordinates that are arrays beside it.
type namer struct {
	key    string
	coords []arraymeta.Coord
	items  map[string]int64 // along their axes, by dimensions
}

// A replacement is an array of one axis that is to take the place of another one.
type replacement struct {
	key   string
	dtype dtype.DType
	n     int64                                              // items; -1: it has other axes
	first func(ctx context.Context, n int64) ([]byte, error) // some of them
}

// keepArrays refuses to replace arrays of a folder by others that are packed into it, if arrays that stay find their items by those.
// Nothing was written yet then.
func (a *app) keepArrays(ctx context.Context, targets []target, arrays []pack.Array) error {
	folders := map[string][]replacement{}
	for i, to := range targets {
		arr := arrays[i]
		r := replacement{key: to.key, dtype: arr.DType, n: -1, first: arr.First}
		if len(arr.Shape) == 1 {
			r.n = arr.Shape[0]
		}
		dir := path.Dir(to.key)
		folders[dir] = append(folders[dir], r)
	}
	for _, list := range folders {
		if err := a.keepNamed(ctx, targets[0].bucket, keysOf(targets), list); err != nil {
			return err
		}
	}
	return nil
}

func keysOf(targets []target) map[string]bool {
	keys := make(map[string]bool, len(targets))
	for _, to := range targets {
		keys[to.key] = true
	}
	return keys
}

// keepNamed refuses to replace arrays of one folder by list, if others of it than mine find their items by those and would find
// them elsewhere. A longer one with the same items in front is no other one to them. It lists the folder, opens the others in it, and
// reads what they name.
func (a *app) keepNamed(ctx context.Context, b objstore.Bucket, mine map[string]bool, list []replacement) error {
	if len(list) == 0 {
		return nil
	}
	there, others, err := a.beside(ctx, b, path.Dir(list[0].key), mine)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r replacement) bool { return !there[r.key] })
	if len(list) == 0 {
		return nil
	}
	namers := make([]namer, len(others))
	err = par.Do(ctx, len(others), keepFlight, func(ctx context.Context, i int) (err error) {
		namers[i], err = a.named(ctx, b, others[i])
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range list {
		for _, by := range namers {
			if err := a.keepFor(ctx, b, by, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepFor refuses a replacement by which items of an array would lie elsewhere.
func (a *app) keepFor(ctx context.Context, b objstore.Bucket, by namer, r replacement) error {
	for _, c := range by.coords {
		if besideKey(by.key, c.Array) != r.key {
			continue
		}
		same, err := a.sameFirst(ctx, b, r, by.items[c.Dim])
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("%s finds its items along %s by %s, which has other ones: --force does not replace that; pack into another folder, or remove one of both: %w",
				human.Printable(join(b.Name(), by.key)), human.Printable(c.Dim), human.Printable(path.Base(r.key)), objstore.ErrExists)
		}
	}
	return nil
}

// sameFirst reports whether an array of n items along an axis has the same coordinates by a replacement.
func (a *app) sameFirst(ctx context.Context, b objstore.Bucket, r replacement, n int64) (bool, error) {
	x, err := a.besideThere(ctx, b, r.key)
	if err != nil {
		return false, err
	}
	if x == nil || len(x.Shape()) != 1 || x.Shape()[0] < n {
		return true, nil // it has none by what is there
	}
	if r.n < n || !x.DType().Equal(r.dtype) || n > mostMetaFile/int64(max(x.ItemSize(), 1)) {
		return false, nil
	}
	is, err := r.first(ctx, n)
	if err != nil {
		return false, err
	}
	was := make([]byte, len(is))
	if err := x.ReadSlice(ctx, was, b2nd.Sub([]int64{0}, []int64{n})); err != nil {
		return false, at(join(b.Name(), r.key), err)
	}
	return bytes.Equal(was, is), nil
}

// beside lists the objects of a folder, and the keys of arrays among them but mine.
func (a *app) beside(ctx context.Context, b objstore.Bucket, folder string, mine map[string]bool) (there map[string]bool, others []string, err error) {
	prefix := folder + "/"
	if folder == "." {
		prefix = ""
	}
	there = map[string]bool{}
	for e, err := range objstore.ListFolder(ctx, b, prefix, "") {
		if err != nil {
			return nil, nil, at(join(b.Name(), prefix), err)
		}
		if e.Folder {
			continue
		}
		there[e.Key] = true
		if farread.ArrayKey(e.Key) && !mine[e.Key] {
			others = append(others, e.Key)
		}
	}
	return there, others, nil
}

// named opens an array for the coordinates that are arrays beside it. What is no array, or gone, has none.
func (a *app) named(ctx context.Context, b objstore.Bucket, key string) (namer, error) {
	n := namer{key: key, items: map[string]int64{}}
	x, err := a.client.OpenArray(ctx, join(b.Name(), key), farread.FrameOptions{})
	var m arraymeta.Meta
	if err == nil {
		m, err = x.Meaning(ctx)
	}
	if errors.Is(err, objstore.ErrNotFound) || notArray(err) {
		return n, nil
	}
	if err != nil {
		return n, at(join(b.Name(), key), err)
	}
	for i, dim := range m.Dims {
		if c, ok := m.Coord(dim); ok && !c.Inline() {
			n.coords, n.items[dim] = append(n.coords, c), x.Shape()[i]
		}
	}
	return n, nil
}
