package s3store

import (
	"context"
	"iter"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/objstore"
)

// ListFolder implements objstore.FolderLister by S3's delimiter: one request for each
// 1000 objects and folders, however much lies in these.
func (b *Bucket) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[objstore.FolderEntry, error] {
	return func(yield func(objstore.FolderEntry, error) bool) {
		fail := func(err error) {
			yield(objstore.FolderEntry{}, b.fail(ctx, "list", prefix, objstore.Range{}, err))
		}
		var token *string
		var turns loops
		for {
			page, err := b.page(ctx, prefix, "/", behind(after), token)
			if err != nil {
				fail(err)
				return
			}
			entries, err := folded(page)
			if err != nil {
				fail(err)
				return
			}
			for _, e := range entries {
				if e.Key > after && e.Key != prefix && !yield(e, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			token = page.NextContinuationToken
			if err := turns.next(page); err != nil {
				fail(err)
				return
			}
		}
	}
}

// behind is the key after which a listing goes on. For a folder it sorts behind almost
// all keys in the folder, so that the store does not list them again.
func behind(after string) string {
	if strings.HasSuffix(after, "/") {
		return after + "\U0010FFFF"
	}
	return after
}

// folded merges the objects and the folders of a page into one order. S3 lists them
// apart, and every entry of a page sorts behind all entries of the page before.
func folded(page *s3.ListObjectsV2Output) ([]objstore.FolderEntry, error) {
	entries := make([]objstore.FolderEntry, 0, len(page.Contents)+len(page.CommonPrefixes))
	for _, o := range page.Contents {
		info, err := listed(o, page.EncodingType)
		if err != nil {
			return nil, err
		}
		entries = append(entries, objstore.FolderEntry{Info: info})
	}
	for _, p := range page.CommonPrefixes {
		key, err := plainKey(aws.ToString(p.Prefix), page.EncodingType)
		if err != nil {
			return nil, err
		}
		entries = append(entries, objstore.FolderEntry{Info: objstore.Info{Key: key}, Folder: true})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Key < entries[j].Key })
	return entries, nil
}
