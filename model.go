package farread

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A Dataset is open data that a URI names: an array, a frame, a chunk, images, items, a
// series, or a folder of other things. It can do more if it implements [Slicer],
// [Searcher], [Imager], [Itemer], [Viewer], [Chunker] or [Ranger]. A [Refuser] may be able to do
// less than other datasets of its format. Ask by a type assertion:
//
//	if s, ok := d.(farread.Slicer); ok { err = s.ReadSlice(ctx, dst, box) }
//
// The methods of all these interfaces are safe for concurrent use and end with their
// context. They read the version that was opened; if the object has changed, they fail
// with objstore.ErrChanged. A Dataset holds headers and indexes, but no connection and
// no file, and needs no Close.
type Dataset interface {
	// Format returns the name of the format: a name of package formats/all, or "npy".
	// It returns "" for a folder that is not a dataset.
	Format() string
	// Place returns the place of the dataset.
	Place() Place
	// Source identifies the bytes that were opened. It makes no request, except that a
	// gulp dataset opens all of its chunks at the first call.
	Source(ctx context.Context) (Source, error)
	// Current reports whether the place still holds the bytes that were opened. It
	// costs one HEAD; for a gulp chunk it costs two, for a gulp dataset two listings. A
	// folder is always current, at no cost. For a sparse frame, Current only looks at
	// the index.
	Current(ctx context.Context) (bool, error)
	// Describe returns what headers and indexes say. It only reads the headers and
	// indexes that Open did not read: a trailer of metalayers, the chunks of a gulp
	// dataset, or the index of a series, as the first View does. For a folder it lists
	// one level. It checks a gulp dataset as Load does: if two chunks have the same id,
	// the error is formats.ErrCorrupt. DescribeOptions.Scan costs more.
	Describe(ctx context.Context, o DescribeOptions) (Description, error)
	// Entries yields the content of the dataset, in its order: stored chunks, items,
	// ids of images, tracks, or objects and folders. It reads no payload, and reads the
	// index in parts of some thousand entries; EntriesOptions.Scan costs more. If no
	// entry can have the cursor, the error is objstore.ErrInvalid; for a folder, any
	// name is a cursor. An error ends the sequence.
	Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error]
	// Verify reads the whole dataset and checks everything that can be checked. It
	// returns the first fault as an error. If an item was never written, it returns
	// formats.ErrNoEntry, after it has read all other items. If progress is not nil,
	// Verify calls it with the work done and about the whole work, one call at a time,
	// in a unit of its own. For a folder the error is formats.ErrUnsupported.
	Verify(ctx context.Context, progress formats.Progress) (Report, error)
	// HeldBytes returns about how many bytes of memory the dataset keeps between calls:
	// headers, offsets, pages of indexes, metadata, and what Open read with them. Add
	// it up to keep a budget of open datasets. It grows if methods read more of an
	// index, but never with the payload, and does not wait for other calls. It does not
	// count caches that datasets share, which have their own bounds (Config.MaxMemory,
	// AnyOptions.Cache), nor the memory of a call in progress, which Plan.Cost bounds.
	// It is right to a sixteenth and 128 KiB; a test compares it with the heap.
	HeldBytes() int64
	// Handle returns the dataset with all methods of its format: an *Array, *Frame,
	// *Chunk, *Bloscpack, *Gulp, *GulpByID (a gulp chunk of which only the index beside it
	// is in memory), *GulpDataset, *Zoom, *Npy or *Folder.
	Handle() any
}

// A Place says where a dataset lies. Bucket, Key and Offset open the dataset; URI is
// for people.
type Place struct {
	URI    string          `json:"uri"`
	Bucket objstore.Bucket `json:"-"`
	Key    string          `json:"key"` // key, or a prefix with its slash; "" is the whole bucket
	Offset int64           `json:"offset,omitempty"`
}

