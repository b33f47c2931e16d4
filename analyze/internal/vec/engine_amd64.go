//go:build !purego

package vec

import "golang.org/x/sys/cpu"

// fast says whether the kernels can be used; nothing writes it later.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA
