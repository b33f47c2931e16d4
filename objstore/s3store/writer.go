package s3store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// How an object is cut into parts. The cuts depend on nothing but the position,
// so the same bytes get the same ETag.
//
// Part 1 is the head, 5 MiB. Parts 2 to 801 have 8 MiB, the next 800 have 16,
// then 32 … 512 MiB, and from part 5602 on 1 GiB: 5 MiB + 800*1016 MiB + 4399
// GiB = 5192 GiB in 10 000 parts, more than the 5 TiB of an object.
//
// Memory of one Writer: the head (with what Rehead got), the part that is being filled, and those on
// their way: two below 32 MiB, one above. So 5+3*8 = 29 MiB up to 6.2 GiB
// written, 53 up to 18.7, 69 up to 43.7, then about 1/340 of what is written.
// Two Writers of a 256 MiB worker stay below 140 MiB up to 43 GiB each.
const (
	firstPart = 8 << 20
	perSize   = 800
	doublings = 7
	maxParts  = 10000   // S3's
	maxPart   = 5 << 30 // S3's
	bigPart   = 32 << 20
	inFlight  = 2 // parts that are sent at the same time
)

func partSize(n int32) int { return firstPart << min(int(n-2)/perSize, doublings) }

// abortTime is how long dropping an upload may take after its context has ended.
const abortTime = 15 * time.Second

// brief is how long a store that was silent may take to tell what became of an upload.
func (b *Bucket) brief() time.Duration { return max(b.cfg.Timeout/4, 0) }

// grace is how long a part may take to finish if the upload is dropped: the time of 8
// MiB at 20 MB/s.
const grace = 400 * time.Millisecond

// A writer sends one object. Up to 13 MiB (the head and one part) it sends a single PUT
// at Commit; beyond, a multipart upload whose first part goes last.
//
// The lock exists only because the end of ctx aborts from another goroutine.
type writer struct {
	b   *Bucket
	key string
	o   objstore.PutOptions

	ctx  context.Context //nolint:containedctx // that of Create: io.Writer has no room for one
	stop func() bool
	dry  func(objstore.Step) // a rehearsal: called in place of each request; nil: none
	// Parts are sent under a context of their own, which ends a moment after the
	// caller's.
	sending context.Context //nolint:containedctx // of the writer's goroutines
	cut     context.CancelFunc

	mu      sync.Mutex
	closed  bool
	err     error  // why it closed
	lead    []byte // bytes that Rehead put in front of head
	re      bool   // Rehead was called
	head    []byte // the rest of the first HeadSize bytes
	taken   int    // how many bytes of head Rehead has replaced
	part    []byte // being filled
	n       int32  // number of the part
	size    int64
	upload  *string
	parts   []types.CompletedPart // parts from number 2 on
	running int
	done    chan sent
	spare   []byte
}

// sent is the result of sending a part.
type sent struct {
	part types.CompletedPart
	buf  []byte
	err  error
}

// Create starts an object; it makes no request. An object of up to 13 MiB is a
// single PUT at Commit. A larger one is a multipart upload, whose parts go out
// during Write, at most two at once; memory is 29 MiB up to 6.2 GiB, 53 MiB up to
// 18.7 GiB, 69 MiB up to 43.7 GiB, then about 1/340 of the bytes written, and the
// bytes that Rehead got. Abort, and the end of ctx, abort the upload. Abort waits for
// that, about 15 s at most.
//
// If the answer to Commit was lost, a HEAD looks whether the object was published; it
// cannot tell if ETags are not made of MD5 (SSE-KMS), and the error stands. Names in
// o.Meta may have letters in lower case, digits, "-", "_" and "."; others are
// ErrInvalid.
func (b *Bucket) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	return b.create(ctx, key, o, nil)
}

// Rehearse implements objstore.Rehearser: the parts are those of Create.
func (b *Bucket) Rehearse(ctx context.Context, key string, o objstore.PutOptions, step func(objstore.Step)) (objstore.Writer, error) {
	return b.create(ctx, key, o, step)
}

func (b *Bucket) create(ctx context.Context, key string, o objstore.PutOptions, dry func(objstore.Step)) (objstore.Writer, error) {
	err := errors.Join(checkKey(key), checkMeta(o.Meta))
	if err == nil && o.IfAbsent && o.IfMatch != "" {
		err = fmt.Errorf("IfAbsent together with IfMatch: %w", objstore.ErrInvalid)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, b.fail(ctx, "put", key, objstore.Range{}, err)
	}
	w := &writer{b: b, key: key, o: o, n: 2, done: make(chan sent, copies), ctx: ctx, dry: dry}
	w.sending, w.cut = context.WithCancel(context.WithoutCancel(ctx))
	w.mu.Lock() // the context may end before stop is set
	defer w.mu.Unlock()
	w.stop = context.AfterFunc(ctx, w.Abort)
	return w, nil
}