// A Source identifies the bytes of a dataset. If the dataset has several objects, the
// Source is about the object that is published last, the index.
type Source struct {
	Size    int64     `json:"size"` // bytes of all objects whose size is known without a request
	ETag    string    `json:"etag,omitempty"`
	Version string    `json:"version,omitempty"` // version in the store, if the store keeps versions
	Time    time.Time `json:"modified,omitzero"`
	// ID is a hash of place and version. It is the same on every machine, so it can
	// name the bytes in caches. It is "" if nothing identifies the bytes for certain: an
	// object has neither a version nor a strong ETag, or the dataset is a folder or a
	// sparse frame, whose parts are replaced one by one.
	ID string `json:"id,omitempty"`
}

// A Description is the result of Describe. A field is empty if it has no meaning for
// the format. A number is -1 if only a pass over the payload would tell it.
type Description struct {
	Format  string   `json:"format"`
	Place   Place    `json:"place"`
	Source  Source   `json:"source"`
	Can     []string `json:"can"`     // capabilities: "slice", "search", "images", "items", "view", "chunks", "ranges"
	Entries int64    `json:"entries"` // number of entries that Entries yields
	NBytes  int64    `json:"nbytes"`  // decoded bytes
	CBytes  int64    `json:"cbytes"`  // stored bytes of chunks, items or images

	// Fields of arrays. DType is in NumPy's spelling, and Order is "C" or "F".
	Shape      []int64 `json:"shape,omitempty"`
	DType      string  `json:"dtype,omitempty"`
	Order      string  `json:"order,omitempty"`
	ChunkShape []int   `json:"chunkshape,omitempty"`
	BlockShape []int   `json:"blockshape,omitempty"`

	// Dims names the axes and Coords says where the items along them lie, in the order of
	// Dims; Attrs and Fill are attributes and the fill value. They are empty if the array does not say.
	Dims   []string                   `json:"dims,omitempty"`
	Coords []Coordinate               `json:"coords,omitempty"`
	Attrs  map[string]json.RawMessage `json:"attrs,omitempty"`
	Fill   json.RawMessage            `json:"fill,omitempty"`

	// Fields of data in Blosc chunks. Sizes are 0 if they vary.
	TypeSize  int      `json:"typesize,omitempty"`
	ChunkSize int64    `json:"chunksize,omitempty"`
	BlockSize int64    `json:"blocksize,omitempty"`
	Codec     string   `json:"codec,omitempty"`
	Level     int      `json:"clevel,omitempty"`
	Filters   []string `json:"filters,omitempty"`

	// Metadata is JSON: the metalayers of a frame under their names, or the metadata of
	// a Bloscpack file under "". If a value is not JSON or msgpack of bounded size, it
	// is missing, and Opaque has its name.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Opaque   []string                   `json:"opaque,omitempty"`

	// Fields of images and of series.
	Images int64             `json:"images,omitempty"`
	Origin string            `json:"utc_origin,omitempty"` // time in RFC 3339; "" if it is unknown
	Tracks []zoomcache.Track `json:"tracks,omitempty"`

	// Refused says why the payload cannot be read. It is "" if it can be read.
	Refused string `json:"refused,omitempty"`

	// Detail has what only this format knows, with metadata as stored: a FrameDetail,
	// GulpDetail, BloscpackDetail or ZoomDetail, the blosc.Header of a chunk, or the
	// npy.Header of a .npy. It is nil for a folder. Only the limits of Open bound its
	// size, so the JSON does not contain it.
	Detail any `json:"-"`
}

// meta adds a piece of metadata.
func (d *Description) meta(name string, text json.RawMessage) {
	if d.Metadata == nil {
		d.Metadata = map[string]json.RawMessage{}
	}
	d.Metadata[name] = text
}

// EntriesOptions say what Entries yields.
type EntriesOptions struct {
	// After is the Cursor of an entry. Entries begins with the entry behind it. ""
	// means that it begins with the first entry.
	After string
	// Limit is the most entries that Entries yields; it reads no more of an index than
	// these need. 0 means all entries.
	Limit int64
	// Scan reads the header of every chunk or item for what the index does not tell:
	// exact sizes, and whether the chunk is special. It reads some thousand headers in
	// one planned read, and opens each chunk of a sparse frame. For a folder, Scan
	// lists all objects below it, and no folders. Scan has no effect on ids and tracks,
	// nor on a frame that is refused.
	Scan bool
}

