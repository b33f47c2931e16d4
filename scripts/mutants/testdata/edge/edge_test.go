package edge

import (
	"errors"
	"testing"
)

func TestClip(t *testing.T) {
	for _, c := range [][3]int{{1, 5, 1}, {10, 5, 10}, {11, 5, 10}, {0, 0, 0}, {7, 3, 6}} {
		if got, err := Clip(c[0], c[1]); got != c[2] || err != nil {
			t.Errorf("%v: %d, %v", c, got, err)
		}
	}
	for _, c := range [][2]int{{-1, 5}, {1, -5}} {
		if _, err := Clip(c[0], c[1]); !errors.Is(err, ErrNegative) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
