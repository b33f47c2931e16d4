package cframe

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// A trailer ends with endLen fixed bytes: a marker and the trailer's length, a
// marker and the kind of a fingerprint, and 16 bytes for the fingerprint, which
// binds our index to the frame; c-blosc2 writes zeros.
const (
	endLen          = 23
	emptyTrailerLen = 35
	atLayers        = 2 // in the trailer: after the marker of an array and a version
	maxTrailerVer   = 1
)

// parseEnd returns the trailer's length from b, the last endLen bytes of a
// frame.
func (in *Info) parseEnd(b []byte) (int64, error) {
	off := in.FrameLen - endLen
	if b[0] != 0xce {
		return 0, corrupt("trailer", off, "marker %#02x, want 0xce", b[0])
	}
	n := int64(binary.BigEndian.Uint32(b[1:]))
	body := in.FrameLen - in.indexOff() // length of offsets chunk and trailer
	if in.NBytes > 0 {
		body -= blosc.HeaderLen1
	}
	if n < minTrailerLen || n > body {
		return 0, corrupt("trailer", off+1, "%d bytes, at most %d", n, body)
	}
	return n, nil
}

// VLMetalayers returns the metalayers of the trailer, without the index. Each call decodes them
// anew, and the caller owns them. It costs no request if Open has read the
// trailer, else one read. A frame may have vlmetalayers even if Info.HasVL, a
// hint, is false. If they have more than Limits.MaxMeta bytes together,
// VLMetalayers returns ErrTooLarge.
func (f *Frame) VLMetalayers(ctx context.Context) ([]Metalayer, error) {
	b, err := f.readTrailer(ctx)
	if err != nil {
		return nil, err
	}
	layers, err := parseTrailer(b, f.trailerOff)
	if err != nil {
		return nil, err
	}
	return decodeLayers(withoutIndex(layers), f.o.Limits, f.info.TypeSize, f.trailerOff)
}

// decodeLayers decodes the data of vlmetalayers in place. off is where they begin, for errors.
func decodeLayers(layers []Metalayer, l formats.Limits, typeSize int, off int64) ([]Metalayer, error) {
	left := l.MaxMeta
	for i := range layers {
		o := blosc.DecodeOptions{MaxDecoded: max(min(left, l.MaxDecoded), 1), TypeSize: typeSize}
		p, err := o.AppendDecoded(nil, layers[i].Data)
		if err != nil {
			return nil, &formats.Error{Format: Format, Part: fmt.Sprintf("vlmetalayer %q", layers[i].Name), Off: off, Err: err}
		}
		layers[i].Data = p
		left -= int64(len(p))
	}
	return layers, nil
}

// readTrailer returns the bytes of the trailer. It reads them unless Open has.
func (f *Frame) readTrailer(ctx context.Context) ([]byte, error) {
	if f.trailer != nil {
		return f.trailer, nil
	}
	if err := checkMeta("trailer", f.trailerLen, f.o.Limits); err != nil {
		return nil, err
	}
	b := make([]byte, f.trailerLen)
	if err := f.index.ReadRanges(ctx, []rangeio.Span{{Off: f.trailerOff, P: b}}); err != nil {
		return nil, wrap("trailer", f.trailerOff, err)
	}
	return b, nil
}

// withoutIndex removes the index of the frame from the layers of a trailer.
func withoutIndex(layers []Metalayer) []Metalayer {
	return slices.DeleteFunc(layers, func(m Metalayer) bool { return m.Name == IndexLayer })
}

// parseTrailer returns the vlmetalayers of a trailer, still encoded. off is the
// trailer's offset, for errors.
func parseTrailer(b []byte, off int64) ([]Metalayer, error) {
	if len(b) < atLayers || b[0] != 0x94 || b[1] > maxTrailerVer {
		return nil, corrupt("trailer", off, "no trailer begins here")
	}
	// The fixed end is not part of the contents.
	layers, err := parseLayers("trailer", b[:max(len(b)-endLen, 0)], atLayers, maxVLMetalayers)
	if err != nil {
		return nil, err
	}
	return layers, nil
}
