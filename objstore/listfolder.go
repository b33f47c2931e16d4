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

// ListFolder yields what lies in prefix itself, which is "" or ends in "/": objects,
// and folders, which are the beginnings up to the next "/" of longer keys. Both come in
// one order, bytewise by key. What is not behind after is left out: the Key of the last
// entry that was seen goes on from there, and costs no request for those before it. An
// object whose key is the prefix is not listed. After an error the sequence ends.
//
// A bucket that is a FolderLister needs a request for 1 000 entries at most. Of any
// other everything below prefix is listed, and passed over.
func ListFolder(ctx context.Context, b Bucket, prefix, after string) iter.Seq2[FolderEntry, error] {
	if f, ok := As[FolderLister](b); ok {
		return f.ListFolder(ctx, prefix, after)
	}
	return Fold(b.List(ctx, prefix), prefix, after)
}

// Fold makes the listing of a folder from one of everything below it, in key order: it
// is for drivers whose listings cost nothing.
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
	return func(yield func(FolderEntry, error) bool) {
		e := b.begin("list", prefix)
		var last error
		defer func() { b.end(e, last) }()
		for entry, err := range ListFolder(ctx, b.Bucket, prefix, after) {
			if last = err; err == nil {
				e.Objects++
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}
