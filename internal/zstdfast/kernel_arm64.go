//go:build !purego

package zstdfast

import "unsafe"

// hasKernel: each processor of this architecture has the instructions of the kernel.
const hasKernel = true

// The kernel takes the run for its first table.
var _ = [1]struct{}{}[unsafe.Offsetof(run{}.table)]
