package quickstart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/stack"
	"github.com/farread/farread/objstore"
)

// functionLimit is how long the tour waits for one function: its own minute,
// and the tries after it.
const functionLimit = 3 * time.Minute

// tour tells the stories.
type tour struct {
	o                 Options // Config is set for clients of the cloud
	cloud             *stack.Process
	page              page
	writer            *farread.Client // uploads, and looks for outputs
	uploads, datasets objstore.Bucket // of the writer
	web               *web            // serves the datasets
	report            Report
}

func (t *tour) run(ctx context.Context, list []story) error {
	for _, s := range list {
		out, err := t.publish(ctx, s)
		if err != nil {
			return fmt.Errorf("s3://%s/%s: %w", uploads, s.name(), err)
		}
		t.report.Uploads++
		t.report.UploadSize += out.SourceSize
		t.report.Outputs = append(t.report.Outputs, out)
		t.page.output(s, out)
	}
	for i, s := range list {
		if err := t.readBack(ctx, s, t.report.Outputs[i].URI); err != nil {
			return err
		}
	}
	t.page.reads(t.report.Reads)
	return nil
}

// publish uploads a story's files and waits for their output.
func (t *tour) publish(ctx context.Context, s story) (out Output, err error) {
	infos := make([]objstore.Info, len(s.files))
	put := func(ctx context.Context, i int) (err error) {
		infos[i], err = objstore.Put(ctx, t.uploads, s.files[i].name, bytes.NewReader(s.files[i].data), objstore.PutOptions{})
		return err
	}
	start, last := time.Now(), len(s.files)-1
	if err = par.Do(ctx, last, 8, put); err == nil { // 8 are enough to hide a loopback's round trip
		err = put(ctx, last)
	}
	if err != nil {
		return out, err
	}
	sent := time.Now()
	inv, err := t.await(ctx, s.trigger())
	if err != nil {
		return out, err
	}
	made, err := t.made(ctx, s.trigger(), infos[last].ETag)
	if err != nil {
		return out, err
	}
	out = made[0]
	out.Source = "s3://" + uploads + "/" + s.name()
	for _, f := range s.files {
		out.SourceSize += int64(len(f.data))
	}
	out.MS, out.UploadMS = ms(time.Since(sent)), ms(sent.Sub(start))
	out.Function, out.FunctionMS, out.Cold = inv.Function, inv.MS, inv.Cold
	if out.Format == all.Zoomcache {
		var z *farread.Zoom
		if z, err = t.writer.OpenZoom(ctx, out.URI, farread.ZoomOptions{}); err == nil {
			out.IndexSize, _, _, err = z.HasIndex(ctx)
		}
	}
	return out, err
}

// records yields the records of all invocations, from now on until ctx ends.
func (t *tour) records(ctx context.Context) iter.Seq2[stack.Invocation, stack.Record] {
	return func(yield func(stack.Invocation, stack.Record) bool) {
		for ctx.Err() == nil {
			select {
			case i, ok := <-t.cloud.Invocations:
				if !ok {
					<-ctx.Done() // it ends with the cloud
				}
				for _, r := range i.Records {
					if !yield(i, r) {
						return
					}
				}
			case <-ctx.Done():
			}
		}
	}
}

// await waits for the last invocation for the upload called key.
func (t *tour) await(ctx context.Context, key string) (stack.Invocation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, functionLimit, unavailable("no function has run after %s", functionLimit))
	defer cancel()
	for i, r := range t.records(ctx) {
		if done, err := outcome(i, r); done && r.Bucket == uploads && r.Key == key {
			return i, err
		}
	}
	return stack.Invocation{}, context.Cause(ctx)
}

// outcome tells how a record fared. It is not done if the record comes again.
func outcome(i stack.Invocation, r stack.Record) (done bool, err error) {
	switch {
	case r.Dead:
		return true, unavailable("%s gave up: %s", i.Function, i.Error)
	case r.Failed:
		return false, errors.New("failed, to be tried again")
	}
	return i.OK, nil
}

var (
	// errWaits: raw data without their note, or a note without its data.
	errWaits = errors.New("waits for its other half: data.raw and data.raw.json make one array")
	// errRefused: the function found the upload unfit.
	errRefused error = &problem{"the upload was refused", formats.ErrUnsupported}
)

