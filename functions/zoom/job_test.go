package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// works is a job between two buckets in memory.
type works struct {
	in, out objstore.Bucket
	job     *zoom.Job
}

func newWorks() works {
	out := memstore.New(memstore.Config{Name: "datasets"})
	return works{in: memstore.New(memstore.Config{Name: "uploads"}), out: out, job: &zoom.Job{Out: out}}
}

func (w works) put(t *testing.T, key string, p []byte, meta ...string) functions.Upload {
	t.Helper()
	o := objstore.PutOptions{Meta: map[string]string{}}
	for i := 0; i < len(meta); i += 2 {
		o.Meta[meta[i]] = meta[i+1]
	}
	info, err := objstore.Put(t.Context(), w.in, key, bytes.NewReader(p), o)
	if err != nil {
		t.Fatal(err)
	}
	return functions.Upload{Bucket: "uploads", Key: key, ETag: info.ETag, VersionID: info.VersionID, Size: info.Size}
}

func (w works) run(t *testing.T, u functions.Upload, want int) {
	t.Helper()
	if infos, err := w.job.Run(t.Context(), w.in, u); err != nil || len(infos) != want {
		t.Errorf("%s: %v, %v", u.Key, infos, err)
	}
}

func small() []byte {
	return wav("RIFF", form(binary.LittleEndian, 1, 1, 2, 16), data([]byte{1, 0, 2, 0}))
}

// TestJob: each kind of upload becomes a file, once; what waits, waits.
func TestJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key  string
		file []byte
		want []string
	}{
		"wav":            {"a/x.wav", small(), []string{"1", "2"}},
		"wav by content": {"x.bin", small(), []string{"1", "2"}},
		"npy":            {"x.npy", npyOf(t, "<i2", false, []byte{1, 0, 2, 0}, 2), []string{"1", "2"}},
		"csv":            {"x.CSV", []byte("time,a\n0,1\n1,2\n"), []string{"1", "2"}},
		"parquet":        {"x.parquet", tinyParquet(t), []string{"1", "2"}},
		"tsv":            {"x.tsv", []byte("time\ta\n0\t1\n1\t2\n"), []string{"1", "2"}},
	} {
		w := newWorks()
		u := w.put(t, c.key, c.file)
		w.run(t, u, 1)
		w.run(t, u, 0)
		u.Sequencer = "01"
		w.run(t, u, 0) // the same version, of another event
		f, list := read(t, opened(t, w.out, c.key+".zoom"))
		if d := diff(c.want, list[0].Values); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		seals := 0
		if err := f.EachBlock(t.Context(), func(b zoomcache.Block, tr *zoomcache.Track, _ []byte) error {
			if tr == nil && b.Track == zoom.SealTrack {
				seals++
			}
			return nil
		}); err != nil || seals != 1 {
			t.Errorf("%s: %d seals, %v", name, seals, err)
		}
		own := opened(t, w.out, c.key+".zoom").Info()
		if _, err := w.job.Run(t.Context(), w.out, functions.Upload{Bucket: "datasets", Key: own.Key, ETag: own.ETag}); !errors.Is(err, functions.ErrOwn) {
			t.Errorf("%s: its output: %v", name, err)
		}
	}
}

