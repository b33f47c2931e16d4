package pack

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions/internal/kit"
)

// ItemWrite has the options of Items.Write. The zero value is right for most.
type ItemWrite struct {
	Encode     *blosc.EncodeOptions // nil: ItemEncode of the items; its TypeSize does not count
	Checksum   bloscpack.Checksum
	NoChecksum bool   // no checksums; false: Checksum None means adler32
	Chunk      int64  // bytes of a chunk of items that are not Variable, cut to whole items; 0: DefaultItemChunk
	TypeSize   int    // type size for the filters; 0: 1, or the item size of a .npy
	MaxAppend  int64  // room for appended chunks, as in bloscpack.WriteOptions; for items that are not Variable
	Parallel   int    // chunks that are encoded at a time; 0: one
	Seal       []byte // tells one version of an upload from another; see functions.Filler. nil: none
	// Progress is called with the bytes of the upload that are done (for an archive or a
	// folder, of its files), and with Items.Size.
	Progress formats.Progress
	Done     func(Written) // called when all is written and not yet published; nil: not called
}

// ItemEncode is how items are stored unless somebody says otherwise: single ones,
// which are small and read one at a time, with LZ4; chunks, which are large, with
// zstd at level 1.
func ItemEncode(by Records) blosc.EncodeOptions {
	if by == Chunks || by == array {
		return DefaultEncode()
	}
	return blosc.EncodeOptions{Codec: blosc.LZ4}
}

// Written is the result of a write of Items: the number of items, or of chunks if the
// items are not Variable, and their bytes before they are encoded.
type Written struct{ Items, Bytes int64 }

// variableMeta is the metadata of a file of items. The JSON has the fields in this
// order.
type variableMeta struct {
	Container    string  `json:"container"`
	Prefix       string  `json:"prefix,omitempty"`
	DType        string  `json:"dtype"`
	Shape        []int64 `json:"shape"`
	FinalNewline *bool   `json:"final_newline,omitempty"`
	Made         *madeOf `json:"farread,omitempty"`
}

// arrayMeta is the metadata that the bloscpack tool stores for an array, and
// our seal.
type arrayMeta struct {
	DType     string  `json:"dtype"`
	Shape     []int64 `json:"shape"`
	Order     string  `json:"order"`
	Container string  `json:"container"`
	Made      *madeOf `json:"farread,omitempty"`
}

type sealMeta struct {
	Made *madeOf `json:"farread"`
}

// madeOf is the seal, in hexadecimal digits.
type madeOf struct {
	Source string `json:"source"`
}

func sealed(seal []byte) *madeOf {
	if seal == nil {
		return nil
	}
	return &madeOf{hex.EncodeToString(seal)}
}

// Write writes the items as a Bloscpack file into w, which is then to be
// committed: records and files as version 4, one chunk each, all else as version
// 3. Memory is bounded by the limits of the items. The upload is read once, in
// requests of 8 MiB, of a zip 9 MiB; of a folder each object with one. Errors about the
// upload name the line, record or file. Write may be called more than once.
func (s *Items) Write(ctx context.Context, w bloscpack.Reheader, o ItemWrite) (Written, error) {
	enc := ItemEncode(s.By)
	if o.Encode != nil {
		enc = *o.Encode
	}
	enc.TypeSize = max(o.TypeSize, 1)
	if item := s.header.DType.ItemSize(); s.By == array && o.TypeSize == 0 && item <= blosc.MaxTypeSize {
		enc.TypeSize = max(item, 1)
	}
	if enc.TypeSize == 1 && enc.Filters == nil {
		enc.Filters = []blosc.Filter{} // items of one byte: shuffle has no effect
	}
	wo := bloscpack.WriteOptions{Checksum: o.Checksum, NoChecksum: o.NoChecksum, Encode: enc, Parallel: o.Parallel}
	write := s.writeChunks
	if s.Variable() {
		wo.Variable, write = true, s.writeItems
	}
	n, err := write(ctx, w, wo, o)
	if err == nil && o.Done != nil {
		o.Done(n)
	}
	return n, err
}

// meter is the function that gets the progress.
func (s *Items) meter(o ItemWrite) func(int) {
	if o.Progress == nil {
		return nil
	}
	done := int64(0)
	return func(n int) {
		done += int64(n)
		o.Progress(done, s.Size)
	}
}

