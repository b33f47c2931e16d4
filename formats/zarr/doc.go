// Package zarr reads arrays and groups of Zarr, versions 2 and 3, chunk by chunk, and writes
// arrays and groups of version 3.
//
// A hierarchy is many objects under keys, so it is read through a [Store], which opens one
// by its key. [Open] reads the metadata of an array or a group; an [Array] then reads any
// chunk by itself. What is read from far:
//
//	v3     zarr.json, then one request a chunk; of a shard the index, then one a chunk
//	v2     zarr.json (which is not there), then .zarray, .zattrs, .zgroup and .zmetadata side
//	       by side, then one request a chunk
//	pass   all of an array by a [Pass]: each chunk once, runs of a shard by one request
//	group  of consolidated metadata no more than that; else one listing for each folder, and
//	       each array opens by itself
//
// Codecs: bytes, transpose, gzip, zlib, zstd, blosc, lz4, shuffle, crc32c and
// sharding_indexed, by their names in version 3, in version 2 and in numcodecs' own. Types:
// bool, integers and floats that NumPy has on every machine, complex numbers, times with a
// unit, S and U of a fixed length. Raw bytes (|V), members, objects, and text of any length
// are refused by name with formats.ErrUnsupported, and so are other codecs.
//
// Nothing in a hierarchy is trusted: sizes are checked before memory is allocated, names of
// arrays lead nowhere else, and a chunk that is not what the metadata promise is
// formats.ErrCorrupt with its key. A chunk that is not there has the fill value, as in every
// reader of Zarr; one of which the store does not say whether it is there is ErrMaybeAbsent. Errors are *formats.Error with Format "zarr", and those of the Store.
package zarr
