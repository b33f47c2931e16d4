package blosc_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// header2 makes the header of a Blosc2 chunk. Only the bytes behind it tell it from a
// good one.
func header2(version, flags, flags2 byte, nbytes, blocksize, cbytes int) []byte {
	p := []byte{version, 1, flags, 1}
	for _, n := range []int{nbytes, blocksize, cbytes} {
		p = binary.LittleEndian.AppendUint32(p, uint32(n))
	}
	return append(append(p, make([]byte, 14)...), flags2, 0)
}

// TestBomb: small chunks that claim a GiB are refused before it is allocated.
func TestBomb(t *testing.T) {
	const claim = 1 << 30
	le := binary.LittleEndian.AppendUint32
	cases := map[string]struct {
		chunk []byte
		want  error
	}{
		"lz4":    {append(le(le(header2(5, 0x35, 0, claim, claim/2, 32+8+8), 40), 40), 4, 0, 0, 0, 1, 2, 3, 4), formats.ErrCorrupt},
		"vl":     {append(le(le(header2(6, 0x35, 1, claim, 1, 32+4+8), 36), claim), 1, 2, 3, 4), formats.ErrCorrupt},
		"vl sum": {append(le(le(header2(6, 0x35, 1, claim, 1, 32+4+8), 36), 4), 1, 2, 3, 4), formats.ErrCorrupt},
		"blocks": {header2(5, 0x35, 0, claim, 1, 32), formats.ErrCorrupt},
		"limit":  {append(header2(5, 0x05, 0, claim, claim/4, 32)[:31], 0x10), formats.ErrTooLarge},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o := blosc.DecodeOptions{MaxDecoded: claim}
			if errors.Is(c.want, formats.ErrTooLarge) {
				o.MaxDecoded--
			}
			_, err := o.AppendDecoded(nil, c.chunk)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, c.want) || n > 1<<20 {
				t.Errorf("%d bytes allocated, %v", n, err)
			}
		})
	}
}

// TestUnsupported: chunks that cannot be decoded are refused by a number, and their
// headers can still be read.
func TestUnsupported(t *testing.T) {
	body := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 36), 8)
	body = append(body, 1, 2, 3, 4, 5, 6, 7, 8)
	for _, c := range []struct {
		name   string
		change func(p []byte)
		want   string
		header bool // the header alone is refused
	}{
		{"zfp", func(p []byte) { p[2], p[22] = 0xd5, 33 }, "blosc: header: codec zfp_acc (id 33): unsupported feature", false},
		{"user codec", func(p []byte) { p[2], p[22] = 0xd5, 200 }, "blosc: header: codec id 200: unsupported feature", false},
		{"lz4 as a plugin", func(p []byte) { p[2], p[22] = 0xd5, 1 }, "blosc: header: codec lz4 (id 1) as a plugin: unsupported feature", false},
		{"format 5", func(p []byte) { p[2] = 0xb5 }, "blosc: header: codec format 5: unsupported feature", false},
		{"format 7", func(p []byte) { p[2] = 0xf5 }, "blosc: header: codec format 7: unsupported feature", false},
		{"filter", func(p []byte) { p[18] = 161 }, "blosc: header: filter id 161: unsupported feature", false},
		{"bytedelta", func(p []byte) { p[16] = 35 }, "blosc: chunk: filter bytedelta for the type size of a super-chunk, which is not known: unsupported feature", false},
		{"ndcell", func(p []byte) { p[16] = 32 }, "blosc: chunk: filter ndcell without the shape of a block: unsupported feature", false},
		{"version 1", func(p []byte) { p[0] = 1 }, "blosc: header: chunk version 1: unsupported feature", true},
		{"version 7", func(p []byte) { p[0] = 7 }, "blosc: header: chunk version 7: unsupported feature", true},
		{"flags2", func(p []byte) { p[30] = 2 }, "blosc: header: flags2 0x02: unsupported feature", true},
		{"lazy", func(p []byte) { p[31] = 8 }, "blosc: header: lazy chunk: unsupported feature", true},
		{"instrumented", func(p []byte) { p[31] = 0x80 }, "blosc: header: instrumented chunk: unsupported feature", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk := append(header2(5, 0x15, 0, 8, 8, 48), body...)
			if got, err := blosc.AppendDecoded(nil, chunk); err != nil || len(got) != 8 {
				t.Fatalf("before the change: % x, %v", got, err)
			}
			c.change(chunk)
			if _, err := blosc.AppendDecoded(nil, chunk); !errors.Is(err, formats.ErrUnsupported) || err.Error() != c.want {
				t.Errorf("%v", err)
			}
			if _, err := blosc.ParseHeader(chunk); (err != nil) != c.header {
				t.Errorf("header: %v", err)
			}
		})
	}
	// A chunk without streams needs no codec.
	special := append(header2(5, 0xd5, 0, 8, 8, 32)[:22], 33)
	special = append(append(special, make([]byte, 8)...), 0x10)
	if got, err := blosc.AppendDecoded(nil, special); err != nil || len(got) != 8 {
		t.Errorf("zeros of a plugin: % x, %v", got, err)
	}
}
