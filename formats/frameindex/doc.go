// Package frameindex holds the index of a Blosc2 frame: the first bytes of each chunk,
// which tell where its blocks are, and for frames of many chunks the places of the
// chunks, in pages. With it a read of single blocks makes no request for block starts,
// and none for the offsets of all chunks. The index lies inside the frame, or beside it
// as an object of its own; package cframe finds it and uses it.
//
// The head of a chunk is its first blosc.Header.IndexLen bytes: header, block starts,
// and the length of a dictionary. The index stores heads without loss, so a reader
// takes a head from the index for the bytes of the chunk.
//
// An index has sections of several kinds, each found by its kind. A reader ignores those
// that it does not know.
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

// Kinds of sections.
const (
	sectionStarts = 1 // heads of all chunks
	sectionPlaces = 2 // places of all chunks
	sectionMarks  = 3 // places of every so many chunks
)

const (
	metaVersion = 2
	sumLen      = 16
)

// A Sum identifies what an index is about: the beginning of a hash.
type Sum [sumLen]byte

// A State identifies the frame that an index is about.
type State struct {
	Header  Sum // of the numbers of its header
	Offsets Sum // of its offsets chunk, as it is stored
}

func unusable(text string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), index.ErrUnusable)
}
