// Package memstore keeps a bucket in memory. It is the reference for the other
// drivers in objstoretest, and a real store for tests.
package memstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/farread/farread/objstore"
)

// maxKey is the longest key that S3 takes, in bytes of UTF-8.
const maxKey = 1024

// Config describes a bucket. The zero value is an unversioned bucket without a
// limit.
type Config struct {
	Name      string           // default "mem://bucket"
	Versioned bool             // keep every version; Delete then only hides the newest
	MaxObject int64            // largest object, in bytes; a write of more is ErrInvalid and ends; 0: no limit
	Now       func() time.Time // clock for ModTime; default time.Now
}

// Bucket implements objstore.Bucket, objstore.Tagger and
// objstore.ConditionalDeleter. Its methods are safe for concurrent use. The body of
// a Get stays readable after the object was replaced or deleted.
//
// An ETag is opaque: a hash of the content and a number that grows with every
// write, so that the same bytes written again are another object (S3 would give
// them the same ETag) and equal ETags of two buckets mean equal bytes.
type Bucket struct {
	c Config

	mu     sync.RWMutex // guards the rest
	writes int64
	keys   map[string][]version // never empty; the newest is last
}

type version struct {
	info objstore.Info
	data []byte // never changed once here
	tags map[string]string
	gone bool // a delete marker
}

// New returns an empty bucket.
func New(c Config) *Bucket {
	if c.Name == "" {
		c.Name = "mem://bucket"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Bucket{c: c, keys: map[string][]version{}}
}

// Name is the name given to New, or "mem://bucket".
func (b *Bucket) Name() string { return b.c.Name }

func (b *Bucket) fail(op, key string, err error) error {
	return &objstore.Error{Op: op, Bucket: b.c.Name, Key: key, Err: err}
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("empty key: %w", objstore.ErrInvalid)
	case len(key) > maxKey:
		return fmt.Errorf("key of %d bytes, over %d: %w", len(key), maxKey, objstore.ErrInvalid)
	case !utf8.ValidString(key):
		return fmt.Errorf("key %q is not UTF-8: %w", key, objstore.ErrInvalid)
	}
	return nil
}

// find is the version of key that a read asks for. The caller holds mu.
func (b *Bucket) find(key, versionID string) (version, error) {
	vs := b.keys[key]
	if versionID == "" {
		if len(vs) == 0 || vs[len(vs)-1].gone {
			return version{}, objstore.ErrNotFound
		}
		return vs[len(vs)-1], nil
	}
	for _, v := range vs {
		if v.info.VersionID == versionID && !v.gone {
			return v, nil
		}
	}
	return version{}, fmt.Errorf("version %q: %w", versionID, objstore.ErrNotFound)
}

// Get opens a range of an object. The body reads from memory that no write
// changes, and fails once ctx has ended.
func (b *Bucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	fail := func(err error) (io.ReadCloser, objstore.Info, error) {
		return nil, objstore.Info{}, &objstore.Error{Op: "get", Bucket: b.c.Name, Key: key, Range: o.Range, Err: err}
	}
	if err := cmp.Or(ctx.Err(), checkKey(key)); err != nil {
		return fail(err)
	}
	if o.Range.Len < 0 {
		return fail(fmt.Errorf("length %d: %w", o.Range.Len, objstore.ErrInvalid))
	}
	b.mu.RLock()
	v, err := b.find(key, o.VersionID)
	b.mu.RUnlock()
	if err != nil {
		return fail(err)
	}
	size := v.info.Size
	switch {
	case o.IfMatch != "" && o.IfMatch != v.info.ETag:
		return fail(fmt.Errorf("ETag %s, not %s: %w", v.info.ETag, o.IfMatch, objstore.ErrChanged))
	case !o.IfUnmod.IsZero() && v.info.ModTime.Truncate(time.Second).After(o.IfUnmod):
		return fail(fmt.Errorf("written %s: %w", v.info.ModTime, objstore.ErrChanged))
	case o.Range.Off > 0 && o.Range.Off >= size:
		return fail(fmt.Errorf("object of %d bytes: %w", size, objstore.ErrBadRange))
	}
	from, to := o.Range.Resolve(size)
	return &body{ended: ctx.Err, rest: v.data[from:to:to]}, cloned(v.info), nil
}

