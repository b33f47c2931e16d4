package blosc

import "github.com/farread/farread/formats"

// DecodeInto is DecodeOptions.DecodeInto with zero options.
func DecodeInto(dst, chunk []byte) (int, error) { return DecodeOptions{}.DecodeInto(dst, chunk) }

// AppendDecoded is DecodeOptions.AppendDecoded with zero options.
func AppendDecoded(dst, chunk []byte) ([]byte, error) {
	return DecodeOptions{}.AppendDecoded(dst, chunk)
}

// DecodeInto decodes a whole chunk into dst, which must have room for all of
// it, and returns how many bytes that were.
func (o DecodeOptions) DecodeInto(dst, chunk []byte) (int, error) {
	_, err := ParseHeader(chunk)
	if err != nil {
		return 0, err
	}
	return 0, errNotYet
}

// AppendDecoded appends the decoded chunk to dst.
func (o DecodeOptions) AppendDecoded(dst, chunk []byte) ([]byte, error) { return dst, errNotYet }

// DecodeBlock decodes block i into dst, which has its decoded length.
func (o DecodeOptions) DecodeBlock(dst []byte, x *Index, i int, src, first, dict []byte) error {
	return errNotYet
}

var errNotYet = &formats.Error{Format: "blosc", Part: "chunk", Off: -1, Err: formats.ErrUnsupported}