// An Entry is one part of the content of a dataset, as Entries yields it.
type Entry struct {
	Cursor string `json:"cursor"` // value of EntriesOptions.After to continue behind this entry
	N      int64  `json:"n"`      // number of the entry, from 0; for a track, the number of the track
	Name   string `json:"name,omitempty"`
	// Object is the name of the entry's object below the place, if the dataset has
	// several objects: the data of a gulp chunk, or a chunk of a sparse frame.
	Object string `json:"object,omitempty"`
	Off    int64  `json:"off"`    // offset of a chunk or item in its object; -1: it is not stored, or the entry is something else
	Size   int64  `json:"size"`   // decoded bytes; for images and objects their bytes; -1: unknown
	Stored int64  `json:"stored"` // upper bound of the stored bytes, exact with Scan; 0: not stored; -1: unknown
	// Images is the number of images of an id, and MetaData is its meta_data.
	Images   int             `json:"images,omitempty"`
	MetaData json.RawMessage `json:"meta_data,omitempty"`
	// Special is the kind of a chunk of one value: "zeros", "nan" or "uninit" if the
	// index says so of a chunk that is not stored; with Scan also "value".
	Special string `json:"special,omitempty"`
	// Fields of objects in a folder: the format that the name promises, the time of the
	// last change, and whether the object is a folder.
	Format string    `json:"format,omitempty"`
	Time   time.Time `json:"modified,omitzero"`
	Folder bool      `json:"folder,omitempty"`
}

// A Report is the result of Verify.
type Report struct {
	Entries int64 `json:"entries"` // number of chunks, items, ids or tracks
	NBytes  int64 `json:"nbytes"`  // decoded bytes
	CBytes  int64 `json:"cbytes"`  // stored bytes
	// Detail is the report of the format, with remarks that are no faults: a
	// cframe.Report, b2nd.Report, GulpReport, bloscpack.Report or ZoomReport. Other formats have
	// none.
	Detail any `json:"detail,omitempty"`
}

// A Plan lists the requests of a read that is not made. To make a Plan, headers and
// block starts that are not known yet are read; the Plan does not contain these reads. What
// is read and what the Plan lists are together what the read takes that is made in its place.
type Plan struct {
	// Size is the number of bytes that the read returns, or -1 if only the payload
	// tells.
	Size int64 `json:"size"`
	// Requests are sent phase by phase; those of phase 0 along with the last index. Their Object is the key in the bucket, and Off
	// is the offset in this object; a negative Off counts from its end.
	Requests []rangeio.Planned `json:"requests"`
}

// A Cost says how many requests a read makes, and how many bytes they read.
type Cost struct {
	Requests  int   `json:"requests"`
	Phases    int   `json:"phases"` // number of round trips, one after another
	Bytes     int64 `json:"bytes"`
	Estimated bool  `json:"estimated,omitempty"` // some requests are estimates
}

// Cost adds up the requests of the plan. Cost.Bytes and Plan.Size together bound the
// memory of the read, except for the chunk that each goroutine decodes.
func (p Plan) Cost() Cost {
	c := Cost{Requests: len(p.Requests)}
	for _, r := range p.Requests {
		c.Phases = max(c.Phases, r.Phase)
		c.Bytes += r.Len
		c.Estimated = c.Estimated || r.Estimated
	}
	return c
}

