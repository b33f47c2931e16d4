package zoomcache

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A script is a parsed file of testdata/inputs: the calls that were made of the
// original.
type script struct {
	o   WriteOptions
	ops []op
}

type op struct {
	verb  string // wm, w, v, flush
	track int32
	n     int64 // watermark or stamp
	value string
}

func readScript(tb testing.TB, in io.Reader) *script {
	tb.Helper()
	s := &script{}
	atoi := func(x string) int64 {
		n, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		return n
	}
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		f := strings.Split(sc.Text(), " ")
		switch f[0] {
		case "raw":
			s.o.NoRaw = f[1] == "0"
		case "utc":
			s.o.Origin = Origin{atoi(f[1]), atoi(f[2]), atoi(f[3])}
		case "track":
			name, err := hex.DecodeString(f[9])
			if err != nil {
				tb.Fatal(err)
			}
			c, err := ParseCodec(f[2])
			if err != nil {
				tb.Fatal(err)
			}
			c.Channels = int(atoi(f[3]))
			s.o.Tracks = append(s.o.Tracks, Track{Number: int32(atoi(f[1])), Codec: c, Delta: f[4] == "1", Zlib: f[5] == "1",
				Variable: f[6] == "vbr", Rate: Rate{atoi(f[7]), atoi(f[8])}, Name: string(name)})
		case "begin":
		case "wm":
			s.ops = append(s.ops, op{verb: "wm", track: int32(atoi(f[1])), n: atoi(f[2])})
		case "w":
			s.ops = append(s.ops, op{verb: "w", track: int32(atoi(f[1])), value: f[2]})
		case "v":
			s.ops = append(s.ops, op{verb: "v", track: int32(atoi(f[1])), n: atoi(f[2]), value: f[3]})
		case "flush":
			s.ops = append(s.ops, op{verb: "flush"})
		default:
			tb.Fatalf("what is %q?", sc.Text())
		}
	}
	if err := sc.Err(); err != nil {
		tb.Fatal(err)
	}
	return s
}

func inputNames(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob("testdata/inputs/*.txt.gz")
	if err != nil || len(names) != 72 {
		tb.Fatal(len(names), err)
	}
	return names
}

func openScript(tb testing.TB, name string) *script {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	return readScript(tb, z)
}

