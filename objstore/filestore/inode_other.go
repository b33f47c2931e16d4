//go:build !unix

package filestore

import "io/fs"

// keeps is false: a file that is open cannot be removed.
const keeps = false

// inode is 0: size and time must identify the file.
func inode(fs.FileInfo) uint64 { return 0 }
