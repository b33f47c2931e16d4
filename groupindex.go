package farread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/groupindex"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// groupFlight is how many arrays are opened side by side for an index.
const groupFlight = 8

// A Group is what the index of a folder of arrays says of those that are still as it says.
type Group struct {
	groupindex.Index
	// Stale are the keys of arrays that are others by now, or gone; Index does not have them.
	Stale []string
	// Unused is why the index says nothing at all, or "".
	Unused string
}

// Group reads the index of a folder of arrays, by one request. listed are the objects in the folder,
// by their keys below prefix, which is "" or ends in a slash: what the index says of an array
// counts if the listing has it with the same size and ETag. Without an index in the listing Group
// makes no request and returns nil.
func (c *Client) Group(ctx context.Context, b objstore.Bucket, prefix string, listed map[string]objstore.Info) (*Group, error) {
	in, ok := listed[groupindex.Name]
	if !ok {
		return nil, nil //nolint:nilnil // there is none
	}
	if in.Size > groupindex.MaxLen {
		return &Group{Unused: fmt.Sprintf("%d bytes, at most %d are read", in.Size, groupindex.MaxLen)}, nil
	}
	ob, err := c.open(ctx, c.ours(b), prefix+groupindex.Name, objstore.OpenOptions{Head: max(in.Size, 1)})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil //nolint:nilnil // it went since
	}
	if errors.Is(err, objstore.ErrDenied) {
		return &Group{Unused: objstore.ErrDenied.Error()}, nil // the place is no affair of the gateway's callers
	}
	if err != nil {
		return nil, err
	}
	if ob.Size() > groupindex.MaxLen {
		return &Group{Unused: fmt.Sprintf("%d bytes, at most %d are read", ob.Size(), groupindex.MaxLen)}, nil
	}
	p := make([]byte, ob.Size())
	if err := ob.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return nil, err
	}
	x, err := groupindex.Decode(p)
	if err != nil {
		return &Group{Unused: err.Error()}, nil //nolint:nilerr // the arrays can be read without it
	}
	g := &Group{Index: x}
	for _, key := range x.Keys() {
		if in, ok := listed[key]; !ok || !x.Arrays[key].Current(in.Size, in.ETag) {
			g.Stale = append(g.Stale, key)
			delete(x.Arrays, key)
		}
	}
	return g, nil
}

// maxUnlisted bounds the arrays that UnlistedGroup opens.
const maxUnlisted = 1_000

