package farread

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/avif"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// data is a dataset without its capabilities. The structs that embed data have a part
// for each capability. The driver knows the format.
type data struct {
	driver

	name  string
	place Place
	can   []string
}

// A driver does the work of data that depends on the format.
type driver interface {
	Source(ctx context.Context) (Source, error)
	Current(ctx context.Context) (bool, error)
	// Entries may ignore the Limit.
	Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error]
	Verify(ctx context.Context, progress formats.Progress) (Report, error)
	Handle() any
	HeldBytes() int64
	// describe adds to out what the format knows.
	describe(ctx context.Context, o DescribeOptions, out *Description) error
}

func (d *data) Format() string { return d.name }

func (d *data) Place() Place { return d.place }

func (d *data) Describe(ctx context.Context, o DescribeOptions) (Description, error) {
	out := Description{Format: d.name, Place: d.place, Can: slices.Clone(d.can), Entries: -1, NBytes: -1, CBytes: -1}
	var err error
	if out.Source, err = d.Source(ctx); err != nil {
		return out, err
	}
	return out, d.describe(ctx, o, &out)
}

// Entries ends the driver's Entries at the limit.
func (d *data) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	if o.Limit <= 0 {
		return d.driver.Entries(ctx, o)
	}
	return func(yield func(Entry, error) bool) {
		n := int64(0)
		for e, err := range d.driver.Entries(ctx, o) {
			if n++; !yield(e, err) || n >= o.Limit {
				return
			}
		}
	}
}

// enabled notes the capabilities of d in core.
func enabled(d Dataset, core *data) Dataset {
	core.can = capabilities(d)
	return d
}

// ownBytes is about the memory of a dataset, without what its format keeps.
const ownBytes = 1 << 10

// single is the part of a driver for datasets of one object.
type single struct{ ob *objstore.Object }

func (s single) Source(context.Context) (Source, error) { return sourceOf(s.ob), nil }

func (s single) Current(ctx context.Context) (bool, error) { return s.ob.Current(ctx) }

func sourceOf(ob *objstore.Object) Source {
	in := ob.Info()
	return Source{Size: in.Size, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, ID: versionOf(ob)}
}

// versionOf returns a hash of the values that identify the bytes of an object with
// certainty, or "" if there are none.
func versionOf(ob *objstore.Object) string {
	in := ob.Info()
	if in.VersionID == "" && (in.ETag == "" || strings.HasPrefix(in.ETag, "W/")) {
		return ""
	}
	return hashed(ob.Bucket().Name(), in.Key, in.ETag, in.VersionID, strconv.FormatInt(in.Size, 10), in.ContentEncoding)
}

// hashed returns a hash of texts and their lengths.
func hashed(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d %s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// located sets the key and the offset in the bucket for each request of a plan. The
// plan is of a part of an object, which begins at off.
func located(requests []rangeio.Planned, key string, off int64) []rangeio.Planned {
	for i := range requests {
		requests[i].Object = key
		requests[i].Off += off
	}
	return requests
}

// ranges is the Ranger part of a dataset that is one object.
type ranges struct{ ob *objstore.Object }

func (w ranges) Object() *objstore.Object { return w.ob }

func (w ranges) ReadRange(ctx context.Context, dst []byte, off int64) error {
	return w.ob.ReadRanges(ctx, []rangeio.Span{{Off: off, P: dst}})
}

func (w ranges) ExplainRange(_ context.Context, off, n int64) (Plan, error) {
	if size := w.ob.Size(); off < 0 || n < 0 || off > size || n > size-off {
		return Plan{}, &objstore.Error{Op: "get", Bucket: w.ob.Bucket().Name(), Key: w.ob.Info().Key,
			Err: fmt.Errorf("%d bytes from %d of %d: %w", n, off, size, objstore.ErrInvalid)}
	}
	p := Plan{Size: n}
	for at := off; at < off+n; { // the plan is made in parts, so that a plan of a terabyte takes no memory
		k := min(off+n-at, planPart)
		for _, r := range w.ob.Plan([]rangeio.Span{{Off: at, P: make([]byte, k)}}) {
			p.Requests = append(p.Requests, rangeio.Planned{Phase: 1, Object: w.ob.Info().Key, Off: r.Off, Len: r.Len, Why: "bytes"})
		}
		at += k
	}
	return p, nil
}

// planPart is the number of bytes that are planned together. Their memory is never
// touched.
const planPart = 256 << 20

// resume returns the number behind the number in a cursor.
func resume(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(after, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != after {
		return 0, fmt.Errorf("cursor %q: %w", after, objstore.ErrInvalid)
	}
	return n + 1, nil
}

// from returns the number of the first wanted entry out of n.
func (o EntriesOptions) from(n int64) (int64, error) {
	from, err := resume(o.After)
	if err == nil && from > n {
		err = fmt.Errorf("cursor %q of %d entries: %w", o.After, n, objstore.ErrInvalid)
	}
	return from, err
}

// to returns the number behind the last wanted entry out of n.
func (o EntriesOptions) to(from, n int64) int64 {
	if o.Limit > 0 && o.Limit < n-from {
		return from + o.Limit
	}
	return n
}

// numbered yields n entries that are known beforehand.
func numbered(after string, n int64, entry func(i int64) Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := EntriesOptions{After: after}.from(n)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for i := from; i < n; i++ {
			e := entry(i)
			e.Cursor = cursor(i)
			if !yield(e, nil) {
				return
			}
		}
	}
}

// cursor returns the cursor of entry n.
func cursor(n int64) string { return strconv.FormatInt(n, 10) }

// MediaType returns the type of an image by its first bytes: "image/jpeg", "image/png",
// "image/gif", "image/webp", "image/avif" or "image/bmp". For all other bytes it returns
// "application/octet-stream", also if a browser would run them or show them as text.
func MediaType(p []byte) string {
	switch t := http.DetectContentType(p[:min(len(p), 512)]); t {
	case "image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp":
		return t
	}
	if avif.Is(p) {
		return "image/avif"
	}
	return "application/octet-stream"
}
