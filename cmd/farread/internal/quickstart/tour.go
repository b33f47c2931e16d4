package quickstart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// functionLimit is how long the tour waits for one function: its own minute,
// and the tries after it.
const functionLimit = 3 * time.Minute

// tour tells the stories.
type tour struct {
	o      Options
	c      *cloud
	page   *page
	writer *farread.Client // uploads, and looks for outputs
	slices string          // folder that shown slices are written to; "": none
	report Report
}

func (t *tour) run(ctx context.Context, list []story) error {
	t.report.Outputs, t.report.Reads, t.report.Pictures = []Output{}, []Read{}, []string{}
	for _, s := range list {
		out, err := t.publish(ctx, s)
		if err != nil {
			return err
		}
		t.report.Uploads++
		t.report.UploadSize += out.SourceSize
		t.report.Outputs = append(t.report.Outputs, out)
		t.page.output(s, out)
	}
	for i, s := range list {
		if err := t.readBack(ctx, s, t.report.Outputs[i]); err != nil {
			return err
		}
	}
	t.page.reads(t.report.Reads)
	return nil
}

// publish uploads and waits for what becomes of it.
func (t *tour) publish(ctx context.Context, s story) (Output, error) {
	b, _, err := t.writer.Bucket(ctx, "s3://"+uploads+"/")
	if err != nil {
		return Output{}, err
	}
	source := "s3://" + uploads + "/" + s.upload.name()
	start := time.Now()
	info, err := s.upload.put(ctx, b)
	if err != nil {
		return Output{}, fmt.Errorf("upload %s: %w", source, err)
	}
	sent := time.Now()
	inv, err := t.await(ctx, s.upload.trigger())
	if err != nil {
		return Output{}, fmt.Errorf("%s: %w", source, err)
	}
	out, err := t.find(ctx, s.output, s.upload.trigger(), info.ETag)
	if err != nil {
		return Output{}, fmt.Errorf("%s: %w", source, err)
	}
	out.Source, out.SourceSize = source, s.upload.size()
	out.MS, out.UploadMS = ms(time.Since(sent)), ms(sent.Sub(start))
	out.Function, out.FunctionMS, out.Cold = inv.Function, inv.MS, inv.Cold
	return out, nil
}

// await waits for the end of the function that key has started.
func (t *tour) await(ctx context.Context, key string) (invocation, error) {
	limit := time.NewTimer(functionLimit)
	defer limit.Stop()
	for {
		select {
		case i, ok := <-t.c.lines:
			if !ok {
				return i, unavailable("localcloud ended")
			}
			if done, err := ofKey(i, key); done {
				return i, err
			}
		case <-limit.C:
			return invocation{}, unavailable("no function has run after %s", functionLimit)
		case <-ctx.Done():
			return invocation{}, context.Cause(ctx)
		}
	}
}

// ofKey says whether the invocation was the last of the upload called key.
func ofKey(i invocation, key string) (done bool, err error) {
	for _, r := range i.Records {
		if r.Bucket != uploads || r.Key != key {
			continue
		}
		if r.Dead {
			return true, unavailable("%s gave up: %s", i.Function, i.Error)
		}
		return !r.Failed && i.OK, nil
	}
	return false, nil
}

// find looks at the dataset that the upload called key became. It must be made
// of the version that etag names, if that is given.
func (t *tour) find(ctx context.Context, o output, key, etag string) (Output, error) {
	b, _, err := t.writer.Bucket(ctx, "s3://"+datasets+"/")
	if err != nil {
		return Output{}, err
	}
	name := functions.OutputKey("", key, o.data)
	out := Output{Key: name, Format: o.format, URI: "s3://" + datasets + "/" + name}
	commit, err := b.Head(ctx, functions.OutputKey("", key, o.commit))
	if errors.Is(err, objstore.ErrNotFound) {
		return out, t.refused(ctx, b, key)
	}
	if err != nil {
		return out, err
	}
	of, ok := functions.SourceOf(commit.Meta)
	if !ok || of.Bucket != uploads || of.Key != key || etag != "" && bare(of.ETag) != bare(etag) {
		return out, fmt.Errorf("%s is made of another upload: %w", out.URI, ErrMismatch)
	}
	data, err := b.Head(ctx, name)
	if out.Size = data.Size; err != nil || o.format != zoomcache.Format {
		return out, err
	}
	z, err := t.writer.OpenZoom(ctx, out.URI, farread.ZoomOptions{})
	if err != nil {
		return out, err
	}
	out.IndexSize, _, _, err = z.HasIndex(ctx)
	return out, err
}

