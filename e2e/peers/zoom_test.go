//go:build peers

package peers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

// zoomFile is what the independent program says of a zoom-cache file.
type zoomFile struct {
	Error      string
	UTC        []string
	Undeclared int `json:"undeclared_blocks"`
	Tracks     []zoomTrack
	End        int64         // of the blocks of declared tracks
	All        []zoomSummary // of what it has written
}

type zoomTrack struct {
	Track    int32
	Codec    string
	Ident    string `json:"ident_hex"`
	Channels int
	Rate     string
	Mode     string
	Delta    bool
	Zlib     bool
	Name     string
	Packets  int64
	Empty    int64 `json:"empty_packets"`
	Samples  int64
	Values   string `json:"samples_sha256"`
	Stamps   string `json:"timestamps_sha256"`
}

type zoomSummary struct {
	Track       int32
	Level       int
	Entry, Exit int64
	Channels    []map[string]string
}

func zoomJobs(t *testing.T, jobs []pyJob) []zoomFile {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var out []zoomFile
	runIn(t.Context(), t, bytes.NewReader(in), &out, "zoom.py")
	if len(out) != len(jobs) {
		t.Fatalf("%d answers to %d questions", len(out), len(jobs))
	}
	return out
}

// zoomCodecs are all that there are; those that share an identifier with one before
// them are told to the program by name.
func zoomCodecs(t *testing.T) []zoomcache.Codec {
	t.Helper()
	var list []zoomcache.Codec
	for _, name := range strings.Fields("unit bool f32 f64 int integer word i8 i16 i32 i64 u8 u16 u32 u64 pcm-f32 pcm-f64 pcm-int pcm-i8 pcm-i16 pcm-i32 pcm-i64") {
		c, err := zoomcache.ParseCodec(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// A series is what was written to a track, as the digests see it.
type series struct {
	track          zoomcache.Track
	values, stamps []byte
	n              int64 // samples
	last           int64
}

// hold adds values to the digests.
func (s *series) hold(v *zoomcache.Values, stamps []int64) {
	for i := range v.N {
		if v.Kind != zoomcache.Unit {
			s.values = binary.LittleEndian.AppendUint64(s.values, bits64(v, i))
		}
	}
	n := v.N / max(1, s.track.Codec.Channels)
	for i := range n {
		s.last++
		if stamps != nil {
			s.last = stamps[i]
		}
		s.stamps = binary.LittleEndian.AppendUint64(s.stamps, uint64(s.last))
	}
	s.n += int64(n)
}

// bits64 is a value as a float64 or as the low 64 bits of an integer.
func bits64(v *zoomcache.Values, i int) uint64 {
	if v.Kind.Float() {
		return math.Float64bits(v.Float(i))
	}
	x := v.Number(i).Big()
	return x.And(x, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
}

// want is what the program should say of the track.
func (s *series) want() zoomTrack {
	t := s.track
	return zoomTrack{Track: t.Number, Codec: t.Codec.String(), Channels: t.Codec.Channels, Mode: map[bool]string{false: "cbr", true: "vbr"}[t.Variable],
		Rate: fmt.Sprintf("%d/%d", t.Rate.Num, t.Rate.Den), Delta: t.Delta, Zlib: t.Zlib, Name: t.Name, Samples: s.n, Values: sum(s.values), Stamps: sum(s.stamps)}
}

// only are the fields that want knows.
func (t zoomTrack) only() zoomTrack {
	t.Ident, t.Packets, t.Empty = "", 0, 0
	return t
}

// take appends values to a track of a writer.
func take[T zoomcache.Value](t *zoomcache.TrackWriter, v []T, stamps []int64) error {
	if stamps != nil {
		return zoomcache.WriteSamplesAt(t, stamps, v)
	}
	return zoomcache.WriteSamples(t, v)
}

func drawn[T any](n int, one func() T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = one()
	}
	return list
}

// float is one that zoom-cache files must keep, or one whose differences are exact.
func (r random) float(exact bool) float64 {
	v := float64(r.IntN(8000)-4000) / 8
	if exact || r.IntN(3) > 0 {
		return v
	}
	return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30))}[r.IntN(5)]
}

// word is a number of which half are small.
func (r random) word() uint64 {
	if r.IntN(2) == 0 {
		return uint64(r.IntN(100))
	}
	return r.Uint64()
}

