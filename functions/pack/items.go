package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// Items is an upload as a Bloscpack file holds it: records, files, or pieces of
// one size.
type Items struct {
	By   Records // how the items are cut; "numpy" for the chunks of a .npy
	Size int64   // bytes of the upload as it is stored (of a .npy: of its items), for progress; -1: unknown

	limits Limits
	obj    *objstore.Object
	packed kind // compression of obj: gzip, zstd, or none
	src    Source
	// Header of a .npy, and the offset of its items.
	header npy.Header
	base   int64
}

// ItemOptions tune FindItems. With the zero value content and name decide.
type ItemOptions struct {
	Limits  Limits
	Records Records
}

// FindItems decides how an object is cut into items of a Bloscpack file: by o.Records,
// else by its content, then by its name: an archive's files; a .npy as the bloscpack
// tool stores arrays; the lines of text; else chunks. Lines and records in a .gz or
// .zst are unpacked. It costs the request that opened the object and those of a zip's
// directory. If an object is named like an archive or an array and is none, the error
// is formats.ErrUnsupported, unless o.Records says how to read it. Items read from obj
// when they are written.
func FindItems(ctx context.Context, obj *objstore.Object, o ItemOptions) (Items, error) {
	f, err := look(ctx, obj)
	if err != nil {
		return Items{}, err
	}
	return f.items(ctx, o)
}

func (f *found) items(ctx context.Context, o ItemOptions) (it Items, err error) {
	it = Items{By: o.Records, Size: f.obj.Size(), limits: o.Limits.WithDefaults(), obj: f.obj}
	if it.By == ByContent {
		it.By, it.packed, err = f.records(ctx, it.limits)
	} else {
		it.packed = wrapping(f.obj.Info().Key, it.By, f.kind)
	}
	switch {
	case err != nil:
		return it, err
	case it.By == Files:
		it.src, err = f.archive(ctx, it.archiveOptions())
		return it, err
	case it.By == array:
		return it, it.npy(ctx)
	}
	return it, nil
}

// Variable reports whether each item is a chunk of its own length: a record or a
// file.
func (s *Items) Variable() bool { return s.By != Chunks && s.By != array }

// ItemsOf are the files of a source, one item each.
func ItemsOf(src Source, l Limits) Items {
	return Items{By: Files, Size: src.About().Size, limits: l.WithDefaults(), src: src}
}

// archiveOptions limits a file of an archive to the size of an item, since memory holds
// each.
func (s *Items) archiveOptions() Options {
	l := s.limits
	l.Frame, l.Text = l.Item, l.Item
	return Options{Limits: l}
}

// wrapping is the compression around an object if the user named the way to tell its
// records apart.
func wrapping(key string, by Records, k kind) kind {
	if k != kindGzip && k != kindZstd {
		return kindNone
	}
	text := by == Lines || by == JSONL
	if text || by.prefixed() && slices.Contains(wrapSuffixes(), path.Ext(strings.ToLower(key))) {
		return k
	}
	return kindNone
}

func wrapSuffixes() []string { return []string{".gz", ".zst", ".zstd"} }

// textName tells by a file's name how to tell its records apart, or ByContent if the
// name does not say.
func textName(key string) Records {
	switch path.Ext(strings.ToLower(key)) {
	case ".jsonl", ".ndjson":
		return JSONL
	case ".txt", ".log", ".csv", ".tsv":
		return Lines
	}
	return ByContent
}

// promises reports whether the name is a name of an archive or an array. If the bytes
// of such an object are something else, it counts as damaged.
func promises(key string) bool {
	name := strings.ToLower(key)
	return slices.ContainsFunc(append(archiveSuffixes(), append(wrapSuffixes(), npySuffix, npzSuffix)...),
		func(s string) bool { return strings.HasSuffix(name, s) })
}

