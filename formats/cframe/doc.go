// Package cframe reads and writes Blosc2 frames. A frame has a header, Blosc
// chunks, an index of the offsets of chunks, and a trailer. A contiguous frame
// is one object, or a part of one. A sparse frame is a folder: it has one
// object for each chunk, and one for the rest.
package cframe

// Format is formats.Error.Format in errors of this package.
const Format = "cframe"