// write appends n samples to a track and keeps what it appended.
func (s *series) write(r random, w *zoomcache.TrackWriter, n int) error {
	var stamps []int64
	at := s.last
	if s.track.Variable {
		stamps = drawn(n, func() int64 { at += []int64{0, 1, 1, 7, 1000, -5}[r.IntN(6)]; return at })
	}
	c := s.track.Codec
	n *= max(1, c.Channels)
	v := zoomcache.Values{Kind: c.Kind, N: n}
	var err error
	switch c.Kind {
	case zoomcache.Unit:
		err = take(w, make([]struct{}, n), stamps)
	case zoomcache.Bool:
		v.Bool = drawn(n, func() bool { return r.IntN(2) == 0 })
		err = take(w, v.Bool, stamps)
	case zoomcache.F32:
		v.F32 = drawn(n, func() float32 { return float32(r.float(s.track.Delta)) })
		err = take(w, v.F32, stamps)
	case zoomcache.F64:
		v.F64 = drawn(n, func() float64 { return r.float(s.track.Delta) })
		err = take(w, v.F64, stamps)
	case zoomcache.I8:
		v.I8 = drawn(n, func() int8 { return int8(r.word()) })
		err = take(w, v.I8, stamps)
	case zoomcache.I16:
		v.I16 = drawn(n, func() int16 { return int16(r.word()) })
		err = take(w, v.I16, stamps)
	case zoomcache.I32:
		v.I32 = drawn(n, func() int32 { return int32(r.word()) })
		err = take(w, v.I32, stamps)
	case zoomcache.I64, zoomcache.Int:
		shift := 0
		if c.PCM && c.Kind == zoomcache.Int { // has 32 bits in the file, differences too
			shift = 33
		}
		v.I64 = drawn(n, func() int64 { return int64(r.word()) >> shift })
		err = take(w, v.I64, stamps)
	default:
		err = s.writeUnsigned(r, w, &v, stamps)
	}
	s.hold(&v, stamps)
	return err
}

func (s *series) writeUnsigned(r random, w *zoomcache.TrackWriter, v *zoomcache.Values, stamps []int64) error {
	switch v.Kind {
	case zoomcache.U8:
		v.U8 = drawn(v.N, func() uint8 { return uint8(r.word()) })
		return take(w, v.U8, stamps)
	case zoomcache.U16:
		v.U16 = drawn(v.N, func() uint16 { return uint16(r.word()) })
		return take(w, v.U16, stamps)
	case zoomcache.U32:
		v.U32 = drawn(v.N, func() uint32 { return uint32(r.word()) })
		return take(w, v.U32, stamps)
	case zoomcache.U64, zoomcache.Word:
		v.U64 = drawn(v.N, r.word)
		return take(w, v.U64, stamps)
	case zoomcache.Integer:
		v.Big = drawn(v.N, func() *big.Int {
			x := new(big.Int).Lsh(new(big.Int).SetUint64(r.word()), uint(r.IntN(40)))
			if r.IntN(2) == 0 {
				x.Neg(x)
			}
			return x
		})
		return take(w, v.Big, stamps)
	default:
		return fmt.Errorf("no values of %s", v.Kind)
	}
}

// zoomTracks draws the tracks of file i: every codec comes up in each of its forms.
func (r random) zoomTracks(codecs []zoomcache.Codec, i int) []*series {
	list := make([]*series, []int{1, 1, 1, 2, 4}[r.IntN(5)])
	for k := range list {
		c := codecs[(i+k*5)%len(codecs)]
		if r.IntN(4) == 0 {
			c.Channels = 1 + r.IntN(5)
		}
		form := i/len(codecs) + k
		list[k] = &series{track: zoomcache.Track{Number: int32(1 + 3*k), Codec: c, Name: r.id(i), Variable: form%2 == 1, Delta: r.IntN(2) == 0, Zlib: form%3 == 2,
			Rate: [...]zoomcache.Rate{{Num: 1000, Den: 1}, {Num: 30000, Den: 1001}, {Num: 1, Den: 10}}[r.IntN(3)]}}
	}
	return list
}

