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
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// data is a dataset but for its capabilities, which are parts of the structs that
// embed it. Its driver knows the format.
type data struct {
	driver

	name  string
	place Place
	can   []string
}

// A driver does for data what a format is needed for.
type driver interface {
	Source(ctx context.Context) (Source, error)
	Current(ctx context.Context) (bool, error)
	Entries(ctx context.Context, after string) iter.Seq2[Entry, error]
	Verify(ctx context.Context, progress formats.Progress) (Report, error)
	Handle() any
	// describe adds what the format has to tell.
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

// enabled notes what the whole of d is able to.
func enabled(d Dataset, core *data) Dataset {
	core.can = capabilities(d)
	return d
}

// single is the part of a driver that looks at one object.
type single struct{ ob *objstore.Object }

func (s single) Source(context.Context) (Source, error) { return sourceOf(s.ob), nil }

func (s single) Current(ctx context.Context) (bool, error) { return s.ob.Current(ctx) }

func sourceOf(ob *objstore.Object) Source {
	in := ob.Info()
	return Source{Size: in.Size, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, ID: versionOf(ob)}
}

// versionOf is a hash of what names the bytes of an object for certain, "" if nothing
// does.
func versionOf(ob *objstore.Object) string {
	in := ob.Info()
	if in.VersionID == "" && (in.ETag == "" || strings.HasPrefix(in.ETag, "W/")) {
		return ""
	}
	return hashed(ob.Bucket().Name(), in.Key, in.ETag, in.VersionID, strconv.FormatInt(in.Size, 10), in.ContentEncoding)
}

// hashed is a hash of texts, with the lengths of them.
func hashed(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		fmt.Fprintf(h, "%d %s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// located gives the requests of a plan the key and the offset that they have in the
// bucket, for parts of an object that begins at off.
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
	for at := off; at < off+n; { // in parts, so that a plan of a terabyte takes no memory
		k := min(off+n-at, planPart)
		for _, r := range w.ob.Plan([]rangeio.Span{{Off: at, P: make([]byte, k)}}) {
			p.Requests = append(p.Requests, rangeio.Planned{Phase: 1, Object: w.ob.Info().Key, Off: r.Off, Len: r.Len, Why: "bytes"})
		}
		at += k
	}
	return p, nil
}

// planPart is how many bytes are planned together: memory that is never touched.
const planPart = 256 << 20

// resume turns the cursor of an entry into the number behind it.
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

// numbered yields n entries that are known beforehand.
func numbered(after string, n int64, entry func(i int64) Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := resume(after)
		if err == nil && from > n {
			err = fmt.Errorf("cursor %q of %d entries: %w", after, n, objstore.ErrInvalid)
		}
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

// cursor is that of entry n.
func cursor(n int64) string { return strconv.FormatInt(n, 10) }

// MediaType names the type of an image by its first bytes: "image/jpeg", "image/png",
// "image/gif", "image/webp", "image/bmp"; "application/octet-stream" of all else, also
// of what a browser would run or show as text.
func MediaType(p []byte) string {
	switch t := http.DetectContentType(p[:min(len(p), 512)]); t {
	case "image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp":
		return t
	default:
		return "application/octet-stream"
	}
}
