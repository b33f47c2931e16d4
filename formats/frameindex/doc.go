// Package frameindex holds the index of a Blosc2 frame: the first bytes of each chunk,
// which tell where its blocks are. With it a read of single blocks makes no request for
// block starts. The index lies inside the frame, or beside it as an object of its own;
// package cframe finds it and uses it.
//
// The head of a chunk is its first blosc.Header.IndexLen bytes: header, block starts,
// and the length of a dictionary. The index stores heads without loss, so a reader
// takes a head from the index for the bytes of the chunk.
//
// Of arrays an index may have statistics of chunks and blocks as well: extremes of the
// numbers, and counts (Stats, and formats/stats). Heads are found without them.
//
// The container is package index. Nothing of an index is trusted: errors about one that
// is damaged, hostile or of another frame match index.ErrUnusable, and a reader does
// without it. docs/formats/cframe.md describes the bytes.
package frameindex

import (
	"fmt"

	"github.com/farread/farread/formats/index"
)

const (
	metaVersion   = 1
	sectionStarts = 1 // Kind of the section of heads
	sumLen        = 16
)

// A Sum identifies the frame that an index is about. It is the beginning of a hash of
// what Open reads of a frame.
type Sum [sumLen]byte

func unusable(text string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), index.ErrUnusable)
}
