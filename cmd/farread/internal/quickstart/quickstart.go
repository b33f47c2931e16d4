// Package quickstart shows the whole job on one machine: it starts the local
// cloud, uploads sample clips, an array, a log and series, lets the real functions pack
// them, reads parts back through farread's readers and compares every byte with its
// source.
package quickstart

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/demo"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/stack"
	"github.com/farread/farread/objstore"
)

const (
	// startLimit is far above the 0.3 s that a start takes, for slow machines.
	startLimit = 30 * time.Second
	// grace fits twice into the second in which Ctrl-C is answered. The cloud ends by
	// itself within about 10 ms unless requests hang.
	grace = 400 * time.Millisecond
)

// Options are the options of a run. Config.Counter must be set.
type Options struct {
	Once bool   // end after the tour instead of staying up
	JSON bool   // the report as one JSON document on out, nothing else there
	Dir  string // folder of the local cloud, made if it is not there
	Kept bool   // Dir will be there when the run is over
	Port int    // port of the S3 endpoint on loopback; 0: any free port

	// Program is the path of the running farread: the other binaries are looked
	// for beside it. Work is where a checkout is looked for, upwards, to build
	// them from; "" is the working folder.
	Program, Work string
	Command       string // the command to call farread in a shell
	Terminal      bool   // errw is a terminal: remarks may be overwritten
	// Config is the configuration of all clients. The tour adds the endpoint and the
	// keys of its cloud.
	Config farread.Config
}

// A Report is the outcome of the tour, as --json prints it.
type Report struct {
	Uploads int      `json:"uploads"`
	Outputs []Output `json:"outputs"`
	Reads   []Read   `json:"reads"`
	// Pictures are files with pictures of the data that were read.
	Pictures []string `json:"pictures"`
	Served   Served   `json:"served"` // an answer of a server of the datasets

	Endpoint   string  `json:"endpoint"`
	StartMS    float64 `json:"start_ms"`    // until the local cloud answered
	UploadSize int64   `json:"upload_size"` // bytes, all uploads together
}

// An Output is a dataset that an upload became.
type Output struct {
	Key        string  `json:"key"` // key of the object with the data
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

// A problem has a text of its own and matches a sentinel, which gives the exit code.
type problem struct {
	text string
	is   error
}

func (p *problem) Error() string { return p.text }
func (p *problem) Unwrap() error { return p.is }

// ErrMismatch is matched by errors about bytes that differ from the source when
// they are read back. It also matches formats.ErrCorrupt.
var ErrMismatch error = &problem{"not what was uploaded", formats.ErrCorrupt}

// unavailable is a problem with a child or the machine: another try may help.
func unavailable(format string, a ...any) error {
	return &problem{fmt.Sprintf(format, a...), objstore.ErrUnavailable}
}

// Run makes the tour and, unless o.Once, stays up until ctx ends. It leaves
// nothing running, and files in o.Dir alone. Results go to out, remarks about a build to
// errw. The error matches fs.ErrNotExist if a part is missing, fs.ErrPermission if a
// folder must not be written, objstore.ErrUnavailable if the cloud does not run, and
// ErrMismatch if bytes are wrong.
func Run(ctx context.Context, o Options, out, errw io.Writer) error {
	if err := portFree(ctx, o.Port); err != nil {
		return err
	}
	if err := folder(&o); err != nil {
		return err
	}
	bin, err := findParts(ctx, o, errw)
	if err != nil {
		return err
	}
	t, err := begin(ctx, o, bin)
	if err != nil {
		return err
	}
	defer t.end()
	if !o.JSON {
		t.page.w = out
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.cloud.Ended:
			cancel(unavailable("localcloud ended: %s", t.cloud.LastWords()))
		case <-ctx.Done():
		}
	}()
	err = t.serve(ctx, out)
	return cmp.Or(context.Cause(ctx), err) // the cause of all other failures comes first
}

// begin starts the cloud for a tour.
func begin(ctx context.Context, o Options, bin string) (_ *tour, err error) {
	t := &tour{o: o, page: page{io.Discard}, report: Report{Outputs: []Output{}, Reads: []Read{}, Pictures: []string{}}}
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("localcloud did not answer within %s", startLimit))
	defer cancel()
	t.cloud, err = stack.Start(limited, filepath.Join(bin, "localcloud"), "--dir", o.Dir,
		"--addr", address(o.Port), "--rules", filepath.Join(o.Dir, "rules.json"), "--functions", bin)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), unavailable("%v", err))
	}
	t.report.Endpoint, t.report.StartMS = t.cloud.Endpoint, ms(time.Since(start))
	c := &t.o.Config
	c.Endpoint, c.Region, c.AccessKey, c.SecretKey, c.PathStyle = t.cloud.Endpoint, t.cloud.Region, t.cloud.AccessKey, t.cloud.SecretKey, true
	t.writer = farread.New(*c)
	if t.uploads, _, err = t.writer.Bucket(ctx, "s3://"+uploads+"/"); err == nil {
		t.datasets, _, err = t.writer.Bucket(ctx, "s3://"+datasets+"/")
	}
	if err != nil {
		t.end()
	}
	return t, err
}

func (t *tour) end() {
	t.web.stop()
	t.writer.CloseIdleConnections()
	_ = t.cloud.Stop(grace) // the error is reported elsewhere
}

// serve is the tour and the time after it.
func (t *tour) serve(ctx context.Context, out io.Writer) error {
	t.page.line("A cloud on this machine: uploads become datasets, and parts of them are read back from afar.")
	t.page.line("\nS3 and functions answer at %s after %s ms.", t.report.Endpoint, duration(t.report.StartMS))
	t.page.line("Making sample data: three clips, an array, a log and two series …")
	clips, storm, err := demo.Draw(ctx)
	if err != nil {
		return err
	}
	list, err := stories(clips, storm)
	if err == nil {
		err = t.run(ctx, list)
	}
	if err == nil {
		err = t.startWeb(ctx)
	}
	if err == nil {
		err = t.ask(ctx, storm)
	}
	if err != nil {
		return err
	}
	if t.o.JSON {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(t.report); err != nil {
			return err
		}
	}
	if t.o.Once {
		t.page.same(t.report.Pictures, t.o.Command, "To stay up and try it: "+t.o.Command+" quickstart")
		return nil
	}
	t.page.invite(t)
	return t.watch(ctx)
}

// portFree fails if another program has the port.
func portFree(ctx context.Context, port int) error {
	if port < 0 || port > 65535 {
		return &problem{fmt.Sprintf("--port %d is not in 1 to 65535", port), objstore.ErrInvalid}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address(port))
	if sys := (*os.SyscallError)(nil); errors.As(err, &sys) {
		err = sys.Err // the message names the port already
	}
	if err != nil {
		return unavailable("--port %d: %v (0 takes a free one)", port, err)
	}
	return l.Close()
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// folder makes the local cloud's folder, with the rules in it.
func folder(o *Options) (err error) {
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return err
	}
	if fi, err := os.Stat(o.Dir); err == nil && !fi.IsDir() {
		return &problem{fmt.Sprintf("--dir: %s is not a folder", o.Dir), objstore.ErrInvalid}
	}
	doc, err := json.MarshalIndent(rules(), "", "  ")
	if err == nil {
		err = os.MkdirAll(o.Dir, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(o.Dir, "rules.json"), append(doc, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	return nil
}
