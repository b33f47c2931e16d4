package objstore

import "context"

// Tagger is implemented by buckets that keep tags on objects (S3). Ask through
// the function Tags, which looks behind middlewares. Middlewares that count, limit or
// watch requests implement it around a bucket that is one, and pass it on by that
// function.
type Tagger interface {
	// Tags are the tags of key, or of one version of it if versionID is not "".
	// The map is the caller's; it is empty, not nil, if there are none.
	Tags(ctx context.Context, key, versionID string) (map[string]string, error)
}

// Tags are the tags of key, or of one version of it if versionID is not "": nil,
// without a request, if the bucket is no Tagger.
func Tags(ctx context.Context, b Bucket, key, versionID string) (map[string]string, error) {
	if t, ok := As[Tagger](b); ok {
		return t.Tags(ctx, key, versionID)
	}
	return nil, nil
}

func hasTags(b Bucket) bool {
	_, ok := As[Tagger](b)
	return ok
}

// The middlewares around a bucket with tags.
type (
	countedTags struct{ *counted }
	limitedTags struct{ *limited }
	tracedTags  struct{ *traced }
)

func (b countedTags) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	b.c.AddRequest()
	return Tags(ctx, b.Bucket, key, versionID)
}

func (b limitedTags) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	ctx, leave, err := b.enter(ctx, "tags", key, Range{})
	if err != nil {
		return nil, err
	}
	defer leave()
	return Tags(ctx, b.Bucket, key, versionID)
}

func (b tracedTags) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	e := b.begin("tags", key)
	e.VersionID = versionID
	tags, err := Tags(ctx, b.Bucket, key, versionID)
	b.end(ctx, e, err)
	return tags, err
}
