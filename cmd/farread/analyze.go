package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/analyze/origin"
	"github.com/farread/farread/cmd/farread/internal/answers"
	"github.com/farread/farread/cmd/farread/internal/cost"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
	"github.com/farread/farread/objstore"
)

const analyzeLong = `Reduce the items of a b2nd array, or of a SLICE of it, or the samples of a series,
lines of JSON, or what a gulp's index says of its images, to small answers, in bounded
memory and on all processors:
  count, nan     items that are not NaN or NaT, and those that are; no other stat
                 takes these into account
  min, max       extremes, of the type of the items
  argmin, argmax the index in the array of the first item that is the extreme
  sum, mean, std exact, and rounded once at the end; sums of integers are of 64
                 bits, and an error beyond
  hist(N,A:B)    counts in N bins of equal width from A to B, as numpy.histogram
  quantiles(Q,…) items of these ranks from 0 to 1, within 1/512 of each, relative;
                 the least and the greatest item are exact; without Q 0.01, 0.5, 0.99
Of items with members each names one: mean(.temp), hist(.temp,64,0:50). Complex
numbers have count, nan, sum and mean, times count, nan and extremes.

All axes are reduced. --over 0,2 reduces these and keeps the others; --every 24 cuts
the first of them into windows of 24 items, which remain, --every 4,4 the first two.
--coarsen 4,4 --stat mean cuts the first two axes into such windows and keeps the
others: a level of the pyramid of an image or a volume. One stat as npy or b2nd is
written as it becomes known, however long it is. --where EXPR asks about the items
that match, as in farread slice. Chunks that cannot match by the ranges in
the array's index are not read, and count, nan, min and max of whole chunks come from
there.

Lines of JSON, items of a Bloscpack file, have fields: --stats 'sum(.bytes)', --where
".req.status >= 500 and .path == '/login'". --group .path has a cell for each value,
--match REGEXP takes items in which it is found. nan(.ms) counts items without a number
there; what is no JSON is passed over, and told. Images of a gulp have the fields .id,
.frame, .frames, .size and those of their meta_data, such as .label: no image is read.

` + seriesLong + `

The answer is the same to the last bit for any --jobs and --part-size, from a file here
or from afar. Its form is that of OUT's suffix, or of --format: json (an object, a key
for each stat; nested lists where axes remain; NaN and infinities are strings; what no
item has is null), csv and parquet (a row for each cell), npy and b2nd (of several
stats an array of structures), else a table.

--checkpoint FILE keeps the answers of parts that are done: after an interrupt the same
command goes on from there. FILE goes away at the end. --max-memory bounds all buffers,
and what cannot fit is refused before anything is read. --explain tells requests, bytes
and about how many seconds, with --cloud=100 what 100 workers would take, and dollars.

--on ARN lets a state machine of Step Functions make the parts, with a function for each
batch of them, and follows it. The plan, the parts and the answers lie below --work, in
a folder of the plan's own: the same command takes what is there, follows a run that
goes on, or starts one for what is missing. An interrupt leaves the run; --stop ends it.
One stat as npy or b2nd is merged here, from the parts, while OUT is written.`

// An analysis is the flags of analyze.
type analysis struct {
	a          *app
	sel        selector
	how        aim
	stats      string
	over       []int
	every      []int
	period     periodFlag
	coarsen    []int
	jobs       int
	part       sizeFlag
	checkpoint string
	kept       *analyze.Checkpoint
	streamed   bool
	late       error // behind bytes on stdout, which cannot be taken back
	explain    bool
	estimate   estimate
	forecast   forecast
	meant      *sourceOfMeaning
	out        string
	cloud      elsewhere
	source     analyze.Source // what a state machine is to read
	items      itemsQuestion
	flags      *pflag.FlagSet
}

const maxAnalyzeJobs = 64

