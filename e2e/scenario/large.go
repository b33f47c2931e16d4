package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// Large uploads tars of images, n of about size bytes, one after the other, and
// prints how long it takes from the return of the upload to the first read of a frame
// of its dataset. The times are measured, not asserted: they are those of the machine.
func Large(t *testing.T, c Cloud, path string, n int, size int64) {
	t.Helper()
	r := open(t, c, Options{Path: path}, Build(t))
	images := photos(t, size)
	archive := tarOf(t, images)
	last := images[len(images)-1]
	waits := make([]time.Duration, 0, n)
	for i := range n {
		key := fmt.Sprintf("pack/large/%02d.tar", i)
		up, err := objstore.Put(t.Context(), r.uploads, key, bytes.NewReader(archive), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		var got []byte
		until(t, func() (bool, string, error) {
			if _, err := r.datasets.Head(t.Context(), functions.OutputKey("", key, ".gmeta")); err != nil {
				if errors.Is(err, objstore.ErrNotFound) {
					return false, key, nil
				}
				return false, key, err
			}
			g, err := r.client.OpenGulp(t.Context(), r.uri(up, ".gulp"), farread.GulpOptions{})
			if err != nil {
				return false, key, err
			}
			got, err = g.AppendFrame(t.Context(), nil, folderOf(last.name), (len(images)-1)%framesOfID)
			return true, key, err
		})
		waits = append(waits, time.Since(begun))
		if !bytes.Equal(got, last.data) {
			t.Errorf("%s: another frame of %d bytes", key, len(got))
		}
	}
	slices.Sort(waits)
	at := func(share float64) time.Duration {
		return waits[max(0, int(math.Ceil(share*float64(n)))-1)].Round(time.Millisecond)
	}
	fmt.Printf("%d uploads of %.1f MB (%d images) on %s: readable after %v (median), %v (p95), %v (max)\n", //nolint:forbidigo // a measurement, shown without -v, too
		n, float64(len(archive))/1e6, len(images), path, at(0.5), at(0.95), waits[n-1].Round(time.Millisecond))
}

// photos are images of 100 kB, which nothing compresses, up to size bytes together.
func photos(t *testing.T, size int64) []file {
	t.Helper()
	small := frames(t, 1)[0].data
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a picture of chance
	const each = 100_000
	list := make([]file, 0, size/each)
	for i := range int(size / each) {
		// A comment as long as JPEG allows stands for the picture: SOI, COM, the rest.
		p := append([]byte{}, small[:2]...)
		for left := each - len(small); left > 0; {
			n := min(left, 65_000)
			p = append(p, 0xff, 0xfe, byte((n+2)>>8), byte(n+2))
			for range n {
				p = append(p, byte(rng.Uint32()))
			}
			left -= n
		}
		list = append(list, file{fmt.Sprintf("photos/c%d/%d.jpg", i/framesOfID, i), append(p, small[2:]...)})
	}
	return list
}