// TestSeal: versions of the same content make files of different ETags, and the
// plain file is the same.
func TestSeal(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for _, seq := range []string{"01", "02"} {
		w := newWorks()
		plain := int64(0)
		w.job.Done = func(n zoom.Written) { plain = n.Plain }
		u := w.put(t, "x.wav", small())
		u.Sequencer = seq
		w.run(t, u, 1)
		files = append(files, whole(t, w.out, "x.wav.zoom")[:plain], whole(t, w.out, "x.wav.zoom"))
	}
	if !bytes.Equal(files[0], files[2]) || bytes.Equal(files[1], files[3]) {
		t.Error("the plain files differ, or the sealed ones do not")
	}
	var b bytes.Buffer
	s, err := series(t, "x.wav", small(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zoom.Write(t.Context(), &b, s, zoom.WriteOptions{NoIndex: true}); err != nil || !bytes.Equal(b.Bytes(), files[0]) {
		t.Errorf("cut where the plain file ends: %v", err)
	}
}

func whole(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	obj := opened(t, b, key)
	p := make([]byte, obj.Size())
	if _, err := obj.WithContext(t.Context()).ReadAt(p, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNotes: raw samples and their note make a file once both exist, in either order.
// Another note makes another file.
func TestNotes(t *testing.T) {
	t.Parallel()
	raw := append(make([]byte, 5), packed(binary.BigEndian, []int16{1, 2, 3, 4, 5, 6})...)
	note := func(shape, rest string) []byte {
		return fmt.Appendf(nil, `{"dtype": ">i2", "shape": %s, "offset": 5%s}`, shape, rest)
	}
	full := note("[3, 2]", `, "rate": "30000/1001", "origin": "2026-05-01T00:00:00Z", "names": ["left", "right"]`)
	want := []track{
		{"i16", "left", zoomcache.Rate{Num: 30000, Den: 1001}, []string{"1", "3", "5"}, nil},
		{"i16", "right", zoomcache.Rate{Num: 30000, Den: 1001}, []string{"2", "4", "6"}, nil},
	}
	for _, dataFirst := range []bool{true, false} {
		w := newWorks()
		first, last := "g/x.raw", "g/x.raw.json"
		files := map[string][]byte{"g/x.raw": raw, "g/x.raw.json": full}
		if !dataFirst {
			first, last = last, first
		}
		u := w.put(t, first, files[first])
		if _, err := w.job.Run(t.Context(), w.in, u); !errors.Is(err, functions.ErrSkip) {
			t.Fatalf("%s alone: %v", first, err)
		}
		w.run(t, w.put(t, last, files[last]), 1)
		w.run(t, u, 0)
		f, list := read(t, opened(t, w.out, "g/x.raw.zoom"))
		if d := diff(want, list); d != "" {
			t.Error(d)
		}
		if at, ok := f.Header().Origin.UTC(); !ok || at.Format(time.RFC3339) != "2026-05-01T00:00:00Z" {
			t.Errorf("origin %v", at)
		}
		w.run(t, w.put(t, "g/x.raw.json", note("[6]", `, "rate": 0.5`)), 1)
		if _, list = read(t, opened(t, w.out, "g/x.raw.zoom")); len(list) != 1 || len(list[0].Values) != 6 || list[0].Rate != (zoomcache.Rate{Num: 1, Den: 2}) {
			t.Errorf("%+v", list)
		}
		for text, is := range map[string]string{
			`[7]`: "12 bytes", `[6], "names": ["a", "b"]`: "names", `[6], "rate": 0`: "rate", `[6], "rate": -5`: "rate", `[6], "rate": "1e999999999"`: "rate",
			`[6], "origin": "yesterday"`: "origin", `[6], "speed": 5`: "speed", `[6], "names": 5`: "names", `[6], "rate": {}`: "rate",
		} {
			u := w.put(t, "g/x.raw.json", note(text, ""))
			if _, err := w.job.Run(t.Context(), w.in, u); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), is) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	w := newWorks()
	w.put(t, "x.wav", small())
	if _, err := w.job.Run(t.Context(), w.in, w.put(t, "x.wav.json", note("[1]", ""))); !errors.Is(err, functions.ErrSkip) {
		t.Errorf("a note of a WAV: %v", err)
	}
	if _, err := w.job.Run(t.Context(), w.in, w.put(t, "y.json", bytes.Repeat([]byte(" "), 1<<20))); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("a vast note: %v", err)
	}
}

// TestMetadata: a .npy has no rate of its own; whoever uploads it may say it.
func TestMetadata(t *testing.T) {
	t.Parallel()
	w := newWorks()
	p := npyOf(t, "<i2", false, []byte{1, 0, 2, 0}, 2)
	w.run(t, w.put(t, "x.npy", p, zoom.MetaRate, "1000", zoom.MetaOrigin, "2026-05-01T12:00:00"), 1)
	f, list := read(t, opened(t, w.out, "x.npy.zoom"))
	if at, ok := f.Header().Origin.UTC(); !ok || at.Hour() != 12 || list[0].Rate.Num != 1000 {
		t.Errorf("%v, %+v", at, list)
	}
	w.run(t, w.put(t, "x.npy", p, zoom.MetaRate, "2000"), 1)
	if _, list = read(t, opened(t, w.out, "x.npy.zoom")); list[0].Rate.Num != 2000 {
		t.Errorf("%+v", list)
	}
	if _, err := w.job.Run(t.Context(), w.in, w.put(t, "y.npy", p, zoom.MetaRate, "fast")); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	w.run(t, w.put(t, "x.wav", small(), zoom.MetaRate, "5"), 1) // says it itself
	if _, list = read(t, opened(t, w.out, "x.wav.zoom")); list[0].Rate.Num != 44100 {
		t.Errorf("%+v", list)
	}
}

// TestRuleOfCSV: a rule, or the metadata of an upload, says how a CSV is read, and the
// command of the same upload has the flags.
func TestRuleOfCSV(t *testing.T) {
	t.Parallel()
	const text = "when,site,temp,level\n1/2/2026 12:00,5,20,3\n2/2/2026 12:00,5,21,4\n"
	w := newWorks()
	r := functions.Rule{Job: "zoom", Bucket: "uploads", Out: functions.Out{Bucket: "datasets"},
		CSV: &functions.CSV{Time: "when", TimeFormat: "%d/%m/%Y %H:%M", TZ: "Europe/Berlin", Columns: []string{"temp", "level"}, Skip: []string{"level", `a "b", c`}}}
	made, err := zoom.New(zoom.WriteOptions{}, nil)(r, w.out)
	if err != nil {
		t.Fatal(err)
	}
	w.job = made.(*zoom.Job)
	u := w.put(t, "x.csv", []byte(text))
	w.run(t, u, 1)
	check := func() {
		t.Helper()
		f, list := read(t, opened(t, w.out, "x.csv.zoom"))
		if at, ok := f.Header().Origin.UTC(); !ok || at.Format(time.RFC3339) != "2026-02-01T11:00:00Z" || len(list) != 1 || list[0].Name != "temp" {
			t.Errorf("%v, %+v", at, list)
		}
	}
	check()
	want := ` --time 'when' --time-format '%d/%m/%Y %H:%M' --tz 'Europe/Berlin' --columns 'temp' --columns 'level' --skip 'level' --skip '"a ""b"", c"'`
	if got := zoom.Command(r, u); !strings.HasSuffix(got, want) {
		t.Error(got)
	}
	w.job.CSV = zoom.CSVOptions{}
	w.run(t, w.put(t, "x.csv", []byte(text), zoom.MetaTimeColumn, "when", zoom.MetaTimeFormat, "%d/%m/%Y %H:%M", zoom.MetaZone, "Europe/Berlin", zoom.MetaColumns, "temp, level", zoom.MetaSkip, "level"), 1)
	check()
	if _, err := w.job.Run(t.Context(), w.in, w.put(t, "y.csv", []byte(text), zoom.MetaZone, "Mars")); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	for _, c := range []functions.CSV{{TZ: "Mars"}, {TimeFormat: "%Q"}, {Times: "weeks"}} {
		r.CSV = &c
		if _, err := zoom.New(zoom.WriteOptions{}, nil)(r, w.out); err == nil {
			t.Errorf("%+v: taken", c)
		}
	}
}

// event is an S3 notification.
func event(u functions.Upload) []byte {
	b, _ := json.Marshal(map[string]any{"Records": []any{map[string]any{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": map[string]any{
		"bucket": map[string]any{"name": u.Bucket}, "object": map[string]any{"key": url.QueryEscape(u.Key), "eTag": strings.Trim(u.ETag, `"`), "sequencer": "01", "size": u.Size}}}}})
	return b
}

// TestEvents: every shape of event, nasty keys, and one poison in many.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorks()
	var told []string
	h := &functions.Handler{Rules: functions.Rules{{Bucket: "uploads", Prefix: "in/", Job: "zoom", Codec: "f32", Out: functions.Out{Bucket: "datasets", Prefix: "z/"}}},
		Jobs:    map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, func(key, text string) { told = append(told, key+" "+text) })},
		Command: zoom.Command,
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{"uploads": w.in, "datasets": w.out}[name], nil
		}}
	if err := h.Check(); err != nil {
		t.Fatal(err)
	}
	sqs := func(bodies ...[]byte) []byte {
		var list []any
		for i, b := range bodies {
			list = append(list, map[string]any{"messageId": fmt.Sprint(i), "eventSource": "aws:sqs", "body": string(b), "attributes": map[string]any{"ApproximateReceiveCount": "1"}})
		}
		b, _ := json.Marshal(map[string]any{"Records": list})
		return b
	}
	n := 0
	next := func() functions.Upload {
		n++
		return w.put(t, fmt.Sprintf("in/a b+ü%%2F%d.wav", n), small())
	}
	for name, p := range map[string][]byte{
		"s3": event(next()), "sqs": sqs(event(next())),
	} {
		for again := range 2 {
			r, err := h.Handle(t.Context(), p)
			if err != nil || r.Packed != 1-again || r.Unchanged != again || len(r.Failures) != 0 {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
	}
	for i := range n {
		if _, list := read(t, opened(t, w.out, fmt.Sprintf("z/in/a b+ü%%2F%d.wav.zoom", i+1))); list[0].Codec != "f32" {
			t.Errorf("%+v", list)
		}
	}
	poison := w.put(t, "in/poison.csv", []byte("time,a\n1,2\n2,x\n"))
	cut := w.put(t, "in/cut.wav", small()[:len(small())-2])
	r, err := h.Handle(t.Context(), sqs(event(poison), event(next()), event(w.put(t, "in/x.raw", []byte("raw"))), event(cut), []byte(`{"Service":"Amazon S3","Event":"s3:TestEvent"}`)))
	if err != nil || r.Failed != 1 || r.Packed != 2 || r.Ignored != 2 || len(r.Failures) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if text := string(whole(t, w.out, "errors/in/poison.csv.json")); !strings.Contains(text, "line 3 at 11") {
		t.Error(text)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "in/cut.wav the header says more") {
		t.Errorf("%q", told)
	}
}

// TestTooLong: what cannot fit the invocation names the command that does it.
func TestTooLong(t *testing.T) {
	t.Parallel()
	w := newWorks()
	u := w.put(t, "x.npy", npyOf(t, "|i1", false, make([]byte, 64<<20), 64<<20))
	h := &functions.Handler{Rules: functions.Rules{{Bucket: "uploads", Job: "zoom", Codec: "f32", Out: functions.Out{Bucket: "datasets"}}},
		Jobs: map[string]functions.JobMaker{"zoom": zoom.New(zoom.WriteOptions{}, nil)}, Command: zoom.Command, Margin: time.Millisecond, Reserve: time.Millisecond,
		Buckets: func(name string) (objstore.Bucket, error) {
			return map[string]objstore.Bucket{"uploads": w.in, "datasets": w.out}[name], nil
		}}
	synctest.Test(t, func(t *testing.T) { // where the time lasts, however busy the machine is
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // it needs six by the estimate
		defer cancel()
		r, err := h.Handle(ctx, event(u))
		if err != nil || r.Failed != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	})
	if text := string(whole(t, w.out, "errors/x.npy.json")); !strings.Contains(text, "farread pack 's3://uploads/x.npy' 's3://datasets/x.npy.zoom' --codec f32") {
		t.Error(text)
	}
}

// TestCancelled: nothing is published of what was not finished.
func TestCancelled(t *testing.T) {
	t.Parallel()
	w := newWorks()
	u := w.put(t, "x.npy", npyOf(t, "|i1", false, make([]byte, 4<<20), 4<<20))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	w.job.Write.Progress = func(int64, int64) { cancel(why) }
	if _, err := w.job.Run(ctx, w.in, u); !errors.Is(err, why) {
		t.Error(err)
	}
	for info, err := range w.out.List(t.Context(), "") {
		t.Errorf("%s, %v", info.Key, err)
	}
}
