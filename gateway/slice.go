package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
	"github.com/farread/farread/rangeio"
)

// medias are the types of the formats that answers have.
var medias = map[string]string{
	render.Npy: "application/octet-stream", render.Raw: "application/octet-stream", render.Dat: "application/octet-stream",
	render.JSON: "application/json", render.Peaks: "application/json", render.CSV: "text/csv; charset=utf-8",
	render.PNG: "image/png", render.SVG: "image/svg+xml", render.B2nd: "application/octet-stream", render.Arrow: "application/vnd.apache.arrow.file",
}

// wrongKind refuses a verb that the dataset has not got.
func wrongKind(d farread.Dataset, want string) error {
	if r, ok := d.(farread.Refuser); ok {
		if err := r.Refused(); err != nil {
			return err
		}
	}
	what := d.Format()
	if what == "" {
		what = "folder"
	}
	return refusef(http.StatusUnprocessableEntity, "unsupported", "this is a %s, no %s", what, want)
}

// A cut is the part of an array that a request asks for.
type cut struct {
	a      farread.Slicer
	box    b2nd.Box
	field  *dtype.Field
	stored dtype.DType // type of the items as they are read
	as     dtype.DType // type of the items in the answer
	shape  []int64
	read   int64 // bytes of the items as they are read
	size   int64 // bytes of the items in the answer
}

func planSlice(ctx context.Context, s *Server, c *call, h *handle) (*job, error) {
	if c.query.Has("where") {
		return planSearch(ctx, s, c, h)
	}
	a, ok := h.d.(farread.Slicer)
	if !ok {
		return nil, wrongKind(h.d, "array")
	}
	box, at, err := s.boxOf(ctx, c, a)
	if err != nil {
		return nil, err
	}
	x, err := cutOf(a, box, c.query.Get("field"), c.query.Get("as"))
	if err != nil {
		return nil, err
	}
	format := c.query.Get("format")
	if format == "" {
		format = render.Npy
	}
	if !slices.Contains(render.Arrays(), format) && format != render.SVG {
		return nil, badf("format", "format %q: want %s", clip(format), strings.Join(render.Arrays(), ", "))
	}
	o := render.ArrayOptions{Format: format, Memory: s.c.MaxResponse}
	if o.Picture, err = pictureOf(c, format); err != nil {
		return nil, err
	}
	if o.Plot, err = plotOf(c, format); err != nil {
		return nil, err
	}
	if x.read > s.c.MaxResponse || x.size > s.c.MaxResponse {
		return nil, tooLarge("a slice", max(x.read, x.size), s.c.MaxResponse)
	}
	j := &job{media: medias[format], head: map[string]string{"X-Shape": commas(x.shape), "X-Dtype": x.as.String()}, text: format != render.PNG && format != render.B2nd,
		read: x.bound(), cost: func(ctx context.Context) (farread.Cost, error) {
			p, err := a.ExplainSlice(ctx, x.box)
			return p.Cost(), err
		}}
	if at != "" {
		j.head["X-Slice"] = at
	}
	if j.read >= 0 {
		j.gaps = x.gaps(j.read)
	}
	if n := h.source.Size; !h.loose && n > 0 && n <= s.c.MaxRead { // nothing is read twice
		j.read, j.gaps = min(j.read, n), 0
	}
	j.work = x.decoding()
	if format == render.Npy || format == render.Raw {
		return x.binary(j, format)
	}
	if o.Plot != nil {
		return x.plot(j, o, s.c.MaxResponse, c.query.Has("title"))
	}
	return x.drawn(j, o, s.c.MaxResponse)
}