// run plays a script, up to piece values of one track in one call.
func (s *script) run(tb testing.TB, o WriteOptions, piece func() int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(s.ops); {
		op := s.ops[i]
		j := i + 1
		switch op.verb {
		case "wm":
			w.Track(op.track).SetWatermark(int(op.n))
		case "flush":
			err = w.Flush()
		default:
			for n := piece(); j < len(s.ops) && j-i < n && s.ops[j].verb == op.verb && s.ops[j].track == op.track; j++ {
			}
			err = appendOps(w.Track(op.track), s.ops[i:j])
		}
		if err != nil {
			tb.Fatal(err)
		}
		i = j
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if w.Offset() != int64(out.Len()) {
		tb.Errorf("the writer counts %d bytes of %d", w.Offset(), out.Len())
	}
	return out.Bytes()
}

func appendOps(t *TrackWriter, ops []op) error {
	switch t.t.Codec.Kind {
	case Unit:
		return appendParsed(t, ops, func(string) struct{} { return struct{}{} })
	case Bool:
		return appendParsed(t, ops, func(s string) bool { return s == "1" })
	case F32:
		return appendParsed(t, ops, func(s string) float32 { return math.Float32frombits(parseUint[uint32](s)) })
	case F64:
		return appendParsed(t, ops, func(s string) float64 { return math.Float64frombits(parseUint[uint64](s)) })
	case Integer:
		return appendParsed(t, ops, func(s string) *big.Int {
			v, ok := new(big.Int).SetString(s, 10)
			if !ok {
				panic(s)
			}
			return v
		})
	case Int, I64:
		return appendParsed(t, ops, parseInt[int64])
	case I8:
		return appendParsed(t, ops, parseInt[int8])
	case I16:
		return appendParsed(t, ops, parseInt[int16])
	case I32:
		return appendParsed(t, ops, parseInt[int32])
	case U8:
		return appendParsed(t, ops, parseUint[uint8])
	case U16:
		return appendParsed(t, ops, parseUint[uint16])
	case U32:
		return appendParsed(t, ops, parseUint[uint32])
	default:
		return appendParsed(t, ops, parseUint[uint64])
	}
}

func parseInt[T int8 | int16 | int32 | int64](s string) T {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || int64(T(v)) != v {
		panic(s)
	}
	return T(v)
}

func parseUint[T uint8 | uint16 | uint32 | uint64](s string) T {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil || uint64(T(v)) != v {
		panic(s)
	}
	return T(v)
}

func appendParsed[T Value](t *TrackWriter, ops []op, parse func(string) T) error {
	var v []T
	var at []int64
	for _, o := range ops {
		for x := range strings.SplitSeq(o.value, ",") {
			v = append(v, parse(x))
		}
		at = append(at, o.n)
	}
	if ops[0].verb == "v" {
		return WriteSamplesAt(t, at, v)
	}
	return WriteSamples(t, v)
}

// compareFiles compares the bytes. If a track is compressed, it compares the inflated
// ones.
func compareFiles(t *testing.T, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	a, b := inflated(t, got), inflated(t, want)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("of %d and %d bytes, byte %d is %#x, want %#x", len(a), len(b), i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		t.Fatalf("%d bytes, want %d", len(a), len(b))
	}
}

// The writer makes every file of the original from the same input, whatever the
// pieces in which the values come.
func TestSameBytesAsOriginal(t *testing.T) {
	for _, name := range inputNames(t) {
		base := strings.TrimSuffix(filepath.Base(name), ".txt.gz")
		t.Run(base, func(t *testing.T) {
			s := openScript(t, name)
			want := original(t, base+Suffix)
			rnd := rand.New(rand.NewPCG(1, 2))
			for what, piece := range map[string]func() int{
				"one by one": func() int { return 1 }, "at once": func() int { return 1 << 30 }, "random": func() int { return 1 + rnd.IntN(40) },
			} {
				t.Run(what, func(t *testing.T) { compareFiles(t, s.run(t, s.o, piece), want) })
			}
			zlib := false
			for _, tr := range s.o.Tracks {
				zlib = zlib || tr.Zlib
			}
			if !zlib && !bytes.Equal(s.run(t, s.o, func() int { return 7 }), want) {
				t.Error("not the same bytes, though no track is compressed")
			}
		})
	}
}

// bigSamples is the input of p-million-i16.
func bigSamples() []int16 {
	v := make([]int16, 1e6)
	for i := range v {
		v[i] = int16(math.RoundToEven(12000 * math.Sin(float64(i)/30)))
	}
	return v
}

func TestSameBytesAsOriginalOfAMillion(t *testing.T) {
	files, _ := manifest(t)
	var want fixture
	for _, f := range files {
		if f.File == bigFixture {
			want = f
		}
	}
	v := bigSamples()
	h := sha256.New()
	for _, x := range v {
		var p [8]byte
		for i := range p {
			p[i] = byte(int64(x) >> (8 * i))
		}
		h.Write(p[:])
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want.Tracks[0].SamplesSha {
		t.Fatal("the samples are not those that the original was given")
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, WriteOptions{Tracks: []Track{{Number: 1, Codec: Codec{Kind: I16}, Delta: true, Zlib: true, Rate: Rate{44100, 1}, Name: "tone"}}})
	if err == nil {
		err = WriteSamples(w.Track(1), v)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(inflated(t, out.Bytes()))
	if got := hex.EncodeToString(sum[:]); got != "9f72c8756f3fdcbf1aafaba0dad7fab024573c8dc327aeb25b5fa3ea181c2eb1" { // of testdata/MANIFEST
		t.Errorf("inflated, the file has the SHA-256 %s", got)
	}
}
