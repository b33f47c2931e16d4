// Package gulpindex is the index beside a gulp chunk: the ids, sorted, with the places
// of their frames. A reader that has it finds a frame by its id without the .gmeta.
//
// The index is an object in the form of package index. Its name is that of the data
// object and index.Suffix. It is bound to size and ETag of both objects of the pair. It
// has a section of pages, in the order of the ids' bytes. A page has ids and, with them,
// the places of their frames, so one page is enough for one frame. If the ids have
// another order in the file, another section has the places in file order, so that
// frames are found by their number. Where ids have several frames, a third section has
// the places of meta_data, which stay in the .gmeta.
//
// [Build] makes the index of an open gulp.Chunk. [Open] reads the end of the object,
// which has the directory and the last pages; an index of up to [Tail] bytes is then
// whole. [Index.Select] returns a gulp.Chunk of one id, [Index.Numbered] one of
// frames by number.
//
// Nothing of an index is trusted: numbers are checked against the data object, and an
// error about the index matches index.ErrUnusable. The caller then reads the .gmeta.
package gulpindex
