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
				if got, err := parseIdent("", []byte(c.ident()), 0); err != nil || got != want {
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

// A header that is cut anywhere asks for more, and the whole one says its length.
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
