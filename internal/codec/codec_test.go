package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/internal/codec"
)

var written = []codec.ID{codec.BloscLZ, codec.LZ4, codec.LZ4HC, codec.Zlib, codec.Zstd}

// roomy is a destination that always suffices.
func roomy(n int) []byte { return make([]byte, n+n/16+256) }

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, id := range written {
		for name, class := range classes {
			t.Run(fmt.Sprintf("codec=%v/data=%s", id, name), func(t *testing.T) {
				t.Parallel()
				var enc codec.Encoder
				var dec codec.Decoder
				levels := []int{1, 3, 5, 8, 9}
				if racetest.On {
					levels = levels[:1]
				}
				for _, level := range levels {
					for _, n := range []int{0, 1, 2, 7, 12, 13, 15, 16, 17, 33, 255, 1000, 65536, 200_000} {
						src := class(n, uint64(n))
						for _, dict := range dicts(id) {
							roundTrip(t, &enc, &dec, id, level, src, dict)
						}
					}
				}
			})
		}
	}
}

func dicts(id codec.ID) [][]byte {
	if id == codec.Zlib || id == codec.BloscLZ {
		return [][]byte{nil}
	}
	return [][]byte{nil, classes["text"](3000, 77)}
}

// tester is a test of package testing or of rapid.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func roundTrip(tb tester, enc *codec.Encoder, dec *codec.Decoder, id codec.ID, level int, src, dict []byte) {
	tb.Helper()
	stream := roomy(len(src))
	n, err := enc.Encode(id, level, stream, src, dict)
	if err != nil {
		tb.Fatalf("%v, level %d, %d bytes: %v", id, level, len(src), err)
	}
	if n == 0 {
		if id == codec.BloscLZ && len(src) == 0 {
			return // no BloscLZ stream is empty
		}
		tb.Fatalf("%v, level %d: %d bytes did not fit into %d", id, level, len(src), len(stream))
	}
	stream = stream[:n]
	for _, spare := range []int{0, 1, codec.Slack, 100} {
		buf := bytes.Repeat([]byte{0xa5}, len(src)+spare+64)
		if err := dec.Decode(id, buf[:len(src):len(src)+spare], stream, dict); err != nil {
			tb.Fatalf("%v, level %d, %d bytes, %d spare: %v", id, level, len(src), spare, err)
		}
		if !bytes.Equal(buf[:len(src)], src) {
			tb.Fatalf("%v, level %d: %d bytes came back changed", id, level, len(src))
		}
		if slices.ContainsFunc(buf[len(src)+spare:], func(c byte) bool { return c != 0xa5 }) {
			tb.Fatalf("%v, level %d, %d bytes, %d spare: written behind the capacity", id, level, len(src), spare)
		}
	}
	for _, size := range []int{len(src) - 1, len(src) + 1} {
		if size < 0 {
			continue
		}
		if err := dec.Decode(id, make([]byte, size, size+codec.Slack), stream, dict); !errors.Is(err, codec.ErrCorrupt) {
			tb.Fatalf("%v, level %d: %d bytes decoded into %d: %v", id, level, len(src), size, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := "blosclz lz4 lz4hc snappy zlib zstd codec(6)"
	var got []string
	for id := range codec.ID(7) {
		got = append(got, id.String())
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("names are %q, want %q", s, want)
	}
}