// Head describes the newest version of an object.
func (b *Bucket) Head(ctx context.Context, key string) (objstore.Info, error) {
	if err := cmp.Or(ctx.Err(), checkKey(key)); err != nil {
		return objstore.Info{}, b.fail("head", key, err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	v, err := b.find(key, "")
	if err != nil {
		return objstore.Info{}, b.fail("head", key, err)
	}
	return cloned(v.info), nil
}

// List yields the objects that were there when it began, in bytewise order of
// their keys, without content type and metadata, which S3 does not list either.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		var found []objstore.Info
		b.mu.RLock()
		for key, vs := range b.keys {
			if v := vs[len(vs)-1]; !v.gone && strings.HasPrefix(key, prefix) {
				v.info.Meta, v.info.ContentType = nil, ""
				found = append(found, v.info)
			}
		}
		b.mu.RUnlock()
		slices.SortFunc(found, func(x, y objstore.Info) int { return strings.Compare(x.Key, y.Key) })
		for _, info := range found {
			if err := ctx.Err(); err != nil {
				yield(objstore.Info{}, b.fail("list", prefix, err))
				return
			}
			if !yield(info, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil && len(found) == 0 {
			yield(objstore.Info{}, b.fail("list", prefix, err))
		}
	}
}

// ListFolder implements objstore.FolderLister.
func (b *Bucket) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[objstore.FolderEntry, error] {
	return objstore.Fold(b.List(ctx, prefix), prefix, after)
}

// Delete removes key, or hides it if the bucket is versioned.
func (b *Bucket) Delete(ctx context.Context, key string) error { return b.delete(ctx, key, "") }

// DeleteIf implements objstore.ConditionalDeleter.
func (b *Bucket) DeleteIf(ctx context.Context, key, etag string) error {
	if etag == "" {
		return b.fail("delete", key, fmt.Errorf("no ETag to match: %w", objstore.ErrInvalid))
	}
	return b.delete(ctx, key, etag)
}

func (b *Bucket) delete(ctx context.Context, key, etag string) error {
	if err := cmp.Or(ctx.Err(), checkKey(key)); err != nil {
		return b.fail("delete", key, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if v, err := b.find(key, ""); etag != "" && err == nil && v.info.ETag != etag {
		return b.fail("delete", key, fmt.Errorf("ETag %s, not %s: %w", v.info.ETag, etag, objstore.ErrChanged))
	}
	vs := b.keys[key]
	switch {
	case len(vs) == 0:
	case !b.c.Versioned:
		delete(b.keys, key)
	case !vs[len(vs)-1].gone:
		b.keys[key] = append(vs, version{gone: true})
	}
	return nil
}

// SetTags replaces the tags of the newest version of key by a copy of tags.
func (b *Bucket) SetTags(key string, tags map[string]string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.find(key, ""); err != nil {
		return b.fail("tag", key, err)
	}
	vs := b.keys[key]
	vs[len(vs)-1].tags = maps.Clone(tags)
	return nil
}

// Tags are the tags of key, or of one version of it if versionID is not "". An
// object without tags has an empty map. The map is a copy.
func (b *Bucket) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, b.fail("tags", key, err)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	v, err := b.find(key, versionID)
	if err != nil {
		return nil, b.fail("tags", key, err)
	}
	tags := map[string]string{}
	maps.Copy(tags, v.tags)
	return tags, nil
}

// publish stores data under key if the conditions hold, in one step.
func (b *Bucket) publish(key string, data []byte, o objstore.PutOptions) (objstore.Info, error) {
	sum := sha256.Sum256(data) // before the lock: it takes long
	b.mu.Lock()
	defer b.mu.Unlock()
	old, err := b.find(key, "")
	there := err == nil
	switch {
	case o.IfAbsent && there:
		return objstore.Info{}, objstore.ErrExists
	case o.IfMatch != "" && !there:
		return objstore.Info{}, fmt.Errorf("the object is gone: %w", objstore.ErrChanged)
	case o.IfMatch != "" && old.info.ETag != o.IfMatch:
		return objstore.Info{}, fmt.Errorf("ETag %s, not %s: %w", old.info.ETag, o.IfMatch, objstore.ErrChanged)
	}
	b.writes++
	v := version{data: data, info: objstore.Info{
		Key: key, Size: int64(len(data)), ModTime: b.c.Now().UTC(), ContentType: o.ContentType, Meta: lower(o.Meta),
		ETag: fmt.Sprintf("%q", fmt.Sprintf("%s-%d", hex.EncodeToString(sum[:12]), b.writes)),
	}}
	if !b.c.Versioned {
		b.keys[key] = []version{v}
		return cloned(v.info), nil
	}
	v.info.VersionID = fmt.Sprintf("v%d", b.writes)
	b.keys[key] = append(b.keys[key], v)
	return cloned(v.info), nil
}

func cloned(i objstore.Info) objstore.Info {
	i.Meta = maps.Clone(i.Meta)
	return i
}

// lower copies m with its names in lower case, as HTTP returns them. The copy is never
// nil, since nil means that a listing tells nothing of metadata.
func lower(m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[strings.ToLower(k)] = v
	}
	return out
}
