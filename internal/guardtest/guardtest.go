//go:build unix

// Package guardtest gives tests memory beside which there is none: to read or write a byte
// outside ends the test.
package guardtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// End returns n bytes, behind which no memory is.
func End(tb testing.TB, n int) []byte {
	tb.Helper()
	m := between(tb, n)
	return m[len(m)-n : len(m) : len(m)]
}

// Start returns n bytes, before which no memory is.
func Start(tb testing.TB, n int) []byte {
	tb.Helper()
	return between(tb, n)[:n:n]
}

// between returns whole pages for n bytes, one at least, between two without memory.
func between(tb testing.TB, n int) []byte {
	tb.Helper()
	page := unix.Getpagesize()
	whole := max(n+page-1, page) / page * page
	m, err := unix.Mmap(-1, 0, page+whole+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			tb.Error(err)
		}
	})
	for _, guard := range [][]byte{m[:page], m[page+whole:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			tb.Fatal(err)
		}
	}
	return m[page : page+whole]
}
