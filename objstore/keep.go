package objstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farread/farread/rangeio"
)

// A Keeper keeps bytes of the objects of one bucket from one run of a program to the
// next, as package diskcache does. Its methods are safe for concurrent use, and have no
// errors: what cannot be kept or found is read from the store.
//
// An Object that is opened with a Keeper asks it before it plans a read, so that kept
// bytes need no request, and gives it the bytes that it has read and compared with the
// pin. A Keeper is not a Middleware: a Middleware would see planned requests instead of
// spans, and its answers would count as those of the store in a Pace.
type Keeper interface {
	// Last describes the object as the last Open saw it. versionID is that of
	// OpenOptions. fresh says that the store need not be asked whether this is still
	// so. ok is false if nothing is known.
	Last(key, versionID string) (in Info, fresh, ok bool)
	// Version returns what is kept of the version that in describes, by in.Key.
	Version(in Info) Kept
	// Distrust says that an object was found replaced: whatever the store was asked
	// about before now is no longer fresh.
	Distrust()
}

// Kept are the kept bytes of one version of one object. Its methods are safe for
// concurrent use.
type Kept interface {
	// Missing returns the parts of spans that are not kept, ordered as spans are, and
	// for each part the number of its span. With fill it copies the bytes that are kept
	// and intact into the spans. Spans are not empty and lie inside the object.
	Missing(spans []rangeio.Span, fill bool) (rest []rangeio.Span, index []int)
	// Keep keeps a copy of the bytes of spans, as far as it can.
	Keep(spans []rangeio.Span)
	// Seen says that in describes the object now, as the store has just answered, for
	// opens with this versionID.
	Seen(versionID string, in Info)
	// Drop forgets the version: the store has another one now, or the bytes are wrong.
	Drop()
}

// version names the bytes of an object for caches: two Infos of one key with the same
// name describe the same bytes, if they have a version or a strong ETag.
func (in Info) version() string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%d\x00%s", in.ETag, in.VersionID, in.Size, in.ModTime.UnixNano(), in.ContentEncoding)
}

// named reports whether a version or a strong ETag names the bytes.
func (in Info) named() bool { return in.VersionID != "" || strong(in.ETag) }

// openKept opens the object out of the Keeper, if that has all that Open reads. It asks
// the store for one byte, whose answer describes the object as it is now, unless the
// Keeper says that this is not needed. It returns false if Open has to read.
func (o *object) openKept(ctx context.Context, key string) (bool, error) {
	if o.o.Keep == nil || o.fill != nil {
		return false, nil
	}
	known, fresh, ok := o.o.Keep.Last(key, o.o.VersionID)
	if !ok || o.o.IfMatch != "" && o.o.IfMatch != known.ETag {
		return false, nil
	}
	known.Key = key
	kept := o.o.Keep.Version(known)
	parts := o.parts(known.Size)
	if rest, _ := kept.Missing(full(parts[:]), true); len(rest) > 0 {
		return false, nil
	}
	if !fresh {
		now, err := o.look(ctx, key)
		if errors.Is(err, ErrBadRange) { // a server that refuses to send one byte
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if now.version() != known.version() {
			kept.Drop()
			return false, nil
		}
		known = now
		kept.Seen(o.o.VersionID, now)
	}
	o.info, o.disk = known, kept
	o.head, o.tail, o.also = parts[0].P, parts[1].P, parts[2].P
	o.near(full(parts[:]), nil)
	return true, nil
}

// look asks the store for the first byte, and returns the Info of the answer.
func (o *object) look(ctx context.Context, key string) (Info, error) {
	defer o.begin(ctx)()
	p, err := o.openPart(ctx, key, Range{0, 1}, nil)
	p.info.Key = key
	return p.info, err
}

// parts are what open reads of an object of a known size: head, tail and
// OpenOptions.Also. Those that it does not read are empty.
func (o *object) parts(size int64) (parts [3]rangeio.Span) {
	if o.o.Head > 0 {
		n := min(o.o.Head, size)
		parts[0].P = o.o.Buf
		if int64(len(parts[0].P)) < n {
			parts[0].P = make([]byte, n)
		}
		parts[0].P = parts[0].P[:n]
	}
	if n := min(o.o.Tail, size); n > 0 && size > int64(len(parts[0].P)) {
		parts[1] = rangeio.Span{Off: size - n, P: make([]byte, n)}
	}
	if a := o.o.Also; a.Len > 0 && a.Off >= 0 && a.Off < size {
		parts[2] = rangeio.Span{Off: a.Off, P: make([]byte, min(a.Len, size-a.Off))}
	}
	return parts
}

// full returns the spans that are not empty.
func full(spans []rangeio.Span) []rangeio.Span {
	var out []rangeio.Span
	for _, s := range spans {
		if len(s.P) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// keepOpened gives the Keeper what open has read.
func (o *object) keepOpened() {
	if o.o.Keep == nil || o.fill != nil || !o.info.named() || o.info.Size <= 0 {
		return
	}
	o.disk = o.o.Keep.Version(o.info)
	o.keep(full([]rangeio.Span{{P: o.head}, {Off: o.info.Size - int64(len(o.tail)), P: o.tail}, {Off: o.o.Also.Off, P: o.also}}))
	o.disk.Seen(o.o.VersionID, o.info)
}

// keep gives the Keeper bytes that were read.
func (o *object) keep(spans []rangeio.Span) {
	if o.disk != nil {
		o.disk.Keep(spans)
	}
}

// forget drops what is kept, if err says that the object was replaced or that its bytes
// are wrong.
func (o *object) forget(err error) {
	if o.disk != nil && (errors.Is(err, ErrChanged) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNotFound)) {
		o.disk.Drop()
		o.o.Keep.Distrust()
	}
}

// onDisk cuts from spans what the Keeper has. index has the number of each span in the
// caller's list; the result has that of each part.
func (o *object) onDisk(spans []rangeio.Span, index []int, fill bool) ([]rangeio.Span, []int) {
	if o.disk == nil || len(spans) == 0 {
		return spans, index
	}
	rest, of := o.disk.Missing(spans, fill)
	if fill {
		o.near(spans, rest)
	}
	for i := range of {
		of[i] = index[of[i]]
	}
	return rest, of
}

// near counts the bytes of spans that are not in rest.
func (o *object) near(spans, rest []rangeio.Span) {
	n := length(spans) - length(rest)
	if n > 0 {
		o.count.AddKept(n)
		o.o.Counter.AddKept(n)
	}
}

func length(spans []rangeio.Span) (n int64) {
	for i := range spans {
		n += int64(len(spans[i].P))
	}
	return n
}

// lastOf calls done for the span of a part, once its last part has come. index has the
// number of the span of each part, in order.
func lastOf(index []int, done func(int) error) func(int) error {
	repeated := false
	for i := 1; i < len(index); i++ {
		repeated = repeated || index[i] == index[i-1]
	}
	if !repeated {
		return func(i int) error { return done(index[i]) }
	}
	first := make([]int, len(index)) // place of the first part of the same span
	for i := 1; i < len(index); i++ {
		first[i] = i
		if index[i] == index[i-1] {
			first[i] = first[i-1]
		}
	}
	left := make([]atomic.Int32, len(index))
	for _, f := range first {
		left[f].Add(1)
	}
	return func(i int) error {
		if left[first[i]].Add(-1) > 0 {
			return nil
		}
		return done(index[i])
	}
}
