package diskcache

import (
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// BenchmarkKeep keeps an object of 64 MiB that comes in ranges of a MiB, four at a time.
func BenchmarkKeep(b *testing.B) {
	const size, part = 64 << 20, 1 << 20
	p := make([]byte, part)
	for i := range p {
		p[i] = byte(i * 7)
	}
	b.SetBytes(size)
	for b.Loop() {
		c := open(b, Config{Dir: b.TempDir()})
		k := c.Place("p").Version(objstore.Info{Key: "k", Size: size, ETag: `"1"`})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for off := int64(g) * part; off < size; off += 4 * part {
					k.Keep([]rangeio.Span{{Off: off, P: p}})
				}
			})
		}
		wg.Wait()
		c.forget(identityOf("p", objstore.Info{Key: "k", Size: size, ETag: `"1"`}))
	}
}
