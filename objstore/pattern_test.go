package objstore

import "testing"

// FuzzPattern: whatever is read, what is worth reading ahead lies inside the object, and
// no more than allowed is ahead.
func FuzzPattern(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, int64(1<<20))
	f.Add([]byte{1, 200, 2, 200, 3, 200, 4, 200, 5, 200}, int64(1<<24))
	f.Add([]byte{255, 9, 2, 9, 250, 9, 200, 100, 2, 2, 2, 2}, int64(12345))
	f.Fuzz(func(t *testing.T, moves []byte, size int64) {
		size = max(size, 1)
		d := &pattern{block: 512, size: size, most: 1 << 20}
		off, step, n := int64(0), int64(0), int64(1)
		for i := 0; i+1 < len(moves); i += 2 {
			switch m := int64(moves[i]); {
			case m == 0: // on
				step = n
			case m < 100:
				step = m * 1000
			case m < 200:
				step = -m * 500
			default:
				step = m << (moves[i+1] % 40)
			}
			n = 1 + int64(moves[i+1])*97
			off += step
			if off < 0 || off >= size {
				off = (off%size + size) % size
			}
			read := min(n, size-off)
			d.asked.Add(read)
			for _, r := range d.note(off, read) {
				if r.Off < 0 || r.Len <= 0 || r.Off >= size || r.Len > size-r.Off {
					t.Fatalf("[%s] of %d bytes", r, size)
				}
				if r.Len > d.most+read+d.block {
					t.Fatalf("[%s] for a read of %d", r, read)
				}
			}
			if i%64 == 62 {
				d.fail(n)
			}
		}
	})
}