func newAnalyze(a *app) *cobra.Command {
	x := &analysis{a: a, part: analyze.DefaultPartBytes}
	c := &cobra.Command{
		Use: "analyze URI [SLICE] --stats LIST", DisableFlagsInUseLine: true, Short: "Sums, extremes, histograms and quantiles of an array or a series",
		Long: analyzeLong,
		Example: `  farread analyze s3://arrays/temperature.b2nd --stats count,min,max,mean,std
  farread analyze weather.b2nd --over 0 --every 24 --stats mean -o daily.npy
  farread analyze s3://arrays/t2m.b2nd 'time=2025-03' --over 1,2 --stats 'mean,quantiles(0.01,0.99)' -o march.csv
  farread analyze weather.b2nd --where 'v > 310' --stats 'count,hist(20,310:330)' --json
  farread analyze s3://arrays/temperature.b2nd --coarsen 1,4,4 --stat mean -o level.b2nd
  farread analyze s3://arrays/temperature.b2nd --stats sum --checkpoint sum.part
  farread analyze s3://arrays/all.b2nd --stats mean --on arn:aws:states:REGION:ACCOUNT:stateMachine:NAME --work s3://jobs/analysis
  farread analyze s3://series/day.zoom --track 1 --every 1h --stats count,min,max,mean -o hours.csv
  farread analyze s3://records/day1.jsonl.blp --where '.status >= 500' --group .path --stats 'count,quantiles(.ms,0.5,0.99)'
  farread analyze s3://frames/train/ --group label --stats 'count,sum(.size)'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return exactly("URI")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := objstore.Again(cmd.Context(), func() error { return x.run(cmd.Context(), args) })
			if err == nil {
				err = x.late
			}
			if len(args) == 2 {
				return inSlice(args[0], args[1], err)
			}
			return at(args[0], err)
		},
	}
	x.sel.register(c, []func(*pflag.FlagSet){x.sel.ofLabels, func(f *pflag.FlagSet) {
		x.sel.ofTime(f)
		f.StringVar(&x.sel.where, "where", "", "only about items that match `EXPR`: 'v > 3', 'temp < -5 and not flag == 0'; see slice --help")
	}})
	f := c.Flags()
	f.StringVar(&x.stats, "stats", "", "what to find, a `LIST` of count, nan, min, max, argmin, argmax, sum, mean, std, hist(N,A:B), quantiles(Q,...)")
	f.IntSliceVar(&x.over, "over", nil, "reduce these `AXES`, such as 0,2, and keep the others; negative ones count from the end")
	x.period.items = &x.every
	f.Var(&x.period, "every", "cut the first axes of --over into windows of so many items, `LENGTHS` such as 24 or 4,4; a series into windows of a time, such as 1h")
	x.coarsenFlags(f)
	f.IntVar(&x.jobs, "jobs", 2, "parts to work on at a time")
	f.Var(&x.part, "part-size", "decoded bytes of a part")
	f.StringVar(&x.checkpoint, "checkpoint", "", "keep what is done in `FILE`, and go on from it")
	f.BoolVar(&x.explain, "explain", false, "only tell what would be read, and about how long that takes")
	x.estimate.register(f)
	f.BoolVar(&a.flags.stats, "cost", false, "what --stats is for other commands: requests, bytes, phases, one line of JSON on stderr")
	f.StringVar(&x.sel.format, "format", "", "json, csv, npy, b2nd, parquet or text, whatever OUT is called")
	x.items.register(f)
	x.flags = f
	f.StringVarP(&x.out, "output", "o", "", "`OUT`: a file, or - for stdout")
	offsetFlag(c, &x.how.offset)
	x.cloud.register(c)
	return c
}

// check looks at the flags before anything is opened. It returns the stats and the format.
func (x *analysis) check() (list []analyze.Stat, format string, err error) {
	if x.stats == "" {
		return nil, "", usagef("missing --stats: some of %s", strings.Join(analyze.StatNames(), ", "))
	}
	if list, err = analyze.ParseStats(x.stats); err != nil {
		return nil, "", usagef("--stats: %s", human.Printable(err.Error()))
	}
	switch {
	case x.jobs < 1 || x.jobs > maxAnalyzeJobs:
		return nil, "", usagef("--jobs %d: want 1 to %d", x.jobs, maxAnalyzeJobs)
	case x.part < 1:
		return nil, "", usagef("--part-size %s: want a size such as 64MiB", &x.part)
	}
	if err := x.cloud.check(x.flags.Changed, "checkpoint", "jobs"); err != nil {
		return nil, "", err
	}
	if _, _, err := x.windows(); err != nil {
		return nil, "", err
	}
	if err := x.estimate.check(x.explain, x.cloud.on != ""); err != nil {
		return nil, "", err
	}
	if x.out == "" {
		x.out = "-"
	}
	if x.checkpoint != "" && isSameFile(x.checkpoint, x.out) {
		return nil, "", usagef("--checkpoint and -o are one file: %s", human.Printable(x.out))
	}
	known := append(answers.Formats(), render.Text)
	switch format = x.sel.format; {
	case format != "" && !slices.Contains(known, format):
		return nil, "", usagef("--format %q: want %s", format, strings.Join(known, ", "))
	case format != "":
	case x.out == "-" && x.a.flags.json:
		format = render.JSON
	case x.out == "-":
		format = render.Text
	default:
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(x.out)), ".")
		if !slices.Contains(answers.Formats(), format) {
			return nil, "", usagef("-o %s: want a name that ends in .%s, or --format", human.Printable(x.out), strings.Join(answers.Formats(), ", ."))
		}
	}
	return list, format, nil
}

func (x *analysis) run(ctx context.Context, args []string) error {
	list, format, err := x.check()
	if err != nil {
		return err
	}
	if err := x.sel.parse(args[1:]); err != nil {
		return err
	}
	x.how.listed = x.cloud.on != ""
	c, err := x.a.open(ctx, args[0], x.how)
	if err != nil {
		return err
	}
	x.streamed = isStreamed(format, list)
	j, err := x.job(ctx, c, list, format)
	if err != nil {
		return err
	}
	if a, ok := j.(*analyze.Array); ok {
		x.a.searched(a.Report())
	}
	x.forecast.opened = x.a.counter.Stats()
	if x.explain {
		return x.tell(ctx, args[0], j)
	}
	answer := x.results
	if a, ok := j.(*analyze.Array); ok && x.streamed && x.cloud.on != "" {
		if answer, err = x.partsElsewhere(ctx, a); err != nil || answer == nil { // --stop has no answer
			return err
		}
	}
	out, err := x.a.byteSink(x.out)
	if err != nil {
		return err
	}
	defer out.Abort()
	defer x.close()
	var results *analyze.Answers
	if a, ok := j.(*analyze.Array); ok && x.streamed {
		err = x.stream(ctx, a, out, format, answer)
	} else {
		if results, err = answer(ctx, j); err == nil && results == nil { // --stop has no answer
			return nil
		}
		if err == nil {
			err = x.write(ctx, out, format, j, results)
		}
	}
	if err == nil && format == render.Text && x.a.columns(x.out) > 0 {
		err = answers.WriteCurves(out, results)
	}
	if s, ok := out.(*sink.Stream); ok && err != nil && s.Wrote() {
		x.late, x.a.partly = err, errors.Is(err, objstore.ErrChanged)
		return nil
	}
	if err != nil {
		return ofGroups(err)
	}
	if err := out.Commit(); err != nil {
		return err
	}
	x.skipped(args[0], results)
	return x.forget()
}

// job plans the analysis of what was opened.
func (x *analysis) job(ctx context.Context, c content, list []analyze.Stat, format string) (analyze.Work, error) {
	if t, ok := c.(*zoomContent); ok {
		return x.series(ctx, t, list)
	}
	if err := x.onlySeries(c.dataset().Format()); err != nil {
		return nil, err
	}
	if r, err := origin.Items(ctx, c.dataset()); err != nil || r != nil {
		if err != nil {
			return nil, err
		}
		return x.lines(ctx, c.dataset(), r, list, format)
	}
	if t, ok := c.(*gulpContent); ok {
		return x.images(ctx, t, list, format)
	}
	if t, ok := c.(*frameContent); ok {
		if arr, ok := c.dataset().Handle().(*farread.Array); ok {
			return x.array(ctx, t, arr, list)
		}
	}
	return nil, fmt.Errorf("analyze takes a b2nd array, a series, items of a Bloscpack file, or a gulp, and this is a %s: %w", cmp.Or(c.dataset().Format(), "folder"), formats.ErrUnsupported)
}

// array plans the analysis of an array.
func (x *analysis) array(ctx context.Context, t *frameContent, arr *farread.Array, list []analyze.Stat) (analyze.Work, error) {
	if err := x.unfit(onlyItems, "arrays"); err != nil {
		return nil, err
	}
	if err := refusal(t.d); err != nil {
		return nil, err
	}
	box, err := t.box(ctx, x.sel)
	if err != nil {
		return nil, err
	}
	if err := x.identify(ctx, t.d); err != nil {
		return nil, err
	}
	x.storedAs(arr.Array)
	x.meant = &sourceOfMeaning{arr, box}
	over, every, err := x.windows()
	if err != nil {
		return nil, err
	}
	o := analyze.ArrayOptions{
		Box: box, Stats: list, Over: over, Every: every, Streamed: x.streamed, PartBytes: int64(x.part), Memory: int64(x.a.flags.maxMemory) / 2,
		Source: x.source.String(),
	}
	if x.sel.has("where") {
		if o.Where, err = predicate.Parse(x.sel.where); err != nil {
			return nil, ofWhere(err)
		}
	}
	j, err := analyze.NewArray(ctx, arr.Array, o)
	var where *predicate.Error
	switch {
	case errors.As(err, &where):
		return nil, ofWhere(err)
	case errors.Is(err, analyze.ErrQuestion):
		return nil, usagef("--over, --every, --coarsen: %s", strings.TrimPrefix(err.Error(), analyze.ErrQuestion.Error()+": "))
	}
	return j, err
}

// results runs the job.
func (x *analysis) results(ctx context.Context, j analyze.Work) (*analyze.Answers, error) {
	if x.cloud.on != "" {
		return x.elsewhere(ctx, j)
	}
	size := j.Bytes()
	b := x.a.newBar("analyze", size)
	defer b.clear()
	o := analyze.Options{Jobs: x.jobs, Progress: func(done, total int64) { b.set(int64(float64(size)*float64(done)/float64(total)), size) }}
	if x.checkpoint != "" {
		c, err := analyze.OpenCheckpoint(x.checkpoint)
		if err != nil {
			return nil, err
		}
		x.kept, o.Checkpoint = c, c
	}
	list, err := j.Run(ctx, o)
	if errors.Is(err, analyze.ErrOtherPlan) {
		return nil, usagef("--checkpoint %s: %s", human.Printable(x.checkpoint), err)
	}
	return list, err
}

// isSameFile reports whether two paths are those of one file, which may not be there.
func isSameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return filepath.Clean(a) == filepath.Clean(b) || err1 == nil && err2 == nil && os.SameFile(x, y)
}

// close closes the checkpoint. Each of its lines is in the file already.
func (x *analysis) close() {
	if x.kept != nil {
		_ = x.kept.Close()
	}
}

// forget removes the checkpoint, once the answer is written.
func (x *analysis) forget() error {
	if x.kept == nil {
		return nil
	}
	c := x.kept
	x.kept = nil
	return c.Remove()
}

// An analysisPlan is the JSON of --explain.
type analysisPlan struct {
	Plan     string             `json:"plan"`
	Shape    []int64            `json:"shape,omitempty"` // of the answers of an array
	Parts    int                `json:"parts"`
	Requests int                `json:"requests"` // for items; those that were made for this plan do not count
	Bytes    int64              `json:"bytes"`
	Search   *b2nd.SearchReport `json:"search,omitempty"`

	Series *analyze.SeriesReport `json:"series,omitempty"`
	estimated
}

// tell tells what would be read.
func (x *analysis) tell(ctx context.Context, uri string, j analyze.Work) error {
	if x.cloud.on != "" {
		if err := x.fits(); err != nil {
			return err
		}
	}
	list, err := j.Explain(ctx)
	if err != nil {
		return err
	}
	p := analysisPlan{Plan: j.ID(), Parts: j.Parts(), Requests: len(list)}
	for _, q := range list {
		p.Bytes += q.Len
	}
	if p.estimated, err = x.estimated(uri, cost.Work{Parts: p.Parts, Requests: int64(p.Requests), Stored: p.Bytes, Decoded: j.Bytes()}); err != nil {
		return err
	}
	head, tail := "", ""
	if a, ok := j.(*analyze.Array); ok {
		r := a.Report()
		p.Shape, p.Search = a.Shape(), &r
		head = fmt.Sprintf("%s of %s and %s of %s in ", human.Count(r.ChunksRead), human.Plural(r.Chunks, "chunk"), human.Count(r.BlocksRead), human.Plural(r.Blocks, "block"))
		tail = "; an answer of shape " + human.Shape(p.Shape)
	}
	if a, ok := j.(*analyze.Series); ok {
		r := a.Report()
		p.Shape, p.Series = a.Shape(), &r
		head, tail = seriesText(&r), "; an answer of shape "+human.Shape(p.Shape)
	}
	if x.a.flags.json {
		return writeJSON(x.a.stdout, p)
	}
	_, err = fmt.Fprintf(x.a.stdout, "%s%s: %s, %s%s\n%s", head, human.Plural(int64(p.Parts), "part"), human.Plural(int64(p.Requests), "request"), human.Size(p.Bytes), tail, p.lines())
	return err
}
