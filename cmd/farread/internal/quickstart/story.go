package quickstart

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/demo"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

const (
	uploads  = "uploads"
	datasets = "datasets"
	// rawSuffix ends the keys of raw data, which a note describes.
	rawSuffix    = ".raw"
	seriesPrefix = "series/"

	heartRate = 50 // samples a second of the recording
	tideStep  = 10 // seconds between two lines of the table
	// viewWidth is how many points a view has, about as many as a screen. drawWidth is
	// how many pixels wide it is drawn.
	viewWidth = 2000
	drawWidth = 1200
)

// rules send the uploads of the stories, and archives, arrays and records that people
// try, to the pack job. Loose images of a folder match no rule, nor do its labels: the
// marker that closes the folder does.
func rules() (r functions.Rules) {
	for _, f := range []struct{ job, prefix, format, suffixes string }{
		{"pack", "", "", ".tar .tar.gz .tgz .tar.zst .zip"}, // images, or other files
		{"pack", "", gulp.Format, "/_SUCCESS /manifest.json"},
		{"pack", "", b2nd.Format, ".npy .npz .raw .raw.json"},
		{"pack", "", bloscpack.Format, ".jsonl .ndjson .jsonl.gz .jsonl.zst .txt .log .bin"},
		{"zoom", seriesPrefix, "", ".wav .csv"},
	} {
		for suffix := range strings.FieldsSeq(f.suffixes) {
			r = append(r, functions.Rule{Bucket: uploads, Prefix: f.prefix, Suffix: suffix, Job: f.job, Format: f.format, Out: functions.Out{Bucket: datasets}})
		}
	}
	return r
}

// A story is one upload and the reads of its output.
type story struct {
	what  string // "sunrise: 40 JPEGs in a tar"
	files []file // the last starts the function
	steps []step
}

type file struct {
	name string
	data []byte
}

// trigger is the key that the event names.
func (s story) trigger() string { return s.files[len(s.files)-1].name }

// name is the key that people would name as the upload: of a folder the folder.
func (s story) name() string { return strings.TrimSuffix(s.trigger(), "_SUCCESS") }

// A step is one read. If its words end in "warm" it goes on with the dataset that the
// step before has opened; else everything is new.
type step struct {
	what string
	item int64 // number of the item that will be read
	// read returns the bytes that it read and those that it should have read.
	read func(ctx context.Context, d farread.Dataset) (got, want [][]byte, err error)
	// drawn is the .png that draw makes of the bytes, for people to look at; "": none.
	drawn string
	draw  func(w io.Writer, got [][]byte) error
}

// reading completes a step that reads from a dataset of a known kind.
func reading[T any](s step, read func(context.Context, T) (got, want [][]byte, err error)) step {
	s.read = func(ctx context.Context, d farread.Dataset) (got, want [][]byte, err error) {
		v, ok := d.Handle().(T)
		if !ok {
			return nil, nil, fmt.Errorf("a %s: %w", d.Format(), ErrMismatch)
		}
		return read(ctx, v)
	}
	return s
}

// stormOutput is the number of the story with the storm.
const stormOutput = 3

// stories is the tour.
func stories(clips []demo.Clip, storm demo.Volume) (list []story, err error) {
	add := func(s story, e error) { list, err = append(list, s), errors.Join(err, e) }
	sunrise, planet, aurora := clips[0], clips[1], clips[2]
	add(clipStory(sunrise, "tar", frames(sunrise, "frame 20 of sunrise, cold", 20, 21, 1), frames(sunrise, "the same again, warm", 20, 21, 1)))
	add(clipStory(planet, "zip", frames(planet, "frames ::4 of planet (12), cold", 0, 48, 4)))
	add(clipStory(aurora, "folder", frames(aurora, "all 36 frames of aurora, cold", 0, 36, 1)))
	add(arrayStory(storm))
	return append(list, recordStory(demo.RequestLog()), heartStory(demo.Heart(heartRate)), tideStory(demo.Tide(tideStep))), err
}

// clipStory uploads a clip with its labels as a tar, a zip, or a folder.
func clipStory(c demo.Clip, kind string, steps ...step) (s story, err error) {
	s = story{what: fmt.Sprintf("%s: %d JPEGs and labels in a %s", c.ID, len(c.Frames), kind), steps: steps}
	files := make([]file, 0, len(c.Frames)+2)
	for i, p := range c.Frames {
		files = append(files, file{fmt.Sprintf("%s/%04d.jpg", c.ID, i), p})
	}
	labels := file{"labels.csv", fmt.Appendf(nil, "id,label,title\n%s,%s,%q\n", c.ID, c.Label, c.Title)}
	switch kind {
	case "folder":
		s.what += ", closed by _SUCCESS"
		for _, f := range append(files, file{c.ID + "/" + labels.name, labels.data}, file{c.ID + "/_SUCCESS", nil}) {
			s.files = append(s.files, file{"clips/" + f.name, f.data})
		}
		return s, nil
	case "zip":
		labels = file{"labels.json", fmt.Appendf(nil, `{%q:{"label":%q,"title":%q}}`+"\n", c.ID, c.Label, c.Title)}
	}
	data, err := archive(kind, append(files, labels))
	s.files = []file{{"clips/" + c.ID + "." + kind, data}}
	return s, err
}

