package peek

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// archive reads the directory of a zip: its end, and then all of it at once.
func archive(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	tail := make([]byte, min(headLen, ob.Size()))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: ob.Size() - int64(len(tail)), P: tail}}); err != nil {
		return f, false, err
	}
	end := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if end < 0 || len(tail)-end < 22 {
		return f, false, nil
	}
	r := behind{ob.WithContext(ctx), ob.Size() - int64(len(tail)), tail}
	if off := int64(binary.LittleEndian.Uint32(tail[end+16:])); off < r.from && r.from-off <= maxDir {
		p := make([]byte, r.from-off, ob.Size()-off)
		if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}}); err != nil {
			return f, false, err
		}
		r.from, r.p = off, append(p, tail...)
	}
	z, err := zip.NewReader(r, ob.Size())
	if err != nil {
		return f, false, nil //nolint:nilerr // it is no zip
	}
	f = Found{Format: "zip"}
	total := int64(0)
	var names []string
	for _, m := range z.File {
		if strings.HasSuffix(m.Name, "/") {
			continue
		}
		total += int64(min(m.UncompressedSize64, 1<<62-uint64(total)))
		names = append(names, m.Name)
		f.entry(Entry{m.Name, int64(min(m.UncompressedSize64, 1<<62)), ""})
	}
	f.add("files", human.Count(int64(len(names))))
	f.add("unpacked", human.Size(total))
	f.judge(pack.Judge(names, false))
	return f, true, nil
}

// behind reads an object whose bytes from an offset on are in memory.
type behind struct {
	io.ReaderAt
	from int64
	p    []byte
}

func (b behind) ReadAt(p []byte, off int64) (int, error) {
	if off < b.from {
		return b.ReaderAt.ReadAt(p, off)
	}
	n := copy(p, b.p[min(off-b.from, int64(len(b.p))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// tarball lists the members whose headers lie in the first bytes of a tar.
func tarball(format string, p []byte, all bool) (f Found, ok bool) {
	f = Found{Format: format}
	r := tar.NewReader(bytes.NewReader(p))
	var names []string
	end := false
	for {
		h, err := r.Next()
		if err != nil {
			end = errors.Is(err, io.EOF) && all // without all it may be cut between two members
			break
		}
		if h.Typeflag == tar.TypeReg {
			names = append(names, h.Name)
			f.entry(Entry{h.Name, h.Size, ""})
		}
	}
	if len(names) == 0 {
		return f, false
	}
	f.add("files", human.Count(int64(len(names))))
	if !end {
		f.More = -1
		f.Lines[0].Value = human.Plural(int64(len(names)), "file") + " in the first " + human.Size(int64(len(p))) + "; a tar has no directory"
	}
	f.judge(pack.Judge(names, false))
	return f, true
}

// judge adds what names of files say, and what packs them.
func (f *Found) judge(j pack.Judgement) {
	if f.Pack = Items; j.Gulp() {
		f.Pack = Images
		f.add("images", human.Count(int64(j.Images)))
		f.add("layout", j.Layout.String())
		return
	}
	if j.Images > 0 {
		f.add("images", human.Count(int64(j.Images)))
		f.add("remark", "not only images: "+j.Other+" goes into no gulp, so the files become items")
	}
}

// Folder says what the names of the files in a folder tell; ok is false if pack makes nothing of them that is
// surely wanted: a gulp of images, or items of texts.
func Folder(names []string) (f Found, ok bool) {
	j := pack.Judge(names, true)
	switch {
	case j.Gulp():
		f.judge(j)
	case len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(textSuffixes(), ext(name)) }):
		f.Pack = Items
	}
	return f, f.Pack != Nothing
}

// textSuffixes are the suffixes of texts that are read one by one, and are no tables.
func textSuffixes() []string {
	return []string{".txt", ".text", ".log", ".md", ".rst", ".json", ".jsonl", ".ndjson", ".xml", ".html", ".htm", ".yaml", ".yml"}
}
