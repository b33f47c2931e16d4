package objstore

import (
	"context"
	"iter"
	"strings"
)

// A FolderEntry is a line of a listing of one folder: an object, or a folder in it.
type FolderEntry struct {
	// Info describes the object; of a folder it has the Key only, which ends in "/".
	Info
	Folder bool
}

// A FolderLister is implemented by buckets that can list one folder without what lies
// in the folders below it (S3 by a delimiter, filestore, memstore). Ask through the
// function ListFolder, which looks behind middlewares. Middlewares that count, watch
// or delay listings implement it, too, and pass it on by that function.
type FolderLister interface {
	// ListFolder yields the objects and folders of prefix behind after, in key order.
	ListFolder(ctx context.Context, prefix, after string) iter.Seq2[FolderEntry, error]
}

// ListFolder yields the entries of the folder prefix, which is "" or ends in "/". They
// are objects, and folders: keys cut after the next "/". Both come in one order,
// bytewise by key. Entries up to after are left out: to continue a listing, pass the
// Key of the last entry; entries before it cost no request. An object whose key is the
// prefix is not listed. After an error the sequence ends.
//
// If the bucket is a FolderLister, a request yields up to 1 000 entries. For any other
// bucket ListFolder lists everything below prefix, and skips what is in sub-folders.
func ListFolder(ctx context.Context, b Bucket, prefix, after string) iter.Seq2[FolderEntry, error] {
	if f, ok := As[FolderLister](b); ok {
		return f.ListFolder(ctx, prefix, after)
	}
	return Fold(b.List(ctx, prefix), prefix, after)
}

// Fold turns a listing of everything below a folder, in key order, into the listing of
// the folder. It is for drivers whose listings cost nothing.
func Fold(list iter.Seq2[Info, error], prefix, after string) iter.Seq2[FolderEntry, error] {
	return func(yield func(FolderEntry, error) bool) {
		last := ""
		for info, err := range list {
			if err != nil {
				yield(FolderEntry{}, err)
				return
			}
			rest := strings.TrimPrefix(info.Key, prefix)
			e := FolderEntry{Info: info}
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				e = FolderEntry{Info: Info{Key: prefix + rest[:i+1]}, Folder: true}
			}
			if rest == "" || e.Key <= after || e.Folder && e.Key == last {
				continue
			}
			if last = e.Key; !yield(e, nil) {
				return
			}
		}
	}
}

func (b *counted) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[FolderEntry, error] {
	return func(yield func(FolderEntry, error) bool) {
		b.c.AddRequest()
		ListFolder(ctx, b.Bucket, prefix, after)(yield)
	}
}

func (b *traced) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[FolderEntry, error] {
	return trace(ctx, b, prefix, ListFolder(ctx, b.Bucket, prefix, after))
}
