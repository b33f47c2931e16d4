// Package peek says what an object is that farread does not read as a dataset, but packs
// into one: arrays of NumPy, sound, tables, text, archives and images. It looks at heads and directories alone.
package peek

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

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
	Format string  // "npy", "npz", "wav", "csv", "parquet", "jsonl", "text", "zip", "tar", "tar.gz", "jpeg", "png" …
	Lines  []Line  // for people, in their order
	Entry  []Entry // what is inside, as far as it was seen
	More   int64   // entries that were not looked at; -1: nobody knows
	Pack   Output  // what farread packs it into
	Sort   bool    `json:",omitempty"` // its times go back: pack puts its rows in order if it is told so
}

// An Output is a kind of file that pack makes.
type Output string

// What an object is packed into.
const (
	Nothing Output = ""
	Array   Output = ".b2nd"
	Arrays  Output = "/"    // a folder of arrays
	Image   Output = "\x00" // alone in a gulp
	Images  Output = ".gulp"
	Items   Output = ".blp"
	Series  Output = ".zoom"
)

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
	maxPlain = 1 << 20  // bytes that the first ones are unpacked to
)

// Options returns how an object of the name is opened, so that Look takes few requests; ok is
// false for names of which Look knows nothing.
func Options(name string) (o objstore.OpenOptions, ok bool) {
	switch ext(name) {
	case ".npz":
		return objstore.OpenOptions{Head: headLen, Tail: headLen}, true
	case ".zip":
		return objstore.OpenOptions{Head: 4, Tail: headLen}, true
	case ".parquet", ".pq":
		return objstore.OpenOptions{Head: 4, Tail: headLen}, true
	case ".npy", ".wav", ".csv", ".tsv", ".txt", ".log", ".jsonl", ".ndjson", ".tar", ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif",
		".gz", ".tgz", ".zst", ".zstd", ".tzst":
		return objstore.OpenOptions{Head: headLen}, true
	}
	return o, false
}

func ext(name string) string { return strings.ToLower(path.Ext(name)) }

// Look says what an object is by its bytes and its name. ok is false if the bytes are not
// what the name promises. It makes no request for what Options has fetched; the directory of a zip that is longer
// takes one more, the headers of the arrays in a .npz those of pack.Arrays, and a Parquet file those of
// zoom.LookParquet.
func Look(ctx context.Context, ob *objstore.Object, name string) (f Found, ok bool, err error) {
	o, _ := Options(name)
	head := make([]byte, min(o.Head, ob.Size()))
	if o.Tail == 0 {
		if err := ob.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
			return f, false, err
		}
	}
	all := int64(len(head)) == ob.Size()
	switch e := ext(name); e {
	case ".npy":
		return array(ob, head)
	case ".npz":
		return arrays(ctx, ob)
	case ".zip":
		return archive(ctx, ob)
	case ".parquet", ".pq":
		return parquet(ctx, ob)
	case ".wav":
		return sound(ctx, ob)
	case ".tar":
		f, ok = tarball("tar", head, all)
		return f, ok, nil
	case ".gz", ".tgz", ".zst", ".zstd", ".tzst":
		return packed(ctx, ob, name, head)
	case ".csv", ".tsv", ".txt", ".log", ".jsonl", ".ndjson":
		return words(ctx, name, beginning(head, all, float64(len(head))/float64(max(ob.Size(), 1))))
	}
	f, ok = picture(head)
	return f, ok, nil
}

// words describes a text by its name.
func words(ctx context.Context, name string, t text) (f Found, ok bool, err error) {
	format := strings.TrimPrefix(ext(name), ".")
	switch format {
	case "csv", "tsv", "txt":
		return table(ctx, name, t)
	case "log":
		format = "text"
	}
	f, ok = lines(format, t)
	return f, ok, nil
}

// packed describes what was packed by gzip or zstd, by its first bytes.
func packed(ctx context.Context, ob *objstore.Object, name string, head []byte) (f Found, ok bool, err error) {
	p, all, by := unpacked(head, ob.Size())
	if by == "" || len(p) == 0 {
		return f, false, nil
	}
	if pack.IsTar(p) {
		f, ok = tarball("tar."+by, p, all)
		return f, ok, nil
	}
	inner := strings.TrimSuffix(name, path.Ext(name))
	switch ext(inner) {
	case ".csv", ".tsv", ".txt", ".log", ".jsonl", ".ndjson":
		f, ok, err = words(ctx, inner, beginning(p, all, float64(len(head))/float64(ob.Size())))
		f.Format += "." + by
		return f, ok, err
	}
	it, err := pack.FindItems(ctx, ob, pack.ItemOptions{})
	if foreign(err) {
		return f, false, nil
	}
	f = Found{Format: by, Pack: Items}
	f.add("items", string(it.By))
	return f, true, err
}