// made lists the outputs of the upload called key: of a .npz one array for each
// member; of raw data and their note one array together, once both are there. If etag
// is given, they must be made of the version that it names.
func (t *tour) made(ctx context.Context, key, etag string) (list []Output, err error) {
	source := key
	if data := strings.TrimSuffix(key, npy.NoteSuffix); strings.HasSuffix(data, rawSuffix) {
		source = data
	}
	stem := source
	if folder, _, closing := functions.Closing(source); closing {
		stem = folder
	}
	// An output's key begins like its upload's, unless that is very long.
	for i, err := range t.datasets.List(ctx, strings.ToValidUTF8(stem[:min(len(stem), 512)], "")) {
		if err != nil {
			return nil, err
		}
		format := all.ByName(i.Key)
		if format == "" || strings.HasSuffix(i.Key, gulp.MetaSuffix) { // count a pair once
			continue
		}
		info, err := t.datasets.Head(ctx, i.Key)
		if err != nil && !errors.Is(err, objstore.ErrNotFound) { // replaced in between
			return nil, err
		}
		if of, ok := functions.SourceOf(info.Meta); ok && of.Bucket == uploads && of.Key == source && (etag == "" || of.ETag == etag) {
			list = append(list, Output{Key: i.Key, Format: format, URI: "s3://" + datasets + "/" + i.Key, Size: info.Size})
		}
	}
	if len(list) == 0 {
		if err = t.refused(ctx, key); errors.Is(err, objstore.ErrNotFound) && strings.HasSuffix(source, rawSuffix) {
			err = errWaits
		}
	}
	return list, err
}

// refused is the report that a function wrote instead of a dataset.
func (t *tour) refused(ctx context.Context, key string) error {
	r, _, err := t.datasets.Get(ctx, functions.ErrorKey(key), objstore.GetOptions{})
	if err != nil {
		return fmt.Errorf("neither a dataset nor a report of an error: %w", err)
	}
	defer r.Close()
	var rep functions.Report
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&rep); err != nil {
		return fmt.Errorf("report of an error: %w", err)
	}
	return fmt.Errorf("%s: %w", rep.What, errRefused)
}

// readBack runs the steps of a story and counts the cost of each.
func (t *tour) readBack(ctx context.Context, s story, uri string) (err error) {
	counter := t.o.Config.Counter
	var d farread.Dataset
	for _, st := range s.steps {
		before, start := counter.Stats(), time.Now()
		if !strings.HasSuffix(st.what, "warm") {
			client := farread.New(t.o.Config)   // without connections or caches
			defer client.CloseIdleConnections() //nolint:revive // once or twice a story
			d, err = client.OpenAny(ctx, uri, farread.AnyOptions{Bloscpack: bloscpack.Options{Item: st.item}})
		}
		var got, want [][]byte
		if err == nil {
			got, want, err = st.read(ctx, d)
		}
		if err == nil && (len(got) == 0 || !slices.EqualFunc(got, want, bytes.Equal)) {
			err = fmt.Errorf("%s: %w", uri, ErrMismatch)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", st.what, err)
		}
		took, after := time.Since(start), counter.Stats()
		t.report.Reads = append(t.report.Reads, Read{What: st.what, Requests: after.Requests - before.Requests,
			Bytes: after.Bytes - before.Bytes, Phases: after.Phases - before.Phases, MS: ms(took), Payload: int64(len(bytes.Join(got, nil))), URI: uri, OK: true})
		if err := t.draw(st, got); err != nil {
			return err
		}
	}
	return nil
}

// draw writes the bytes of a read as a file for people to look at.
func (t *tour) draw(s step, got [][]byte) error {
	if s.drawn == "" || t.o.Once && !t.o.Kept { // it would not stay
		return nil
	}
	var b bytes.Buffer
	if err := s.draw(&b, got); err != nil {
		return err
	}
	name := filepath.Join(t.o.Dir, "slices", s.drawn)
	t.report.Pictures = append(t.report.Pictures, name)
	return errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, b.Bytes(), 0o600))
}

// watch shows the outputs of further uploads until ctx ends.
func (t *tour) watch(ctx context.Context) error {
	for i, r := range t.records(ctx) {
		var list []Output
		done, err := outcome(i, r)
		if done && err == nil {
			list, err = t.made(ctx, r.Key, "")
		}
		if err != nil {
			t.page.event(i, r, Output{}, err)
		}
		for _, out := range list {
			t.page.event(i, r, out, nil)
		}
	}
	return context.Cause(ctx)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