// Write takes p. If a part is full and two parts are being sent (one if parts have
// 32 MiB or more), it waits.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	n := min(len(p), objstore.HeadSize-w.taken-len(w.head))
	w.head = append(w.head, p[:n]...)
	for n < len(p) {
		if w.part == nil {
			w.part = w.buffer()
		}
		if len(w.part) == cap(w.part) {
			if err := w.flush(w.ctx); err != nil {
				w.drop(w.fail(err))
				return n, w.err
			}
			continue
		}
		k := min(len(p)-n, cap(w.part)-len(w.part))
		w.part = append(w.part, p[n:n+k]...)
		n += k
	}
	w.size += int64(n)
	return n, nil
}

// rehearsed reports whether a request is only told of.
func (w *writer) rehearsed(op string, n int64) bool {
	if w.dry != nil {
		w.dry(objstore.Step{Op: op, Len: n})
	}
	return w.dry != nil
}

func (w *writer) usable() error {
	if w.err == nil && w.ctx.Err() != nil {
		w.drop(w.fail(w.ctx.Err()))
	}
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return &objstore.Error{Op: "put", Bucket: w.b.Name(), Key: w.key, Err: fmt.Errorf("writer is closed: %w", objstore.ErrInvalid)}
	}
	return nil
}

func (w *writer) fail(err error) error {
	if e := (*objstore.Error)(nil); errors.As(err, &e) {
		return err
	}
	return w.b.fail(w.ctx, "put", w.key, objstore.Range{}, err)
}

// buffer is an empty buffer for part n. It reuses a spare one of the right size and
// drops the others, so that the writer never holds more than its limits say.
func (w *writer) buffer() []byte {
	s, size := w.spare, partSize(w.n)
	w.spare = nil
	if cap(s) == size {
		return s[:0]
	}
	return make([]byte, 0, size)
}

// flush sends the part in the background. If there is no upload yet, it starts one.
func (w *writer) flush(ctx context.Context) error {
	if w.n > maxParts {
		return fmt.Errorf("more than %d parts: %w", maxParts, objstore.ErrInvalid)
	}
	if w.upload == nil {
		if err := w.begin(ctx); err != nil { // only from Write, so ctx is w.ctx
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := inFlight
	if cap(w.part) >= bigPart {
		limit = 1
	}
	if err := w.wait(ctx, limit-1); err != nil {
		return err
	}
	w.start(w.n, w.part, nil)
	w.part = nil
	w.n++
	return nil
}

// start sends a part: the bytes of before, then buf.
func (w *writer) start(n int32, buf, before []byte) {
	w.running++
	go func() {
		p, err := w.send(w.sending, n, pieces{before, buf})
		w.done <- sent{p, buf, err}
	}()
}

func (w *writer) begin(ctx context.Context) error {
	if w.rehearsed("create", 0) {
		w.upload = new(string)
		return nil
	}
	in := &s3.CreateMultipartUploadInput{Bucket: &w.b.cfg.Bucket, Key: &w.key, ContentType: opt(w.o.ContentType),
		Metadata: encodeMeta(w.o.Meta), RequestPayer: w.b.payer}
	if w.b.cfg.Checksum == Always {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	// If ctx cut off the request, an upload with an unknown id could remain.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(w.ctx, func() { time.AfterFunc(grace, cancel) })() //nolint:contextcheck // its end is what is looked for
	return w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
		out, err := w.b.client.CreateMultipartUpload(ctx, in, with)
		if err != nil {
			return err
		}
		if _, err := named(out.UploadId, "UploadId"); err != nil {
			return err
		}
		w.upload = out.UploadId
		return nil
	})
}

// wait returns once at most n parts are being sent.
func (w *writer) wait(ctx context.Context, n int) error {
	for w.running > n {
		select {
		case s := <-w.done:
			w.running--
			w.spare = s.buf
			if s.err != nil {
				return s.err
			}
			w.parts = append(w.parts, s.part)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *writer) send(ctx context.Context, n int32, part pieces) (types.CompletedPart, error) {
	if w.rehearsed("part", part.size()) {
		return types.CompletedPart{PartNumber: &n}, nil
	}
	p := types.CompletedPart{PartNumber: &n, ChecksumCRC32: w.b.checksum(part)}
	ctx = silence.More(ctx, httplimit.Work(part.size()), false)
	err := w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
		out, err := w.b.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &w.b.cfg.Bucket, Key: &w.key, UploadId: w.upload,
			PartNumber: &n, Body: part.reader(), ChecksumCRC32: p.ChecksumCRC32, RequestPayer: w.b.payer}, with)
		if err == nil {
			_, err = named(out.ETag, "ETag")
		}
		if err == nil {
			p.ETag = out.ETag
		}
		return err
	})
	return p, err
}

