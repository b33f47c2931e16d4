// Package groupindex reads and writes the index of a group: one small object of JSON in a folder of
// b2nd arrays that says what the arrays are, so that nobody opens each of them to know.
// docs/formats/b2nd.md has its layout.
//
// Nothing in an index is trusted: sizes are checked before memory is allocated, names stay in the
// folder, and what contradicts itself is formats.ErrCorrupt. Whether an array still is what the
// index says is for the caller to find out, by Array.Current.
package groupindex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

const (
	// Name is the key of the index in its folder.
	Name = "farread.group.json"
	// MaxLen is the longest index that is read or written.
	MaxLen = 16 << 20
	// MaxArrays bounds the arrays in an index.
	MaxArrays = 10_000
	// MaxLayers bounds the bytes of the layers of an array; of one with more they are left out.
	MaxLayers = 1 << 20

	version  = 1
	maxKey   = 1024
	maxLayer = 64 // layers of an array
)

// An Index says what is in a folder. The zero value is that of an empty one.
type Index struct {
	Attrs  map[string]json.RawMessage // attributes of the group
	Arrays map[string]Array           // by their keys in the folder, such as "t2m.b2nd" or "sub/u.b2nd"
}

// An Array is what the index says of one array. The object with this size and ETag is meant.
type Array struct {
	Size       int64   `json:"size"`
	ETag       string  `json:"etag"`
	DType      string  `json:"dtype"`
	Shape      []int64 `json:"shape"`
	ChunkShape []int   `json:"chunkshape"`
	BlockShape []int   `json:"blockshape"`
	// Dims are for people: readers take names of axes from Layers.
	Dims []string `json:"dims,omitempty"`
	// Layers are the vlmetalayers, but that of the frame's own index.
	Layers map[string][]byte `json:"layers,omitempty"`
	// NaN says that chunks are marked as NaN, and none as zeros: what Zarr clients take for the fill value.
	NaN bool `json:"nan,omitempty"`
	// Refused says why no Zarr client reads the array, or that its layers are too long for an index: it has to be opened.
	Refused string `json:"refused,omitempty"`
}

// Current reports whether an object of the size and ETag is the one that the index is about. One
// without an ETag is not known to be.
func (a Array) Current(size int64, etag string) bool {
	return a.Size == size && a.ETag == etag && etag != "" && !strings.HasPrefix(etag, "W/")
}

type document struct {
	Version int                        `json:"farread_group"`
	Attrs   map[string]json.RawMessage `json:"attributes"`
	Arrays  map[string]Array           `json:"arrays"`
}

// Encode returns the bytes of an index. Equal content gives equal bytes. What Decode would
// refuse is an error of the same kind.
func (x Index) Encode() ([]byte, error) {
	d := document{version, x.Attrs, x.Arrays}
	if d.Attrs == nil {
		d.Attrs = map[string]json.RawMessage{}
	}
	if d.Arrays == nil {
		d.Arrays = map[string]Array{}
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(d); err != nil {
		return nil, corrupt("%v", err)
	}
	if b.Len() > MaxLen {
		return nil, fail(formats.ErrTooLarge, "%d bytes, at most %d", b.Len(), MaxLen)
	}
	return b.Bytes(), nil
}

// Decode reads an index. It takes a few times the memory of its bytes.
func Decode(p []byte) (Index, error) {
	if len(p) > MaxLen {
		return Index{}, fail(formats.ErrTooLarge, "%d bytes, at most %d", len(p), MaxLen)
	}
	var d document
	if err := json.Unmarshal(p, &d); err != nil {
		return Index{}, corrupt("%v", err)
	}
	if d.Version != version {
		return Index{}, fail(formats.ErrUnsupported, "farread_group %d", d.Version)
	}
	x := Index{d.Attrs, d.Arrays}
	return x, x.check()
}

// Keys returns the keys of the arrays in order.
func (x Index) Keys() []string { return slices.Sorted(maps.Keys(x.Arrays)) }

func (x Index) check() error {
	if len(x.Arrays) > MaxArrays {
		return fail(formats.ErrTooLarge, "%d arrays, at most %d", len(x.Arrays), MaxArrays)
	}
	for key, a := range x.Arrays {
		if err := CheckKey(key); err != nil {
			return err
		}
		if err := a.check(); err != nil {
			return fmt.Errorf("%.200q: %w", key, err)
		}
	}
	return nil
}

// CheckKey refuses keys that lead out of the folder, and that no terminal shows.
func CheckKey(key string) error {
	bad := len(key) > maxKey || !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == '\\' })
	for part := range strings.SplitSeq(key, "/") {
		bad = bad || part == "" || part == "." || part == ".."
	}
	if bad {
		return corrupt("key %.200q", key)
	}
	return nil
}

func (a Array) check() error {
	d, err := dtype.Parse(a.DType)
	if err != nil {
		return corrupt("type %.100q", a.DType)
	}
	item := int64(d.ItemSize())
	n, err := nd.Prod(a.Shape)
	switch {
	case len(a.Shape) > nd.MaxDims || len(a.ChunkShape) != len(a.Shape) || len(a.BlockShape) != len(a.Shape):
		return corrupt("shapes %v, %v, %v", a.Shape, a.ChunkShape, a.BlockShape)
	case err != nil || item < 1 || n > math.MaxInt64/item:
		return corrupt("shape %v of %s", a.Shape, a.DType)
	case a.Size < 0 || len(a.ETag) > maxKey || len(a.Refused) > maxKey:
		return corrupt("size %d, an ETag of %d bytes", a.Size, len(a.ETag))
	case a.Dims != nil && len(a.Dims) != len(a.Shape):
		return corrupt("%d names of %d axes", len(a.Dims), len(a.Shape))
	}
	chunk := item
	for i, c := range a.ChunkShape {
		b := a.BlockShape[i]
		empty := a.Shape[i] == 0 || slices.Contains(a.Shape, 0)
		if c < 0 || b < 0 || b > c || !empty && (c == 0 || b == 0) || c > 0 && chunk > math.MaxInt32/int64(c) {
			return corrupt("chunks of %v, blocks of %v", a.ChunkShape, a.BlockShape)
		}
		chunk *= int64(max(c, 1))
	}
	sum := 0
	for name, p := range a.Layers {
		sum += len(name) + len(p)
	}
	if len(a.Layers) > maxLayer || sum > MaxLayers {
		return fail(formats.ErrTooLarge, "%d layers of %d bytes", len(a.Layers), sum)
	}
	return nil
}

func fail(class error, format string, args ...any) error {
	return &formats.Error{Format: "b2nd", Part: "index of the group", Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(format string, args ...any) error { return fail(formats.ErrCorrupt, format, args...) }
