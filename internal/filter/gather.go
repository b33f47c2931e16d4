package filter

// MaxPlanes is the largest number of planes that [Gather] merges.
const MaxPlanes = 8

// Gathers reports whether [Gather] is faster for elements of this width than copying the
// planes together for [Unshuffle].
func Gathers(width int) bool { return best.gathers(width) }

// Gather undoes [Shuffle] for planes that lie anywhere: dst[i*width+j] = planes[j][i], for
// the first width planes, width being 2, 4 or 8. dst has whole elements, and each plane
// has a byte for each of them, or more.
func Gather(dst []byte, planes *[MaxPlanes][]byte, width int) { best.gatherAll(dst, planes, width) }

func (e engine) gatherAll(dst []byte, planes *[MaxPlanes][]byte, width int) {
	n := len(dst) / width
	for j := range width {
		planes[j] = planes[j][:n]
	}
	for i := e.gather(dst, planes, width, n); i < n; i++ {
		for j, p := range planes[:width] {
			dst[i*width+j] = p[i]
		}
	}
}
