// Package peek says what an object is that farread does not read as a dataset, but packs
// into one: arrays of NumPy, sound, tables, archives and images. It looks at heads and directories alone.
package peek

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // so that their headers are read
	_ "image/jpeg" // as before
	_ "image/png"  // as before
	"io"
	"path"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A Found is what an object is.
type Found struct {
	Format string  // "npy", "npz", "wav", "csv", "zip", "tar", "jpeg", "png", "gif", "parquet"
	Lines  []Line  // for people, in their order
	Entry  []Entry // what is inside, as far as it was seen
	More   int64   // entries that were not looked at; -1: nobody knows
	Pack   string  // suffix of what farread packs it into, "/" for a folder of arrays; "": nothing
}

// A Line is a property.
type Line struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// An Entry is a member of an archive, a track of sound, or a column of a table.
type Entry struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes; -1: unknown
	What string `json:"what,omitempty"`
}

const (
	headLen  = 64 << 10
	maxShown = 10_000   // entries of a directory
	maxDir   = 64 << 20 // bytes of a directory
)

// Options returns how an object of the name is opened, so that Look takes few requests; ok is
// false for names of which Look knows nothing.
func Options(name string) (o objstore.OpenOptions, ok bool) {
	switch ext(name) {
	case ".npz":
		return objstore.OpenOptions{Head: headLen, Tail: headLen}, true
	case ".zip":
		return objstore.OpenOptions{Head: 4, Tail: headLen}, true
	case ".npy", ".wav", ".csv", ".tsv", ".tar", ".jpg", ".jpeg", ".png", ".gif":
		return objstore.OpenOptions{Head: headLen}, true
	case ".parquet":
		return objstore.OpenOptions{Head: 4, Tail: 8}, true
	}
	return o, false
}

func ext(name string) string { return strings.ToLower(path.Ext(name)) }

// Look says what an object is by its bytes and its name. ok is false if the bytes are not
// what the name promises. It makes no request for what Options has fetched; the directory of a zip that is longer
// takes one more, and the headers of the arrays in a .npz those of pack.Arrays.
func Look(ctx context.Context, ob *objstore.Object, name string) (f Found, ok bool, err error) {
	o, _ := Options(name)
	head := make([]byte, min(o.Head, ob.Size()))
	if o.Tail == 0 {
		if err := ob.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
			return f, false, err
		}
	}
	switch ext(name) {
	case ".npy":
		return array(ob, head)
	case ".npz":
		return arrays(ctx, ob)
	case ".zip":
		return archive(ctx, ob)
	case ".tar":
		return tarball(ob, head)
	case ".wav":
		return sound(ctx, ob)
	case ".csv", ".tsv":
		return table(ob, head)
	case ".parquet":
		return parquet(ctx, ob)
	default:
		return picture(head)
	}
}

// foreign reports whether an error says that the bytes are something else.
func foreign(err error) bool {
	return errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrCorrupt)
}

func array(ob *objstore.Object, head []byte) (f Found, ok bool, err error) {
	if !npy.Sniff(head) {
		return f, false, nil
	}
	h, n, err := npy.ParseHeader(bytes.NewReader(head))
	if err != nil {
		return f, false, err
	}
	size, err := h.NBytes()
	if err != nil {
		return f, false, err
	}
	f = Found{Format: "npy", Pack: ".b2nd"}
	f.add("shape", human.Shape(h.Shape))
	f.add("dtype", h.DType.String())
	if h.Fortran {
		f.add("order", "F, the first axis runs fastest")
	}
	if have := ob.Size() - n; have < size {
		f.add("truncated", fmt.Sprintf("%s of items, the header says %s", human.Size(have), human.Size(size)))
		f.Pack = ""
	}
	return f, true, nil
}

func (f *Found) add(name, value string) { f.Lines = append(f.Lines, Line{name, value}) }

func arrays(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	list, err := pack.Arrays(ctx, ob, pack.ArrayOptions{})
	if foreign(err) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	f = Found{Format: "npz", Pack: "/"}
	total := int64(0)
	for _, a := range list {
		f.Entry = append(f.Entry, Entry{a.Name, a.NBytes, human.Shape(a.Shape) + " " + a.DType.String()})
		total += a.NBytes
	}
	f.add("arrays", human.Count(int64(len(list))))
	f.add("decoded", human.Size(total))
	return f, true, nil
}

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
	total, images := int64(0), 0
	for _, m := range z.File {
		if strings.HasSuffix(m.Name, "/") {
			continue
		}
		total += int64(min(m.UncompressedSize64, 1<<62-uint64(total)))
		if e := ext(m.Name); e == ".jpg" || e == ".jpeg" {
			images++
		}
		if len(f.Entry) == maxShown {
			f.More++
			continue
		}
		f.Entry = append(f.Entry, Entry{m.Name, int64(min(m.UncompressedSize64, 1<<62)), ""})
	}
	n := int64(len(f.Entry)) + f.More
	f.add("files", human.Count(n))
	f.add("unpacked", human.Size(total))
	f.Pack = ".blp"
	if images > 0 && int64(images) == n {
		f.Pack = ".gulp"
	}
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

