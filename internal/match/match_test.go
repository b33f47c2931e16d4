package match_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread/internal/match"
)

func TestCopy(t *testing.T) {
	t.Parallel()
	for dist := 1; dist < 70; dist++ {
		for _, n := range []int{0, 1, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 128, 129, 255, 256, 257, 300, 9000, 40_000} {
			for _, spare := range []int{0, 1, 15, 31, 32, 33, 100} {
				buf := make([]byte, dist+5+n+spare+64)
				for i := range dist + 5 {
					buf[i] = byte(i*7 + 1)
				}
				want := bytes.Clone(buf[:dist+5+n])
				for i := dist + 5; i < len(want); i++ {
					want[i] = want[i-dist]
				}
				match.Copy(buf[:dist+5+n+spare], dist+5, dist, n)
				if !bytes.Equal(buf[:dist+5+n], want) {
					t.Fatalf("distance %d, %d bytes, %d spare: wrong bytes", dist, n, spare)
				}
				if !bytes.Equal(buf[dist+5+n+spare:], make([]byte, 64)) {
					t.Fatalf("distance %d, %d bytes, %d spare: written too far", dist, n, spare)
				}
			}
		}
	}
}