// noText are the suffixes of files that are not read by lines, even if they begin like
// text: documents, which are one piece, and binary files.
func noText() []string {
	return []string{
		".json", ".geojson", ".ipynb", ".svg", ".pdf", ".ps", ".eps", ".rtf",
		".bin", ".raw", ".dat", ".data", ".img", ".iso", ".hex", ".pkl", ".pt", ".onnx", ".mat", ".rds", ".sqlite", ".db",
		".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".heic", ".wav", ".flac", ".mp3", ".mp4", ".mov", ".avi", ".mkv",
		".parquet", ".arrow", ".feather", ".avro", ".orc", ".h5", ".hdf5", ".nc", ".grib", ".grib2", ".fits", ".las", ".laz",
		".b2nd", ".b2frame", ".blp", ".gulp", ".gmeta", ".zoom", ".exe", ".so", ".dll", ".class", ".wasm", ".bz2", ".xz", ".lz4", ".7z", ".rar",
	}
}

// textSniff is how many bytes of an upload decide whether it is text.
const textSniff = 4 << 10

// isText reports whether p is UTF-8 without NUL. If cut is set, the last rune may
// be incomplete.
func isText(p []byte, cut bool) bool {
	if len(p) == 0 || bytes.IndexByte(p, 0) >= 0 {
		return false
	}
	for i := 0; cut && i < utf8.UTFMax-1 && i < len(p); i++ {
		if c := p[len(p)-1-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(p[len(p)-1-i:]) {
				p = p[:len(p)-1-i]
			}
			break
		}
	}
	return utf8.Valid(p)
}

// records decides how an object is cut, by its content and then by its name, and from
// what it must be decompressed first.
func (f *found) records(ctx context.Context, l Limits) (by Records, packed kind, err error) {
	key := f.obj.Info().Key
	switch f.kind {
	case kindTar, kindZip:
		return Files, kindNone, nil
	case kindGzip, kindZstd:
		return f.wrapped(ctx, l)
	case kindNPY:
		return array, kindNone, nil
	case kindJPEG:
		return Chunks, kindNone, nil
	case kindNone:
	}
	if promises(key) {
		return ByContent, kindNone, kit.Fail("upload", key, 0, kit.Unsupported("neither an archive nor an array, though it is called so"))
	}
	if by = textName(key); by != ByContent {
		return by, kindNone, nil
	}
	if slices.Contains(noText(), path.Ext(strings.ToLower(key))) {
		return Chunks, kindNone, nil
	}
	head, err := kit.Head(ctx, f.obj, textSniff)
	if err == nil && isText(head, f.obj.Size() > textSniff) {
		return Lines, kindNone, nil
	}
	return Chunks, kindNone, err
}

// wrapped does records for an object that is compressed as a whole: a tar, text, or
// something else.
func (f *found) wrapped(ctx context.Context, l Limits) (Records, kind, error) {
	key := strings.ToLower(f.obj.Info().Key)
	if stemOf(key) != path.Base(key) { // called a tar
		return Files, kindNone, nil
	}
	inner, err := innerHead(ctx, f.obj, f.kind, l)
	if err != nil && !kit.IsFormat(err) {
		return ByContent, kindNone, err
	}
	stem := key
	if ext := path.Ext(key); slices.Contains(wrapSuffixes(), ext) {
		stem = strings.TrimSuffix(key, ext)
	}
	switch by := textName(stem); {
	case isTar(inner):
		return Files, kindNone, nil
	case by != ByContent:
		return by, f.kind, nil
	case err != nil && promises(key):
		return Files, kindNone, nil // Each will return the error
	case isText(inner, true) && !slices.Contains(noText(), path.Ext(stem)):
		return Lines, f.kind, nil
	}
	return Chunks, kindNone, nil
}

// innerHead returns the bytes that would be a tar's first header. It costs no
// request, unless Open has kept too little of the object.
func innerHead(ctx context.Context, obj *objstore.Object, k kind, l Limits) ([]byte, error) {
	body := glance(ctx, obj, 0, obj.Size())
	defer body.Close()
	in := &tap{r: body}
	plain, closer, err := (&tarball{obj: obj, kind: k, l: l}).unpacked(in)
	if err != nil {
		return nil, in.blame(err)
	}
	defer closer()
	head := make([]byte, sniff)
	n, err := io.ReadFull(plain, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], in.blame(err)
}

