package heaptest_test

import (
	"runtime"
	"testing"

	"github.com/farread/farread/internal/heaptest"
)

// TestMeter: memory that is kept counts, memory that was let go does not, and memory
// of others makes no difference.
func TestMeter(t *testing.T) {
	const mib = 1 << 20
	others := make([]byte, 64*mib)
	m := heaptest.Start()
	var kept [][]byte
	for range 32 {
		_ = append([]byte(nil), others...) // garbage
		kept = append(kept, make([]byte, mib))
	}
	m.Look()
	if n := m.Live(); n < 32*mib || n > 36*mib {
		t.Errorf("%d bytes live of 32 MiB", n)
	}
	if n := m.Heap(); n != m.Live()*3/2 {
		t.Errorf("a heap of %d bytes for %d that live", n, m.Live())
	}
	runtime.KeepAlive(kept)
	m.Look() // kept is let go
	if n := m.Live(); n < 32*mib || m.Looks() != 2 {
		t.Errorf("the most of %d looks is %d", m.Looks(), n)
	}
	runtime.KeepAlive(others)
}