// made lists what the upload of somebody else became: a .npz one array for each
// member; raw data and their note one together, once both are there.
func (t *tour) made(ctx context.Context, key string) ([]Output, error) {
	o, err := t.outputOf(ctx, key)
	if err != nil {
		return nil, err
	}
	data := strings.TrimSuffix(key, npy.NoteSuffix)
	if !strings.HasSuffix(data, rawSuffix) {
		data = key
	}
	if o == arrayOutput() && !strings.HasSuffix(key, ".npy") && !strings.HasSuffix(data, rawSuffix) {
		return t.members(ctx, o, key)
	}
	out, err := t.find(ctx, o, data, "")
	if errors.Is(err, objstore.ErrNotFound) && strings.HasSuffix(data, rawSuffix) {
		// Its own report of an error is under its own key.
		if b, _, berr := t.writer.Bucket(ctx, "s3://"+datasets+"/"); berr == nil && data != key {
			err = t.refused(ctx, b, key)
		}
		if errors.Is(err, objstore.ErrNotFound) {
			return nil, errWaits
		}
	}
	if err != nil {
		return nil, err
	}
	return []Output{out}, nil
}

// outputOf is what the upload became, of the formats that it may become: the last
// of them where there is none yet.
func (t *tour) outputOf(ctx context.Context, key string) (o output, err error) {
	b, _, err := t.writer.Bucket(ctx, "s3://"+datasets+"/")
	if err != nil {
		return o, err
	}
	for _, o = range outputsOf(key) {
		if _, err := b.Head(ctx, functions.OutputKey("", key, o.commit)); !errors.Is(err, objstore.ErrNotFound) {
			return o, err
		}
	}
	return o, nil
}

// errWaits: raw data without their note, or a note without its data.
var errWaits = errors.New("waits for its other half: data.raw and data.raw.json make one array")

// members are the arrays of a .npz.
func (t *tour) members(ctx context.Context, o output, key string) ([]Output, error) {
	b, _, err := t.writer.Bucket(ctx, "s3://"+datasets+"/")
	if err != nil {
		return nil, err
	}
	var list []Output
	for i, err := range b.List(ctx, key+"/") {
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(i.Key, o.data) {
			list = append(list, Output{Key: i.Key, Format: o.format, URI: "s3://" + datasets + "/" + i.Key, Size: i.Size})
		}
	}
	if len(list) == 0 {
		return nil, t.refused(ctx, b, key)
	}
	return list, nil
}

// refused is the report that a function left instead of a dataset.
func (t *tour) refused(ctx context.Context, b objstore.Bucket, key string) error {
	r, _, err := b.Get(ctx, functions.ErrorKey(key), objstore.GetOptions{})
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

// bare is an ETag without quotes, as events carry it.
func bare(etag string) string {
	if n := len(etag); n >= 2 && etag[0] == '"' && etag[n-1] == '"' {
		return etag[1 : n-1]
	}
	return etag
}

// readBack runs the steps of a story and counts what each costs.
func (t *tour) readBack(ctx context.Context, s story, out Output) error {
	var ses session
	defer func() { ses.close() }()
	for _, st := range s.steps {
		if !st.warm {
			ses.close()
			client, err := t.o.Client(t.c.endpoint, t.o.Counter)
			if err != nil {
				return err
			}
			ses = session{client: client}
		}
		before, start := t.o.Counter.Stats(), time.Now()
		n, err := st.run(ctx, &ses, out.URI)
		if err != nil {
			return fmt.Errorf("read %s: %w", st.what, err)
		}
		took, after := time.Since(start), t.o.Counter.Stats()
		if st.save != nil && t.slices != "" {
			if err := st.save(t.slices); err != nil {
				return err
			}
			t.report.Pictures = append(t.report.Pictures, filepath.Join(t.slices, st.picture))
		}
		t.report.Reads = append(t.report.Reads, Read{What: st.what, Requests: after.Requests - before.Requests,
			Bytes: after.Bytes - before.Bytes, Phases: after.Phases - before.Phases, MS: ms(took), Payload: n, URI: out.URI, OK: true})
	}
	return nil
}

func (s *session) close() {
	if s.client != nil {
		s.client.CloseIdleConnections()
	}
	*s = session{}
}

// watch shows what becomes of further uploads until ctx ends.
func (t *tour) watch(ctx context.Context) error {
	for {
		select {
		case i, ok := <-t.c.lines:
			if !ok {
				<-t.c.ended // the caller says why
				return nil
			}
			t.show(ctx, i)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// show prints one further invocation.
func (t *tour) show(ctx context.Context, i invocation) {
	for _, r := range i.Records {
		switch done, err := ofKey(i, r.Key); {
		case err != nil:
			t.page.event(i, r, Output{}, err)
		case !done && r.Failed:
			t.page.event(i, r, Output{}, errors.New("failed, to be tried again"))
		case done:
			list, err := t.made(ctx, r.Key)
			if err != nil {
				t.page.event(i, r, Output{}, err)
			}
			for _, out := range list {
				t.page.event(i, r, out, nil)
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
