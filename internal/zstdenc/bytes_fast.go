//go:build (amd64 || arm64) && !race

package zstdenc

import "unsafe"

// place is p[i], of which callers know that it is there, with as many bytes behind it as they
// take: positions come from tables of positions before, and outputs have room for the most that
// there can be. Checks of that took a sixth of the time of planes. Under the race detector
// bytes_other.go makes them.
func place(p []byte, i int) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(unsafe.SliceData(p)), i) } //nolint:gosec // see above

func load64(p []byte, i int) uint64     { return *(*uint64)(place(p, i)) }
func load32(p []byte, i int) uint32     { return *(*uint32)(place(p, i)) }
func load8(p []byte, i int) byte        { return *(*byte)(place(p, i)) }
func store64(p []byte, i int, v uint64) { *(*uint64)(place(p, i)) = v }

// copy16 copies 16 bytes from src[j] to dst[i].
func copy16(dst []byte, i int, src []byte, j int) {
	*(*[16]byte)(place(dst, i)) = *(*[16]byte)(place(src, j))
}