// tarball lists the members whose headers lie in the head.
func tarball(ob *objstore.Object, head []byte) (f Found, ok bool, err error) {
	f = Found{Format: "tar", More: -1}
	jpeg := false
	for off := int64(0); off+512 <= int64(len(head)); {
		h := head[off : off+512]
		if len(bytes.Trim(h, "\x00")) == 0 {
			f.More = 0
			break
		}
		size, good := octal(h[124:136])
		if string(h[257:262]) != "ustar" || !good {
			break
		}
		if kind := h[156]; kind == '0' || kind == 0 {
			name := cString(h[:100])
			if prefix := cString(h[345:500]); prefix != "" && string(h[257:263]) == "ustar\x00" {
				name = prefix + "/" + name
			}
			f.Entry = append(f.Entry, Entry{name, size, ""})
			jpeg = jpeg || ext(name) == ".jpg" || ext(name) == ".jpeg"
		}
		if size > ob.Size() {
			break
		}
		off += 512 + (size+511)/512*512
	}
	if len(f.Entry) == 0 {
		return f, false, nil
	}
	if f.More < 0 {
		f.add("files", human.Plural(int64(len(f.Entry)), "file")+" in the first 64 KiB; a tar has no directory")
	} else {
		f.add("files", human.Count(int64(len(f.Entry))))
	}
	if f.Pack = ".blp"; jpeg {
		f.Pack = ".gulp"
	}
	return f, true, nil
}

func cString(p []byte) string {
	text, _, _ := strings.Cut(string(p), "\x00")
	return text
}

// octal reads a number of a tar header; false for others, also those in base 256.
func octal(p []byte) (n int64, ok bool) {
	text := strings.Trim(string(p), " \x00")
	for _, c := range text {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int64(c-'0')
	}
	return n, text != ""
}

func sound(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	s, err := zoom.Open(ctx, ob, zoom.Options{})
	if foreign(err) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	a := s.About()
	if a.Format != "wav" || len(a.Tracks) == 0 {
		return f, false, nil
	}
	f = Found{Format: "wav", Pack: ".zoom"}
	t := a.Tracks[0]
	f.add("channels", human.Count(int64(len(a.Tracks))))
	rate := human.Count(t.Rate.Num)
	if t.Rate.Den != 1 {
		rate += "/" + human.Count(t.Rate.Den)
	}
	f.add("rate", rate+" Hz")
	f.add("samples", human.Count(a.Rows)+" of "+t.Codec.String())
	if t.Rate.Num > 0 {
		if s := float64(a.Rows) * float64(t.Rate.Den) / float64(t.Rate.Num); s < 1e9 {
			f.add("length", time.Duration(s*1e9).Round(time.Millisecond).String())
		}
	}
	for _, w := range a.Warnings {
		f.add("remark", w)
	}
	return f, true, nil
}

func picture(head []byte) (f Found, ok bool, err error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(head))
	if err != nil {
		return f, false, nil //nolint:nilerr // it is no image that is known
	}
	f = Found{Format: format}
	f.add("pixels", fmt.Sprintf("%d x %d", c.Width, c.Height))
	if format == "jpeg" {
		f.Pack = ".gulp"
	}
	return f, true, nil
}

// parquet looks at the magic at both ends.
func parquet(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	if ob.Size() < 12 {
		return f, false, nil
	}
	head, tail := make([]byte, 4), make([]byte, 8)
	if err := ob.ReadRanges(ctx, []rangeio.Span{{P: head}, {Off: ob.Size() - 8, P: tail}}); err != nil {
		return f, false, err
	}
	if string(head) != "PAR1" || string(tail[4:]) != "PAR1" {
		return f, false, nil
	}
	f = Found{Format: "parquet", Pack: ".zoom"}
	f.add("footer", human.Size(int64(binary.LittleEndian.Uint32(tail))))
	return f, true, nil
}

// MarshalJSON has the properties as members.
func (f Found) MarshalJSON() ([]byte, error) {
	lines := map[string]string{}
	for _, l := range f.Lines {
		lines[l.Name] = l.Value
	}
	return json.Marshal(struct {
		About   map[string]string `json:"about"`
		Entries []Entry           `json:"entries,omitempty"`
		More    int64             `json:"more,omitempty"`
	}{lines, f.Entry, f.More})
}
