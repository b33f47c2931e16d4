package lzcopy

import (
	"bytes"
	"testing"
)

func TestLen(t *testing.T) {
	t.Parallel()
	for _, dist := range []int{1, 3, 8, 40} {
		for n := range 100 {
			for _, end := range []int{dist + n, dist + n/2, dist + n + 1, dist + n + 50} {
				src := bytes.Repeat([]byte{1}, dist)
				for i := range n {
					src = append(src, src[i])
				}
				src = append(src, src[n]^0x80) // another one
				src = append(src, make([]byte, 50)...)
				end = min(end, len(src))
				want := min(n, end-dist)
				if got := Len(src, dist, 0, end); got != want {
					t.Fatalf("distance %d, %d bytes up to %d: %d", dist, n, end, got)
				}
				if got := Len8(src, dist, 0, end); got != want {
					t.Fatalf("distance %d, %d bytes up to %d: %d by Len8", dist, n, end, got)
				}
			}
		}
	}
}
