// Package bitmap packs bools as Arrow and Parquet store them.
package bitmap

// Pack returns a bit for each byte, 1 for those that are not 0, from the lowest bit of
// each byte on.
func Pack(p []byte) []byte {
	out := make([]byte, (len(p)+7)/8)
	for i, v := range p {
		if v != 0 {
			out[i/8] |= 1 << (i % 8)
		}
	}
	return out
}
