//go:build (!amd64 && !arm64) || purego

package inflate

const fast = false

func (*Decoder) kernel([]byte, int, int) (o int, more, ok bool) { panic("never called") }
