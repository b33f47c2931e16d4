package zoom_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
	"github.com/farread/farread/objstore/memstore"
)

const joinKey = "sets/all.zoom"

// A joinBench is a job with a rule that appends.
type joinBench struct {
	in, out objstore.Bucket
	job     functions.Job
	seq     int
}

func newJoin(t *testing.T, r functions.Rule) *joinBench {
	t.Helper()
	b := &joinBench{in: memstore.New(memstore.Config{Name: "mem://in"}), out: memstore.New(memstore.Config{Name: "mem://out"})}
	r.Job, r.Append, r.To, r.Out.Prefix = "zoom", true, "all.zoom", "sets/"
	var err error
	if b.job, err = zoom.New(zoom.WriteOptions{}, nil)(r, b.out); err != nil {
		t.Fatal(err)
	}
	return b
}

// put uploads p; each upload is later than those before.
func (b *joinBench) put(t *testing.T, key string, p []byte, meta map[string]string) functions.Upload {
	t.Helper()
	info, err := objstore.Put(t.Context(), b.in, key, bytes.NewReader(p), objstore.PutOptions{Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	b.seq++
	return functions.Upload{Bucket: "in", Key: key, Size: info.Size, ETag: info.ETag, Sequencer: fmt.Sprintf("%06X", b.seq)}
}

// send uploads p, and tells of it twice.
func (b *joinBench) send(t *testing.T, key string, p []byte) {
	t.Helper()
	u := b.put(t, key, p, nil)
	for again := range 2 {
		if infos, err := b.job.Run(t.Context(), b.in, u); err != nil || len(infos) != 1-again {
			t.Fatalf("%s: %v, %v", key, infos, err)
		}
	}
}

func (b *joinBench) open(t *testing.T) (*zoomindex.File, *objstore.Object) {
	t.Helper()
	o, err := objstore.Open(t.Context(), b.out, joinKey, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomindex.Open(t.Context(), o, zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f, o
}

// samples are those of each track, with their times; summaries and index must be those of
// the samples.
func samples(t *testing.T, f *zoomindex.File) map[string][]string {
	t.Helper()
	if r, err := f.Recompute(t.Context(), nil); err != nil || !r.Indexed || r.Wrong > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	out := map[string][]string{}
	origin, _ := f.Header().Origin.UTC()
	for _, tr := range f.Header().Tracks {
		err := f.EachPacket(t.Context(), tr.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			for i := range int(p.Count) {
				at := fmt.Sprint(p.Offset(i))
				if tr.Variable {
					at = origin.Add(time.Duration(p.Stamps[i] * (int64(time.Second) / tr.Rate.Num))).Format(time.RFC3339Nano)
				}
				v := float64(0)
				switch k := p.Values.Kind; k {
				case zoomcache.F64:
					v = p.Values.F64[i]
				case zoomcache.I16:
					v = float64(p.Values.I16[i])
				default:
					t.Fatal(k)
				}
				out[tr.Name] = append(out[tr.Name], fmt.Sprint(at, " ", v))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// packedAtOnce are the samples of a file of all.
func packedAtOnce(t *testing.T, name string, p []byte) map[string][]string {
	t.Helper()
	b := memstore.New(memstore.Config{Name: "mem://whole"})
	if _, err := objstore.Put(t.Context(), b, name, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	f64, _ := zoomcache.ParseCodec("f64")
	job := &zoom.Job{Out: b, Write: zoom.WriteOptions{Codec: &f64}}
	if !strings.HasSuffix(name, ".csv") {
		job.Write.Codec = nil
	}
	infos, err := job.Run(t.Context(), b, functions.Upload{Bucket: "whole", Key: name})
	if err != nil {
		t.Fatal(err)
	}
	o, err := objstore.Open(t.Context(), b, infos[0].Key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomindex.Open(t.Context(), o, zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return samples(t, f)
}

// hour is a CSV of n rows of an hour, with a column of which most cells are empty, a gap of
// a minute now and then, and times that repeat, also at the ends.
func hour(r *rand.Rand, h, n int) []byte {
	var b bytes.Buffer
	b.WriteString("time,level,rare\n")
	at := time.Date(2026, 5, 1, h, 0, 0, 0, time.UTC)
	for i := range n {
		level := float64(r.IntN(2000))
		if h%2 == 0 {
			level /= 8
		}
		fmt.Fprintf(&b, "%s,%g,", at.Format("2006-01-02T15:04:05.999Z07:00"), level)
		if r.IntN(5) == 0 {
			fmt.Fprint(&b, r.IntN(99))
		}
		b.WriteString("\n")
		switch r.IntN(400) {
		case 0:
			at = at.Add(time.Minute)
		case 1:
		default:
			at = at.Add(time.Duration(r.IntN(3)+1) * 100 * time.Millisecond)
		}
		if i == n-2 { // the last row has the time of the next hour's first one
			at = time.Date(2026, 5, 1, h+1, 0, 0, 0, time.UTC)
		}
	}
	return b.Bytes()
}

// TestJoinPlaces: whatever the kinds and lengths of uploads, and wherever their places are,
// the dataset has after each the samples that a file of all of them has.
func TestJoinPlaces(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	steps := racetest.Share(10, 3)
	for name, c := range map[string]struct {
		ext  string
		make func(r *rand.Rand, k int) (file []byte, body []byte) // of an upload, and what is behind its header
		all  func(bodies [][]byte) []byte
	}{
		"csv": {"csv", func(r *rand.Rand, k int) ([]byte, []byte) {
			p := hour(r, k, 2+r.IntN(4000))
			return p, p[bytes.IndexByte(p, '\n')+1:]
		}, func(bodies [][]byte) []byte {
			return append([]byte("time,level,rare\n"), bytes.Join(bodies, nil)...)
		}},
		"npy": {"npy", func(r *rand.Rand, _ int) ([]byte, []byte) {
			v := some(r.IntN(5000))
			return npyOf(t, "<i2", false, packed(le, v), int64(len(v))), packed(le, v)
		}, func(bodies [][]byte) []byte {
			p := bytes.Join(bodies, nil)
			return npyOf(t, "<i2", false, p, int64(len(p)/2))
		}},
		"stereo": {"wav", func(r *rand.Rand, _ int) ([]byte, []byte) {
			p := packed(le, some(2*(1+r.IntN(3000))))
			return wav("RIFF", form(le, 1, 2, 4, 16), data(p)), p
		}, func(bodies [][]byte) []byte { return wav("RIFF", form(le, 1, 2, 4, 16), data(bytes.Join(bodies, nil))) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(len(name)), 8))
			b := newJoin(t, functions.Rule{})
			have := map[int][]byte{}
			for range steps {
				k := r.IntN(7)
				file, body := c.make(r, k)
				b.send(t, fmt.Sprintf("%02d.%s", k, c.ext), file)
				have[k] = body
				var bodies [][]byte
				for _, k := range slices.Sorted(maps.Keys(have)) {
					bodies = append(bodies, have[k])
				}
				f, _ := b.open(t)
				if d := diff(packedAtOnce(t, "all."+c.ext, c.all(bodies)), samples(t, f)); d != "" {
					t.Fatalf("after %d of %v:\n%.2000s", k, slices.Sorted(maps.Keys(have)), d)
				}
			}
		})
	}
}

// TestJoinForeign: samples that somebody appends by hand stay behind the uploads that were
// there, and so does the record of these.
func TestJoinForeign(t *testing.T) {
	t.Parallel()
	b := newJoin(t, functions.Rule{})
	day := func(d string) []byte {
		return []byte("time,a\n2026-05-" + d + "T00:00:00Z,1\n2026-05-" + d + "T00:00:05Z," + d + "\n")
	}
	b.send(t, "02.csv", day("02"))
	_, o := b.open(t)
	f, err := draft.Open(t.Context(), o, draft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := series(t, "hand.csv", []byte("time,a\n2026-05-02T12:00:00Z,0.5\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zoom.Append(t.Context(), o, f, s, zoom.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Commit(t.Context(), objstore.PutOptions{Meta: o.Info().Meta}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"04", "01", "03", "02"} {
		b.send(t, d+".csv", day(d))
	}
	now, _ := b.open(t)
	var want []string
	for _, d := range []string{"01", "02", "hand", "03", "04"} {
		if d == "hand" {
			want = append(want, "2026-05-02T12:00:00Z 0.5")
			continue
		}
		want = append(want, "2026-05-"+d+"T00:00:00Z 1", "2026-05-"+d+"T00:00:05Z "+d[1:])
	}
	if diff := cmp.Diff(want, samples(t, now)["a"]); diff != "" {
		t.Error(diff)
	}
}

// TestJoinRefused: uploads that a dataset cannot take are permanent failures that say why, and
// change nothing.
func TestJoinRefused(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	const day = "time,a,b\n2026-05-01T00:00:00Z,1,2\n2026-05-01T00:00:05Z,3,4\n"
	array := string(npyOf(t, "<i2", false, packed(le, some(20)), 20))
	for name, c := range map[string]struct {
		first, more string
		meta        map[string]string
		says        string
	}{
		"tracks":  {day, "time,a,c\n2026-05-02T00:00:00Z,1,2\n", nil, "other tracks"},
		"overlap": {day, "time,a,b\n2026-05-01T00:00:04Z,1,2\n", nil, "times go back"},
		"back":    {day, "time,a,b\n2026-05-02T00:00:04Z,1,2\n2026-05-02T00:00:03Z,1,2\n", nil, `line 3: column "time": its times go back`},
		"no date": {day, "time_s,a,b\n100,1,2\n101,1,2\n", nil, "count from 0"},
		"wide":    {day, "time,a,b\n2026-05-02T00:00:00Z,9007199254740993,2\n", nil, `"codec" in the rule`},
		"words":   {day, "time,a,b\n2026-05-02T00:00:00Z,true,2\n", nil, "track \"a\""},
		"empty":   {day, "time,a,b\n", nil, "no line of values"},
		"other":   {array, string(npyOf(t, "<f4", false, packed(le, []float32{1}), 1)), nil, "samples of f32"},
		"origin":  {array, array, map[string]string{"origin": "2026-05-01T00:00:00Z"}, "when it begins"},
		"rate":    {array, array, map[string]string{"rate": "50"}, "samples a second"},
	} {
		b := newJoin(t, functions.Rule{})
		ext := map[bool]string{true: "csv", false: "npy"}[c.first == day]
		b.send(t, "1."+ext, []byte(c.first))
		f, _ := b.open(t)
		was := samples(t, f)
		_, err := b.job.Run(t.Context(), b.in, b.put(t, "2."+ext, []byte(c.more), c.meta))
		if !strings.Contains(fmt.Sprint(err), c.says) || !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if f, _ := b.open(t); !cmp.Equal(was, samples(t, f)) {
			t.Errorf("%s: it is another dataset", name)
		}
	}
	// In front of what is there it is the same.
	b := newJoin(t, functions.Rule{})
	b.send(t, "2.csv", []byte(day))
	_, err := b.job.Run(t.Context(), b.in, b.put(t, "1.csv", []byte("time,a,b\n2026-05-01T00:00:01Z,1,2\n"), nil))
	if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "lies behind it") {
		t.Error(err)
	}
	// A file that no rule has begun is not taken over.
	if _, err := objstore.Put(t.Context(), b.out, joinKey, strings.NewReader(array), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.job.Run(t.Context(), b.in, b.put(t, "3.csv", []byte(day), nil)); !errors.Is(err, functions.ErrTaken) {
		t.Error(err)
	}
}

// TestJoinCodec: a rule may say of which type the samples are.
func TestJoinCodec(t *testing.T) {
	t.Parallel()
	b := newJoin(t, functions.Rule{Codec: "i64"})
	b.send(t, "1.csv", []byte("time,a\n2026-05-02T00:00:00Z,9007199254740993\n"))
	b.send(t, "0.csv", []byte("time,a\n2026-05-01T00:00:00.5Z,2\n"))
	f, _ := b.open(t)
	if c := f.Header().Tracks[0].Codec; c.Kind != zoomcache.I64 {
		t.Error(c)
	}
	if list, ok, err := f.Totals(t.Context()); err != nil || !ok || list[0].Samples != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestJoinCommand: what a function cannot do, the command line does.
func TestJoinCommand(t *testing.T) {
	t.Parallel()
	r := functions.Rule{Bucket: "ups", Job: "zoom", Codec: "f32", Append: true, To: "days.zoom", CSV: &functions.CSV{Time: "t"}, Out: functions.Out{Bucket: "sets", Prefix: "p/"}}
	if got, want := zoom.Command(r, functions.Upload{Bucket: "ups", Key: "d/1.csv"}), "farread pack --append 's3://ups/d/1.csv' 's3://sets/p/days.zoom' --time 't'"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestJoinTrace pins the requests of an upload that begins a dataset, of one that is appended,
// of one that comes again, of one that is put in its place, and of one in front of all.
func TestJoinTrace(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	b := newJoin(t, functions.Rule{})
	var log tracetest.Log
	in := objstore.Chain(b.in, log.Middleware())
	b.job.(*zoom.Job).Out = objstore.Chain(b.out, log.Middleware())
	b.job.(*zoom.Job).Late = func(_, text string) { log.Note(text) }
	var u functions.Upload
	for seq, h := range []int{2, 4, 4, 3, 1} {
		key, size := fmt.Sprintf("%d.csv", h), 0
		if seq != 2 { // the event before comes again
			p := hour(r, h, 3000)
			size = len(p)
			u = b.put(t, key, p, nil)
		}
		infos, err := b.job.Run(t.Context(), in, u)
		log.Step(fmt.Sprintf("%s, %d bytes", key, size))
		log.Note(fmt.Sprintf("%d objects, %v", len(infos), err))
	}
	log.Golden(t, "testdata/join.trace")
}

// TestJoinReadsOnce: of an upload that comes late the index tells where its place is, so what lies in front
// of it is read once by the job, and once more by the writer, since this store copies nothing.
func TestJoinReadsOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	b := newJoin(t, functions.Rule{})
	c := &objstore.Counter{}
	var log tracetest.Log
	late := objstore.Chain(b.out, log.Middleware(), objstore.Count(c))
	rows := racetest.Share(8000, 2)
	for _, h := range []int{1, 2, 3, 4, 5, 6, 8, 7} {
		o, err := objstore.Open(t.Context(), b.out, "sets/all.zoom", objstore.OpenOptions{})
		if b.job.(*zoom.Job).Out = b.out; h == 7 {
			b.job.(*zoom.Job).Out = late
		}
		if _, err := b.job.Run(t.Context(), b.in, b.put(t, fmt.Sprintf("%d.csv", h), hour(r, h, rows), nil)); err != nil {
			t.Fatal(err)
		}
		if h != 7 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		did := c.Stats()
		t.Logf("of %d bytes: %d requests, %d bytes read", o.Size(), did.Requests, did.Bytes)
		if did.Bytes > 2*o.Size() {
			t.Errorf("%d bytes of %d were read", did.Bytes, o.Size())
		}
		log.Step(fmt.Sprintf("an upload in front of the last of 7, which have %d bytes", o.Size()))
	}
	if !racetest.On {
		log.Golden(t, "testdata/joinlate.trace")
	}
}