// A Slicer is an array: a b2nd or a .npy.
type Slicer interface {
	Dataset
	// Shape returns a copy of the number of items along each axis.
	Shape() []int64
	// DType returns the type of the items.
	DType() dtype.DType
	// SizeOf returns the number of bytes that ReadSlice needs for a box. If the box
	// does not lie inside the array, it returns an error.
	SizeOf(box b2nd.Box) (int64, error)
	// ReadSlice fills dst with the items of a box in row-major order, as stored. dst
	// must have exactly SizeOf(box) bytes. Its content is undefined after an error.
	ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error
	// ReadField is ReadSlice for one member of structured items. DType().Field finds
	// the member. dst must have exactly f.Size() bytes for each item of the box.
	// Members are stored together, so ReadField makes the requests of ReadSlice. For a
	// .npy it takes the memory of all members, too.
	ReadField(ctx context.Context, dst []byte, box b2nd.Box, f dtype.Field) error
	// ExplainSlice plans ReadSlice and ReadField. It takes caches for empty.
	ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error)
	// Slabs cuts a box into slabs, so that it can be read in bounded memory. The box
	// must lie inside the array. The slabs follow each other in row-major order. A slab
	// has no more bytes than most, but at least one item. It ends at the end of a chunk
	// or a block if there is one near. See b2nd.Array.Slabs. Slabs makes no request.
	Slabs(box b2nd.Box, most int64) iter.Seq[b2nd.Box]
	// EachSlab calls fn with the items of each slab of Slabs, in order and one call at
	// a time. If f is not nil, fn gets only the member f of the items. p is valid
	// during the call. EachSlab holds 2*most bytes of slabs, two at least, besides the
	// memory of ReadSlice: it reads the next slabs while fn has one. An error of fn is returned as it is.
	EachSlab(ctx context.Context, box b2nd.Box, most int64, f *dtype.Field, fn func(slab b2nd.Box, p []byte) error) error
	// ExplainSlabs plans EachSlab. Its Size counts whole items.
	ExplainSlabs(ctx context.Context, box b2nd.Box, most int64) (Plan, error)
	// Cells returns copies of the shapes of a chunk and of a block. A block is the
	// smallest part that can be decoded alone. Both are nil if items are stored as they
	// are.
	Cells() (chunk, block []int)
}

// An Imager is a set of encoded images, or of other bytes, by id and number: a gulp
// chunk or a gulp dataset. Entries yields the ids.
type Imager interface {
	Dataset
	// Images returns the number of images of an id. If there is no such id, the error
	// is formats.ErrNoEntry. For a dataset, the first call opens all chunks.
	Images(ctx context.Context, id string) (int, error)
	// AppendImage appends image i of an id to dst, and returns its media type, as
	// MediaType does. It costs one request. After an error it returns dst as it was.
	AppendImage(ctx context.Context, dst []byte, id string, i int) (p []byte, media string, err error)
	// EachImage calls fn for the images from, from+step, … of an id, up to but without
	// to, in this order and one call at a time. p is valid during the call. step may be
	// negative; then to may be -1, so that image 0 is the last. gulp.Slice makes from,
	// to and step from a slice in Python's spelling. If an image does not exist, or
	// step is 0, the error is formats.ErrNoEntry. An error of fn is returned as it is.
	// EachImage costs one phase. It holds two windows of some MiB, or more if a single
	// image is longer.
	EachImage(ctx context.Context, id string, from, to, step int, fn func(i int, p []byte) error) error
	// ExplainImages plans EachImage.
	ExplainImages(ctx context.Context, id string, from, to, step int) (Plan, error)
	// EachImageOfAll is EachImage for every image of every id, in the order of the
	// store. For a dataset it goes through all chunks, and first opens those that are
	// not open.
	EachImageOfAll(ctx context.Context, fn func(id string, i int, p []byte) error) error
	// ExplainImagesOfAll plans EachImageOfAll for open chunks. It opens the chunks of a
	// dataset.
	ExplainImagesOfAll(ctx context.Context) (Plan, error)
}

// A Numberer is an Imager whose images are found by their number, too: a gulp chunk.
type Numberer interface {
	Imager
	// ByNumber returns all images as those of one id, "", which count over all ids in
	// the order of the file. It makes no request, and a range costs those of
	// GulpByID.Numbered.
	ByNumber() Numbered
}

// Numbered are images by their number; see Numberer. The methods are those of Imager, for the id "".
type Numbered struct{ gulpImages }

// An Itemer is a list of items of any length. Some items have names. It is a Bloscpack
// file, or a frame whose blocks or chunks vary in length.
type Itemer interface {
	Dataset
	// Items returns the number of items, or -1 if only a pass over the headers of the
	// chunks tells it. The first call of another method then makes this pass. Items
	// does not wait for it.
	Items() int64
	// ItemNumber returns the number of the item called name. If there is no such item,
	// the error is formats.ErrNoEntry.
	ItemNumber(ctx context.Context, name string) (int64, error)
	// AppendItem appends the decoded item i to dst. After an error it returns dst as it
	// was.
	AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error)
	// EachItem calls fn for the items [i, j), in order and one call at a time. p is
	// valid during the call. An error of fn is returned as it is. EachItem holds some
	// MiB of stored and decoded items, or more if a single chunk is longer.
	EachItem(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error
	// ExplainItems plans EachItem. If j is i+1, it also plans AppendItem.
	ExplainItems(ctx context.Context, i, j int64) (Plan, error)
}

