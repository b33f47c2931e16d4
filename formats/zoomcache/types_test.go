package zoomcache

import (
	"errors"
	"io"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
)

// checkMalformed expects an error with a place inside the file and the sentinel
// that the reason calls for.
func checkMalformed(t *testing.T, reason string, err error, size int64) {
	t.Helper()
	var fe *formats.Error
	if !errors.As(err, &fe) {
		t.Fatalf("%s: got %v, want an error of this format", reason, err)
	}
	if fe.Format != Format || fe.Off < 0 || fe.Off > size {
		t.Errorf("%s: %v is nowhere in the %d bytes", reason, fe, size)
	}
	want := []error{formats.ErrCorrupt}
	switch reason {
	case "bad_version", "unknown_codec":
		want = []error{formats.ErrUnsupported}
	case "bad_length", "count_mismatch":
		want = []error{formats.ErrCorrupt, formats.ErrTooLarge}
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("%s: got %v, want one of %v", reason, err, want)
}

func TestVLC(t *testing.T) {
	for _, c := range []struct{ v, hex string }{
		{"0", "00"}, {"1", "02"}, {"-1", "03"}, {"63", "7e"}, {"-63", "7f"}, {"64", "8001"}, {"-64", "8101"}, {"127", "fe01"}, {"128", "8002"},
		{"1000", "d00f"}, {"-1000", "d10f"}, {"8191", "fe7f"}, {"8192", "808001"}, {"-8193", "838001"}, {"2147483647", "feffffff0f"},
		{"-2147483648", "8180808010"}, {"9223372036854775807", "feffffffffffffffff01"}, {"-9223372036854775808", "81808080808080808002"},
		{"18446744073709551615", "feffffffffffffffff03"}, {"1000000000000000000000000000000", "80808080c8faf6f48cc1e6c9e5a706"},
	} {
		v, _ := new(big.Int).SetString(c.v, 10)
		got := appendBig(nil, v)
		if hexOf(got) != c.hex {
			t.Errorf("%s: %x, want %s", c.v, got, c.hex)
		}
		if back, n := readBig(got); n != len(got) || back.Cmp(v) != 0 {
			t.Errorf("%s reads back as %v in %d bytes", c.v, back, n)
		}
		if v.IsInt64() {
			if short := appendVLC(nil, v.Int64()); hexOf(short) != c.hex {
				t.Errorf("%s as int64: %x", c.v, short)
			}
			if back, n := readVLC(got); n != len(got) || back != v.Int64() {
				t.Errorf("%s reads back as %d in %d bytes", c.v, back, n)
			}
		}
	}
	for _, c := range []struct {
		p    []byte
		v    int64
		n    int
		what string
	}{
		{[]byte{1}, 0, 1, "minus zero"}, {[]byte{0x82, 0x80, 0}, 1, 3, "over-long"}, {nil, 0, 0, "nothing"}, {[]byte{0x80}, 0, 0, "cut"},
		{make80(maxVLC), 0, -1, "endless"}, {append(make80(maxVLC-1), 0), 0, maxVLC, "the longest"},
	} {
		if v, n := readVLC(c.p); v != c.v || n != c.n {
			t.Errorf("%s: %d in %d bytes, want %d in %d", c.what, v, n, c.v, c.n)
		}
		if v, n := readBig(c.p); n != c.n || n > 0 && v.Int64() != c.v {
			t.Errorf("%s as a big integer: %v in %d bytes", c.what, v, n)
		}
	}
}

func make80(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = 0x80
	}
	return p
}

func hexOf(p []byte) string { return string(appendHex(nil, p)) }

func appendHex(dst, p []byte) []byte {
	for _, b := range p {
		dst = append(dst, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
	}
	return dst
}

func TestVLCProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "magnitude"))
		if rapid.Bool().Draw(t, "negative") {
			v.Neg(v)
		}
		p := appendBig([]byte{9}, v)[1:]
		back, n := readBig(append(p, 0xff))
		low, m := readVLC(p)
		wrapped := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		if n != len(p) || m != len(p) || back.Cmp(v) != 0 || uint64(low) != wrapped {
			t.Fatalf("%v: %x reads as %v (%d), %d (%d)", v, p, back, n, low, m)
		}
		for cut := range p {
			if _, n := readVLC(p[:cut]); n != 0 {
				t.Fatalf("%x cut to %d bytes reads as whole", p, cut)
			}
		}
	})
}