// cutOf resolves the other parameters of a slice.
func cutOf(a farread.Slicer, box b2nd.Box, field, as string) (x *cut, err error) {
	x = &cut{a: a, stored: a.DType(), box: box}
	if x.read, err = a.SizeOf(x.box); err != nil {
		return nil, err
	}
	items, err := x.box.Items()
	if err != nil {
		return nil, err
	}
	x.shape = slices.Clone(x.box.OutShape)
	if field != "" {
		f, ok := x.stored.Field(field)
		if !ok {
			return nil, refusef(http.StatusNotFound, "no-entry", "items have no member %q", clip(field))
		}
		x.field, x.stored, x.read = &f, f.Type, items*int64(f.Size())
		for _, n := range f.Shape {
			x.shape = append(x.shape, int64(n))
			items *= int64(n)
		}
	}
	x.as, x.size = x.stored, x.read
	if as != "" {
		if x.as, err = dtype.Parse(as); err != nil || !x.stored.CanConvert(x.as) {
			return nil, badf("type", "items of %s do not become %q", x.stored, clip(as))
		}
		if x.size, err = times(items, int64(x.as.ItemSize())); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func times(a, b int64) (int64, error) {
	if b != 0 && a > math.MaxInt64/b {
		return 0, tooLarge("a slice", math.MaxInt64, math.MaxInt64-1)
	}
	return a * b, nil
}

// bound is an upper bound of the stored bytes of the chunks that hold the items, or -1 if
// only a plan tells.
func (x *cut) bound() int64 {
	chunk, block := x.a.Cells()
	if chunk == nil {
		return -1
	}
	if x.read == 0 {
		return 0
	}
	number := x.touched(chunk)
	// Stored chunks are no longer than decoded ones, whose blocks are full, and a header.
	const head, offset = 32, 8
	size := number * (float64(x.a.DType().ItemSize())*full(chunk, block)*1.02 + head + offset)
	if size > 1<<60 {
		return 1 << 60
	}
	return int64(size) + 4096
}

// touched is the most chunks that hold the items.
func (x *cut) touched(chunk []int) float64 {
	number := 1.0
	for i, n := range x.box.Counts() {
		lo, hi := x.box.Cover(i)
		k := int64(max(chunk[i], 1))
		number *= float64(min((hi-1)/k-lo/k+1, n))
	}
	return number
}

// gaps is the most bytes between chunks that are read and dropped to save requests, by
// the most generous policy. Gaps within a chunk are part of its bytes.
func (x *cut) gaps(read int64) int64 {
	few := rangeio.Few()
	chunk, _ := x.a.Cells()
	return int64(min(float64(read)*few.OverRead+x.touched(chunk)*float64(few.Free), 1<<60))
}

// full is the number of items of a chunk as it is stored: blocks at its edges are filled
// up.
func full(chunk, block []int) float64 {
	n := 1.0
	for i, k := range chunk {
		b := max(block[i], 1)
		n *= float64((max(k, 1) + b - 1) / b * b)
	}
	return n
}

// decoding is the memory of the chunks that are being decoded.
func (x *cut) decoding() int64 {
	chunk, block := x.a.Cells()
	if chunk == nil {
		return 0
	}
	// Of chunks of which few items are wanted, blocks alone are decoded.
	item := float64(x.a.DType().ItemSize())
	return chunks(int64(min(item*full(chunk, block), max(2*item*full(block, block), float64(x.read+1<<20), 0), 1<<40)))
}

// into reads the items.
func (x *cut) into(ctx context.Context, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	if x.field != nil {
		return x.a.ReadField(ctx, dst, x.box, *x.field)
	}
	return x.a.ReadSlice(ctx, dst, x.box)
}

// items reads the items and converts them, into dst of their size.
func (x *cut) items(ctx context.Context, dst []byte) error {
	if x.as.Equal(x.stored) {
		return x.into(ctx, dst)
	}
	p := make([]byte, x.read)
	if err := x.into(ctx, p); err != nil {
		return err
	}
	return x.stored.Convert(dst, x.as, p)
}

// binary plans items behind a header, or alone.
func (x *cut) binary(j *job, format string) (*job, error) {
	head := []byte{plainBody}
	if format == render.Npy {
		var err error
		if head, err = npy.AppendHeader(head, npy.Header{DType: x.as, Shape: x.shape}); err != nil {
			return nil, err
		}
	}
	j.exact, j.size = true, x.size+int64(len(head)-1)
	if !x.as.Equal(x.stored) {
		j.work += x.read
	}
	j.make = func(ctx context.Context) ([]byte, error) {
		body := make([]byte, int64(len(head))+x.size)
		copy(body, head)
		return body, x.items(ctx, body[len(head):])
	}
	return j, nil
}

// drawn plans text and pictures, which an encoder makes of the items.
func (x *cut) drawn(j *job, o render.ArrayOptions, most int64) (_ *job, err error) {
	items := x.cells()
	switch o.Format {
	case render.PNG:
		j.size = 4*max(min(items, x.size), 1<<16) + 1<<16
		j.work += 2*j.size + x.size // the picture before it is encoded, and a copy of its items
	case render.B2nd:
		j.size = x.size + x.size/8 + 1<<16
		o.Memory = 2*x.size + 16<<20 // chunks of the axis that varies slowest, filled up, and some that are encoded
		j.work += o.Memory
	case render.Arrow:
		j.size = x.size + x.size/8 + items*arrowMore(x.as) + 1<<16 + 1<<9*int64(len(x.as.Fields()))
		j.work += j.size // columns of a batch
	default:
		if j.size, err = times(items, textSize(x.as)); err != nil {
			return nil, err
		}
		j.size += 1 << 10
		j.work += j.size // a buffer that grows is there twice
	}
	j.work += x.size + x.read
	size := j.size
	j.make = func(ctx context.Context) ([]byte, error) { return x.encoded(ctx, o, size, most) }
	return j, nil
}

// plot plans a picture with axes.
func (x *cut) plot(j *job, o render.ArrayOptions, most int64, titled bool) (*job, error) {
	if picture.Axes(x.as, x.shape) > 2 {
		return nil, badf("format", "a picture has one or two axes: take a slice")
	}
	j.work += picture.PlotMemory(o.Plot.Width, o.Plot.Height) + x.size + x.read
	j.size = min(picture.PlotMemory(o.Plot.Width, o.Plot.Height)/4, most)
	j.make = func(ctx context.Context) ([]byte, error) {
		p, err := x.plotted(ctx, *o.Plot, titled)
		if err != nil {
			return nil, err
		}
		o := o
		o.Plot = p
		return x.encoded(ctx, o, j.size, most)
	}
	return j, nil
}

// encoded reads the items and encodes them.
func (x *cut) encoded(ctx context.Context, o render.ArrayOptions, size, most int64) ([]byte, error) {
	p := make([]byte, x.size)
	if err := x.items(ctx, p); err != nil {
		return nil, err
	}
	out := newPage(min(size, firstPage), most)
	err := render.Array(out, x.as, x.shape, o, func(put func(p []byte) error) error { return put(p) })
	if errors.Is(err, picture.ErrRefused) {
		err = badf("format", "%s", err)
	}
	return out.Bytes(), err
}

// arrowMore is how many bytes of an Arrow file an item takes besides its own: where text
// ends, and which times there are.
func arrowMore(d dtype.DType) int64 {
	n := int64(0)
	switch d.Kind() {
	case dtype.Text:
		return 9
	case dtype.DateTime, dtype.Duration:
		return 1
	case dtype.Struct:
		for _, f := range d.Fields() {
			n += int64(f.Len()) * arrowMore(f.Type)
		}
	default:
	}
	return n
}

// cells is the number of items, and of empty lists, that text has: items may have no
// bytes, and an axis no items. It stops at a number that is too large for any answer.
func (x *cut) cells() int64 {
	const most = 1 << 40
	n := int64(1)
	for _, k := range x.shape {
		if n *= max(min(k, most), 1); n > most {
			return most
		}
	}
	return n
}

// firstPage is the room for text before it grows.
const firstPage = 256 << 10

// textSize is about the most bytes of an item as text.
func textSize(d dtype.DType) int64 {
	switch d.Kind() {
	case dtype.Bool, dtype.Int, dtype.Uint, dtype.Float:
		return 24
	case dtype.Struct:
		n := int64(4)
		for _, f := range d.Fields() {
			k := int64(1)
			for _, m := range f.Shape {
				k *= int64(m)
			}
			n += int64(len(f.Name)) + 6 + k*textSize(f.Type)
		}
		return n
	default:
		return 52 + 6*int64(d.ItemSize())
	}
}

// pictureOf reads the parameters of a picture.
func pictureOf(c *call, format string) (o picture.Options, err error) {
	q := c.query
	colors, span, robust := q.Get("colors"), q.Get("range"), q.Get("robust")
	if format != render.PNG && format != render.SVG && (colors != "" || span != "" || robust != "") {
		return o, badf("query", "colors, range and robust go with format=png")
	}
	if colors != "" {
		var ok bool
		if o.Map, ok = picture.ParseMap(colors); !ok {
			return o, badf("query", "colors %q: want viridis or gray", clip(colors))
		}
	}
	if robust != "" {
		if o.Robust, err = strconv.ParseBool(robust); err != nil || span != "" {
			return o, badf("query", "robust: want 1, and no range")
		}
	}
	if span != "" {
		low, high, _ := strings.Cut(span, ":")
		var err1, err2 error
		o.Low, err1 = strconv.ParseFloat(low, 64)
		o.High, err2 = strconv.ParseFloat(high, 64)
		if err1 != nil || err2 != nil || !(o.Low < o.High) || math.IsInf(o.High-o.Low, 0) {
			return o, badf("query", "range %q: want two numbers such as 0:255", clip(span))
		}
	}
	return o, nil
}

// commas writes a shape.
func commas(shape []int64) string {
	texts := make([]string, len(shape))
	for i, n := range shape {
		texts[i] = fmt.Sprint(n)
	}
	return strings.Join(texts, ",")
}
