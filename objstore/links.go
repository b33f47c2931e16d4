package objstore

import "context"

// A Link is a symbolic link in a folder of a file system that a listing passes over: it does
// not lead to a file.
type Link struct {
	Name string // in its folder
	// Err says why it is not followed: it is dead, leads out of the bucket, or to a folder that it
	// lies in. It is nil for a link to another folder, of which keys go through the link.
	Err error
}

// A Linker is implemented by buckets whose folders have symbolic links (filestore). Ask by As.
type Linker interface {
	// Links returns the links in a folder, "" or a key that ends in a slash, by their names. A
	// folder that is not there has none.
	Links(ctx context.Context, folder string) ([]Link, error)
}
