package blosc

// AppendEncoded appends a chunk that holds src to dst.
func AppendEncoded(dst, src []byte, o EncodeOptions) ([]byte, error) { return dst, errNotYet }

// AppendEncodedVL appends a chunk of variable-length blocks to dst.
func AppendEncodedVL(dst []byte, blocks [][]byte, o EncodeOptions) ([]byte, error) {
	return dst, errNotYet
}

// AppendSpecial appends a chunk without streams to dst.
func AppendSpecial(dst []byte, kind Special, nbytes, typesize, blocksize int, value []byte) ([]byte, error) {
	return dst, errNotYet
}

var errNotYet = unsupported("chunk", "encoding")
