package objstore

import "context"

// A Link is what a listing of a folder of a file system passes over, and may be a folder: a symbolic link that does not
// lead to a file, and what has a name that no key can have.
type Link struct {
	Name string // in its folder
	// Err says why it is not followed: it is dead, leads out of the bucket, or to a folder that it
	// lies in, or its name is not UTF-8. It is nil for a link to another folder, of which keys go through the link.
	Err error
}

// A Linker is implemented by buckets whose folders have symbolic links (filestore). Ask by As.
type Linker interface {
	// Links returns the links in a folder, "" or a key that ends in a slash, by their names. A
	// folder that is not there has none.
	Links(ctx context.Context, folder string) ([]Link, error)
}