// A Starter is an Itemer that tells how long an item is before there has to be memory for it.
type Starter interface {
	Itemer
	// StartItem reads the header of item i, or of the chunk that it is in, if no index tells its length. most is the
	// most bytes that it has. finish appends the decoded item, as AppendItem does; it must not be called concurrently. Both together cost what AppendItem
	// costs, and a planned read more if a header had to be read and the item is longer than 64 KiB, or of a frame.
	StartItem(ctx context.Context, i int64) (most int64, finish func(ctx context.Context, dst []byte) ([]byte, error), err error)
}

// A Viewer is a series of samples on tracks: a zoom-cache file. Offsets, from and to
// are those of the format, both ends included. Entries yields the tracks.
type Viewer interface {
	Dataset
	// Header returns the tracks, and the time at which the series begins. Its method
	// Offsets converts times to offsets. Header costs nothing. Its result is shared: do
	// not change it.
	Header() *zoomcache.Header
	// View sums up a stretch of a track in about width points; see zoomindex.File.View.
	View(ctx context.Context, track int32, from, to int64, width int) (zoomindex.View, error)
	// Pixels sums up a stretch of a track of constant rate in points of exactly span
	// samples; see zoomindex.File.Pixels.
	Pixels(ctx context.Context, track int32, from, to, span int64, o zoomindex.PixelOptions) (zoomindex.View, error)
	// EachPacket calls fn for the packets of a stretch; see zoomindex.File.EachPacket.
	EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *zoomcache.Packet) error) error
	// EachSummary calls fn for the stored summaries of a stretch, of one level or of
	// zoomcache.EveryLevel. It makes a pass over the file; see
	// zoomcache.File.EachSummary. The Summary is valid during the call. An error of fn
	// is returned as it is.
	EachSummary(ctx context.Context, track int32, level int, from, to int64, fn func(s *zoomcache.Summary) error) error
	// EachPacketOfAll calls fn for every packet of all tracks, in the order of the
	// file. It makes one pass over the file; see zoomcache.File.EachBlock. The Packet
	// is valid during the call. An error of fn is returned as it is.
	EachPacketOfAll(ctx context.Context, fn func(p *zoomcache.Packet) error) error
	// ExplainView plans View.
	ExplainView(ctx context.Context, track int32, from, to int64, width int) (Plan, error)
	// ExplainPixels plans Pixels.
	ExplainPixels(ctx context.Context, track int32, from, to, span int64, o zoomindex.PixelOptions) (Plan, error)
	// Totals returns the counts of each track if an index tells them; see
	// zoomindex.File.Totals.
	Totals(ctx context.Context) (list []zoomcache.TrackCount, ok bool, err error)
	// ExplainPackets plans EachPacket.
	ExplainPackets(ctx context.Context, track int32, from, to int64) (Plan, error)
	// ExplainSummaries plans EachSummary. The plan is an upper bound, since the pass
	// may end early.
	ExplainSummaries(ctx context.Context, track int32, level int, from, to int64) (Plan, error)
	// ExplainPacketsOfAll plans EachPacketOfAll.
	ExplainPacketsOfAll(ctx context.Context) (Plan, error)
}

