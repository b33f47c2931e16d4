//go:build !purego

package zstdfast

import "golang.org/x/sys/cpu"

// hasKernel reports whether this processor has the instructions of the kernel.
var hasKernel = cpu.X86.HasBMI2 && cpu.X86.HasSSSE3
