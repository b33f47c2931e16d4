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

// A Dataset is what a URI names, open: an array, a frame, a chunk, images, items, a
// series, or a folder of other things. What else can be done with one is told by the
// interfaces that it implements: [Slicer], [Imager], [Itemer], [Viewer], [Chunker] and
// [Ranger]. Ask by a type assertion:
//
//	if s, ok := d.(farread.Slicer); ok { err = s.ReadSlice(ctx, dst, box) }
//
// The methods of all of them are safe for concurrent use, end with their context, and
// read the version that was opened, else they fail with objstore.ErrChanged. A Dataset
// holds headers and indexes, no connection and no file, and needs no Close.
type Dataset interface {
	// Format is the name of the format, one of package formats/all or "npy"; "" of a
	// folder that is no dataset.
	Format() string
	// Place is where it lies.
	Place() Place
	// Source identifies the bytes that were opened. It costs nothing, but that a gulp
	// dataset opens all of its chunks for it, once.
	Source(ctx context.Context) (Source, error)
	// Current says whether the place still holds what was opened. It costs one HEAD, two
	// of a gulp chunk, two listings of a gulp dataset, and nothing of a folder, which is
	// always current. Of a sparse frame the index alone is looked at.
	Current(ctx context.Context) (bool, error)
	// Describe tells what headers and indexes say. It costs nothing but what Open left
	// of them: a trailer of metalayers, the chunks of a gulp dataset, the index of a
	// series, as the first View finds it; of a folder it is a listing of one level. A
	// gulp dataset is checked as by Load: one id in two chunks is formats.ErrCorrupt.
	// DescribeOptions.Scan costs more.
	Describe(ctx context.Context, o DescribeOptions) (Description, error)
	// Entries yields what is inside, in its order: stored chunks, items, ids of images,
	// tracks, objects and folders. It goes on behind the entry whose Cursor is after;
	// "" begins at the first. It reads no payload, a batch of the index at a time. A
	// cursor that no entry can have is objstore.ErrInvalid; of a folder any name is one.
	// An error ends the sequence.
	Entries(ctx context.Context, after string) iter.Seq2[Entry, error]
	// Verify reads all of it and checks what can be checked; the first fault is the
	// error. An item that was never written is formats.ErrNoEntry, once all others were
	// read. progress, if not nil, is told, one call at a time, how much is done of about
	// how much, in a unit of its own. Of a folder it is formats.ErrUnsupported.
	Verify(ctx context.Context, progress formats.Progress) (Report, error)
	// Handle is the dataset with all that its format can do: a *Array, *Frame, *Chunk,
	// *Bloscpack, *Gulp, *GulpDataset, *Zoom, *Npy or *Folder.
	Handle() any
}

// A Place says where a dataset lies. Only Bucket and Key open it; URI is for people.
type Place struct {
	URI    string          `json:"uri"`
	Bucket objstore.Bucket `json:"-"`
	Key    string          `json:"key"` // or a prefix with its slash; "" is all of the bucket
	Offset int64           `json:"offset,omitempty"`
}

// A Source identifies the bytes of a dataset: that of the object, or of the one that
// is published last where there are several (the index).
type Source struct {
	Size    int64     `json:"size"` // of all objects that are known without asking for them
	ETag    string    `json:"etag,omitempty"`
	Version string    `json:"version,omitempty"` // of the store, if it keeps versions
	Time    time.Time `json:"modified,omitzero"`
	// ID is a hash of place and version, the same wherever it is made, so it names
	// the bytes in caches. "" if nothing but their number tells them from others.
	ID string `json:"id,omitempty"`
}

