package pack

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// sniff is the number of bytes that decide what an upload is: the length of a
// tar's first header.
const sniff = tarBlock

// Open opens the object called key as a source. It recognizes an archive by its
// content, or else by its suffix. It costs one request; a zip also costs the requests
// for its directory. If the object is not an archive, the error is
// formats.ErrUnsupported. If the object is empty, the error is formats.ErrCorrupt. Open
// does not find out whether a .gz or .zst holds a tar; Each does.
func Open(ctx context.Context, b objstore.Bucket, key string, o Options) (Source, error) {
	obj, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if err != nil {
		return nil, err
	}
	return Archive(ctx, obj, o)
}

// Archive is Open for an object that is open already. If the bucket keeps tags, Stream
// asks for those of the object: one more request.
func Archive(ctx context.Context, obj *objstore.Object, o Options) (Source, error) {
	f, err := look(ctx, obj)
	if err != nil {
		return nil, err
	}
	return f.archive(ctx, o)
}

func (f *found) archive(ctx context.Context, o Options) (Source, error) {
	if err := f.empty(); err != nil {
		return nil, err
	}
	l := o.Limits.WithDefaults()
	info := f.obj.Info()
	about := About{Format: f.kind.String(), Name: stemOf(info.Key), Size: info.Size}
	switch f.kind {
	case kindTar, kindGzip, kindZstd, kindZip:
	case kindJPEG:
		return nil, kit.Fail("upload", info.Key, -1, kit.Unsupported("a single JPEG: put images into an archive, or close their folder with _SUCCESS"))
	default:
		if by := foreignPacked(f.head); by != "" {
			return nil, kit.Fail("upload", info.Key, 0, kit.Unsupported("packed by %s: pack it as tar, tar.gz, tar.zst or zip", by))
		}
		return nil, kit.Fail("upload", info.Key, 0, kit.Unsupported("neither an archive of images nor an array"))
	}
	about.labelled(f.obj)
	if f.kind == kindZip {
		return openZip(ctx, f.obj, about, l)
	}
	return &tarball{obj: f.obj, kind: f.kind, about: about, l: l}, nil
}

// foreignPacked is what has compressed bytes that are not read here, or "".
func foreignPacked(head []byte) string {
	for by, magic := range map[string]string{"bzip2": "BZh", "xz": "\xFD7zXZ\x00", "7-Zip": "7z\xBC\xAF\x27\x1C", "RAR": "Rar!\x1A\x07"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return by
		}
	}
	return ""
}

// found is an object and its detected kind.
type found struct {
	obj  *objstore.Object
	kind kind
	head []byte // first bytes of the object, at most sniff
}

// look finds what an object is by its first bytes, which Open has kept, and its key.
func look(ctx context.Context, obj *objstore.Object) (*found, error) {
	head, err := kit.Head(ctx, obj, sniff)
	return &found{obj, detect(head, obj.Info().Key), head}, err
}

// empty is the error for an object without bytes, else nil.
func (f *found) empty() error {
	if len(f.head) > 0 {
		return nil
	}
	return kit.Fail("upload", f.obj.Info().Key, -1, kit.Corrupt("empty"))
}

func readFull(ctx context.Context, r rangeio.Reader, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	return r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}})
}

// glance reads from off to end for a caller who may need only the first bytes. It
// returns the bytes that Open has kept, or one part; the rest is fetched when it is
// read.
func glance(ctx context.Context, obj *objstore.Object, off, end int64) io.ReadCloser {
	n := int64(zipPeek)
	if off < objstore.DefaultHead {
		n = objstore.DefaultHead - off
	}
	n = min(n, end-off)
	first := obj.NewReader(ctx, objstore.ReadOptions{Off: off, Len: n})
	if off+n == end {
		return first
	}
	rest := obj.NewReader(ctx, objstore.ReadOptions{Off: off + n, Len: end - off - n, Part: zipPeek, Ahead: 1})
	return glanced{io.MultiReader(first, rest), first, rest}
}

type glanced struct {
	io.Reader

	first, rest io.Closer
}

func (g glanced) Close() error { return errors.Join(g.first.Close(), g.rest.Close()) }
