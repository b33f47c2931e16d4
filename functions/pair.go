package functions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// ErrBusy is matched if other workers won every conditional write of five tries: the
// message goes back to the queue.
var ErrBusy = errors.New("other workers write the same output")

// ErrTaken is matched if the key of an output holds something that is not made of
// the same upload. Such an error also matches formats.ErrUnsupported: trying again does
// not help.
var ErrTaken = errors.New("the output's key is taken")

// ErrOutput is matched by failures of the bucket that is written to. Such an error
// says nothing about the upload, even if it also matches objstore.ErrNotFound or
// another sentinel. Errors that a Maker or a Filler returns are not marked, even
// if its writes failed.
var ErrOutput = errors.New("output")

var (
	errLost   = errors.New("a conditional write was lost")
	errLayout = errors.New("the data object is not what this version writes")
)

const (
	// maxTries is how often a worker that lost writes again, before the queue's
	// own delay takes over.
	maxTries = 5
	// backoff is the first pause after a loss; it doubles, with jitter. Workers
	// that lost together should not meet again.
	backoff = 10 * time.Millisecond
)

// A Pair is an output of two objects, a data object and the index that commits
// it. Publish writes the data first and then the index, whose metadata name the data
// by ETag: a reader that finds other data has met a pair that is being replaced.
//
// Every worker that ends without an error has seen one of three things: a whole
// pair made of its own version of the upload or a newer one; a half of a pair
// made of a newer version, whose own worker is still at it or will be called
// again; or that the version was replaced or deleted, of which another event tells.
// So the newest version wins in any order of events, and a half-written
// pair is always somebody's open task.
type Pair struct {
	Bucket     objstore.Bucket
	Data, Meta string // keys
	// Layout names what besides the upload's bytes decides the data: the writer's
	// version, options, the members of a folder. For a later event of the same version,
	// existing data are kept only if their layout is the same. A complete pair of the
	// same upload is kept in any case.
	Layout string
	// Replace treats objects that were made from something else as older versions; if it
	// is false, they are ErrTaken. They stay as they are until the new ones are complete.
	Replace bool
	// Side, if not nil, makes an object that is of use only together with these two, such
	// as an index that names both by ETag. Publish writes it last, under SideKey. If Side
	// returns no bytes, nothing is written, and an older one is deleted if the index of the
	// pair was longer before: it may have been worth one. If Publish ends before it is
	// written or deleted, an older one stays, which names other ETags.
	Side    func(data, meta objstore.Info) ([]byte, error)
	SideKey string
	// Unsided, if not nil, is told why the object of Side was not written. The pair is
	// there then, and Publish does not fail.
	Unsided func(error)
}

// A Maker streams the data made of u and returns what writes the index, which is
// called at most once, after the data. A Maker may run more than once, and must write
// the same bytes each time for the same upload and layout. If data is discarded, only
// its length counts. u may be a newer version than the one that Publish was
// called with; a Maker reads the version that u names, or fails with objstore.ErrChanged
// or objstore.ErrNotFound.
type Maker func(ctx context.Context, u Upload, data io.Writer) (meta func(io.Writer) error, err error)

// half is the present state of one object of the output.
type half struct {
	there bool
	info  objstore.Info
	of    Upload
	other bool // the object was made from something else; of has no meaning
}

type standing struct{ data, meta half }

// whole reports whether the index names the data that is there.
func (s standing) whole() bool {
	return s.data.there && s.meta.there && s.meta.info.Meta[MetaDataETag] == s.data.info.ETag
}

