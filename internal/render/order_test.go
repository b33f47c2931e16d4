package render

import "testing"

// TestColumns: for each size of boxes, they make the array, once, in order.
func TestColumns(t *testing.T) {
	t.Parallel()
	shape := []int64{30, 170, 230}
	for _, most := range []int64{1, 2, 50, 60, 61, 5100, 10200, 1 << 40} {
		next := int64(0)
		for box := range Columns(shape, []int{7, 170, 40}, 2, most) {
			n := box.Counts()
			if first := box.Start[0] + shape[0]*(box.Start[1]+shape[1]*box.Start[2]); first != next || most > 1 && 2*n[0]*n[1]*n[2] > most {
				t.Fatalf("most %d: box %+v after %d items", most, box, next)
			}
			next += n[0] * n[1] * n[2]
		}
		if next != shape[0]*shape[1]*shape[2] {
			t.Errorf("most %d: %d items", most, next)
		}
	}
}