// zoomWrite writes one random file and what was in it. The values are the same for
// the same i.
func zoomWrite(t *testing.T, path string, codecs []zoomcache.Codec, i int, noRaw bool) (o zoomcache.WriteOptions, list []*series, plain int64) {
	t.Helper()
	r := seeded(uint64(90_000 + i))
	list = r.zoomTracks(codecs, i)
	for _, s := range list {
		o.Tracks = append(o.Tracks, s.track)
	}
	if r.IntN(2) == 0 {
		o.Origin = zoomcache.Origin{Day: 60_000 + int64(i), Num: int64(i) * 7, Den: 1 + int64(i)}
	}
	o.Watermark, o.NoRaw, o.Parallel = []int{-1, 0, 1, 3, 64}[r.IntN(5)], noRaw, r.IntN(3)
	if r.IntN(2) == 0 {
		o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{NoBins: r.IntN(2) == 0})
	}
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	if err != nil {
		t.Fatalf("%d: %v", i, err)
	}
	for range r.IntN(9) {
		for _, s := range list {
			if err := s.write(r, w.Track(s.track.Number), []int{0, 1, 2, r.IntN(40), r.IntN(700)}[r.IntN(5)]); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%d: %v", i, err)
	}
	saved(t, path, b.Bytes())
	return o, list, int64(b.Len())
}

// zoomRead is the question for a file with these tracks.
func zoomRead(path, raw string, tracks []zoomcache.Track) pyJob {
	names := map[string]string{}
	for _, t := range tracks {
		names[strconv.Itoa(int(t.Number))] = t.Codec.String()
	}
	return pyJob{"kind": "read", "path": path, "codecs": names, "raw": raw}
}

// TestZoomWritten: the independent program reads what we write, with the values that
// were written, and makes the same blocks of these values, summaries of all levels
// included; an index is nothing but packets of tracks that it passes over.
func TestZoomWritten(t *testing.T) {
	dir, codecs := t.TempDir(), zoomCodecs(t)
	type made struct {
		o    zoomcache.WriteOptions
		list []*series
		size int64
	}
	var files []made
	var jobs []pyJob
	for i := range 6 * len(codecs) {
		path := filepath.Join(dir, fmt.Sprintf("%d.zoom", i))
		raw := ""
		var m made
		if i%7 == 3 { // summaries alone; their values are in another file
			raw = path + ".raw"
			zoomWrite(t, raw, codecs, i, false)
		}
		m.o, m.list, m.size = zoomWrite(t, path, codecs, i, raw != "")
		files, jobs = append(files, m), append(jobs, zoomRead(path, raw, m.o.Tracks))
	}
	indexed := 0
	for i, got := range zoomJobs(t, jobs) {
		m := files[i]
		if got.Error != "" {
			t.Errorf("%d, %+v: %s", i, m.o, got.Error)
			continue
		}
		var want []zoomTrack
		for k, s := range m.list {
			one := s.want()
			one.Codec = got.Tracks[k].Codec // the wider one of an identifier; the question had the right one
			if m.o.NoRaw {
				one.Samples, one.Values, one.Stamps = 0, sum(nil), sum(nil)
			}
			want = append(want, one)
			got.Tracks[k] = got.Tracks[k].only()
		}
		same(t, want, got.Tracks)
		if o := m.o.Origin; o.Den == 0 != (got.UTC == nil) || o.Den != 0 && !slices.Equal(got.UTC, []string{fmt.Sprint(o.Day), fmt.Sprint(o.Num), fmt.Sprint(o.Den)}) {
			t.Errorf("%d: origin %v, not %+v", i, got.UTC, o)
		}
		if (got.End < m.size) != (got.Undeclared > 0) || got.Undeclared > 0 && m.o.Sink == nil {
			t.Errorf("%d: %d of %d bytes, and %d blocks of other tracks", i, got.End, m.size, got.Undeclared)
		}
		indexed += min(got.Undeclared, 1)
	}
	if indexed < len(files)/4 {
		t.Errorf("only %d of %d files have an index", indexed, len(files))
	}
}

