package blosc_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/formattest"
)

// pitfalls are worked examples of the places at which implementers of the format go
// wrong. Each was fed to c-blosc2 3.3.5 or c-blosc 1.21.7, which decoded or refused
// the chunk.
var pitfalls = []struct {
	name, in, out string // hex
}{
	{"01 The extended header is announced by flags (both 0x01 and 0x04), not by",
		"04 01 12 01 02 00 00 00 02 00 00 00 12 00 00 00 61 62",
		"61 62"},
	{"02 A 32-byte memcpyed chunk ignores filters, dictionary and split bits",
		"05 01 97 04 08 00 00 00 08 00 00 00 28 00 00 00 00 00 00 00 00 01 05 00 00 00 00 00 00 00 00 00 " +
			"01 02 03 04 05 06 07 08",
		"01 02 03 04 05 06 07 08"},
	{"03 memcpyed requires cbytes == nbytes + header exactly",
		"05 01 07 01 04 00 00 00 04 00 00 00 23 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"61 62 63",
		"refused"},
	{"04 memcpyed flag plus special kind is not a short cut: the size rule stil",
		"05 01 07 04 08 00 00 00 08 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 10",
		"refused"},
	{"05 bstarts may be out of order",
		"05 01 35 01 08 00 00 00 04 00 00 00 38 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"30 00 00 00 28 00 00 00 04 00 00 00 42 42 42 42 04 00 00 00 41 41 41 41",
		"41 41 41 41 42 42 42 42"},
	{"06 A leftover block is one stream even if the chunk is split",
		"05 01 25 02 06 00 00 00 04 00 00 00 3a 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 " +
			"28 00 00 00 34 00 00 00 02 00 00 00 61 63 02 00 00 00 62 64 02 00 00 00 65 66",
		"61 62 63 64 65 66"},
	{"07 A full last block of a split chunk IS split",
		"05 01 25 02 08 00 00 00 04 00 00 00 40 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 " +
			"28 00 00 00 34 00 00 00 02 00 00 00 61 63 02 00 00 00 62 64 02 00 00 00 65 67 02 00 00 00 66 68",
		"61 62 63 64 65 66 67 68"},
	{"08 csize == neblock means raw bytes for every codec",
		"05 01 95 01 08 00 00 00 08 00 00 00 30 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 08 00 00 00 41 42 43 44 45 46 47 48",
		"41 42 43 44 45 46 47 48"},
	{"09 csize == 0 is a run of zeros with nothing behind it",
		"05 01 15 01 08 00 00 00 08 00 00 00 28 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 00 00 00 00",
		"00 00 00 00 00 00 00 00"},
	{"10 csize < 0: value is -csize, a token byte with bit 0 set follows",
		"05 01 15 01 08 00 00 00 08 00 00 00 29 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 bf ff ff ff 01",
		"41 41 41 41 41 41 41 41"},
	{"11 Runs only encode one byte: csize < -255 is corrupt",
		"05 01 15 01 08 00 00 00 08 00 00 00 29 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 00 ff ff ff 01",
		"refused"},
	{"12 Token without bit 0 is an unsupported encoding, not a run",
		"05 01 15 01 08 00 00 00 08 00 00 00 29 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 bf ff ff ff 00",
		"refused"},
	{"13 Run encodings belong to Blosc2; c-blosc1 fails on csize 0",
		"02 01 10 01 08 00 00 00 08 00 00 00 18 00 00 00 14 00 00 00 00 00 00 00",
		"refused"},
	{"14 Header blocksize larger than nbytes is clamped to nbytes",
		"05 01 35 01 04 00 00 00 40 00 00 00 2c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 04 00 00 00 57 58 59 5a",
		"57 58 59 5a"},
	{"15 An empty input is still a 32-byte chunk with blocksize 1",
		"05 01 07 04 00 00 00 00 01 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
		""},
	{"16 Bytes after cbytes are not part of the chunk",
		"05 01 07 01 04 00 00 00 04 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"61 62 63 64 4a 55 4e 4b",
		"61 62 63 64"},
	{"17 typesize 0 is invalid even when no filter needs it",
		"05 01 07 00 04 00 00 00 04 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"61 62 63 64",
		"refused"},
	{"18 Unknown future versions: only the flags2 bits decide in C",
		"07 01 07 01 04 00 00 00 04 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 00 " +
			"61 62 63 64",
		"refused"},
	{"19 Shuffle leaves the last n % typesize bytes in place",
		"05 01 15 04 12 00 00 00 12 00 00 00 3a 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 12 00 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12",
		"01 05 09 0d 02 06 0a 0e 03 07 0b 0f 04 08 0c 10 11 12"},
	{"20 Shuffle meta overrides the typesize",
		"05 01 15 04 08 00 00 00 08 00 00 00 30 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00 00 " +
			"24 00 00 00 08 00 00 00 01 02 03 04 05 06 07 08",
		"01 05 02 06 03 07 04 08"},
	{"21 Bitshuffle is LSB first: row (byte j, bit k), element t -> bit t",
		"05 01 15 01 11 00 00 00 11 00 00 00 39 00 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 11 00 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11",
		"ff aa cc f0 00 00 00 00 00 55 66 78 80 00 00 00 11"},
	{"22 Bitshuffle, Blosc2: whole groups of 8 elements are transposed, the res",
		"04 01 14 01 0c 00 00 00 0c 00 00 00 24 00 00 00 14 00 00 00 0c 00 00 00 01 02 03 04 05 06 07 08 " +
			"09 0a 0b 0c",
		"55 66 78 80 00 00 00 00 09 0a 0b 0c"},
	{"23 Bitshuffle, Blosc1 (version byte 2): if elements % 8 != 0 nothing is t",
		"02 01 14 01 0c 00 00 00 0c 00 00 00 24 00 00 00 14 00 00 00 0c 00 00 00 01 02 03 04 05 06 07 08 " +
			"09 0a 0b 0c",
		"01 02 03 04 05 06 07 08 09 0a 0b 0c"},
	{"24 Delta is XOR against the previous unit in block 0; odd typesizes work",
		"05 01 1d 03 0c 00 00 00 0c 00 00 00 34 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 0c 00 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c",
		"01 03 00 04 01 07 00 08 01 0b 00 0c"},
	{"25 Delta in blocks > 0 uses the decoded block 0, not the previous block",
		"05 01 1d 01 08 00 00 00 04 00 00 00 38 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00 " +
			"28 00 00 00 30 00 00 00 04 00 00 00 01 02 03 04 04 00 00 00 09 09 09 09",
		"01 03 00 04 08 0a 09 0d"},
	{"26 Decode filters from slot 5 down to slot 0",
		"05 01 15 02 08 00 00 00 08 00 00 00 30 00 00 00 00 00 00 00 01 23 00 00 00 00 00 00 00 02 00 00 " +
			"24 00 00 00 08 00 00 00 01 01 01 01 05 01 01 01",
		"01 05 02 06 03 07 04 08"},
	{"27 Bytedelta restarts at 0 for each byte stream and passes the tail throu",
		"05 01 15 02 0b 00 00 00 0b 00 00 00 33 00 00 00 00 00 00 00 00 23 00 00 00 00 00 00 00 02 00 00 " +
			"24 00 00 00 0b 00 00 00 01 01 01 01 05 ff 02 00 77 78 ee",
		"01 02 03 04 09 ff 01 01 78 f0 ee"},
	{"28 Filter 34 (old bytedelta) resets its state at the last multiple of 16",
		"05 01 15 01 12 00 00 00 12 00 00 00 3a 00 00 00 00 00 00 00 00 22 00 00 00 00 00 00 00 01 00 00 " +
			"24 00 00 00 12 00 00 00 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01",
		"01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 01 02"},
	{"29 Filter 35 does not",
		"05 01 15 01 12 00 00 00 12 00 00 00 3a 00 00 00 00 00 00 00 00 23 00 00 00 00 00 00 00 01 00 00 " +
			"24 00 00 00 12 00 00 00 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01",
		"01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12"},
	{"30 TRUNC_PREC and INT_TRUNC are no-ops on decode",
		"05 01 15 04 08 00 00 00 08 00 00 00 30 00 00 00 04 24 00 00 00 00 00 00 0a fd 00 00 00 00 00 00 " +
			"24 00 00 00 08 00 00 00 01 02 03 04 05 06 07 08",
		"01 02 03 04 05 06 07 08"},
	{"31 BloscLZ: first byte carries a 0x20 marker; mask it with 0x1f",
		"05 01 15 01 08 00 00 00 08 00 00 00 31 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 09 00 00 00 23 61 62 63 64 20 03 00 5a",
		"61 62 63 64 61 62 63 5a"},
	{"32 BloscLZ: overlapping match and length extension bytes",
		"05 01 15 01 13 00 00 00 13 00 00 00 32 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 0a 00 00 00 23 61 62 63 61 e0 05 00 00 5a",
		"61 62 63 61 61 61 61 61 61 61 61 61 61 61 61 61 61 61 5a"},
	{"34 BloscLZ streams cannot end with a match: the decoder stops before copy",
		"05 01 15 01 08 00 00 00 08 00 00 00 2f 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 " +
			"24 00 00 00 07 00 00 00 23 61 62 63 64 40 03",
		"refused"},
	{"35 Repeat-value item size is cbytes - 32, not the typesize byte",
		"05 01 05 01 06 00 00 00 06 00 00 00 23 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 30 " +
			"78 79 7a",
		"78 79 7a 78 79 7a"},
	{"36 Repeat value: nbytes must be a multiple of the value size",
		"05 01 05 01 07 00 00 00 07 00 00 00 23 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 30 " +
			"78 79 7a",
		"refused"},
	{"37 NaN chunks exist only for typesize 4 and 8",
		"05 01 05 04 08 00 00 00 08 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 20",
		"00 00 c0 7f 00 00 c0 7f"},
	{"38 ... and typesize 2 is an error",
		"05 01 05 02 08 00 00 00 08 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 20",
		"refused"},
	{"39 Zero chunks need not be a multiple of the typesize",
		"05 01 05 04 05 00 00 00 05 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 10",
		"00 00 00 00 00"},
	{"40 Special kinds 5..7 are errors",
		"05 01 05 04 08 00 00 00 08 00 00 00 20 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 50",
		"refused"},
	{"41 VL chunk: header blocksize = block count, stream prefix = UNCOMPRESSED",
		"06 01 35 01 05 00 00 00 02 00 00 00 35 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 " +
			"28 00 00 00 2e 00 00 00 02 00 00 00 68 69 03 00 00 00 79 6f 75",
		"68 69 79 6f 75"},
	{"42 VL chunk: csize 0 is not a zero run but an invalid size",
		"06 01 35 01 02 00 00 00 01 00 00 00 28 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 00 " +
			"24 00 00 00 00 00 00 00",
		"refused"},
	{"44 Blosc1 memcpyed chunks keep the shuffle bit; do not unshuffle",
		"02 01 13 04 04 00 00 00 04 00 00 00 14 00 00 00 61 62 63 64",
		"61 62 63 64"},
}

