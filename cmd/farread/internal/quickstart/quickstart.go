// Package quickstart shows the whole job on one machine: it starts the local
// cloud, uploads sample clips, an array and a log, lets the real functions pack them,
// reads parts back through farread's readers and compares every byte with its
// source.
package quickstart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/objstore"
)

// Options say what to run. Client must be set.
type Options struct {
	Once bool   // end after the tour instead of staying up
	JSON bool   // the report as one JSON document on out, nothing else there
	Dir  string // folder of the local cloud, kept; "": a temporary one, removed at the end
	Port int    // of the S3 endpoint on loopback; 0: any free one

	// Program is the path of the running farread: the other binaries are looked
	// for beside it. Work is where a checkout is looked for, upwards, to build
	// them from.
	Program, Work string
	// Command is how people call farread in their shell; "": "farread".
	Command  string
	Terminal bool // errw is one: remarks may be overwritten
	// Client makes a client that reads and writes the endpoint and counts
	// there. Each call makes another one, without connections or caches.
	Client func(Endpoint, *objstore.Counter) (*farread.Client, error)
	// Counter counts the whole tour; nil: one of its own.
	Counter *objstore.Counter
	// Temporary is told of a temporary folder, for programs that may be
	// abandoned before Run returns; what it returns is called once the folder
	// is gone. nil: nobody is told.
	Temporary func(path string) (gone func())

	started func(*cloud)                                 // for tests
	clips   func(context.Context) ([]sample.Clip, error) // nil: sample.Clips
	storm   func(context.Context) (sample.Volume, error) // nil: sample.Storm
}

// Endpoint is a running local S3 and its key.
type Endpoint struct {
	URL       string `json:"endpoint"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Region    string `json:"region"`
}

// A Report is the outcome of the tour, as --json prints it.
type Report struct {
	Uploads int      `json:"uploads"`
	Outputs []Output `json:"outputs"`
	Reads   []Read   `json:"reads"`
	// Pictures are the files that show what was read.
	Pictures []string `json:"pictures"`

	Endpoint   string  `json:"endpoint"`
	StartMS    float64 `json:"start_ms"`    // until the local cloud answered
	UploadSize int64   `json:"upload_size"` // bytes, all uploads together
}

// An Output is a dataset that an upload became.
type Output struct {
	Key        string  `json:"key"` // of the object that holds the data
	Format     string  `json:"format"`
	Source     string  `json:"source"` // URI of the upload
	MS         float64 `json:"ms"`     // from the end of the upload to the dataset being there
	URI        string  `json:"uri"`
	Size       int64   `json:"size"`
	SourceSize int64   `json:"source_size"`
	UploadMS   float64 `json:"upload_ms"`
	Function   string  `json:"function"`
	FunctionMS float64 `json:"function_ms"`
	Cold       bool    `json:"cold"` // the function's process had to be started
	// IndexSize is the part of Size that is the index of a zoom-cache file.
	IndexSize int64 `json:"index_size,omitempty"`
}

// A Read is one read through farread, checked.
type Read struct {
	What     string  `json:"what"`
	Requests int64   `json:"requests"`
	Bytes    int64   `json:"bytes"` // received
	MS       float64 `json:"ms"`
	Phases   int64   `json:"phases"`
	Payload  int64   `json:"payload"` // bytes of the images or items themselves
	URI      string  `json:"uri"`
	OK       bool    `json:"ok"` // equal to the source
}

// Run makes the tour and, unless o.Once, stays up until ctx ends. It leaves
// nothing running and, unless o.Dir is set, no file behind. Results go to out,
// remarks about a build to errw. An error ends it: that a part is missing matches
// fs.ErrNotExist, a folder without permission fs.ErrPermission, a cloud that
// does not run objstore.ErrUnavailable, wrong bytes ErrMismatch.
func Run(ctx context.Context, o Options, out, errw io.Writer) (err error) {
	if o.Counter == nil {
		o.Counter = &objstore.Counter{}
	}
	if o.Command == "" {
		o.Command = "farread"
	}
	if o.clips == nil {
		o.clips = sample.Clips
	}
	if o.storm == nil {
		o.storm = sample.Storm
	}
	if err := portFree(ctx, o.Port); err != nil {
		return err
	}
	dir, remove, err := folder(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	parts, err := findParts(ctx, o, errw)
	if err != nil {
		return err
	}
	p := &page{w: out}
	if o.JSON {
		p.w = io.Discard
	}
	c, err := startCloud(ctx, parts, dir, o.Port, rules())
	if err != nil {
		return err
	}
	defer c.stop()
	if o.started != nil {
		o.started(c)
	}
	err = serve(ctx, o, c, p, out)
	if died := c.died(); died != nil && ctx.Err() == nil {
		err = died // whatever it broke in the tour, this is why
	}
	return err
}

// serve is the tour and the time after it.
func serve(ctx context.Context, o Options, c *cloud, p *page, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.started(c)
	clips, err := o.clips(ctx)
	if err != nil {
		return err
	}
	storm, err := o.storm(ctx)
	if err != nil {
		return err
	}
	t := &tour{o: o, c: c, page: p}
	if !o.Once || o.Dir != "" { // else nobody could look at it
		t.slices = filepath.Join(c.dir, slicesFolder)
	}
	t.report.Endpoint, t.report.StartMS = c.endpoint.URL, ms(c.took)
	t.writer, err = o.Client(c.endpoint, o.Counter)
	if err != nil {
		return err
	}
	defer t.writer.CloseIdleConnections()
	list, err := stories(clips, storm)
	if err != nil {
		return err
	}
	if err := t.run(ctx, list); err != nil {
		return err
	}
	if o.JSON {
		if err := writeJSON(out, t.report); err != nil {
			return err
		}
	}
	if o.Once {
		p.onceDone(o.Command, t.report.Pictures)
		return nil
	}
	p.invite(o.Command, c.endpoint, t.report, c.dir, o.Dir != "")
	return t.watch(ctx)
}

// folder makes the local cloud's folder and proves that it can be written.
func folder(o Options) (dir string, remove func() error, err error) {
	if o.Dir == "" {
		if dir, err = os.MkdirTemp("", "farread-quickstart-"); err != nil {
			return "", nil, err
		}
		gone := func() {}
		if o.Temporary != nil {
			gone = o.Temporary(dir)
		}
		return dir, func() error {
			defer gone()
			return os.RemoveAll(dir)
		}, nil
	}
	if dir, err = filepath.Abs(o.Dir); err != nil {
		return "", nil, err
	}
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return "", nil, &problem{fmt.Sprintf("--dir: %s is not a folder", dir), objstore.ErrInvalid}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", nil, fmt.Errorf("--dir: %w", err)
	}
	f, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return "", nil, fmt.Errorf("--dir: %w", err)
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	return dir, func() error { return nil }, err
}