// TestZoomTheirs: we read what the independent program writes in this moment, all
// values, stamps and summaries.
func TestZoomTheirs(t *testing.T) {
	dir, codecs := t.TempDir(), zoomCodecs(t)
	var jobs []pyJob
	for i := range 4 * len(codecs) {
		r := seeded(uint64(95_000 + i))
		job := pyJob{"kind": "write", "path": filepath.Join(dir, fmt.Sprintf("%d.zoom", i)), "seed": i, "watermark": []int{1, 2, 50, 1024}[r.IntN(4)], "rounds": r.IntN(9), "raw": i%7 != 3}
		var tracks []pyJob
		for _, s := range r.zoomTracks(codecs, i) {
			k := s.track
			tracks = append(tracks, pyJob{"number": k.Number, "codec": k.Codec.String(), "channels": k.Codec.Channels, "rate": fmt.Sprintf("%d/%d", k.Rate.Num, k.Rate.Den),
				"variable": k.Variable, "delta": k.Delta, "zlib": k.Zlib, "name": k.Name})
		}
		job["tracks"] = tracks
		if r.IntN(2) == 0 {
			job["utc"] = []int{60_000 + i, i, i + 1}
		}
		jobs = append(jobs, job)
	}
	summaries := 0
	for i, want := range zoomJobs(t, jobs) {
		if want.Error != "" {
			t.Errorf("%d, %v: their writer: %s", i, jobs[i], want.Error)
			continue
		}
		summaries += len(want.All)
		checkZoom(t, jobs[i]["path"].(string), want)
	}
	if summaries < 1000 {
		t.Errorf("only %d summaries were compared", summaries)
	}
}

// checkZoom holds what we read of a file against what the program says of it.
func checkZoom(t *testing.T, path string, want zoomFile) {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomcache.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), zoomcache.Options{Integers: true})
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	rep, err := f.Verify(t.Context(), nil)
	if err != nil {
		t.Errorf("%s: verify: %v", path, err)
		return
	}
	var tracks []zoomTrack
	for i, k := range f.Header().Tracks {
		s := series{track: k}
		if err := f.EachPacket(t.Context(), k.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			stamps := p.Stamps
			if stamps == nil {
				s.last = p.Entry - 1
			}
			s.hold(&p.Values, stamps)
			return nil
		}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		one := s.want()
		one.Codec, one.Ident = want.Tracks[i].Codec, want.Tracks[i].Ident
		if c := k.Codec.String(); c != one.Codec && "pcm-"+c != one.Codec && !slices.Contains([]string{"int integer", "integer int", "pcm-int pcm-i32"}, c+" "+one.Codec) {
			t.Errorf("%s: track %d is %s, not %s", path, k.Number, c, one.Codec)
		}
		one.Packets, one.Empty = rep.Tracks[i].Packets, rep.Tracks[i].Empty
		tracks = append(tracks, one)
	}
	same(t, want.Tracks, tracks)
	for _, k := range want.Tracks {
		var mine, theirs []zoomSummary
		for _, s := range want.All {
			if s.Track == k.Track {
				theirs = append(theirs, s)
			}
		}
		if err := f.EachSummary(t.Context(), k.Track, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
			mine = append(mine, summaryOf(f, s))
			return nil
		}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for i := range theirs {
			for _, c := range theirs[i].Channels {
				for name, text := range c {
					c[name] = plainNumber(t, text)
				}
			}
		}
		same(t, theirs, mine)
	}
}

// summaryOf names the fields as the program does.
func summaryOf(f *zoomcache.File, s *zoomcache.Summary) zoomSummary {
	out := zoomSummary{Track: s.Track, Level: int(s.Level), Entry: s.Entry, Exit: s.Exit}
	k, _ := f.Header().Track(s.Track)
	float := func(v float64) string { return zoomcache.NewFloat(zoomcache.F64, v).String() }
	for _, c := range s.Channels {
		m := map[string]string{}
		switch k.Codec.Kind {
		case zoomcache.Unit:
			m["count"] = strconv.Itoa(int(c.Count))
		case zoomcache.Bool:
			m["expected"] = float(c.Expected)
		default:
			m["avg"], m["rms"] = float(c.Mean), float(c.RMS)
		}
		for name, n := range map[string]zoomcache.Number{"entry": c.First, "exit": c.Last, "min": c.Min, "max": c.Max} {
			if n.Present() {
				m[name] = n.String()
			}
		}
		out.Channels = append(out.Channels, m)
	}
	return out
}

// plainNumber is a number of the program's in our spelling.
func plainNumber(t *testing.T, text string) string {
	t.Helper()
	if !strings.ContainsAny(text, "xni") {
		return text
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return zoomcache.NewFloat(zoomcache.F64, v).String()
}