// UnlistedGroup reads the index of a folder of a store that lists nothing, as a plain HTTP server. There nothing but the
// arrays themselves tells whether they are still as the index says: it opens each that the index names, eight side by side,
// and the Group has what they say, with those that are gone as Stale. It returns the index and the arrays as a listing would, by their whole keys. If
// there is no index, the error matches objstore.ErrNotFound; a folder of more than 1,000 arrays is formats.ErrTooLarge.
func (c *Client) UnlistedGroup(ctx context.Context, b objstore.Bucket, prefix string) (*Group, []objstore.Info, error) {
	ob, err := c.open(ctx, c.ours(b), prefix+groupindex.Name, objstore.OpenOptions{Head: unlistedHead})
	if err != nil {
		return nil, nil, err
	}
	if ob.Size() > groupindex.MaxLen {
		return nil, nil, fmt.Errorf("%s of %d bytes, at most %d are read: %w", groupindex.Name, ob.Size(), groupindex.MaxLen, formats.ErrTooLarge)
	}
	p := make([]byte, ob.Size())
	if err := ob.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return nil, nil, err
	}
	x, err := groupindex.Decode(p)
	if err != nil {
		return nil, nil, err
	}
	keys := x.Keys()
	if len(keys) > maxUnlisted {
		return nil, nil, fmt.Errorf("%s names %d arrays, at most %d are opened on a server that lists nothing: %w", groupindex.Name, len(keys), maxUnlisted, formats.ErrTooLarge)
	}
	found := make([]*objstore.Info, len(keys))
	facts := make([]groupindex.Array, len(keys))
	err = par.Do(ctx, len(keys), groupFlight, func(ctx context.Context, i int) error {
		a, in, ok, err := c.facts(ctx, b, prefix+keys[i])
		switch {
		case errors.Is(err, objstore.ErrNotFound) || err == nil && !ok:
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", keys[i], err)
		}
		found[i], facts[i] = &in, a
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	g, list := &Group{Index: x}, []objstore.Info{ob.Info()}
	for i, key := range keys {
		if found[i] == nil {
			g.Stale = append(g.Stale, key)
			delete(x.Arrays, key)
			continue
		}
		x.Arrays[key], list = facts[i], append(list, *found[i])
	}
	return g, list, nil
}

// unlistedHead is how much of an index is fetched with its opening: some hundred arrays.
const unlistedHead = 256 << 10

// ArrayKey reports whether a key is that of an array by its name.
func ArrayKey(key string) bool {
	suffix := path.Ext(key)
	return (suffix == ".b2nd" || suffix == ".b2frame") && path.Base(key) != suffix
}

// BuildGroupIndex makes the index of the arrays in a folder and below it, whose prefix is "" or
// ends in a slash, and the number of its arrays. It lists the folder and opens each array, eight side by side; sparse ones, and what is none, are passed over.
// If there are none, or the store gives no strong ETags, the error matches formats.ErrNoEntry or formats.ErrUnsupported.
func (c *Client) BuildGroupIndex(ctx context.Context, b objstore.Bucket, prefix string, attrs map[string]json.RawMessage) (groupindex.Index, error) {
	x := groupindex.Index{Attrs: attrs, Arrays: map[string]groupindex.Array{}}
	var keys []string
	for in, err := range objstore.ListAfter(ctx, b, prefix, "") {
		if err != nil {
			return x, err
		}
		key := strings.TrimPrefix(in.Key, prefix)
		if !ArrayKey(key) || sparsePart(key) || groupindex.CheckKey(key) != nil {
			continue
		}
		if keys = append(keys, key); len(keys) > groupindex.MaxArrays {
			return x, fmt.Errorf("more than %d arrays: %w", groupindex.MaxArrays, formats.ErrTooLarge)
		}
	}
	if len(keys) == 0 {
		return x, fmt.Errorf("no arrays in this folder: %w", formats.ErrNoEntry)
	}
	var mu sync.Mutex
	err := par.Do(ctx, len(keys), groupFlight, func(ctx context.Context, i int) error {
		a, ok, err := c.indexed(ctx, b, prefix+keys[i])
		if errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrNoEntry) {
			return nil // no array, whatever its name says
		}
		if err != nil {
			return fmt.Errorf("%s: %w", keys[i], err)
		}
		if ok {
			mu.Lock()
			defer mu.Unlock()
			x.Arrays[keys[i]] = a
		}
		return nil
	})
	return x, err
}

// sparsePart reports whether a key lies in the folder of a sparse array.
func sparsePart(key string) bool {
	for dir := path.Dir(key); dir != "."; dir = path.Dir(dir) {
		if ArrayKey(dir) {
			return true
		}
	}
	return false
}

// indexed returns what an index says of an array; false if the object is none.
func (c *Client) indexed(ctx context.Context, b objstore.Bucket, key string) (x groupindex.Array, ok bool, err error) {
	x, in, ok, err := c.facts(ctx, b, key)
	if err == nil && ok && (in.ETag == "" || strings.HasPrefix(in.ETag, "W/")) {
		return x, false, fmt.Errorf("the store gives no strong ETag: %w", formats.ErrUnsupported)
	}
	return x, ok, err
}

// facts opens an array and returns what an index says of it; false if the object is none.
func (c *Client) facts(ctx context.Context, b objstore.Bucket, key string) (x groupindex.Array, in objstore.Info, ok bool, err error) {
	d, err := c.OpenKey(ctx, b, key, AnyOptions{})
	if err != nil {
		return x, in, false, err
	}
	a, ok := d.Handle().(*Array)
	if !ok {
		return x, in, false, nil
	}
	in = a.Source.Object.Info()
	var layers []cframe.Metalayer
	if layers, err = a.Source.VLMetalayers(ctx); err != nil {
		return x, in, false, err
	}
	f, err := zarrface.FactsOf(ctx, a.Array, layers)
	if err != nil && !errors.Is(err, formats.ErrUnsupported) {
		return x, in, false, err
	}
	if err == nil {
		_, _, err = f.Document(zarrface.Options{Folder: true})
	}
	return f.Index(in.Size, in.ETag, err), in, true, nil
}