func TestCodecs(t *testing.T) {
	names := 0
	for k := range kinds {
		for _, pcm := range []bool{false, true} {
			c := Codec{Kind: k, PCM: pcm}
			if !c.valid() {
				if _, err := ParseCodec(c.String()); !errors.Is(err, formats.ErrUnsupported) {
					t.Errorf("%s: %v", c, err)
				}
				continue
			}
			names++
			if got, err := ParseCodec(c.String()); err != nil || got != c {
				t.Errorf("%s parses as %+v, %v", c, got, err)
			}
			for _, n := range []int{0, 1, 3} {
				c.Channels = n
				want := c
				if k == Integer || pcm && k == I32 {
					want.Kind = Int
				}
				if got, err := parseIdent("", []byte(c.Ident()), 0); err != nil || got != want {
					t.Errorf("%s with %d channels is identified as %+v, %v", c, n, got, err)
				}
			}
		}
	}
	if names != 22 {
		t.Errorf("%d codecs, want 22", names)
	}
}

func TestOrigin(t *testing.T) {
	for _, want := range []time.Time{
		time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC), time.Date(1858, 11, 17, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 23, 59, 59, 999999999, time.UTC),
	} {
		o := OriginOf(want)
		if got, ok := o.UTC(); !ok || !got.Equal(want) {
			t.Errorf("%v becomes %+v becomes %v", want, o, got)
		}
	}
	if got, ok := (Origin{55870, 43200000000001234, 1e12}).UTC(); !ok || got.Format(time.RFC3339Nano) != "2011-11-05T12:00:00.000000001Z" {
		t.Error(got, ok)
	}
	for _, o := range []Origin{{}, {Day: 5, Num: 1}, {math.MaxInt64, 1, 1}, {0, math.MinInt64, -1}, {0, math.MaxInt64, 1}, {-1e6, 0, 1}} {
		if got, ok := o.UTC(); ok {
			t.Errorf("%+v is %v", o, got)
		}
	}
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		r    Rate
		off  int64
		want float64
	}{{Rate{1000, 1}, 2500, 2.5}, {Rate{0, 1}, 5, 0}, {Rate{5, 0}, 5, 0}, {Rate{30000, 1001}, 30, 1.001}, {Rate{2, 1}, math.MinInt64, -0x1p62}} {
		if got := c.r.Seconds(c.off); got != c.want {
			t.Errorf("%v at %d: %v s, want %v", c.r, c.off, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(-3), 100)
	for _, c := range []struct {
		v      Values
		text   string
		f      float64
		signed bool
		i      int64
		u      uint64
		isUint bool
	}{
		{Values{Kind: Bool, Bool: []bool{true}}, "1", 1, true, 1, 1, true},
		{Values{Kind: Bool, Bool: []bool{false}}, "0", 0, true, 0, 0, true},
		{Values{Kind: U64, U64: []uint64{math.MaxUint64}}, "18446744073709551615", 0x1p64, false, -1, math.MaxUint64, true},
		{Values{Kind: I8, I8: []int8{-128}}, "-128", -128, true, -128, 1<<64 - 128, false},
		{Values{Kind: Int, I64: []int64{math.MinInt64}}, "-9223372036854775808", -0x1p63, true, math.MinInt64, 1 << 63, false},
		{Values{Kind: F32, F32: []float32{0.1}}, "0.10000000149011612", 0.10000000149011612, false, 0, 0, false},
		{Values{Kind: Integer, Big: []*big.Int{huge}}, huge.String(), -3 * 0x1p100, false, 0, 0, false},
		{Values{Kind: Unit}, "", 1, false, 0, 0, false},
	} {
		n := c.v.Number(0)
		if n.String() != c.text || c.v.Float(0) != c.f {
			t.Errorf("%s: %q, %v", c.v.Kind, n, c.v.Float(0))
		}
		if i, ok := n.Int(); ok != c.signed || ok && i != c.i {
			t.Errorf("%s %s: Int %d, %v", c.v.Kind, n, i, ok)
		}
		if u, ok := n.Uint(); ok != c.isUint || ok && u != c.u {
			t.Errorf("%s %s: Uint %d, %v", c.v.Kind, n, u, ok)
		}
		if b := n.Big(); b != nil && b.String() != c.text || b == nil && (c.v.Kind != F32 && c.v.Kind != Unit) {
			t.Errorf("%s %s: Big %v", c.v.Kind, n, b)
		}
		if n != (Number{}) && (!n.Equal(c.v.Number(0)) || n.Equal(Number{}) || n.Equal(NewFloat(F64, 77))) {
			t.Errorf("%s %s: Equal", c.v.Kind, n)
		}
	}
}

// Rules for blocks that no fixture breaks.
func TestBlockRules(t *testing.T) {
	tr := Track{Number: 1, Codec: Codec{Kind: I16}, Zlib: true}
	var d deflater
	z, err := d.deflate(nil, []byte{0, 1, 0, 2})
	if err != nil {
		t.Fatal(err)
	}
	var pk Packet
	for what, c := range map[string]struct {
		p     []byte
		count int32
		lim   formats.Limits
		want  error
	}{
		"good": {z, 2, formats.Limits{}, nil}, "bytes behind the stream": {append(z[:len(z):len(z)], 0), 2, formats.Limits{}, formats.ErrCorrupt},
		"too few values": {z, 1, formats.Limits{}, formats.ErrCorrupt}, "no stream": {nil, 0, formats.Limits{}, formats.ErrCorrupt},
		"over the limit": {z, 2, formats.Limits{MaxDecoded: 3}, formats.ErrTooLarge},
	} {
		err := tr.DecodePacket(&pk, Block{Track: 1, Count: c.count, Len: int64(len(c.p))}, c.p, c.lim)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
	body := make([]byte, 24)
	for level, good := range map[int32]bool{-1: false, 0: false, 1: true, MaxLevel: true, MaxLevel + 1: false} {
		var s Summary
		err := tr.DecodeSummary(&s, Block{Summary: true, Track: 1, Level: level, Len: 24}, body)
		if good != (err == nil) || err != nil && !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("level %d: %v", level, err)
		}
	}
	head := (&Block{Track: 1, Count: 5, Len: 7}).append(nil)
	for what, c := range map[string]struct {
		p    []byte
		lim  formats.Limits
		want error
	}{
		"good": {head, formats.Limits{}, nil}, "cut": {head[:35], formats.Limits{}, io.ErrUnexpectedEOF}, "a beginning of a marker": {head[:3], formats.Limits{}, io.ErrUnexpectedEOF},
		"nothing": {nil, formats.Limits{}, io.ErrUnexpectedEOF}, "count": {head, formats.Limits{MaxEntries: 4}, formats.ErrTooLarge}, "length": {head, formats.Limits{MaxDecoded: 6}, formats.ErrTooLarge},
		"no marker": {[]byte("\xe5ZXp5"), formats.Limits{}, formats.ErrCorrupt},
	} {
		if _, err := ParseBlock(c.p, 10, c.lim); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAppendPacketMisuse(t *testing.T) {
	tr := Track{Number: 1, Codec: Codec{Kind: F64, Channels: 2}}
	two := Values{Kind: F64, N: 2, F64: []float64{1, 2}}
	for what, p := range map[string]Packet{
		"another kind":  {Values: Values{Kind: F32, N: 2, F32: []float32{1, 2}}},
		"fewer values":  {Values: Values{Kind: F64, N: 4, F64: []float64{1, 2}}},
		"half a sample": {Values: Values{Kind: F64, N: 1, F64: []float64{1}}},
	} {
		if out, err := tr.AppendPacket([]byte{7}, &p); !errors.Is(err, formats.ErrUnsupported) || len(out) != 1 {
			t.Errorf("%s: %x, %v", what, out, err)
		}
	}
	tr.Variable = true
	if _, err := tr.AppendPacket(nil, &Packet{Values: two}); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("no stamps: %v", err)
	}
	if out, err := tr.AppendPacket(nil, &Packet{Values: two, Stamps: []int64{5}}); err != nil || len(out) != BlockHeaderLen+24 {
		t.Errorf("a good one: %x, %v", out, err)
	}
	if _, err := tr.AppendSummary(nil, &Summary{Block: Block{Level: 1}, Channels: make([]Stats, 1)}); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("one channel of two: %v", err)
	}
}

// A header that is cut anywhere asks for more bytes; a whole header tells its length.
func TestHeaderCuts(t *testing.T) {
	h := &Header{Major: 3, Origin: Origin{55870, 43200000000001234, 1e12}, Tracks: []Track{
		{Number: -5, Codec: Codec{Kind: F64, Channels: 3}, Name: "täglich", Rate: Rate{44100, 1}, Delta: true, Zlib: true},
		{Number: math.MaxInt32, Codec: Codec{Kind: I16, PCM: true}, Rate: Rate{1, 3}, Variable: true},
	}}
	p, err := AppendHeader(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	got, n, err := ParseHeader(append(p, 1, 2, 3), formats.Limits{})
	if err != nil || n != int64(len(p)) {
		t.Fatal(n, len(p), err)
	}
	if d := cmp.Diff(h, got); d != "" {
		t.Error(d)
	}
	for i := range p {
		if _, _, err := ParseHeader(p[:i], formats.Limits{}); !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
}
