//go:build !amd64 || purego

package filter

func (engine) gathers(int) bool { return false }

func (engine) gather(_ []byte, _ *[MaxPlanes][]byte, _, _ int) int { return 0 }