// A Description is what Describe tells. Fields that say nothing of a format are empty,
// numbers that only a pass over the payload would tell are -1.
type Description struct {
	Format  string   `json:"format"`
	Place   Place    `json:"place"`
	Source  Source   `json:"source"`
	Can     []string `json:"can"`     // "slice", "images", "items", "view", "chunks", "ranges"
	Entries int64    `json:"entries"` // how many Entries yields
	NBytes  int64    `json:"nbytes"`  // decoded
	CBytes  int64    `json:"cbytes"`  // stored, of chunks, items or images

	// Of arrays. DType is NumPy's text of it, and Order "C" or "F".
	Shape      []int64 `json:"shape,omitempty"`
	DType      string  `json:"dtype,omitempty"`
	Order      string  `json:"order,omitempty"`
	ChunkShape []int   `json:"chunkshape,omitempty"`
	BlockShape []int   `json:"blockshape,omitempty"`

	// Of what consists of Blosc chunks. Sizes are 0 if they vary.
	TypeSize  int      `json:"typesize,omitempty"`
	ChunkSize int64    `json:"chunksize,omitempty"`
	BlockSize int64    `json:"blocksize,omitempty"`
	Codec     string   `json:"codec,omitempty"`
	Level     int      `json:"clevel,omitempty"`
	Filters   []string `json:"filters,omitempty"`

	// Metadata is JSON: metalayers of a frame by name, the metadata of a Bloscpack file
	// under "". A value that is no bounded msgpack or JSON is missing, and named in
	// Opaque.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	Opaque   []string                   `json:"opaque,omitempty"`

	// Of images and of series.
	Images int64             `json:"images,omitempty"`
	Origin string            `json:"utc_origin,omitempty"` // RFC 3339; "" if it is unknown
	Tracks []zoomcache.Track `json:"tracks,omitempty"`

	// Refused says why the payload cannot be read.
	Refused string `json:"refused,omitempty"`

	// Detail is what its format alone has to tell, with metadata as they are stored: a
	// FrameDetail, GulpDetail, BloscpackDetail or ZoomDetail, the blosc.Header of a
	// chunk, the npy.Header of a .npy; nil of a folder. It has no bound but those of
	// Open, so it is not in the JSON.
	Detail any `json:"-"`
}

// meta adds a piece of metadata.
func (d *Description) meta(name string, text json.RawMessage) {
	if d.Metadata == nil {
		d.Metadata = map[string]json.RawMessage{}
	}
	d.Metadata[name] = text
}

// An Entry is one thing inside of a dataset.
type Entry struct {
	Cursor string `json:"cursor"` // Entries goes on behind it
	N      int64  `json:"n"`      // its number, from 0; of a track, the track's
	Name   string `json:"name,omitempty"`
	Size   int64  `json:"size"`   // decoded bytes, of images and objects as they are; -1: unknown
	Stored int64  `json:"stored"` // bytes that it takes at most; 0 if it is not stored, -1: unknown
	// Images are those of an id, and MetaData its meta_data.
	Images   int             `json:"images,omitempty"`
	MetaData json.RawMessage `json:"meta_data,omitempty"`
	// Special is the kind of a chunk that is not stored: "zeros", "nan", "uninit".
	Special string `json:"special,omitempty"`
	// Of objects in a folder: what the name promises, the date, and whether it is a
	// folder.
	Format string    `json:"format,omitempty"`
	Time   time.Time `json:"modified,omitzero"`
	Folder bool      `json:"folder,omitempty"`
}

// A Report is what Verify has found well.
type Report struct {
	Entries int64 `json:"entries"` // chunks, items, ids or tracks
	NBytes  int64 `json:"nbytes"`  // decoded
	CBytes  int64 `json:"cbytes"`  // stored
	// Detail is what the format's own Verify tells, remarks among it that are no faults:
	// a cframe.Report, gulp.Report, bloscpack.Report or ZoomReport; else nil.
	Detail any `json:"detail,omitempty"`
}

// A Plan is a read before it is made.
type Plan struct {
	// Size is the number of bytes that the read gives, -1 if only the payload tells.
	Size int64 `json:"size"`
	// Requests go out phase by phase. Their Object is the key in the bucket, and Off
	// counts in it; a negative one from its end.
	Requests []rangeio.Planned `json:"requests"`
}

// A Cost is what a read takes of its store.
type Cost struct {
	Requests  int   `json:"requests"`
	Phases    int   `json:"phases"` // round trips, one after another
	Bytes     int64 `json:"bytes"`
	Estimated bool  `json:"estimated,omitempty"` // some of the requests are guesses
}

// Cost sums up the plan. Cost.Bytes and Plan.Size together bound the memory of the
// read, but for a chunk that each goroutine decodes.
func (p Plan) Cost() Cost {
	c := Cost{Requests: len(p.Requests)}
	for _, r := range p.Requests {
		c.Phases = max(c.Phases, r.Phase)
		c.Bytes += r.Len
		c.Estimated = c.Estimated || r.Estimated
	}
	return c
}

// A Slicer is an array: a b2nd, a .npy.
type Slicer interface {
	Dataset
	// Shape is the number of items along each axis, as a copy.
	Shape() []int64
	// DType is the type of the items.
	DType() dtype.DType
	// SizeOf is how many bytes ReadSlice needs for a box; a box that does not lie
	// inside the array is an error.
	SizeOf(box b2nd.Box) (int64, error)
	// ReadSlice fills dst with the items of a box in row-major order, as stored. dst
	// has exactly SizeOf(box) bytes; its content is undefined after an error.
	ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error
	// ExplainSlice plans ReadSlice. A cache counts as empty.
	ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error)
}

// An Imager is a set of encoded images, or other bytes, by id and number: a gulp
// chunk, a gulp dataset. Entries yields the ids.
type Imager interface {
	Dataset
	// Images is how many images an id has; formats.ErrNoEntry if there is no such id.
	// Of a dataset it opens all chunks, once.
	Images(ctx context.Context, id string) (int, error)
	// AppendImage appends image i of an id to dst, and tells its media type, as
	// MediaType does: one request. With an error the result is dst.
	AppendImage(ctx context.Context, dst []byte, id string, i int) (p []byte, media string, err error)
	// EachImage calls fn for the images [from, to) of an id, in order and one call at
	// a time; p is valid during the call. An error of fn is returned as it is.
	EachImage(ctx context.Context, id string, from, to int, fn func(i int, p []byte) error) error
	// ExplainImages plans EachImage.
	ExplainImages(ctx context.Context, id string, from, to int) (Plan, error)
}

// An Itemer is a list of items of any length, some of which have names: a Bloscpack
// file, a frame whose blocks or chunks vary in length.
type Itemer interface {
	Dataset
	// Items is how many there are, -1 if only a pass over the chunks tells; then the
	// first of the other methods makes that pass, over their headers. Items does not
	// wait for the pass.
	Items() int64
	// ItemNumber finds an item by name; formats.ErrNoEntry if none has it.
	ItemNumber(ctx context.Context, name string) (int64, error)
	// AppendItem appends item i, decoded, to dst. With an error the result is dst.
	AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error)
	// EachItem calls fn for the items [i, j), in order and one call at a time; p is
	// valid during the call. An error of fn is returned as it is. Some MiB of items
	// are held, stored and decoded; more only if a single chunk has more.
	EachItem(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error
	// ExplainItems plans EachItem, and AppendItem if j is i+1.
	ExplainItems(ctx context.Context, i, j int64) (Plan, error)
}

// A Viewer is a series of samples on tracks: a zoom-cache file. Offsets, from and to
// are those of the format, both ends included. Entries yields the tracks.
type Viewer interface {
	Dataset
	// View sums up a stretch of a track in about width points; see
	// zoomindex.File.View.
	View(ctx context.Context, track int32, from, to int64, width int) (zoomindex.View, error)
	// EachPacket calls fn for the packets of a stretch; see zoomindex.File.EachPacket.
	EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *zoomcache.Packet) error) error
	// ExplainView plans View.
	ExplainView(ctx context.Context, track int32, from, to int64, width int) (Plan, error)
	// ExplainPackets plans EachPacket.
	ExplainPackets(ctx context.Context, track int32, from, to int64) (Plan, error)
}

// A Chunker consists of Blosc chunks: a frame, contiguous or sparse, an array in one,
// a bare chunk.
type Chunker interface {
	Dataset
	// Chunks is their number.
	Chunks() int64
	// AppendStored appends chunk i to dst, encoded as it is stored; of one that is not,
	// the special chunk that stands for it. It is checked against its own header and
	// the frame, and not decoded. With AnyOptions.Cache it may come from there. With an
	// error the result is dst.
	AppendStored(ctx context.Context, dst []byte, i int64) ([]byte, error)
	// ExplainStored plans AppendStored. A cache counts as empty.
	ExplainStored(ctx context.Context, i int64) (Plan, error)
}

// A Ranger is a dataset that is one object, whose bytes can be read as they are.
type Ranger interface {
	Dataset
	// Object is all of it, also before and behind the dataset.
	Object() *objstore.Object
	// ReadRange fills dst with the bytes from off on, which must all lie inside of the
	// object.
	ReadRange(ctx context.Context, dst []byte, off int64) error
	// ExplainRange plans the reading of n bytes from off on.
	ExplainRange(ctx context.Context, off, n int64) (Plan, error)
}

// capabilities names the interfaces that d implements, as in Description.Can.
func capabilities(d Dataset) []string {
	can := []string{}
	add := func(is bool, name string) {
		if is {
			can = append(can, name)
		}
	}
	_, slicer := d.(Slicer)
	_, imager := d.(Imager)
	_, itemer := d.(Itemer)
	_, viewer := d.(Viewer)
	_, chunker := d.(Chunker)
	_, ranger := d.(Ranger)
	add(slicer, "slice")
	add(imager, "images")
	add(itemer, "items")
	add(viewer, "view")
	add(chunker, "chunks")
	add(ranger, "ranges")
	return can
}
