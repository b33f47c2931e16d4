package farread

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// FrameOptions tune OpenFrame, OpenArray and OpenChunk. The zero value is right for
// most: limits follow the client's MaxMemory.
type FrameOptions struct {
	cframe.Options
	// Offset is the number of the byte at which the frame, or the chunk, begins in the
	// object.
	Offset int64
	// Beside says that an index of the frame probably lies beside it. It is then opened
	// at the same time as the frame. If Beside is not set, a Client expects an index
	// beside the frame if the last file that it read in the same folder had one. If none
	// is expected and none lies inside the frame, the first read that needs the block
	// starts of 16 chunks or more looks for one, at the cost of one request. A frame
	// with an Offset has no index beside it.
	Beside bool

	early *earlySide // result of openBoth
}

// A Frame is an open Blosc2 frame with its object.
type Frame struct {
	*cframe.Frame
	// Object holds the frame. For a sparse frame it holds the index.
	Object *objstore.Object
	// Folder is the key of a sparse frame's folder, with its slash. It is "" for other
	// frames.
	Folder string

	beside *atomic.Pointer[objstore.Object] // the index beside the frame, after it was opened; nil: never
}

// An Array is an open b2nd array with its frame.
type Array struct {
	*b2nd.Array
	Source *Frame
}

// frameEnds returns how many bytes of a frame to fetch when it is opened: a head and a
// tail, fetched at the same time. They hold the header and the offsets, except in the
// largest frames. What a policy that saves time allows goes to the tail, which has the
// index, too; one that saves requests takes more of the head as well, for short frames.
func (c *Client) frameEnds() objstore.OpenOptions {
	tail := c.endLen()
	return objstore.OpenOptions{Head: min(max(c.c.Policy.Free/2, leastEnd), tail), Tail: tail}
}

// leastEnd is what is fetched of an end of an object if the policy saves bytes: room for
// 1,000 offsets and a trailer.
const leastEnd = 16 << 10

// endLen returns how many bytes to fetch of the end of an object that has its index there.
func (c *Client) endLen() int64 {
	return min(max(2*c.c.Policy.Free, leastEnd), objstore.DefaultHead)
}

// OpenFor returns the options with which OpenWith opens an object of a format by the
// fewest requests. format is a name of formats/all. For example, a frame needs both
// ends of its object, and so does a zoom-cache file.
func (c *Client) OpenFor(format string) objstore.OpenOptions {
	if format == all.CFrame || format == all.B2ND {
		return c.frameEnds()
	}
	if format == all.Zoomcache {
		return zoomEnds()
	}
	return objstore.OpenOptions{Head: objstore.DefaultHead}
}

// OpenFrame opens the Blosc2 frame that uri names. A contiguous frame is named by its
// object. A sparse frame is named by its folder, with or without the slash, or by the
// object of its index. OpenFrame costs one phase, two requests at the same time, if
// the header lies in the first 16 KiB and the offsets in the last 64, or 16 with the policy
// rangeio.Lean; with FrameOptions.Beside three. A folder named without its slash costs
// one more phase.
func (c *Client) OpenFrame(ctx context.Context, uri string, o FrameOptions) (*Frame, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	if key == "" || strings.HasSuffix(key, "/") {
		return c.openSparse(ctx, b, key, o)
	}
	ob, err := c.openFrame(ctx, b, key, c.frameEnds(), &o)
	if errors.Is(err, objstore.ErrNotFound) {
		if f, err := c.openSparse(ctx, b, key+"/", o); !errors.Is(err, objstore.ErrNotFound) {
			return f, err
		}
	}
	if err != nil {
		return nil, err
	}
	return c.FrameOf(ctx, ob, o)
}

// FrameOf opens the frame that begins at o.Offset in an open object. A head and a tail
// that the object already holds cost nothing.
func (c *Client) FrameOf(ctx context.Context, ob *objstore.Object, o FrameOptions) (*Frame, error) {
	if dir, base := path.Split(ob.Info().Key); base == cframe.IndexName && o.Offset == 0 {
		return c.openSparse(ctx, ob.Bucket(), dir, o)
	}
	r, err := section(ob, o)
	if err != nil {
		return nil, err
	}
	fr := &Frame{Object: ob}
	options := c.frameOptions(o, ob)
	if o.Offset != 0 {
		if fr.Frame, err = cframe.Open(ctx, r, options); err != nil {
			return nil, err
		}
		return fr, nil
	}
	fr.beside = &atomic.Pointer[objstore.Object]{}
	sidecar := func(ctx context.Context) (rangeio.Reader, string, error) {
		side, err := o.early.open(func() (*objstore.Object, error) {
			return c.openSide(ctx, ob.Bucket(), ob.Info().Key, index.Tail, ob.Patience())
		})
		if err != nil {
			return besideFailed(ctx, err, c.besideETag(ob))
		}
		if side == nil {
			return nil, "", nil
		}
		fr.beside.Store(side)
		return besideReader{side}, c.besideETag(ob), nil
	}
	if o.Beside {
		options.Sidecar = sidecar
	}
	if fr.Frame, err = cframe.Open(ctx, r, options); err != nil {
		return nil, err
	}
	if fr.Sidecar(sidecar); o.Beside {
		err = fr.OpenSidecar(ctx)
	}
	return fr, err
}

