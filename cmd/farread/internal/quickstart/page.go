package quickstart

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/stack"
)

// page prints for people: 100 columns, one screen.
type page struct{ w io.Writer }

func (p *page) line(format string, a ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, a...), " "))
}

func (p *page) output(s story, o Output) {
	start := "warm"
	if o.Cold {
		start = "cold start"
	}
	row := func(what, size, took string) { p.line("  %-54s %9s   %s", what, size, took) }
	p.line("\n%s", s.what)
	row(o.Source, human.Size(o.SourceSize), "uploaded in "+duration(o.UploadMS)+" ms")
	row("→ s3:ObjectCreated → "+o.Function+", "+start, "", "ran "+duration(o.FunctionMS)+" ms")
	row("→ "+o.URI, human.Size(o.Size), "there "+duration(o.MS)+" ms after the upload")
	if o.IndexSize > 0 {
		row("  its index, of summaries by level", human.Size(o.IndexSize), fmt.Sprintf("%.1f %% of the file", 100*float64(o.IndexSize)/float64(o.Size)))
	}
}

func (p *page) reads(list []Read) {
	p.line("\n%-36s %8s %6s %10s %10s %6s   %s", "Read back with farread", "requests", "phases", "received", "payload", "ms", "bytes")
	for _, r := range list {
		p.line("  %-34s %8d %6d %10s %10s %6s   %s", r.What, r.Requests, r.Phases, human.Size(r.Bytes), human.Size(r.Payload), duration(r.MS), "same as source")
	}
}

// served tells an answer over HTTP.
func (p *page) served(s Served, body string) {
	p.line("\nServed over HTTP, as farread serve does")
	p.line("  %s", s.Link)
	p.line("  %-78s   same as source", strings.TrimSpace(body))
}

// same says that all came back as it went in, where it is drawn, and what is next.
func (p *page) same(pictures []string, command, next string) {
	if len(pictures) == 0 {
		p.line("\nTo see what was read as pictures: %s quickstart --once --dir FOLDER", command)
	} else {
		folder := filepath.Dir(pictures[0])
		p.line("\nWhat was read is drawn in %s:", folder)
		p.line("  %s", strings.ReplaceAll(strings.Join(pictures, ", "), folder+string(filepath.Separator), ""))
	}
	p.line("Everything came back as it went in. %s", next)
}

// invite tells the commands to try in another terminal.
func (p *page) invite(t *tour) {
	c, farread, out := t.cloud, t.o.Command, t.report.Outputs
	p.same(t.report.Pictures, farread, "Now try it, in another terminal:")
	p.line("\n  export AWS_ENDPOINT_URL=%s AWS_DEFAULT_REGION=%s", c.Endpoint, c.Region)
	p.line("  export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n", c.AccessKey, c.SecretKey)
	for _, words := range [][]any{
		{farread, "ls", "s3://" + datasets + "/"},
		{farread, "ls", out[0].URI},
		{farread, "get", out[1].URI, "--id planet --frames 24 -o planet.jpg"},
		{farread, "explain", out[2].URI, "--id aurora --frames ::6"},
		{farread, "slice", out[3].URI, "'" + shownSlice + "' -o storm.png"},
		{farread, "slice", out[3].URI, "'::6, 120, 200:208'"},
		{farread, "get", out[4].URI, "--item", shownRecord, "-o -"},
		{farread, "view", out[5].URI, "--from 6h --to 7h --width 1200 -o hour.png"},
		{"tar cf my.tar *.jpg &&", farread, "cp my.tar", "s3://" + uploads + "/"},
		{farread, "cp my.npy", "s3://" + uploads + "/    # or my.jsonl, my.log"},
	} {
		p.line("  %s", strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	}
	p.line("\nor in a browser, or with xarray.open_zarr:\n")
	for _, path := range []string{
		"/", "/slice/" + datasets + "/" + out[stormOutput].Key + "?s=30&format=png",
		"/view/" + datasets + "/" + out[5].Key + "?from=6h&to=7h&width=1200&format=svg", "/group/" + datasets + "/" + out[stormOutput].Key,
	} {
		p.line("  %s%s", t.report.Served.URL, path)
	}
	end := " and leaves nothing behind"
	if t.o.Kept {
		end = "; the buckets stay in " + t.o.Dir
	}
	p.line("\nUploads show up below. Ctrl-C stops it all%s.", end)
}

// event prints a line for an upload that is not of the tour.
func (p *page) event(i stack.Invocation, r stack.Record, o Output, err error) {
	said := fmt.Sprintf("s3://%s/%s %s → %s %s ms → %s %s", r.Bucket, r.Key, human.Size(r.Size), i.Function, duration(i.MS), o.URI, human.Size(o.Size))
	if err != nil {
		said = fmt.Sprintf("s3://%s/%s → %s → %v", r.Bucket, r.Key, i.Function, err)
	}
	p.line("%s  %s", time.Now().Format("15:04:05"), human.Printable(said))
}

// duration is milliseconds with as many digits as matter.
func duration(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