// checksum is the CRC-32 of what is sent, in mode Always. It is known before the body,
// so a header holds it, and not a trailer, which some stores refuse.
func (b *Bucket) checksum(bufs pieces) *string {
	if b.cfg.Checksum != Always {
		return nil
	}
	h := crc32.NewIEEE()
	for _, p := range bufs {
		h.Write(p)
	}
	s := base64.StdEncoding.EncodeToString(h.Sum(nil))
	return &s
}

// Patch overwrites bytes that were written, inside the head.
func (w *writer) Patch(off int64, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	head, lead := int64(len(w.lead)+len(w.head)), int64(len(w.lead))
	if off < 0 || off > head || int64(len(p)) > head-off {
		return w.fail(fmt.Errorf("patch [%d, +%d) of a head of %d bytes: %w", off, len(p), head, objstore.ErrInvalid))
	}
	if off < lead {
		n := copy(w.lead[off:], p)
		p, off = p[n:], lead
	}
	copy(w.head[off-lead:], p)
	return nil
}

// Rehead replaces the first n bytes by p, which is sent with part 1.
func (w *writer) Rehead(n int64, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	// p must not be shorter, or part 1 could become shorter than the least part.
	if w.re || n < 0 || n > int64(len(w.head)) || int64(len(p)) < n || int64(len(p)) > maxPart-objstore.HeadSize {
		return w.fail(fmt.Errorf("%d bytes for the first %d of a head of %d: %w", len(p), n, len(w.head), objstore.ErrInvalid))
	}
	w.lead, w.head, w.taken, w.re = p, w.head[n:], int(n), true
	w.size += int64(len(p)) - n
	return nil
}

// Abort aborts the upload, and waits until that is done.
func (w *writer) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.ctx.Err() != nil && !w.closed {
		err = w.fail(w.ctx.Err())
	}
	w.drop(err)
}

// drop closes the writer for the reason err and aborts the upload. It lets parts that
// are being sent finish: a store keeps, and bills, a part that it has in full even if
// the upload is gone.
func (w *writer) drop(err error) {
	if w.closed {
		return
	}
	late := time.AfterFunc(grace, w.cut)
	for ; w.running > 0; w.running-- {
		<-w.done
	}
	late.Stop()
	w.close(err)
	if w.upload == nil || w.dry != nil {
		return
	}
	limit := abortTime
	if silence.Is(err) {
		limit = min(limit, w.b.brief())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), limit)
	defer cancel()
	if err := w.abort(ctx); err != nil && w.b.cfg.Logger != nil {
		w.b.cfg.Logger.WarnContext(ctx, "upload not aborted", "bucket", w.b.Name(), "key", w.key, "upload", aws.ToString(w.upload), "err", err)
	}
}

// abort removes the upload. It then checks whether a part that was cut off has brought
// the upload back.
func (w *writer) abort(ctx context.Context) error {
	for pause := 20 * time.Millisecond; ; pause *= 3 {
		err := w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
			_, err := w.b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &w.b.cfg.Bucket, Key: &w.key,
				UploadId: w.upload, RequestPayer: w.b.payer}, with)
			return err
		})
		if err == nil {
			err = w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
				_, err := w.b.client.ListParts(ctx, &s3.ListPartsInput{Bucket: &w.b.cfg.Bucket, Key: &w.key,
					UploadId: w.upload, MaxParts: aws.Int32(1), RequestPayer: w.b.payer}, with)
				return err
			})
		}
		switch err = w.b.fail(ctx, "abort", w.key, objstore.Range{}, err); {
		case errors.Is(err, objstore.ErrNotFound):
			return nil // no parts are left, as expected
		case errors.Is(err, objstore.ErrDenied):
			return err // listing parts needs its own permission
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(err, ctx.Err())
		}
	}
}

func (w *writer) close(err error) {
	w.closed, w.err = true, err
	w.stop()
	w.cut()
	w.lead, w.head, w.part, w.spare = nil, nil, nil, nil
}

// pieces are slices that are read one after another.
type pieces [][]byte

func (s pieces) reader() io.ReadSeeker { return io.NewSectionReader(s, 0, s.size()) }

func (s pieces) size() (n int64) {
	for _, p := range s {
		n += int64(len(p))
	}
	return n
}

func (s pieces) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for _, b := range s {
		if off < int64(len(b)) {
			k := copy(p[n:], b[off:])
			n, off = n+k, off+int64(k)
		}
		if n == len(p) {
			return n, nil
		}
		off -= int64(len(b))
	}
	return n, io.EOF
}