// archive is a tar, or a zip that stores its files, since JPEGs do not compress. The
// same files give the same bytes.
func archive(kind string, files []file) ([]byte, error) {
	var b bytes.Buffer
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t, z := tar.NewWriter(&b), zip.NewWriter(&b)
	create, end := func(f file) (io.Writer, error) {
		return t, t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: made})
	}, t.Close
	if kind == "zip" {
		create, end = func(f file) (io.Writer, error) {
			return z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store, Modified: made})
		}, z.Close
	}
	for _, f := range files {
		w, err := create(f)
		if err == nil {
			_, err = w.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := end()
	return b.Bytes(), err
}

// frames reads frames of the clip's id and compares the dataset's index with the clip.
func frames(c demo.Clip, what string, from, to, by int) step {
	return reading(step{what: what}, func(ctx context.Context, g *farread.Gulp) (got, want [][]byte, err error) {
		it, err := g.Item(c.ID)
		if err != nil {
			return nil, nil, err
		}
		if it.Frames != len(c.Frames) || !bytes.Contains(it.MetaData, strconv.AppendQuote([]byte(`"label":`), c.Label)) {
			return nil, nil, fmt.Errorf("id %q has %d frames and meta_data %s: %w", c.ID, it.Frames, it.MetaData, ErrMismatch)
		}
		for i := from; i < to; i += by {
			want = append(want, c.Frames[i])
		}
		got, err = g.AppendFrames(ctx, nil, c.ID, from, to, by)
		return got, want, err
	})
}

// shownSlice is the slice that is drawn, in the spelling of the command line.
const shownSlice = "30, :, :"

// arrayStory: a plane, cold and warm, a cube, and a column through all planes.
func arrayStory(v demo.Volume) (s story, err error) {
	d, err := dtype.Parse("<f4")
	if err != nil {
		return s, err
	}
	encode := func(w io.Writer, format string, shape []int64, p []byte) error { // as the slice command does
		return render.Array(w, d, shape, render.ArrayOptions{Format: format, Memory: int64(len(p))}, func(put func([]byte) error) error { return put(p) })
	}
	var data bytes.Buffer
	err = encode(&data, render.Npy, v.Shape, items(v, b2nd.Whole(v.Shape)))
	plane := cut(v, shownSlice, shownSlice+" of "+v.ID+", cold")
	plane.drawn = v.ID + ".png"
	plane.draw = func(w io.Writer, got [][]byte) error { return encode(w, render.PNG, v.Shape[1:], got[0]) }
	return story{
		what:  fmt.Sprintf("%s: a .npy of %d x %d x %d float32", v.ID, v.Shape[0], v.Shape[1], v.Shape[2]),
		files: []file{{"arrays/" + v.ID + ".npy", data.Bytes()}},
		steps: []step{plane, cut(v, shownSlice, "the same again, warm"),
			cut(v, "20:30, 100:132, 160:192", "20:30, 100:132, 160:192, warm"), cut(v, ":, 120, 200", ":, 120, 200 (a day), warm")},
	}, err
}

// cut reads a slice.
func cut(v demo.Volume, text, what string) step {
	return reading(step{what: what}, func(ctx context.Context, a *farread.Array) (got, want [][]byte, err error) {
		if m := a.Meta(); m.DType != "<f4" || !slices.Equal(m.Shape, v.Shape) {
			return nil, nil, fmt.Errorf("%s of shape %v: %w", m.DType, m.Shape, ErrMismatch)
		}
		slice, err := b2nd.ParseSlice(text)
		if err != nil {
			return nil, nil, err
		}
		box, err := slice.Resolve(v.Shape)
		if err != nil {
			return nil, nil, err
		}
		p := items(v, box)
		got = [][]byte{make([]byte, len(p))}
		return got, [][]byte{p}, a.ReadSlice(ctx, got[0], box)
	})
}

// items are the items of a box with steps of one, little-endian. They are picked one
// by one, not by the code that they check.
func items(v demo.Volume, box b2nd.Box) (p []byte) {
	for z := box.Start[0]; z < box.Stop[0]; z++ {
		for y := box.Start[1]; y < box.Stop[1]; y++ {
			for x := box.Start[2]; x < box.Stop[2]; x++ {
				p = binary.LittleEndian.AppendUint32(p, math.Float32bits(v.Values[(z*v.Shape[1]+y)*v.Shape[2]+x]))
			}
		}
	}
	return p
}

// shownRecord is a record that lies far behind the head of the dataset.
const shownRecord = 41_234

// recordStory: one record of a log, cold and warm, and a hundred neighbours.
func recordStory(log []byte) story {
	lines := bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	return story{
		what:  fmt.Sprintf("requests.jsonl: %s as JSON Lines", human.Plural(int64(len(lines)), "record")),
		files: []file{{"logs/requests.jsonl", log}},
		steps: []step{records(lines, fmt.Sprintf("record %s, cold", human.Count(shownRecord)), shownRecord, shownRecord+1),
			records(lines, "the same again, warm", shownRecord, shownRecord+1), records(lines, "100 records from there, warm", shownRecord, shownRecord+100)},
	}
}

// records reads the records [i, j).
func records(lines [][]byte, what string, i, j int) step {
	return reading(step{what: what, item: int64(i)}, func(ctx context.Context, f *farread.Bloscpack) (got, want [][]byte, err error) {
		if n := f.Len(); n != int64(len(lines)) {
			return nil, nil, fmt.Errorf("%d records, not %d: %w", n, len(lines), ErrMismatch)
		}
		got, err = f.AppendItems(ctx, nil, int64(i), int64(j))
		return got, lines[i:j], err
	})
}

// heartStory: the whole day of a recording, cold, and ten minutes around a spike.
func heartStory(v []int64) story {
	le, size := binary.LittleEndian, uint32(2*len(v))
	data := append(le.AppendUint32([]byte("RIFF"), 36+size), "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...) // PCM, one channel
	data = le.AppendUint32(le.AppendUint32(data, heartRate), 2*heartRate)
	data = le.AppendUint32(append(data, "\x02\x00\x10\x00data"...), size)
	for _, x := range v {
		data = le.AppendUint16(data, uint16(x))
	}
	from := int64(slices.Index(v, slices.Max(v)) - 300*heartRate)
	return story{
		what:  fmt.Sprintf("heart.wav: a day at %d samples a second", heartRate),
		files: []file{{seriesPrefix + "heart.wav", data}},
		steps: []step{view("the day in 2000 points, cold", "heart-day", series{v, 1, 1}, 1, int64(len(v))),
			view("10 minutes around a spike, warm", "heart-spike", series{v, 1, 1}, from, from+600*heartRate-1)},
	}
}

// tideStory: the whole day of a table of stamps and values, and an hour.
func tideStory(v []int64) story {
	text := []byte("time,level\n")
	for i, x := range v {
		text = fmt.Appendf(text, "%d,%d\n", i*tideStep, x)
	}
	return story{
		what:  fmt.Sprintf("tide.csv: a day, a line each %d s", tideStep),
		files: []file{{seriesPrefix + "tide.csv", text}},
		steps: []step{view("the day in 2000 points, cold", "tide-day", series{v, 0, tideStep}, 0, int64(len(v)-1)*tideStep),
			view("an hour of it, warm", "tide-hour", series{v, 0, tideStep}, demo.Day/2, demo.Day/2+3600)},
	}
}

// A series is samples whose offsets begin at first and grow by step.
type series struct {
	samples     []int64
	first, step int64
}

// view reads points of [from, to]. Extremes and count of each point have to be those
// of the samples since the point before, picked one by one. It is drawn as name.png.
func view(what, name string, v series, from, to int64) step {
	var drawing picture.Series
	draw := func(w io.Writer, _ [][]byte) error { return drawing.PNG(w) }
	return reading(step{what: what, drawn: name + ".png", draw: draw}, func(ctx context.Context, z *farread.Zoom) (got, want [][]byte, err error) {
		view, err := z.View(ctx, 1, from, to, viewWidth)
		if err != nil {
			return nil, nil, err
		}
		track, err := z.Track(1)
		if err != nil {
			return nil, nil, err
		}
		drawing = picture.OfView(z.Header(), track, view.Points, from, to, drawWidth)
		kind, _, _ := strings.Cut(name, "-")
		drawing.Title = kind + ": " + what[:strings.LastIndexByte(what, ',')]
		next := from
		for i, p := range view.Points {
			last := p.Exit
			if i == len(view.Points)-1 {
				last = to // none may be missing at the end
			}
			low, high, n := math.Inf(1), math.Inf(-1), 0.0
			for ; next <= last; next++ {
				if at := next - v.first; at%v.step == 0 {
					x := float64(v.samples[at/v.step])
					low, high, n = min(low, x), max(high, x), n+1
				}
			}
			c := p.Channels[0]
			got, want = append(got, floats(c.Min.Float(), c.Max.Float(), float64(p.Count))), append(want, floats(low, high, n))
		}
		return got, want, nil
	})
}

func floats(v ...float64) []byte {
	p, _ := binary.Append(nil, binary.LittleEndian, v) // a float64 has a size
	return p
}
