package quickstart

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
)

const (
	uploads  = "uploads"
	datasets = "datasets"
)

// rawSuffix is that of raw data, which a note beside them explains.
const rawSuffix = ".raw"

// rules send what the stories upload, and archives, arrays and records that people try,
// to the pack job. Loose images of a folder match none, nor do its labels: its closing
// marker does.
func rules() functions.Rules {
	var r functions.Rules
	for _, f := range []struct {
		format   string
		suffixes []string
	}{
		{"", []string{".tar", ".tar.gz", ".tgz", ".tar.zst", ".zip"}}, // images, or other files
		{gulp.Format, []string{"/_SUCCESS", "/manifest.json"}},
		{b2nd.Format, []string{".npy", ".npz", rawSuffix, rawSuffix + npy.NoteSuffix}},
		{bloscpack.Format, []string{".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst", ".txt", ".log", ".bin"}},
	} {
		for _, suffix := range f.suffixes {
			r = append(r, functions.Rule{Bucket: uploads, Suffix: suffix, Job: "pack", Format: f.format, Out: functions.Out{Bucket: datasets}})
		}
	}
	for _, suffix := range []string{".wav", ".csv"} {
		r = append(r, functions.Rule{Bucket: uploads, Prefix: seriesPrefix, Suffix: suffix, Job: "zoom", Out: functions.Out{Bucket: datasets}})
	}
	return r
}

// A story is one upload and what is read back of what became of it. Each format
// adds its own to stories.
type story struct {
	upload upload
	output output
	steps  []step
}

// An upload is one or more objects, the last of which starts the function.
type upload struct {
	what    string // "sunrise, 40 JPEGs in a tar"
	objects []sample.File
}

// trigger is the key that the event is about.
func (u upload) trigger() string { return u.objects[len(u.objects)-1].Name }

// name is the key that people would say was uploaded: of a folder the folder.
func (u upload) name() string {
	if folder, _, ok := functions.Closing(u.trigger()); ok {
		return folder
	}
	return u.trigger()
}

func (u upload) size() int64 {
	var n int64
	for _, f := range u.objects {
		n += int64(len(f.Data))
	}
	return n
}

// put uploads the objects, those before the last side by side.
func (u upload) put(ctx context.Context, b objstore.Bucket) (last objstore.Info, err error) {
	one := func(ctx context.Context, f sample.File) (objstore.Info, error) {
		return objstore.Put(ctx, b, f.Name, bytes.NewReader(f.Data), objstore.PutOptions{})
	}
	n := len(u.objects) - 1
	err = par.Do(ctx, n, 8, func(ctx context.Context, i int) error { // enough to hide a loopback's round trip
		_, err := one(ctx, u.objects[i])
		return err
	})
	if err != nil {
		return last, err
	}
	return one(ctx, u.objects[n])
}

// An output says what a story's upload becomes.
type output struct {
	format string
	data   string // suffix of the object that holds the data
	commit string // suffix of the object that comes last
}

// A step is one read. It reports the bytes of payload that it compared.
type step struct {
	what string
	// warm goes on with what the step before has opened; else everything is new.
	warm bool
	run  func(ctx context.Context, s *session, uri string) (payload int64, err error)
	// save writes what was read into a folder, for people to look at; nil: nothing.
	save    func(folder string) error
	picture string // its name, if it is one
}

// A session is what steps share until one starts anew.
type session struct {
	client *farread.Client
	gulp   *farread.Gulp
	array  *farread.Array
	// records are those of a Bloscpack file.
	records *farread.Bloscpack
	series  *farread.Zoom
}

// stories is the tour.
func stories(clips []sample.Clip, storm sample.Volume) ([]story, error) {
	makers := []func(sample.Clip) (story, error){tarStory, zipStory, folderStory}
	if len(clips) < len(makers) {
		return nil, fmt.Errorf("%d clips for %d stories", len(clips), len(makers))
	}
	list := make([]story, len(makers), len(makers)+4)
	for i, m := range makers {
		var err error
		if list[i], err = m(clips[i]); err != nil {
			return nil, err
		}
	}
	array, err := arrayStory(storm)
	return append(list, array, recordStory(requestLog(recordCount)), wavStory(heartbeat()), tideStory(tide())), err
}

func gulpOutput() output {
	return output{format: "gulp", data: gulp.DataSuffix, commit: gulp.MetaSuffix}
}