func TestPitfalls(t *testing.T) {
	for _, p := range pitfalls {
		t.Run(p.name, func(t *testing.T) { pitfall(t, unhex(t, p.in), p.out) })
	}
	t.Run("33 far match", func(t *testing.T) {
		// Literals, then a match of 3 bytes 8197 back, then a literal.
		var raw, stream []byte
		for i := range 260 {
			for j := range 32 {
				raw = append(raw, byte(7*i+j))
			}
			stream = append(stream, 0x1f)
			stream = append(stream, raw[len(raw)-32:]...)
		}
		stream[0] |= 0x20
		stream = append(stream, 0x3f, 0xff, 0x00, 0x05, 0x00, 0x51)
		raw = append(raw, raw[len(raw)-8197:][:3]...)
		raw = append(raw, 0x51)
		if tail := raw[len(raw)-4:]; !bytes.Equal(tail, unhex(t, "30 31 32 51")) {
			t.Fatalf("the example ends in % x", tail)
		}
		chunk := unhex(t, "05 01 15 01")
		for _, n := range []int{len(raw), len(raw), 32 + 4 + 4 + len(stream)} {
			chunk = binary.LittleEndian.AppendUint32(chunk, uint32(n))
		}
		chunk = append(chunk, make([]byte, 16)...)
		chunk = binary.LittleEndian.AppendUint32(chunk, 36)
		chunk = binary.LittleEndian.AppendUint32(chunk, uint32(len(stream)))
		pitfall(t, append(chunk, stream...), hex.EncodeToString(raw))
	})
	t.Run("43 dictionary", func(t *testing.T) {
		dict := strings.Repeat("hello world, hello blosc ", 12)
		in := "05 01 35 01 19000000 19000000 62010000" + strings.Repeat("00", 15) + "01 54010000 2c010000" +
			hex.EncodeToString([]byte(dict)) + "0a000000 0f2c010150 5a5a5a5a5a"
		pitfall(t, unhex(t, in), "68656c6c6f20776f726c642c2068656c6c6f20625a5a5a5a5a")
	})
}

// pitfall decodes one example in every way.
func pitfall(t *testing.T, chunk []byte, out string) {
	t.Helper()
	got, err := blosc.AppendDecoded(nil, chunk)
	if out == "refused" {
		if !formattest.Allowed(err) {
			t.Errorf("% x, %v", got, err)
		}
		return
	}
	if want := unhex(t, out); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("% x, want % x, %v", got, want, err)
	}
	checkWays(t, blosc.DecodeOptions{}, chunk, got)
}

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	p, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