// writeItems writes each item as a chunk.
func (s *Items) writeItems(ctx context.Context, w bloscpack.Reheader, wo bloscpack.WriteOptions, o ItemWrite) (Written, error) {
	bw, err := bloscpack.NewWriter(w, wo)
	if err != nil {
		return Written{}, err
	}
	defer bw.Abort()
	progress := s.meter(o)
	c := newCutter(s.By, s.limits, bw.WriteItem)
	var list *names
	if s.By == Files {
		c.emit = func(p []byte) error {
			if progress != nil {
				progress(len(p))
			}
			return bw.WriteItem(p)
		}
		list, err = c.files(ctx, s.src, s.limits)
	} else {
		err = s.cut(ctx, c, progress)
	}
	if err != nil {
		return Written{}, err
	}
	meta, err := s.meta(c, list, sealed(o.Seal))
	if err != nil {
		return Written{}, err
	}
	if err := bw.SetMetadata(meta); err != nil {
		return Written{}, err
	}
	return Written{c.n, c.bytes}, bw.Close()
}

// cut reads the object to its end.
func (s *Items) cut(ctx context.Context, c *cutter, progress func(int)) error {
	r, size, done, err := s.open(ctx, progress)
	if err != nil {
		return err
	}
	defer done()
	if s.By.prefixed() {
		return c.records(r, size)
	}
	return c.lines(r)
}

// meta is the metadata of the items that c has cut.
func (s *Items) meta(c *cutter, list *names, made *madeOf) (json.RawMessage, error) {
	m := variableMeta{Container: c.by.String(), DType: "bytes", Shape: []int64{c.n}, Made: made}
	switch {
	case c.by.prefixed():
		m.Container, m.Prefix = "records", c.by.String()
	case c.by == Lines || c.by == JSONL:
		last := !c.open && c.n > 0
		m.FinalNewline = &last
		if c.text {
			m.DType = "varchar"
		}
	}
	text, err := json.Marshal(m)
	if err != nil || list == nil {
		return text, err
	}
	return list.into(text), nil
}

// writeChunks writes chunks of one size.
func (s *Items) writeChunks(ctx context.Context, w bloscpack.Reheader, wo bloscpack.WriteOptions, o ItemWrite) (Written, error) {
	size := s.chunkSize(o)
	if size > maxItemChunk {
		return Written{}, kit.TooLarge("chunks of %d bytes, over %d", size, maxItemChunk)
	}
	wo.ChunkSize, wo.MaxAppend = int(size), o.MaxAppend
	wo.Chunks = max((s.Size+size-1)/size, 1)
	meta, err := s.chunkMeta(sealed(o.Seal))
	if err != nil {
		return Written{}, err
	}
	if meta != nil {
		wo.Metadata = json.RawMessage(meta)
	}
	bw, err := bloscpack.NewWriter(w, wo)
	if err != nil {
		return Written{}, err
	}
	defer bw.Abort()
	r, _, done, err := s.open(ctx, s.meter(o))
	if err != nil {
		return Written{}, err
	}
	defer done()
	n, err := io.CopyBuffer(bw, struct{ io.Reader }{r}, make([]byte, copyBuffer))
	if err == nil && n != s.Size {
		err = s.fail(n, kit.Corrupt("%d bytes of %d", n, s.Size))
	}
	if err != nil {
		return Written{}, err
	}
	return Written{wo.Chunks, n}, bw.Close()
}

const copyBuffer = 256 << 10

// chunkMeta is the metadata of chunks; nil if there is none.
func (s *Items) chunkMeta(made *madeOf) ([]byte, error) {
	if s.By != array {
		if made == nil {
			return nil, nil // there is no note
		}
		return json.Marshal(sealMeta{made})
	}
	m := arrayMeta{Shape: s.header.Shape, Order: "C", Container: "numpy", Made: made}
	if s.header.Fortran {
		m.Order = "F"
	}
	if m.Shape == nil {
		m.Shape = []int64{}
	}
	descr, err := s.header.DType.AppendDescr(nil)
	if err != nil {
		return nil, err
	}
	m.DType = string(descr)
	return marshalPlain(m)
}

// marshalPlain does not escape "<", which types have: people read them.
func marshalPlain(m any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(m)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
