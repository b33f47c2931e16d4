package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// unpack writes the source of the file, in the form that the metadata of the file tell.
func (t *blpContent) unpack(ctx context.Context, dst string, force bool) error {
	if err := refusal(t.d); err != nil {
		return err
	}
	x := &blpSelection{t: t, to: t.count(), n: t.n, all: true, want: -1}
	switch {
	case t.arr != nil && !isNpy(dst):
		return t.unpackItems(ctx, x, dst, force)
	case !t.in.Variable:
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	switch from := t.in.Contents; from.Kind {
	case bloscpack.KindFiles:
		return t.unpackFiles(ctx, x, dst, force)
	case bloscpack.KindRecords:
		prefix, err := prefixOf(from.Prefix)
		if err != nil {
			return err
		}
		return t.a.unpackBytes(ctx, &framedSelection{x, prefix}, dst, force)
	case bloscpack.KindLines, bloscpack.KindJSONL:
		end := from.FinalNewline == nil || *from.FinalNewline
		return t.a.unpackBytes(ctx, &framedSelection{x, t.lines(end)}, dst, force)
	}
	switch strings.ToLower(filepath.Ext(dst)) {
	case ".jsonl", ".txt":
		return t.a.unpackBytes(ctx, &framedSelection{x, t.lines(true)}, dst, force)
	}
	return t.unpackNumbered(ctx, x, dst, force)
}

func isNpy(name string) bool { return strings.EqualFold(filepath.Ext(name), ".npy") }

// unpackItems writes the items of an array unchanged, and a note beside them.
func (t *blpContent) unpackItems(ctx context.Context, x *blpSelection, dst string, force bool) error {
	return t.a.unpackNoted(ctx, x, npy.Note{DType: t.arr.DType, Shape: t.arr.Shape, Fortran: t.arr.Fortran}, dst, force)
}

// A framedSelection is all items in one file, with some bytes before and after each
// item.
type framedSelection struct {
	*blpSelection

	frame framing
}

// A framing appends to dst the bytes that stand before item i in the file, and returns
// them and the bytes that stand after the item.
type framing func(dst []byte, i int64, p []byte) (before, after []byte, err error)

func (x *framedSelection) copy(ctx context.Context, s sink.Sink, b bar) error {
	w := bufio.NewWriterSize(s, fileBuffer)
	var buf [16]byte
	err := x.each(ctx, func(i int64, p []byte) error {
		before, after, err := x.frame(buf[:0], i, p)
		if err != nil {
			return err
		}
		b.add(int64(len(p)))
		for _, part := range [][]byte{before, p, after} {
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// lines puts each item on a line. If end is true, the last line ends with a newline,
// too.
func (t *blpContent) lines(end bool) framing {
	newline, last := []byte{'\n'}, t.count()-1
	return func(_ []byte, i int64, p []byte) (before, after []byte, err error) {
		if bytes.IndexByte(p, '\n') >= 0 {
			return nil, nil, t.itemError(i, fmt.Errorf("several lines in one item: %w", formats.ErrCorrupt))
		}
		if i < last || end {
			after = newline
		}
		return nil, after, nil
	}
}

// itemError adds the name of the item to an error.
func (t *blpContent) itemError(i int64, err error) error {
	return &formats.Error{Format: bloscpack.Format, Part: t.in.Part(i), Off: -1, Err: err}
}

// prefixOf returns the framing of records with lengths before them.
func prefixOf(name string) (framing, error) {
	by := pack.Records(name)
	if !slices.Contains([]pack.Records{pack.U32LE, pack.U32BE, pack.U64LE, pack.U64BE, pack.Varint}, by) {
		return nil, &formats.Error{Format: bloscpack.Format, Part: "metadata", Off: -1,
			Err: fmt.Errorf("records with the prefix %q: %w", name, formats.ErrUnsupported)}
	}
	return func(dst []byte, _ int64, p []byte) (before, after []byte, err error) {
		return by.AppendPrefix(dst, len(p)), nil, nil // a chunk's length fits into any prefix
	}, nil
}

// unpackFiles writes each item to the file with the name of the item.
func (t *blpContent) unpackFiles(ctx context.Context, x *blpSelection, dst string, force bool) error {
	names := t.in.Names
	if names == nil {
		n := int64(len(t.in.Contents.Names))
		have := human.Plural(n, "name")
		if n > t.count() {
			have = "more names"
		}
		return &formats.Error{Format: bloscpack.Format, Part: "metadata", Off: -1,
			Err: fmt.Errorf("%s of %s: %w", have, human.Plural(t.count(), "file"), formats.ErrCorrupt)}
	}
	for i, name := range names { // all names are checked before anything is read
		if why := unsafeName(name); why != "" {
			return t.itemError(int64(i), fmt.Errorf("file %q: no safe file name: %s: %w", name, why, formats.ErrCorrupt))
		}
	}
	return t.unpackFolder(ctx, x, dst, force, func(i int64) string { return names[i] })
}

// maxName is the longest name in a folder on all common file systems.
const maxName = 255

// unsafeName says why no file below a folder can have a name. It returns "" if a file
// can have it. Names that only some systems refuse, such as the names of devices on
// Windows, are refused on those systems only: an archive may hold aux.c.
func unsafeName(name string) string {
	switch {
	case name == "" || strings.HasSuffix(name, "/"):
		return "empty"
	case name[0] == '/':
		return "absolute"
	case !utf8.ValidString(name):
		return "no UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return "a control character or backslash"
	case len(name) > 1 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z'):
		return "drive letter"
	case name == "." || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)):
		return "it leads elsewhere"
	}
	for elem := range strings.SplitSeq(name, "/") {
		if len(elem) > maxName {
			return "a part of it is too long"
		}
	}
	return ""
}

// unpackNumbered writes each item to the file with the number of the item.
func (t *blpContent) unpackNumbered(ctx context.Context, x *blpSelection, dst string, force bool) error {
	return t.unpackFolder(ctx, x, dst, force, func(i int64) string { return strconv.FormatInt(i, 10) })
}

func (t *blpContent) unpackFolder(ctx context.Context, x *blpSelection, dst string, force bool, name func(i int64) string) error {
	if err := freshFolder(dst, force); err != nil {
		return err
	}
	s, err := t.a.folderSink(dst, sameFile)
	if err != nil {
		return err
	}
	defer s.Abort()
	b := t.a.newBar("unpack", x.n)
	defer b.clear()
	var total int64
	err = x.each(ctx, func(i int64, p []byte) error {
		if ctx.Err() != nil { // small items come from memory, and nothing else looks at ctx
			return context.Cause(ctx)
		}
		total += int64(len(p))
		b.add(int64(len(p)))
		return s.File(name(i), p)
	})
	if err != nil {
		return err
	}
	if err := s.Commit(); err != nil {
		return err
	}
	t.a.remark("%s, %s, in %s", human.Plural(x.to-x.from, "file"), human.Size(total), dst)
	return nil
}

// sameFile returns the error for two items with the same name.
func sameFile(name string) error {
	return fmt.Errorf("two files want the name %s: %w", human.Printable(name), formats.ErrUnsupported)
}

// freshFolder refuses to write into a folder that has files, unless force says so.
func freshFolder(dst string, force bool) error {
	if names, err := os.ReadDir(dst); err == nil && len(names) > 0 && !force {
		return fmt.Errorf("%s has files already (--force writes into it): %w", human.Printable(dst), objstore.ErrExists)
	} else if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("%s is no folder: %w", human.Printable(dst), fs.ErrExist)
	}
	return nil
}