// openFrame opens an object that may be a frame, and at the same time the index beside it
// if that is expected. It sets o to the options for FrameOf.
func (c *Client) openFrame(ctx context.Context, b objstore.Bucket, key string, ends objstore.OpenOptions, o *FrameOptions) (ob *objstore.Object, err error) {
	if o.Offset != 0 || !o.Beside && !c.expectBeside(b, key) {
		return c.OpenObject(ctx, b, key, ends)
	}
	ob, o.early, err = c.openBoth(ctx, b, key, ends)
	o.Beside = o.early.likely()
	return ob, err
}

// section returns a reader of the bytes of ob from o.Offset on.
func section(ob *objstore.Object, o FrameOptions) (rangeio.Reader, error) {
	switch {
	case o.Offset == 0:
		return ob, nil
	case o.Offset < 0 || o.Offset > ob.Size():
		return nil, &objstore.Error{Op: "open", Bucket: ob.Bucket().Name(), Key: ob.Info().Key,
			Err: fmt.Errorf("offset %d of %d bytes: %w", o.Offset, ob.Size(), objstore.ErrInvalid)}
	}
	return rangeio.Section(ob, o.Offset, ob.Size()-o.Offset), nil
}

// openSparse opens the sparse frame in a folder.
func (c *Client) openSparse(ctx context.Context, b objstore.Bucket, folder string, o FrameOptions) (*Frame, error) {
	if o.Offset != 0 {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: folder, Err: fmt.Errorf("offset in a folder: %w", objstore.ErrInvalid)}
	}
	s := &frameSet{c: c, b: c.ours(b), folder: folder}
	f, err := cframe.OpenSet(ctx, s, c.frameOptions(o, nil))
	if err != nil {
		return nil, err
	}
	return &Frame{Frame: f, Object: s.index, Folder: folder}, nil
}

func (c *Client) frameOptions(o FrameOptions, ob *objstore.Object) cframe.Options {
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = c.c.Policy
		if ob != nil {
			o.Policy = ob.Policy()
		}
	}
	if o.Tail <= 0 {
		o.Tail = c.frameEnds().Tail
	}
	if o.Memory <= 0 && c.c.MaxMemory < defaultMemory {
		o.Memory = c.c.MaxMemory / 8
	}
	if o.Limits.MaxMeta <= 0 {
		o.Limits.MaxMeta = c.c.MaxMemory / 2
	}
	if o.Limits.MaxDecoded <= 0 {
		o.Limits.MaxDecoded = min(c.c.MaxMemory/2, formats.DefaultLimits().MaxDecoded)
	}
	return o.Options
}

// frameSet gives package cframe the objects of a sparse frame.
type frameSet struct {
	c      *Client
	b      objstore.Bucket
	folder string
	index  *objstore.Object // the first object, which is opened before all others
}

// Open opens one object.
func (s *frameSet) Open(ctx context.Context, name string) (rangeio.Reader, error) {
	o := objstore.OpenOptions{}
	if name == cframe.IndexName {
		o = s.c.frameEnds()
	}
	ob, err := s.c.open(ctx, s.b, s.folder+name, o)
	if err != nil {
		return nil, err
	}
	if name == cframe.IndexName {
		s.index = ob
	}
	return ob, nil
}

// List lists the objects of the folder.
func (s *frameSet) List(ctx context.Context) ([]string, error) {
	var names []string
	for in, err := range s.b.List(ctx, s.folder) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(in.Key, s.folder))
	}
	return names, nil
}

// OpenArray opens the b2nd array that uri names. It costs as much as OpenFrame. Slice
// then reads a slice as numbers, and ReadSlice reads it as bytes:
//
//	a, err := client.OpenArray(ctx, "s3://bucket/x.b2nd", farread.FrameOptions{})
//	values, shape, err := farread.Slice[float64](ctx, a, "0:10, 5, ::2")
func (c *Client) OpenArray(ctx context.Context, uri string, o FrameOptions) (*Array, error) {
	f, err := c.OpenFrame(ctx, uri, o)
	if err != nil {
		return nil, err
	}
	return ArrayOf(f)
}

// ArrayOf returns the array in a frame. If the frame is not an array, the error is
// ErrUnsupported. ArrayOf makes no request. The Source of the array is a copy of f that
// also knows the shape of a block: the filters NDCell and NDMean cannot be decoded
// without it.
func ArrayOf(f *Frame) (*Array, error) {
	a, err := b2nd.FromFrame(f.Frame)
	if err != nil {
		return nil, err
	}
	source := *f
	source.Frame = a.Frame()
	return &Array{a, &source}, nil
}

// HeldBytes returns the memory of the frame and its object, in bytes; see Dataset.
func (f *Frame) HeldBytes() int64 { return f.Frame.HeldBytes() + f.objects() }

// objects returns the memory of the objects of the frame and its index, in bytes.
func (f *Frame) objects() int64 {
	n := f.Object.HeldBytes()
	if f.beside != nil {
		if side := f.beside.Load(); side != nil {
			n += side.HeldBytes()
		}
	}
	return n
}

// HeldBytes returns the memory of the array and its object, in bytes; see Dataset.
func (a *Array) HeldBytes() int64 { return a.Array.HeldBytes() + a.Source.objects() }
