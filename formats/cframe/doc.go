// Package cframe reads and writes Blosc2 frames: super-chunks of Blosc chunks
// with a header, an index of chunk offsets and a trailer. A contiguous frame is
// one object, or a part of one; a sparse frame is a folder with one object for
// each chunk.
package cframe

// Format is the name that errors of this package carry.
const Format = "cframe"
