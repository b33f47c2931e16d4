package quickstart

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/farread/farread/internal/stack"
)

// page prints for people: 100 columns, one screen.
type page struct{ w io.Writer }

func (p *page) line(format string, a ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, a...), " "))
}

func (p *page) started(r Report) {
	p.line("A cloud on this machine: uploads become datasets, and parts of them are read back from afar.")
	p.line("")
	p.line("S3 and functions answer at %s after %s ms.", r.Endpoint, duration(r.StartMS))
}

func (p *page) output(s story, o Output) {
	start := "warm"
	if o.Cold {
		start = "cold start"
	}
	row := func(what, size, took string) { p.line("  %-54s %9s   %s", what, size, took) }
	p.line("")
	p.line("%s", s.what)
	row(o.Source, size(o.SourceSize), "uploaded in "+duration(o.UploadMS)+" ms")
	row("→ s3:ObjectCreated → "+o.Function+", "+start, "", "ran "+duration(o.FunctionMS)+" ms")
	row("→ "+o.URI, size(o.Size), "there "+duration(o.MS)+" ms after the upload")
	if o.IndexSize > 0 {
		row("  its index, of summaries by level", size(o.IndexSize), fmt.Sprintf("%.1f %% of the file", 100*float64(o.IndexSize)/float64(o.Size)))
	}
}

func (p *page) reads(list []Read) {
	p.line("")
	p.line("%-36s %8s %6s %10s %10s %6s   %s", "Read back with farread", "requests", "phases", "received", "payload", "ms", "bytes")
	for _, r := range list {
		p.line("  %-34s %8d %6d %10s %10s %6s   %s", r.What, r.Requests, r.Phases, size(r.Bytes), size(r.Payload), duration(r.MS), "same as source")
	}
}

func (p *page) onceDone(command string, pictures []string) {
	p.line("")
	p.drawn(pictures)
	if len(pictures) == 0 {
		p.line("To see what was read as pictures: %s quickstart --once --dir FOLDER", command)
	}
	p.line("Everything came back as it went in. To stay up and try it: %s quickstart", command)
}

// drawn says where the pictures of the reads lie.
func (p *page) drawn(pictures []string) {
	if len(pictures) == 0 {
		return
	}
	folder := filepath.Dir(pictures[0])
	p.line("What was read is drawn in %s:", folder)
	p.line("  %s", strings.ReplaceAll(strings.Join(pictures, ", "), folder+string(filepath.Separator), ""))
}

// invite tells the commands to try in another terminal.
func (p *page) invite(t *tour) {
	c, farread, out := t.cloud, t.o.Command, t.report.Outputs
	s3 := "aws --endpoint-url " + c.Endpoint + " s3"
	p.line("")
	p.drawn(t.report.Pictures)
	p.line(`Everything came back as it went in. Now try it, in another terminal:

  export AWS_ENDPOINT_URL=%s AWS_DEFAULT_REGION=%s
  export AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s
`, c.Endpoint, c.Region, c.AccessKey, c.SecretKey)
	for _, words := range [][]any{
		{s3, "ls --recursive", "s3://" + datasets + "/"},
		{farread, "ls", out[0].URI},
		{farread, "get", out[1].URI, "--id planet --frames 24 -o planet.jpg"},
		{farread, "explain", out[2].URI, "--id aurora --frames ::6"},
		{farread, "slice", out[3].URI, "'" + shownSlice + "' -o storm.png"},
		{farread, "slice", out[3].URI, "'::6, 120, 200:208'"},
		{farread, "get", out[4].URI, "--item", shownRecord, "-o -"},
		{farread, "view", out[5].URI, "--from 6h --to 7h --width 1200 -o hour.png"},
		{"tar cf my.tar *.jpg &&", s3, "cp my.tar", "s3://" + uploads + "/"},
		{s3, "cp my.npy", "s3://" + uploads + "/    # or my.jsonl, my.log"},
	} {
		p.line("  %s", strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	}
	end := " and leaves nothing behind"
	if t.o.Kept {
		end = "; the buckets stay in " + t.o.Dir
	}
	p.line("\nUploads show up below. Ctrl-C stops it all%s.", end)
}

// event is one line for an upload of somebody else.
func (p *page) event(i stack.Invocation, r stack.Record, o Output, err error) {
	at := time.Now().Format("15:04:05")
	source := "s3://" + r.Bucket + "/" + r.Key
	if err != nil {
		p.line("%s  %s → %s → %s", at, printable(source), i.Function, printable(err.Error()))
		return
	}
	p.line("%s  %s %s → %s %s ms → %s %s", at, printable(source), size(r.Size), i.Function, duration(i.MS), printable(o.URI), size(o.Size))
}

// printable is text from a key in a form that is safe on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// duration is milliseconds with as many digits as matter.
func duration(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
