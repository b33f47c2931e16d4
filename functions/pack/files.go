package pack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
)

// A roll holds bytes in pieces of one size, so that it grows without copying
// everything.
type roll struct {
	pieces [][]byte
	n      int64
}

const rollPiece = 1 << 20

func (r *roll) append(p ...byte) {
	r.n += int64(len(p))
	for len(p) > 0 {
		if k := len(r.pieces); k == 0 || len(r.pieces[k-1]) == cap(r.pieces[k-1]) {
			size := rollPiece
			if k == 0 {
				size = 4 << 10 // most are small
			}
			r.pieces = append(r.pieces, make([]byte, 0, size))
		}
		last := &r.pieces[len(r.pieces)-1]
		n := min(len(p), cap(*last)-len(*last))
		*last = append(*last, p[:n]...)
		p = p[n:]
	}
}

// drainTo appends the bytes to dst and empties the roll.
func (r *roll) drainTo(dst []byte) []byte {
	for i, p := range r.pieces {
		dst = append(dst, p...)
		r.pieces[i] = nil
	}
	r.pieces, r.n = nil, 0
	return dst
}

// nameSum is a hash of a name, which takes less memory than the name.
type nameSum [16]byte

func sumOf(name string) nameSum {
	sum := sha256.Sum256([]byte(name))
	return nameSum(sum[:16])
}

// names are the names of an upload's files, in two JSON lists.
type names struct {
	names, sizes roll
	most         int64            // bytes of both
	seen         map[nameSum]bool // false: of a folder
	text         bytes.Buffer
	json         *json.Encoder
}

func newNames(most int64) *names {
	n := &names{most: most, seen: map[nameSum]bool{}}
	n.json = json.NewEncoder(&n.text)
	n.json.SetEscapeHTML(false)
	return n
}

// add notes a file. It refuses two files of one name, and a file that is the folder of
// another: they could not both be unpacked.
func (n *names) add(name string, size int64) error {
	if _, ok := n.seen[sumOf(name)]; ok {
		return kit.Corrupt("twice in the upload, or a folder there, too")
	}
	n.seen[sumOf(name)] = true
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		file, ok := n.seen[sumOf(dir)]
		if file {
			return kit.Corrupt("%.200q is a file and a folder", dir)
		}
		if ok {
			break // the folders above it are noted already
		}
		n.seen[sumOf(dir)] = false
	}
	n.text.Reset()
	if err := n.json.Encode(name); err != nil {
		return err
	}
	comma := byte(',')
	if n.names.n == 0 {
		comma = '['
	}
	n.names.append(comma)
	n.names.append(bytes.TrimSuffix(n.text.Bytes(), []byte("\n"))...)
	n.sizes.append(comma)
	n.sizes.append(strconv.AppendInt(n.text.AvailableBuffer(), size, 10)...)
	if n.names.n+n.sizes.n > n.most {
		return kit.TooLarge("names and sizes over %d bytes", n.most)
	}
	return nil
}

// into puts the two lists at the end of an object's text.
func (n *names) into(text []byte) []byte {
	const a, b = `,"names":`, `],"sizes":`
	out := make([]byte, 0, int64(len(text)+len(a)+len(b)+2)+n.names.n+n.sizes.n)
	out = append(out, text[:len(text)-1]...)
	out = append(out, a...)
	out = n.names.drainTo(out)
	out = append(out, b...)
	out = n.sizes.drainTo(out)
	return append(out, "]}"...)
}

// isClutter reports whether a desktop has left the file. All other files are packed,
// also those that have a meaning in a folder of images.
func isClutter(name string) bool {
	base := path.Base(name)
	switch strings.ToLower(base) {
	case ".ds_store", "thumbs.db", "desktop.ini":
		return true
	}
	return strings.HasPrefix(base, "._") || strings.HasPrefix(name, "__MACOSX/") || strings.Contains(name, "/__MACOSX/")
}

// isMarker reports whether the object is the marker that closes the folder.
func isMarker(name string) bool {
	dir, _, is := functions.Closing(name)
	return is && dir == ""
}

// files passes on the files of src and returns their names. Errors name the file.
func (c *cutter) files(ctx context.Context, src Source, l Limits) (*names, error) {
	return c.moreFiles(ctx, src, l, newNames(l.Meta))
}

// moreFiles is files for a list that has names already.
func (c *cutter) moreFiles(ctx context.Context, src Source, l Limits, list *names) (*names, error) {
	var buf []byte
	one := func(e File, r io.Reader) error {
		switch {
		case e.Size > c.limit:
			return kit.TooLarge("%d bytes, over %d", e.Size, c.limit)
		case c.n >= l.Entries:
			return kit.TooLarge("more than %d files", l.Entries)
		}
		if err := list.add(e.Name, e.Size); err != nil {
			return err
		}
		if int64(cap(buf)) < e.Size {
			buf = nil // let the old one go before the new one comes
			buf = make([]byte, min(c.limit, max(e.Size+e.Size/4, 64<<10)))
		}
		p := buf[:e.Size]
		if _, err := io.ReadFull(r, p); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return kit.Corrupt("truncated")
			}
			return err
		}
		return c.item(p)
	}
	err := src.Each(ctx, func(e File, r io.Reader) error {
		if isClutter(e.Name) {
			return nil
		}
		err := one(e, r)
		if err != nil && kit.IsFormat(err) {
			return kit.Fail(src.About().Format, fmt.Sprintf("%q", e.Name), e.Off, err)
		}
		return err
	})
	if err == nil && c.n == 0 {
		err = kit.Fail(src.About().Format, "", -1, kit.Unsupported("no file in it"))
	}
	return list, err
}