// A Chunker is data in Blosc chunks: a frame, contiguous or sparse, an array in a
// frame, or a bare chunk. Its chunks can be read as stored, or decoded. Decoded chunks
// are one run of bytes, chunk after chunk; for an array they contain the padding of
// chunks at its edges. If bytes or chunks do not exist, the error is
// formats.ErrNoEntry.
type Chunker interface {
	Dataset
	// Chunks returns the number of chunks.
	Chunks() int64
	// ChunkBytes returns the offset of the decoded bytes of the chunks [i, j), and
	// their number; for no chunks it returns 0, 0. It costs nothing if all chunks have
	// the same size. If chunks vary in size, the first call for some chunks reads the
	// header of every chunk, and keeps 8 bytes for each.
	ChunkBytes(ctx context.Context, i, j int64) (off, n int64, err error)
	// ReadBytes fills dst with decoded bytes from off on. It reads the blocks that hold
	// these bytes; of a bare chunk it also reads all blocks before them. If chunks vary
	// in size, it first costs as much as ChunkBytes. After an error the content of dst
	// is undefined.
	ReadBytes(ctx context.Context, dst []byte, off int64) error
	// EachBytes calls fn with the n decoded bytes from off on, piece after piece, in
	// order and one call at a time. p is valid during the call. A piece of a frame ends
	// at the end of a chunk, or of a block if chunks are long. It has at most an eighth
	// of Config.MaxMemory, and at most 64 MiB. EachBytes holds two pieces, since it
	// reads one while fn has the other. For a bare chunk it holds some tens of MiB, or
	// one block if a block is larger. An error of fn is returned as it is.
	EachBytes(ctx context.Context, off, n int64, fn func(p []byte) error) error
	// ExplainBytes plans EachBytes. ReadBytes makes no more requests than this plan.
	ExplainBytes(ctx context.Context, off, n int64) (Plan, error)
	// AppendStored appends chunk i to dst, encoded as it is stored. If the chunk is not
	// stored, AppendStored appends the special chunk that stands for it. It checks the
	// chunk against the chunk's own header and the frame, and does not decode it. With
	// AnyOptions.Cache the chunk may come from the cache. After an error it returns dst
	// as it was.
	AppendStored(ctx context.Context, dst []byte, i int64) ([]byte, error)
	// Stored returns what AppendStored appends. The bytes may be those of
	// AnyOptions.Cache, which costs no copy: nobody may change them.
	Stored(ctx context.Context, i int64) ([]byte, error)
	// KeptStored returns what Stored returns if AnyOptions.Cache has it, else nil.
	KeptStored(i int64) []byte
	// LoadStored reads chunks into AnyOptions.Cache, in one planned read, and calls came with
	// each, perhaps several at a time. list has their numbers, ascending; nobody may change
	// the bytes. It passes over chunks that a Stored would not read, or in two steps. Without
	// such a cache it does nothing.
	LoadStored(ctx context.Context, list []int64, came func(i int64, p []byte)) error
	// ExplainStored plans AppendStored. It takes caches for empty.
	ExplainStored(ctx context.Context, i int64) (Plan, error)
}

// A Refuser is a dataset that was opened, but whose payload may be unreadable: a frame
// with features that this version does not know, or a Bloscpack file whose writer did
// not finish.
type Refuser interface {
	Dataset
	// Refused returns the reason why the payload cannot be read, or nil if it can be
	// read. If the dataset has methods that read, they return this error. Refused costs
	// nothing. Description.Refused is its text.
	Refused() error
}

// A Ranger is a dataset that is one object. The bytes of the object can be read as they
// are.
type Ranger interface {
	Dataset
	// Object returns the whole object, including the bytes before and behind the
	// dataset.
	Object() *objstore.Object
	// ReadRange fills dst with the bytes from off on. All of them must lie inside the
	// object.
	ReadRange(ctx context.Context, dst []byte, off int64) error
	// ExplainRange plans a ReadRange of n bytes from off on.
	ExplainRange(ctx context.Context, off, n int64) (Plan, error)
}

// capabilities returns the names, as in Description.Can, of the interfaces that d
// implements.
func capabilities(d Dataset) []string {
	can := []string{}
	add := func(is bool, name string) {
		if is {
			can = append(can, name)
		}
	}
	_, slicer := d.(Slicer)
	_, searcher := d.(Searcher)
	_, imager := d.(Imager)
	_, itemer := d.(Itemer)
	_, viewer := d.(Viewer)
	_, chunker := d.(Chunker)
	_, ranger := d.(Ranger)
	add(slicer, "slice")
	add(searcher, "search")
	add(imager, "images")
	add(itemer, "items")
	add(viewer, "view")
	add(chunker, "chunks")
	add(ranger, "ranges")
	return can
}
