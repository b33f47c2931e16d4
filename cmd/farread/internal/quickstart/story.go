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

	"github.com/dustin/go-humanize"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/picture"
)

const (
	uploads  = "uploads"
	datasets = "datasets"
	// rawSuffix is that of raw data, which a note beside them explains.
	rawSuffix    = ".raw"
	seriesPrefix = "series/"
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
	item int64 // that will be read, of a list of items
	// read returns the bytes that it read and those that it should have read.
	read func(ctx context.Context, d farread.Dataset) (got, want [][]byte, err error)
	// drawn makes files of the bytes, for people to look at; nil: none.
	drawn func(got [][]byte) ([]file, error)
}

// reading is a step that reads from a dataset of a known kind.
func reading[T any](what string, read func(context.Context, T) (got, want [][]byte, err error)) step {
	return step{what: what, read: func(ctx context.Context, d farread.Dataset) (got, want [][]byte, err error) {
		v, ok := d.Handle().(T)
		if !ok {
			return nil, nil, fmt.Errorf("a %s: %w", d.Format(), ErrMismatch)
		}
		return read(ctx, v)
	}}
}

// stories is the tour.
func stories(clips []sample.Clip, storm sample.Volume) ([]story, error) {
	var list []story
	for i, kind := range []string{".tar", ".zip", "/"} {
		s, err := clipStory(clips[i], kind)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	array, err := arrayStory(storm)
	return append(list, array, recordStory(requestLog(60_000)), wavStory(heartbeat()), tideStory(tide())), err
}

// clipStory uploads a clip with its labels as a tar, of which one frame is read, as a
// zip, of which every fourth frame is, or as a folder.
func clipStory(c sample.Clip, kind string) (s story, err error) {
	n := len(c.Frames)
	files := make([]file, 0, n+2)
	for i, p := range c.Frames {
		files = append(files, file{fmt.Sprintf("%s/%04d.jpg", c.ID, i), p})
	}
	labels := file{"labels.csv", fmt.Appendf(nil, "id,label,title\n%s,%s,%q\n", c.ID, c.Label, c.Title)}
	s.what = fmt.Sprintf("%s: %d JPEGs and labels in a %s", c.ID, n, kind[1:])
	pack := func(labels file) error {
		data, err := archive(kind, append(files, labels))
		s.files = []file{{"clips/" + c.ID + kind, data}}
		return err
	}
	switch kind {
	case ".tar":
		s.steps = []step{frames(c, fmt.Sprintf("frame %d of %s, cold", n/2, c.ID), n/2, n/2+1, 1), frames(c, "the same again, warm", n/2, n/2+1, 1)}
		err = pack(labels)
	case ".zip":
		s.steps = []step{frames(c, fmt.Sprintf("frames ::4 of %s (%d), cold", c.ID, (n+3)/4), 0, n, 4)}
		err = pack(file{"labels.json", fmt.Appendf(nil, `{%q:{"label":%q,"title":%q}}`+"\n", c.ID, c.Label, c.Title)})
	default:
		s.what += "folder, closed by _SUCCESS"
		for _, f := range append(files, file{c.ID + "/" + labels.name, labels.data}, file{c.ID + "/_SUCCESS", nil}) {
			s.files = append(s.files, file{"clips/" + f.name, f.data})
		}
		s.steps = []step{frames(c, fmt.Sprintf("all %d frames of %s, cold", n, c.ID), 0, n, 1)}
	}
	return s, err
}

// archive is a tar, or a zip that stores its files, since JPEGs do not compress. The
// same files give the same bytes.
func archive(kind string, files []file) ([]byte, error) {
	var b bytes.Buffer
	made := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	t, z := tar.NewWriter(&b), zip.NewWriter(&b)
	add, end := func(f file) (io.Writer, error) {
		return z.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store, Modified: made})
	}, z.Close
	if kind == ".tar" {
		add, end = func(f file) (io.Writer, error) {
			return t, t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: 0o644, ModTime: made})
		}, t.Close
	}
	for _, f := range files {
		w, err := add(f)
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
func frames(c sample.Clip, what string, from, to, by int) step {
	return reading(what, func(ctx context.Context, g *farread.Gulp) (got, want [][]byte, err error) {
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
func arrayStory(v sample.Volume) (s story, err error) {
	head := npy.Header{Shape: v.Shape}
	if head.DType, err = dtype.Parse("<f4"); err != nil {
		return s, err
	}
	data, err := npy.AppendHeader(nil, head)
	for _, x := range v.Values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	plane := cut(v, shownSlice, shownSlice+" of "+v.ID+", cold")
	plane.drawn = func(got [][]byte) ([]file, error) { // as the slice command does
		var image bytes.Buffer
		err := picture.Encode(&image, head.DType, v.Shape[1:], got[0], picture.Options{})
		p, err2 := npy.AppendHeader(nil, npy.Header{DType: head.DType, Shape: v.Shape[1:]})
		return []file{{v.ID + ".png", image.Bytes()}, {v.ID + ".npy", append(p, got[0]...)}}, errors.Join(err, err2)
	}
	size := strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Shape), " ", " x "), "[]")
	return story{
		what:  fmt.Sprintf("%s: a .npy of %s float32", v.ID, size),
		files: []file{{"arrays/" + v.ID + ".npy", data}},
		steps: []step{plane, cut(v, shownSlice, "the same again, warm"),
			cut(v, "20:30, 100:132, 160:192", "20:30, 100:132, 160:192, warm"), cut(v, ":, 120, 200", ":, 120, 200 (a day), warm")},
	}, err
}

// cut reads a slice.
func cut(v sample.Volume, text, what string) step {
	return reading(what, func(ctx context.Context, a *farread.Array) (got, want [][]byte, err error) {
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
func items(v sample.Volume, box b2nd.Box) (p []byte) {
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
	n := len(lines)
	i := min(shownRecord, n-1)
	some := min(i+100, n)
	return story{
		what:  fmt.Sprintf("requests.jsonl: %s records as JSON Lines", humanize.Comma(int64(n))),
		files: []file{{"logs/requests.jsonl", log}},
		steps: []step{records(lines, fmt.Sprintf("record %s, cold", humanize.Comma(int64(i))), i, i+1), records(lines, "the same again, warm", i, i+1),
			records(lines, fmt.Sprintf("%d records from there, warm", some-i), i, some)},
	}
}

// records reads the records [i, j).
func records(lines [][]byte, what string, i, j int) step {
	s := reading(what, func(ctx context.Context, f *farread.Bloscpack) (got, want [][]byte, err error) {
		if n := f.Len(); n != int64(len(lines)) {
			return nil, nil, fmt.Errorf("%d records, not %d: %w", n, len(lines), ErrMismatch)
		}
		got, err = f.AppendItems(ctx, nil, int64(i), int64(j))
		return got, lines[i:j], err
	})
	s.item = int64(i)
	return s
}
