package codec_test

import (
	"fmt"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/internal/codec"
)

// TestNoAllocations says that decoding and encoding block after block costs no
// memory, whatever the codec, once its state is there.
func TestNoAllocations(t *testing.T) {
	racetest.Skip(t, racetest.Measures)
	var enc codec.Encoder
	var dec codec.Decoder
	for _, id := range written {
		for _, name := range []string{"zeros", "shuffled", "text", "random"} {
			for i, dict := range dicts(id) {
				t.Run(fmt.Sprintf("codec=%v/data=%s/dict=%d", id, name, i), func(t *testing.T) {
					src := classes[name](64<<10, 1)
					stream := roomy(len(src))
					n := 0
					encode := func() {
						var err error
						if n, err = enc.Encode(id, 1, stream, src, dict); err != nil || n == 0 {
							t.Fatal(n, err)
						}
					}
					encode()
					if got := testing.AllocsPerRun(5, encode); got > 0 {
						t.Errorf("%v allocations to encode", got)
					}
					for _, spare := range []int{0, codec.Slack} {
						dst := make([]byte, len(src), len(src)+spare)
						decode := func() {
							if err := dec.Decode(id, dst, stream[:n], dict); err != nil {
								t.Fatal(err)
							}
						}
						decode()
						if got := testing.AllocsPerRun(5, decode); got > 0 {
							t.Errorf("%d spare: %v allocations to decode", spare, got)
						}
					}
				})
			}
		}
	}
}