// outputsOf is what the rules may make of an upload, by content where they leave it
// open.
func outputsOf(key string) []output {
	all := []output{gulpOutput(), recordOutput(), arrayOutput()}
	r, ok := rules().Match(uploads, key)
	switch {
	case !ok:
		return nil
	case r.Job == "zoom":
		return []output{seriesOutput()}
	case r.Format == "":
		return all
	}
	return slices.DeleteFunc(all, func(o output) bool { return o.format != r.Format })
}

const prefix = "clips/" // of every upload of images

// tarStory: one frame, cold and warm.
func tarStory(c sample.Clip) (story, error) {
	labels, err := c.LabelsCSV()
	if err != nil {
		return story{}, err
	}
	data, err := archive(sample.WriteTar, append(c.Files(), labels))
	if err != nil {
		return story{}, err
	}
	n := len(c.Frames)
	one := func(i int, what string, warm bool) step { return frames(c, what, warm, i, i+1, 1) }
	return story{
		upload: upload{fmt.Sprintf("%s: %d JPEGs and labels in a tar", c.ID, n), []sample.File{{Name: prefix + c.ID + ".tar", Data: data}}},
		output: gulpOutput(),
		steps: []step{
			one(n/2, fmt.Sprintf("frame %d of %s, cold", n/2, c.ID), false),
			one(n/2, "the same again, warm", true),
		},
	}, nil
}

// zipStory: every fourth frame.
func zipStory(c sample.Clip) (story, error) {
	labels, err := c.LabelsJSON()
	if err != nil {
		return story{}, err
	}
	data, err := archive(sample.WriteZip, append([]sample.File{labels}, c.Files()...))
	if err != nil {
		return story{}, err
	}
	n := len(c.Frames)
	return story{
		upload: upload{fmt.Sprintf("%s: %d JPEGs and labels in a zip", c.ID, n), []sample.File{{Name: prefix + c.ID + ".zip", Data: data}}},
		output: gulpOutput(),
		steps:  []step{frames(c, fmt.Sprintf("frames ::4 of %s (%d), cold", c.ID, (n+3)/4), false, 0, n, 4)},
	}, nil
}

// folderStory: every frame.
func folderStory(c sample.Clip) (story, error) {
	labels, err := c.LabelsCSV()
	if err != nil {
		return story{}, err
	}
	labels.Name = c.ID + "/" + labels.Name
	files := append(c.Files(), labels)
	objects := make([]sample.File, 0, len(files)+1)
	for _, f := range files {
		f.Name = prefix + f.Name
		objects = append(objects, f)
	}
	objects = append(objects, sample.File{Name: prefix + c.ID + "/_SUCCESS"})
	n := len(c.Frames)
	return story{
		upload: upload{fmt.Sprintf("%s: %d JPEGs and labels in a folder, closed by _SUCCESS", c.ID, n), objects},
		output: gulpOutput(),
		steps:  []step{frames(c, fmt.Sprintf("all %d frames of %s, cold", n, c.ID), false, 0, n, 1)},
	}, nil
}

func archive(write func(io.Writer, []sample.File) error, files []sample.File) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, files)
	return b.Bytes(), err
}

// frames reads frames of the clip's id and compares them with the clip's own.
func frames(c sample.Clip, what string, warm bool, from, to, by int) step {
	return step{what: what, warm: warm, run: func(ctx context.Context, s *session, uri string) (int64, error) {
		if !warm || s.gulp == nil {
			var err error
			if s.gulp, err = s.client.OpenGulp(ctx, uri, farread.GulpOptions{}); err != nil {
				return 0, err
			}
		}
		got, err := s.gulp.AppendFrames(ctx, nil, c.ID, from, to, by)
		if err != nil {
			return 0, err
		}
		var n int64
		for i := from; i < to; i += by {
			if k := (i - from) / by; k >= len(got) || !bytes.Equal(got[k], c.Frames[i]) {
				return 0, fmt.Errorf("%s: id %q frame %d: %w", uri, c.ID, i, ErrMismatch)
			}
			n += int64(len(c.Frames[i]))
		}
		return n, about(s.gulp, c, uri)
	}}
}

// about compares what the dataset says of the clip.
func about(g *farread.Gulp, c sample.Clip, uri string) error {
	it, err := g.Item(c.ID)
	if err != nil {
		return err
	}
	var meta []struct {
		Label string `json:"label"`
	}
	err = json.Unmarshal(it.MetaData, &meta)
	if err != nil || len(meta) != 1 || meta[0].Label != c.Label || it.Frames != len(c.Frames) {
		return fmt.Errorf("%s: id %q has %d frames and meta_data %s: %w", uri, c.ID, it.Frames, it.MetaData, ErrMismatch)
	}
	return nil
}