// Publish makes the pair from u and returns its two objects, the data first. If the
// pair of u or of a newer version is there already, or u was replaced, it returns
// nothing. src is asked which version is the current one if sequencers do not
// tell. Errors of run keep their identity; others match ErrOutput, ErrTaken, or ErrBusy,
// or are those of src. Finding a whole pair costs two HEADs; writing one costs at
// least a third besides the writes.
func (p Pair) Publish(ctx context.Context, src objstore.Bucket, u Upload, run Maker) ([]objstore.Info, error) {
	reuse := true
	for try := range maxTries {
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
		st, err := p.look(ctx, u)
		if err != nil {
			return nil, err
		}
		todo, err := decide(ctx, &clock{src: src}, u, st)
		if err != nil || todo == nil {
			return nil, err
		}
		have := st.data
		if !reuse || !p.holds(st, *todo) {
			have = half{}
		}
		infos, err := p.write(ctx, *todo, st, have, run)
		mine := *todo == u
		switch {
		case err == nil && mine:
			return infos, nil
		case err == nil, errors.Is(err, errLost):
		case errors.Is(err, errLayout):
			reuse = false
		case !mine && !errors.Is(err, ErrOutput) && gone(err, u.Key):
			return nil, nil // the version to repair from is gone: a newer event follows
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %d tries: %w", p.Meta, maxTries, ErrBusy)
}

// look asks for both halves at once.
func (p Pair) look(ctx context.Context, u Upload) (standing, error) {
	var st standing
	g, gctx := errgroup.WithContext(ctx)
	for key, h := range map[string]*half{p.Data: &st.data, p.Meta: &st.meta} {
		g.Go(func() error {
			var err error
			*h, err = lookOver(gctx, p.Bucket, key, u, p.Replace)
			return err
		})
	}
	return st, g.Wait()
}

// lookOver is lookAt. If replace is set, an object that is made of something else is
// not an error.
func lookOver(ctx context.Context, b objstore.Bucket, key string, u Upload, replace bool) (half, error) {
	h, err := lookAt(ctx, b, key, u)
	if replace && errors.Is(err, ErrTaken) {
		return half{there: true, info: h.info, other: true}, nil
	}
	return h, err
}

// lookAt returns the state of the object under key. If the object was not made from u's
// key, it returns the state and ErrTaken.
func lookAt(ctx context.Context, b objstore.Bucket, key string, u Upload) (half, error) {
	info, err := b.Head(ctx, key)
	if errors.Is(err, objstore.ErrNotFound) {
		return half{}, nil
	}
	if err != nil {
		return half{}, output(err)
	}
	of, ok := SourceOf(info.Meta)
	if !ok || of.Bucket != u.Bucket || of.Key != u.Key {
		return half{info: info}, fmt.Errorf("%s is not made of %s/%s: %w: %w", key, u.Bucket, u.Key, ErrTaken, formats.ErrUnsupported)
	}
	return half{there: true, info: info, of: of}, nil
}

// decide returns the version of the upload to make the pair from: usually u,
// nil if nothing is to do, and rarely a newer version whose data an older one
// overwrote.
func decide(ctx context.Context, c *clock, u Upload, st standing) (*Upload, error) {
	made := st.whole() && sameVersion(st.meta.of, u) // then it makes no difference whether u is the current version
	if u.Sequencer == "" && !made {
		if is, err := c.isCurrent(ctx, u); err != nil || !is {
			return nil, err
		}
	}
	meta, data := older, older
	var err error
	if st.meta.there && !st.meta.other {
		if meta, err = c.age(ctx, st.meta.of, u); err != nil {
			return nil, err
		}
	}
	if st.data.there && !st.data.other {
		if data, err = c.age(ctx, st.data.of, u); err != nil {
			return nil, err
		}
	}
	switch {
	case meta >= same && st.whole():
		return nil, nil
	case data == newer && meta == newer:
		// Either another worker is still making a half of a newer version. Or the data
		// are of an older version than the index: then the pair has to be made again,
		// see below.
		if over, err := c.age(ctx, st.meta.of, st.data.of); err != nil || over != newer {
			return nil, err
		}
	case data == newer:
		return nil, nil
	case meta != newer:
		return &u, nil
	}
	// The index is newer than the data: an older worker overwrote the data, which is
	// possible if two versions have equal ETags (S3 hashes content only). Make the pair
	// again from the index's version. The data may also be newer than u, if a worker
	// that repaired a pair ran at the same time as the worker of the newest version.
	w := st.meta.of
	return &w, nil
}

// holds reports whether the existing data are the data of u, so that only the index
// has to be written. These are data that were made of this very event, and data of a
// whole pair that was made of an earlier upload of the same bytes. In the second case
// the index records the later sequencer and the data keep the earlier one. Decisions
// stay right: while the pair is whole the index decides, and a late worker that
// overwrites the data loses the index, whose seal is of the later event, and has to
// mend the pair.
func (p Pair) holds(st standing, u Upload) bool {
	if !st.data.there || st.data.info.Meta[MetaLayout] != p.Layout {
		return false
	}
	of := st.data.of
	return sameSource(of, u) || st.whole() && strong(u.ETag) && sameVersion(of, u)
}

// strong reports whether an ETag is strong: it identifies bytes.
func strong(etag string) bool { return etag != "" && !strings.HasPrefix(etag, "W/") }

// sameSource reports whether a and b are the same version of the same upload. The sizes
// in their events do not count.
func sameSource(a, b Upload) bool {
	a.Size, b.Size = 0, 0
	return a == b
}

// write makes data and index. If have is set, the data are there already and only the
// index is written.
func (p Pair) write(ctx context.Context, u Upload, st standing, have half, run Maker) ([]objstore.Info, error) {
	data, meta, err := p.writeData(ctx, u, st.data, have, run)
	if err != nil {
		return nil, err
	}
	md := u.meta(p.Layout)
	md[MetaDataETag] = data.ETag
	if data.VersionID != "" {
		md[MetaDataVersion] = data.VersionID
	}
	index, err := put(ctx, p.Bucket, p.Meta, st.meta, objstore.PutOptions{ContentType: "application/json", Meta: md}, func(w objstore.Writer) error {
		if err := meta(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, seal(u))
		return err
	})
	if err != nil {
		return nil, err
	}
	now, err := p.Bucket.Head(ctx, p.Data)
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return nil, output(err)
	}
	if now.ETag != data.ETag {
		return nil, errLost // another worker's data came between: look again whose version is newer
	}
	if err := p.side(ctx, u, data, index, st.meta); err != nil && p.Unsided != nil {
		p.Unsided(err)
	}
	return []objstore.Info{data, index}, nil
}

// side writes the object of Side. old is the index of the pair that was there before.
func (p Pair) side(ctx context.Context, u Upload, data, meta objstore.Info, old half) error {
	if p.Side == nil {
		return nil
	}
	b, err := p.Side(data, meta)
	if err != nil {
		return err
	}
	if b == nil {
		if old.there && old.info.Size > meta.Size {
			// Readers pass it over, so nothing depends on the right to delete.
			_ = p.Bucket.Delete(ctx, p.SideKey)
		}
		return nil
	}
	_, err = objstore.Put(ctx, p.Bucket, p.SideKey, bytes.NewReader(b), objstore.PutOptions{ContentType: "application/octet-stream", Meta: u.meta(p.Layout)})
	return err
}

func (p Pair) writeData(ctx context.Context, u Upload, old, have half, run Maker) (info objstore.Info, meta func(io.Writer) error, err error) {
	if have.there {
		var n count
		if meta, err = run(ctx, u, &n); err != nil {
			return info, nil, err
		}
		if int64(n) != have.info.Size {
			return info, nil, fmt.Errorf("%d bytes, not %d: %w", int64(n), have.info.Size, errLayout)
		}
		return have.info, meta, nil
	}
	info, err = put(ctx, p.Bucket, p.Data, old, objstore.PutOptions{ContentType: "application/octet-stream", Meta: u.meta(p.Layout)}, func(w objstore.Writer) error {
		meta, err = run(ctx, u, w)
		return err
	})
	return info, meta, err
}

// put writes key on the condition that it is still as old says, else it fails with
// errLost. Errors of fill are wrapped, so that errors.Is finds them.
func put(ctx context.Context, b objstore.Bucket, key string, old half, o objstore.PutOptions, fill func(objstore.Writer) error) (objstore.Info, error) {
	o.IfAbsent = !old.there
	o.IfMatch = old.info.ETag
	w, err := b.Create(ctx, key, o)
	if err != nil {
		return objstore.Info{}, lost(err, old.there)
	}
	defer w.Abort()
	if err := fill(w); err != nil {
		return objstore.Info{}, err
	}
	info, err := w.Commit(ctx)
	if err != nil {
		return objstore.Info{}, lost(err, old.there)
	}
	return info, nil
}

// lost tells a refused condition from other failures. An object that had to
// match and was deleted counts, too.
func lost(err error, matched bool) error {
	if errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrChanged) || matched && errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return output(err)
}

func output(err error) error { return fmt.Errorf("%w: %w", ErrOutput, err) }

// seal is white space at the end of an index, different for every version of the
// upload. ETags are hashes of content on S3. Without the seal, a version with the
// content of an earlier one would give the index an ETag that it had before. A late
// worker that still waits to replace that earlier index would then replace the newer
// one.
func seal(u Upload) string {
	sum := sealOf(u)
	var s strings.Builder
	s.WriteByte('\n')
	for i := range 64 {
		s.WriteByte(" \t"[sum[i/8]>>(i%8)&1])
	}
	s.WriteByte('\n')
	return s.String()
}

// sealOf hashes the identity of an upload's version, and extra strings. Two versions
// never share a seal, even with equal bytes.
func sealOf(u Upload, more ...string) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q", append([]string{u.Bucket, u.Key, u.ETag, u.VersionID, u.Sequencer}, more...)))
}

// pause waits before try n; the first comes at once.
func pause(ctx context.Context, n int) error {
	if n == 0 {
		return ctx.Err()
	}
	d := backoff << n
	t := time.NewTimer(d/2 + rand.N(d)) //nolint:gosec // jitter needs no secrecy
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// count is a writer that counts bytes, for a data object whose length alone
// matters.
type count int64

func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}
