//go:build (!amd64 && !arm64) || purego

package filter

const best = portable

func (engine) split(_ []byte, _ int, _ []byte, _, _, _ int) int { return 0 }

func (engine) merge(_ []byte, _ int, _ []byte, _, _, _ int) int { return 0 }

func (engine) bitsToBytes(_ []byte, _ int, _ []byte, _, _, _ int) int { return 0 }

func (engine) bytesToBits(_ []byte, _ int, _ []byte, _, _, _ int) int { return 0 }

func (engine) sums(_ []byte) int { return 0 }

func (engine) differences(_, _ []byte) int { return 0 }