// ofImages reports whether a source is one of JPEGs. Its first file decides, apart
// from what is about a folder and labels files. A source without such a file counts as
// images: their packing says what is missing. One of READMEs and hidden files does not.
func ofImages(ctx context.Context, src Source) (bool, error) {
	is := true
	look := func(e File, r io.Reader) error {
		switch {
		case isLabels(e.Name), isClutter(e.Name):
			return nil
		case isJunk(e.Name):
			is = is && isMarker(e.Name)
			return nil
		}
		var head [3]byte
		n, err := io.ReadFull(r, head[:])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		is = isJPEG(head[:n])
		return errSeen
	}
	var err error
	switch s := src.(type) {
	case *zipped:
		err = s.peek(ctx, look)
	case *tarball:
		err = s.peek(ctx, look)
	default:
		err = src.Each(ctx, look)
	}
	if errors.Is(err, errSeen) {
		err = nil
	}
	return is, err
}

// errSeen ends the reading of all files of an archive; errEnough ends only one file.
var errSeen = errors.New("seen")

// npy reads the header of a .npy, and checks that the object has all items.
func (s *Items) npy(ctx context.Context) error {
	a, err := npyArray(ctx, s.obj)
	if err != nil {
		return err
	}
	s.header, s.base, s.Size = a.header, a.base, a.NBytes
	s.header.DType = a.source
	return nil
}

// open returns the stream that records are cut from, and its length if that is
// known. blame decides whether an error is the upload's or the store's.
func (s *Items) open(ctx context.Context, progress func(int)) (r io.Reader, size int64, done func(), err error) {
	body := s.obj.NewReader(ctx, objstore.ReadOptions{Off: s.base, Len: max(s.Size, 0)})
	if s.Size == 0 {
		_ = body.Close()
		return bytes.NewReader(nil), 0, func() {}, nil
	}
	in := &tap{r: body, on: progress}
	plain, closer, err := (&tarball{obj: s.obj, kind: s.packed, l: s.limits}).unpacked(in)
	if err != nil {
		_ = body.Close()
		return nil, 0, nil, s.fail(in.n, in.blame(err))
	}
	size = s.Size
	if s.packed != kindNone {
		size = -1
	}
	blame := func(err error) error { return s.fail(in.n, in.blame(err)) }
	return member{plain, blame}, size, func() { closer(); _ = body.Close() }, nil
}

func (s *Items) fail(off int64, err error) error {
	if !kit.IsFormat(err) {
		return err
	}
	return kit.Fail(strings.TrimPrefix(s.packed.String(), "tar."), s.obj.Info().Key, off, err) // the compressed data are not a tar
}

// chunkSize is the size of pieces of one size. It is a multiple of the item size, if
// there are items.
func (s *Items) chunkSize(o ItemWrite) int64 {
	want, item := o.Chunk, int64(max(o.TypeSize, 1))
	if want == 0 {
		want = DefaultItemChunk
	}
	if s.By == array {
		item = int64(max(s.header.DType.ItemSize(), 1))
	}
	return max(want/item, 1) * item
}

// DefaultItemChunk is the size of chunks if there are no records, as in the
// bloscpack tool.
const DefaultItemChunk = 1 << 20

// maxItemChunk is the greatest chunk of the format, less what Blosc adds.
const maxItemChunk = math.MaxInt32 - 16

// ParseChecksum reads the checksum that a flag names; "" is adler32, as the
// bloscpack tool does.
func ParseChecksum(text string) (bloscpack.Checksum, error) {
	if text == "" {
		return bloscpack.Adler32, nil
	}
	c, err := bloscpack.ParseChecksum(text)
	if err != nil {
		return c, fmt.Errorf("checksum: %w", err)
	}
	return c, nil
}
