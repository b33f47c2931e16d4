//go:build !purego

package filter

func (e engine) gathers(width int) bool { return e >= avx2 && (width == 2 || width == 4 || width == 8) }

// gather does what Gather does, for the first elements, and returns their number.
func (e engine) gather(dst []byte, planes *[MaxPlanes][]byte, width, n int) int {
	m := n &^ (e.vector() - 1)
	if m == 0 || !e.gathers(width) {
		return 0
	}
	_ = dst[m*width-1]
	var from [MaxPlanes]*byte
	for j, p := range planes[:width] {
		_ = p[m-1]
		from[j] = &p[0]
	}
	switch width {
	case 2:
		gather2AVX2(&dst[0], &from[0], m)
	case 4:
		gather4AVX2(&dst[0], &from[0], m)
	default:
		gather8AVX2(&dst[0], &from[0], m)
	}
	return m
}
