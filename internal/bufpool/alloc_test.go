//go:build !race

// Under the race detector sync.Pool drops buffers on purpose.

package bufpool

import "testing"

func TestAllocs(t *testing.T) {
	var p Pool
	if n := testing.AllocsPerRun(100, func() { p.Put(p.Get(100_000)) }); n >= 1 {
		t.Errorf("%.1f allocations to lend a buffer", n)
	}
}
