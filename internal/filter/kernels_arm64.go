//go:build !purego

package filter

// Each n is a multiple of 16 above 0.

// merge2NEON merges 2 byte planes, stride bytes apart, into n elements.
//
//go:noescape
func merge2NEON(dst *byte, src *byte, stride int, n int)

// merge4NEON merges 4 byte planes, stride bytes apart, into n elements.
//
//go:noescape
func merge4NEON(dst *byte, src *byte, stride int, n int)

// merge8NEON merges 8 byte planes, stride bytes apart, into n elements.
//
//go:noescape
func merge8NEON(dst *byte, src *byte, stride int, n int)

// mergeStrided8NEON merges 8 byte planes, stride bytes apart, into 8 bytes of each of n elements, width bytes apart.
//
//go:noescape
func mergeStrided8NEON(dst *byte, width int, src *byte, stride int, n int)

// mergeStrided16NEON merges 16 byte planes, stride bytes apart, into 16 bytes of each of n elements, width bytes apart.
//
//go:noescape
func mergeStrided16NEON(dst *byte, width int, src *byte, stride int, n int)

// split2NEON splits n elements into 2 byte planes, stride bytes apart.
//
//go:noescape
func split2NEON(dst *byte, stride int, src *byte, n int)

// split4NEON splits n elements into 4 byte planes, stride bytes apart.
//
//go:noescape
func split4NEON(dst *byte, stride int, src *byte, n int)

// split8NEON splits n elements into 8 byte planes, stride bytes apart.
//
//go:noescape
func split8NEON(dst *byte, stride int, src *byte, n int)

// splitStrided8NEON splits 8 bytes of each of n elements, width bytes apart, into byte planes, stride bytes apart.
//
//go:noescape
func splitStrided8NEON(dst *byte, stride int, src *byte, width int, n int)

// bitsToBytesNEON turns n columns of 8 rows of bits, stride bytes apart, into 8*n bytes.
//
//go:noescape
func bitsToBytesNEON(dst *byte, src *byte, stride int, n int)

// bytesToBitsNEON turns 8*n bytes into n columns of 8 rows of bits, stride bytes apart.
//
//go:noescape
func bytesToBitsNEON(dst *byte, stride int, src *byte, n int)

// sumsNEON replaces each of n bytes by the sum of all up to it.
//
//go:noescape
func sumsNEON(p *byte, n int)

// differencesNEON makes each of n bytes src[i] - src[i-1], the byte before src too.
//
//go:noescape
func differencesNEON(dst *byte, src *byte, n int)