// unpacked is what the first bytes of an object hold; all reports that this is all of it.
func unpacked(head []byte, size int64) (p []byte, all bool, by string) {
	var r io.Reader
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(head))
		if err != nil {
			return nil, false, ""
		}
		r, by = z, "gz"
	} else {
		z, err := zstd.NewReader(bytes.NewReader(head), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return nil, false, ""
		}
		defer z.Close()
		r, by = z, "zst"
	}
	p, err := io.ReadAll(io.LimitReader(r, maxPlain))
	return p, err == nil && len(p) < maxPlain && int64(len(head)) == size, by
}

// foreign reports whether an error says that the bytes are something else.
func foreign(err error) bool {
	return errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrTooLarge)
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
	f = Found{Format: "npy", Pack: Array}
	f.add("shape", human.Shape(h.Shape))
	f.add("dtype", h.DType.String())
	if h.Fortran {
		f.add("order", "F, the first axis runs fastest")
	}
	if have := ob.Size() - n; have < size {
		f.add("truncated", fmt.Sprintf("%s of items, the header says %s", human.Size(have), human.Size(size)))
		f.Pack = Nothing
	}
	return f, true, nil
}

func (f *Found) add(name, value string) { f.Lines = append(f.Lines, Line{name, value}) }

// entry adds an entry, or counts it.
func (f *Found) entry(e Entry) {
	if len(f.Entry) == maxShown {
		f.More++
		return
	}
	f.Entry = append(f.Entry, e)
}

func arrays(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	list, err := pack.Arrays(ctx, ob, pack.ArrayOptions{})
	if foreign(err) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	f = Found{Format: "npz", Pack: Arrays}
	total := int64(0)
	for _, a := range list {
		f.Entry = append(f.Entry, Entry{a.Name, a.NBytes, human.Shape(a.Shape) + " " + a.DType.String()})
		total += a.NBytes
	}
	f.add("arrays", human.Count(int64(len(list))))
	f.add("decoded", human.Size(total))
	return f, true, nil
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
	f = Found{Format: "wav", Pack: Series}
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
	for _, t := range a.Tracks {
		f.entry(Entry{t.Name, -1, t.Codec.String()})
	}
	for _, w := range a.Warnings {
		f.add("remark", w)
	}
	return f, true, nil
}

// Members are the entries, or, of what has none, the object itself: an array, an image, lines.
func (f *Found) Members(name string, size int64) []Entry {
	if len(f.Entry) > 0 {
		return f.Entry
	}
	var what []string
	for _, l := range f.Lines {
		switch l.Name {
		case "shape", "dtype":
			what = append(what, l.Value)
		case "lines", "pixels":
			what = append(what, l.Value+" "+l.Name)
		case "items":
			what = append(what, "items: "+l.Value)
		}
	}
	return []Entry{{name, size, cmp.Or(strings.Join(what, " "), f.Format)}}
}

// Named says what an object is called like: "csv" for x.csv; "" for a name that says nothing.
func Named(name string) string {
	e := ext(name)
	if _, ok := Options(name); !ok {
		return ""
	}
	switch e {
	case ".jpg":
		return "jpeg"
	case ".tgz":
		return "tar.gz"
	case ".tzst":
		return "tar.zst"
	case ".pq":
		return "parquet"
	case ".txt", ".log":
		return "text"
	case ".gz", ".zst", ".zstd":
		inner := strings.TrimSuffix(name, path.Ext(name))
		if in := ext(inner); slices.Contains([]string{".tar", ".csv", ".tsv", ".txt", ".log", ".jsonl", ".ndjson"}, in) {
			return strings.TrimPrefix(in+e, ".")
		}
	}
	return strings.TrimPrefix(e, ".")
}

// MarshalJSON has the properties as members. Of properties of one name it has all, one a line.
func (f Found) MarshalJSON() ([]byte, error) {
	lines := map[string]string{}
	for _, l := range f.Lines {
		if old, ok := lines[l.Name]; ok {
			l.Value = old + "\n" + l.Value
		}
		lines[l.Name] = l.Value
	}
	return json.Marshal(struct {
		About   map[string]string `json:"about"`
		Entries []Entry           `json:"entries,omitempty"`
		More    int64             `json:"more,omitempty"`
	}{lines, f.Entry, f.More})
}
