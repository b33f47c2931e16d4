package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A track is what a test reads back of one.
type track struct {
	Codec, Name string
	Rate        zoomcache.Rate
	Values      []string
	Stamps      []int64
}

// diff is what differs. To look for that in lists that are equal takes far longer than
// to see that they are.
func diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// stored is an object of these bytes.
func stored(tb testing.TB, b objstore.Bucket, key string, p []byte) *objstore.Object {
	tb.Helper()
	if _, err := objstore.Put(context.Background(), b, key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		tb.Fatal(err)
	}
	return opened(tb, b, key)
}

func opened(tb testing.TB, b objstore.Bucket, key string) *objstore.Object {
	tb.Helper()
	obj, err := objstore.Open(context.Background(), b, key, objstore.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return obj
}

// series opens bytes as an upload called key.
func series(tb testing.TB, key string, p []byte, note *zoom.Note) (zoom.Series, error) {
	tb.Helper()
	return zoom.Open(context.Background(), stored(tb, memstore.New(memstore.Config{}), key, p), zoom.Options{Note: note})
}

// written makes the file of a series and reads it all.
func written(tb testing.TB, s zoom.Series, o zoom.WriteOptions) (*zoomindex.File, []track) {
	tb.Helper()
	var file bytes.Buffer
	n, err := zoom.Write(context.Background(), &file, s, o)
	if err != nil {
		tb.Fatal(err)
	}
	if n.Size != int64(file.Len()) || n.Plain > n.Size {
		tb.Errorf("%+v of a file of %d bytes", n, file.Len())
	}
	f, list := read(tb, opened(tb, filled(tb, file.Bytes()), "x"))
	samples := 0
	for _, t := range list {
		samples += len(t.Values)
	}
	if n.Samples != int64(samples) {
		tb.Errorf("%d samples, the file holds %d", n.Samples, samples)
	}
	return f, list
}

func filled(tb testing.TB, p []byte) objstore.Bucket { tb.Helper(); return filledAs(tb, "x", p) }

func filledAs(tb testing.TB, key string, p []byte) objstore.Bucket {
	tb.Helper()
	b := memstore.New(memstore.Config{})
	stored(tb, b, key, p)
	return b
}

func read(tb testing.TB, obj *objstore.Object) (*zoomindex.File, []track) {
	tb.Helper()
	f, err := zoomindex.Open(context.Background(), obj, zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := f.Verify(context.Background(), nil); err != nil {
		tb.Fatal(err)
	}
	var list []track
	for _, t := range f.Header().Tracks {
		x := track{Codec: t.Codec.String(), Name: t.Name, Rate: t.Rate}
		if err := f.EachPacket(context.Background(), t.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			for i := range p.Values.N {
				x.Values = append(x.Values, fmt.Sprint(value(&p.Values, i)))
			}
			x.Stamps = append(x.Stamps, p.Stamps...)
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
		list = append(list, x)
	}
	return f, list
}

// value is one value in its own type.
func value(v *zoomcache.Values, i int) any {
	switch v.Kind {
	case zoomcache.Bool:
		return v.Bool[i]
	case zoomcache.F32:
		return v.F32[i]
	case zoomcache.F64:
		return v.F64[i]
	case zoomcache.U64, zoomcache.Word:
		return v.U64[i]
	case zoomcache.I64, zoomcache.Int:
		return v.I64[i]
	default:
		return int64(v.Float(i)) // of at most 32 bits
	}
}

// text is how read shows values.
func text[T any](list ...T) []string {
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

// A chunk of a WAV.
func chunk(order binary.AppendByteOrder, name string, size uint32, body []byte) []byte {
	p := append(order.AppendUint32([]byte(name), size), body...)
	if len(body)%2 == 1 {
		p = append(p, 0)
	}
	return p
}

func form(order binary.AppendByteOrder, tag, channels, align, bits uint16, extra ...byte) []byte {
	p := order.AppendUint16(nil, tag)
	p = order.AppendUint16(p, channels)
	p = order.AppendUint32(p, 44100)
	p = order.AppendUint32(p, 44100*uint32(align))
	p = order.AppendUint16(p, align)
	p = append(order.AppendUint16(p, bits), extra...)
	return chunk(order, "fmt ", uint32(len(p)), p)
}

func wav(magic string, chunks ...[]byte) []byte {
	return append([]byte(magic+"\xff\xff\xff\xffWAVE"), bytes.Join(chunks, nil)...)
}

func data(p []byte) []byte { return chunk(binary.LittleEndian, "data", uint32(len(p)), p) }

// extensible is what WAVE_FORMAT_EXTENSIBLE has besides.
func extensible(tag byte) []byte {
	return append([]byte{22, 0, 16, 0, 3, 0, 0, 0, tag, 0}, "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"...)
}

func packed(order binary.ByteOrder, v any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, order, v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func ds64(n uint64) []byte {
	return chunk(binary.LittleEndian, "ds64", 28, packed(binary.LittleEndian, []uint64{0, n, 0, 0})[:28])
}

// TestWAV: samples of every kind arrive as they are.
func TestWAV(t *testing.T) {
	t.Parallel()
	le, be := binary.LittleEndian, binary.BigEndian
	i16 := []int16{0, 1, -1, 32767, -32768, 7}
	p16 := packed(le, i16)
	mono := form(le, 1, 1, 2, 16)
	junk := chunk(le, "LIST", 3, []byte("abc")) // of an odd length
	f64 := []float64{0.5, math.Inf(1), -1e300}
	for name, c := range map[string]struct {
		file   []byte
		codec  string
		tracks [][]string
		warn   string
	}{
		"u8":         {wav("RIFF", form(le, 1, 1, 1, 8), data([]byte{0, 128, 255})), "u8", [][]string{{"0", "128", "255"}}, ""},
		"i16":        {wav("RIFF", mono, data(p16)), "pcm-i16", [][]string{text(i16...)}, ""},
		"stereo":     {wav("RIFF", form(le, 1, 2, 4, 16), data(p16)), "pcm-i16", [][]string{{"0", "-1", "-32768"}, {"1", "32767", "7"}}, ""},
		"i24":        {wav("RIFF", form(le, 1, 1, 3, 24), data([]byte{1, 0, 0, 255, 255, 255, 0, 0, 128, 255, 255, 127})), "i32", [][]string{{"1", "-1", "-8388608", "8388607"}}, ""},
		"i32":        {wav("RIFF", form(le, 1, 1, 4, 32), data(packed(le, []int32{1, math.MinInt32}))), "i32", [][]string{{"1", "-2147483648"}}, ""},
		"24 in 32":   {wav("RIFF", form(le, 1, 1, 4, 24), data(packed(le, []int32{256, -256}))), "i32", [][]string{{"256", "-256"}}, ""},
		"i64":        {wav("RIFF", form(le, 1, 1, 8, 64), data(packed(le, []int64{1 << 60}))), "pcm-i64", [][]string{{fmt.Sprint(1 << 60)}}, ""},
		"f32":        {wav("RIFF", form(le, 3, 2, 8, 32), data(packed(le, []float32{0.5, -0.25}))), "pcm-f32", [][]string{{"0.5"}, {"-0.25"}}, ""},
		"f64":        {wav("RIFF", form(le, 3, 1, 8, 64), data(packed(le, f64))), "pcm-f64", [][]string{text(f64...)}, ""},
		"extensible": {wav("RIFF", form(le, 0xFFFE, 1, 2, 16, extensible(1)...), data(p16)), "pcm-i16", [][]string{text(i16...)}, ""},
		"of floats":  {wav("RIFF", form(le, 0xFFFE, 1, 8, 64, extensible(3)...), data(packed(le, f64))), "pcm-f64", [][]string{text(f64...)}, ""},
		"big-endian": {wav("RIFX", form(be, 1, 1, 2, 16), chunk(be, "data", 12, packed(be, i16))), "pcm-i16", [][]string{text(i16...)}, ""},
		"junk":       {wav("RIFF", junk, mono, junk, data(p16), junk), "pcm-i16", [][]string{text(i16...)}, ""},
		"data first": {wav("RIFF", data(p16), mono), "pcm-i16", [][]string{text(i16...)}, ""},
		"RF64":       {wav("RF64", ds64(12), mono, chunk(le, "data", math.MaxUint32, p16), junk), "pcm-i16", [][]string{text(i16...)}, ""},
		"BW64":       {wav("BW64", ds64(4), mono, chunk(le, "data", math.MaxUint32, p16[:4]), junk), "pcm-i16", [][]string{{"0", "1"}}, ""},
		"no samples": {wav("RIFF", mono, data(nil)), "pcm-i16", [][]string{nil}, ""},
		"none, list": {wav("RIFF", mono, data(nil), junk), "pcm-i16", [][]string{nil}, ""},
		"odd":        {wav("RIFF", form(le, 1, 1, 1, 8), chunk(le, "data", 3, []byte{0, 128, 255}), junk), "u8", [][]string{{"0", "128", "255"}}, ""},
		"tagged":     {wav("RIFF", mono, data(p16), []byte("ID3\x04\x00\x00\x00\x00\x00\x21 and more")), "pcm-i16", [][]string{text(i16...)}, ""},
		"cut list":   {wav("RIFF", mono, data(p16), []byte("LIST\xff\x00\x00\x00INFO")), "pcm-i16", [][]string{text(i16...)}, ""},
		"some bytes": {wav("RIFF", mono, data(p16), []byte{0, 0, 0}), "pcm-i16", [][]string{text(i16...)}, ""},

		"too little": {wav("RIFF", mono, chunk(le, "data", 4, p16)), "pcm-i16", [][]string{text(i16...)}, "says 4 bytes of samples, and behind them is no chunk"},

		"a bit less":  {wav("RIFF", mono, chunk(le, "data", 8, p16)), "pcm-i16", [][]string{text(i16...)}, "says 8 bytes of samples, and behind them is no chunk"},
		"cut name":    {wav("RIFF", mono, data(p16), []byte("LIS")), "pcm-i16", [][]string{text(i16...)}, ""},
		"no pad":      {wav("RIFF", form(le, 1, 1, 1, 8), chunk(le, "data", 3, []byte{0, 128, 255})[:11], chunk(le, "LIST", 4, []byte("INFO"))), "u8", [][]string{{"0", "128", "255"}}, ""},
		"no pad, cut": {wav("RIFF", form(le, 1, 1, 1, 8), chunk(le, "data", 3, []byte{0, 128, 255})[:11], []byte("LIST\xff\x00")), "u8", [][]string{{"0", "128", "255"}}, ""},

		"of a pipe":      {wav("RIFF", mono, chunk(le, "data", math.MaxUint32, p16)), "pcm-i16", [][]string{text(i16...)}, "does not say how long"},
		"never finished": {wav("RIFF", mono, chunk(le, "data", 0, p16)), "pcm-i16", [][]string{text(i16...)}, "does not say how long"},
		"RF64 unending":  {wav("RF64", ds64(0), mono, chunk(le, "data", math.MaxUint32, p16)), "pcm-i16", [][]string{text(i16...)}, "killed"},
		"RF64, none":     {wav("RF64", ds64(0), mono, chunk(le, "data", math.MaxUint32, nil)), "pcm-i16", [][]string{nil}, ""},
		"unknown chunk":  {wav("RIFF", mono, data(p16), chunk(le, "odd ", 4, []byte("abcd"))), "pcm-i16", [][]string{text(i16...)}, ""},
		"like a chunk":   {wav("RIFF", mono, chunk(le, "data", 2, []byte("xx    \x00\x00\x00\x7f"))), "pcm-i16", [][]string{{"30840", "8224", "8224", "0", "32512"}}, "says 2 bytes of samples, and behind them is no chunk"},
		"cut":            {wav("RIFF", mono, chunk(le, "data", 4000, p16)), "pcm-i16", [][]string{text(i16...)}, "more bytes of samples than the 12"},
		"RF64 cut":       {wav("RF64", ds64(math.MaxUint64), mono, chunk(le, "data", math.MaxUint32, p16)), "pcm-i16", [][]string{text(i16...)}, "more bytes of samples"},
		"half a frame":   {wav("RIFF", form(le, 1, 2, 4, 16), data(p16[:6])), "pcm-i16", [][]string{{"0"}, {"1"}}, "the last 2 bytes"},
		"no rate":        {wav("RIFF", slices.Replace(slices.Clone(mono), 12, 16, 0, 0, 0, 0), data(p16)), "pcm-i16", [][]string{text(i16...)}, "0 samples a second"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := series(t, "x.bin", c.file, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.About().Warnings, "; "); !strings.Contains(got, c.warn) || c.warn == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.warn)
			}
			_, list := written(t, s, zoom.WriteOptions{})
			if len(list) != len(c.tracks) {
				t.Fatalf("%d tracks", len(list))
			}
			for i, x := range list {
				if d := cmp.Diff(c.tracks[i], x.Values); d != "" || x.Codec != c.codec || name != "no rate" && x.Rate != (zoomcache.Rate{Num: 44100, Den: 1}) || x.Name != fmt.Sprintf("channel %d", i+1) {
					t.Errorf("%+v: %s", x, d)
				}
			}
		})
	}
}

// TestHostile: what cannot be read ends with a sentinel and says where.
func TestHostile(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	mono := form(le, 1, 1, 2, 16)
	for name, c := range map[string]struct {
		key  string
		file []byte
		is   error
		want string
	}{
		"empty":           {"x.wav", nil, formats.ErrCorrupt, "empty"},
		"nothing":         {"x.bin", []byte("hello"), formats.ErrUnsupported, "no note"},
		"only a head":     {"x.wav", wav("RIFF"), formats.ErrCorrupt, "no format"},
		"no data":         {"x.wav", wav("RIFF", mono), formats.ErrCorrupt, "no data"},
		"no format":       {"x.wav", wav("RIFF", data([]byte{1, 2})), formats.ErrCorrupt, "no format"},
		"short format":    {"x.wav", wav("RIFF", chunk(le, "fmt ", 4, []byte("abcd")), data(nil)), formats.ErrCorrupt, "want 16"},
		"cut format":      {"x.wav", wav("RIFF", mono[:12]), formats.ErrCorrupt, "truncated"},
		"huge chunk":      {"x.wav", wav("RIFF", chunk(le, "junk", math.MaxUint32, nil), mono), formats.ErrCorrupt, "no format"},
		"many chunks":     {"x.wav", wav("RIFF", bytes.Repeat(chunk(le, "junk", 0, nil), 5000)), formats.ErrTooLarge, "chunks"},
		"a-law":           {"x.wav", wav("RIFF", form(le, 6, 1, 1, 8), data(nil)), formats.ErrUnsupported, "0x0006"},
		"other guid":      {"x.wav", wav("RIFF", form(le, 0xFFFE, 1, 2, 16, make([]byte, 24)...), data(nil)), formats.ErrUnsupported, "sub-format"},
		"no channels":     {"x.wav", wav("RIFF", form(le, 1, 0, 0, 16), data(nil)), formats.ErrCorrupt, "no channels"},
		"many channels":   {"x.wav", wav("RIFF", form(le, 1, 65535, 65534, 16), data(nil)), formats.ErrTooLarge, "65535 channels"},
		"no bits":         {"x.wav", wav("RIFF", form(le, 1, 1, 2, 0), data(nil)), formats.ErrUnsupported, "0 bits"},
		"72 bits":         {"x.wav", wav("RIFF", form(le, 1, 1, 9, 72), data(nil)), formats.ErrUnsupported, "72 bits"},
		"narrow frame":    {"x.wav", wav("RIFF", form(le, 1, 2, 2, 16), data(nil)), formats.ErrCorrupt, "frames of 2 bytes"},
		"f16":             {"x.wav", wav("RIFF", form(le, 3, 1, 2, 16), data(nil)), formats.ErrUnsupported, "16 bits"},
		"npy of text":     {"x.npy", npyOf(t, "<U3", false, nil, 0), formats.ErrUnsupported, "samples of type"},
		"npy of complex":  {"x.npy", npyOf(t, "<c8", false, nil, 0), formats.ErrUnsupported, "samples of type"},
		"npy of 3 axes":   {"x.npy", npyOf(t, "<f4", false, nil, 1, 1, 0), formats.ErrUnsupported, "3 axes"},
		"npy of none":     {"x.npy", npyOf(t, "<f4", false, make([]byte, 4)), formats.ErrUnsupported, "0 axes"},
		"npy lying":       {"x.npy", npyOf(t, "<f4", false, make([]byte, 4), 1<<40), formats.ErrCorrupt, "truncated"},
		"npy on its side": {"x.npy", npyOf(t, "<f4", false, make([]byte, 40000), 2, 5000), formats.ErrTooLarge, "transposed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := series(t, c.key, c.file, nil)
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func npyOf(tb testing.TB, typ string, fortran bool, items []byte, shape ...int64) []byte {
	tb.Helper()
	d, err := dtype.Parse(typ)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Fortran: fortran, Shape: shape})
	if err != nil {
		tb.Fatal(err)
	}
	return append(p, items...)
}

// TestNPY: every type of number, in both orders, as arrays of one axis and of two.
func TestNPY(t *testing.T) {
	t.Parallel()
	bytesOf := func(typ string, v any) []byte {
		if strings.HasPrefix(typ, ">") {
			return packed(binary.BigEndian, v)
		}
		return packed(binary.LittleEndian, v)
	}
	for typ, c := range map[string]struct {
		codec string
		v     any
		want  []string
	}{
		"|b1": {"bool", []uint8{0, 1, 2, 0}, []string{"false", "true", "true", "false"}},
		"|i1": {"i8", []int8{1, -1, 127, -128}, []string{"1", "-1", "127", "-128"}},
		"|u1": {"u8", []uint8{1, 0, 127, 255}, []string{"1", "0", "127", "255"}},
		"<i2": {"i16", []int16{1, -1, 5, -32768}, []string{"1", "-1", "5", "-32768"}},
		">u2": {"u16", []uint16{1, 2, 5, 65535}, []string{"1", "2", "5", "65535"}},
		">i4": {"i32", []int32{1, -1, 5, -1 << 31}, []string{"1", "-1", "5", "-2147483648"}},
		"<u4": {"u32", []uint32{1, 2, 5, 1<<32 - 1}, []string{"1", "2", "5", "4294967295"}},
		"<i8": {"i64", []int64{1, -1, 5, -1 << 63}, []string{"1", "-1", "5", "-9223372036854775808"}},
		">u8": {"u64", []uint64{1, 2, 5, 1<<64 - 1}, []string{"1", "2", "5", "18446744073709551615"}},
		"<f2": {"f32", []uint16{0x3c00, 0xc000, 0x7c00, 1}, []string{"1", "-2", "+Inf", "5.9604645e-08"}},
		">f2": {"f32", []uint16{0x3c00, 0xc000, 0x7e00, 0}, []string{"1", "-2", "NaN", "0"}},
		">f4": {"f32", []float32{1, -2, 0.1, 1e38}, []string{"1", "-2", "0.1", "1e+38"}},
		"<f8": {"f64", []float64{1, -2, 0.1, 1e300}, []string{"1", "-2", "0.1", "1e+300"}},
		">f8": {"f64", []float64{1, -2, 0.1, 1e300}, []string{"1", "-2", "0.1", "1e+300"}},
	} {
		items := bytesOf(typ, c.v)
		w := c.want
		for name, x := range map[string]struct {
			file []byte
			want [][]string
		}{
			"line":    {npyOf(t, typ, false, items, 4), [][]string{w}},
			"fortran": {npyOf(t, typ, true, items, 4), [][]string{w}},
			"rows":    {npyOf(t, typ, false, items, 2, 2), [][]string{{w[0], w[2]}, {w[1], w[3]}}},
			"columns": {npyOf(t, typ, true, items, 2, 2), [][]string{{w[0], w[1]}, {w[2], w[3]}}},
			"none":    {npyOf(t, typ, true, nil, 0, 2), [][]string{nil, nil}},
			"no rows": {npyOf(t, typ, false, nil, 5, 0), nil},
		} {
			s, err := series(t, "x", x.file, nil)
			if err != nil {
				t.Fatal(typ, name, err)
			}
			at := time.Date(2026, 5, 1, 0, 0, 0, 250e6, time.UTC)
			f, list := written(t, s, zoom.WriteOptions{Rate: zoomcache.Rate{Num: 30000, Den: 1001}, Origin: zoomcache.OriginOf(at)})
			if got, ok := f.Header().Origin.UTC(); !ok || !got.Equal(at) {
				t.Errorf("origin %v", got)
			}
			var got [][]string
			for _, tr := range list {
				got = append(got, tr.Values)
				if tr.Codec != c.codec || tr.Rate != (zoomcache.Rate{Num: 30000, Den: 1001}) {
					t.Errorf("%s, %s: %+v", typ, name, tr)
				}
			}
			if d := cmp.Diff(x.want, got); d != "" {
				t.Errorf("%s, %s: %s", typ, name, d)
			}
		}
	}
}

// TestInStep: the packets of all tracks end at the same rows, whatever the order of
// the source and the size of its pieces; and many rows arrive in their order.
func TestInStep(t *testing.T) {
	t.Parallel()
	const n, k = 450_000, 3 // more than is read of all columns at once
	rows, cols := make([]float64, n*k), make([]float64, n*k)
	for i := range n {
		for c := range k {
			v := float64(i)*10 + float64(c)
			rows[i*k+c], cols[c*n+i] = v, v
		}
	}
	var files [2][]byte
	for i, p := range [][]byte{npyOf(t, "<f8", false, packed(binary.LittleEndian, rows), n, k), npyOf(t, "<f8", true, packed(binary.LittleEndian, cols), n, k)} {
		s, err := series(t, "x", p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := zoom.Write(t.Context(), &b, s, zoom.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		files[i] = b.Bytes()
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("rows and columns make other files")
	}
	f, list := read(t, opened(t, filled(t, files[0]), "x"))
	for c, x := range list {
		for i, v := range x.Values {
			if v != fmt.Sprint(rows[i*k+c]) {
				t.Fatalf("track %d, sample %d: %s", c, i, v)
			}
		}
	}
	err := f.EachBlock(t.Context(), func(b zoomcache.Block, tr *zoomcache.Track, _ []byte) error {
		if !b.Summary && tr != nil && b.Count != 1024 && b.Count != 0 && b.Exit != n {
			t.Errorf("%+v", b)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
