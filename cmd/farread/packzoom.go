package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// zoomFlags say how a series is stored, and describe it if its source does not.
type zoomFlags struct {
	rate, origin string
	csv          zoom.CSVOptions
	watermark    int
	zlib, delta  bool
}

func zoomFlagNames() []string {
	return append(csvFlagNames(), "rate", "origin", "watermark", "zlib", "delta")
}

// csvFlagNames are the flags about the columns of a CSV.
func csvFlagNames() []string {
	return []string{"times", "time", "time-format", "tz", "columns", "skip", "sort"}
}

func (f *zoomFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.rate, "rate", "", "samples a second of a .zoom, instead of what SRC says: `R` is 1000, 0.1 or 30000/1001")
	c.Flags().StringVar(&f.origin, "origin", "", "UTC `TIME` of time 0 in a .zoom: 2026-05-01T00:00:00Z")
	c.Flags().StringVar(&f.csv.Time, "time", "", "the column of a CSV or Parquet that has the times: `NAME`, or NAME+NAME for several (date+time, year+month)")
	c.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "time-column" { // its name in the metadata of an upload
			name = "time"
		}
		return pflag.NormalizedName(name)
	})
	c.Flags().StringVar(&f.csv.Unit, "times", "", "what numbers in the column of times of a CSV are: `UNIT` is s, ms, us, ns, min, h, d, date (19580329, 195803, 20240501120000), year (1958, 1958.2027) or excel (45123.5)")
	c.Flags().StringVar(&f.csv.Format, "time-format", "", "how the times of a CSV are written, as strptime has it: `FORMAT` is %d/%m/%Y, '%d.%m.%y %H:%M:%S', %YQ%q and so on")
	c.Flags().StringVar(&f.csv.Zone, "tz", "", "the time zone of times of a CSV that tell none: `ZONE` is Europe/Berlin or +02:00 (UTC)")
	c.Flags().StringSliceVar(&f.csv.Columns, "columns", nil, "the columns of a CSV or Parquet to take: `NAME,NAME` (all of numbers)")
	c.Flags().StringSliceVar(&f.csv.Skip, "skip", nil, "columns of a CSV or Parquet to pass over: `NAME,NAME`")
	c.Flags().BoolVar(&f.csv.Sort, "sort", false, "put the rows of a CSV or Parquet in the order of their times, which otherwise must not go back")
	c.Flags().IntVar(&f.watermark, "watermark", 0, "`N` samples of a track make a packet of a .zoom (1024)")
	c.Flags().BoolVar(&f.zlib, "zlib", false, "compress the packets of a .zoom")
	c.Flags().BoolVar(&f.delta, "delta", false, "store differences in a .zoom, of signed integers; with --zlib, slow signals get small")
}

// zoomOptions returns the options of the writer, from the flags.
func (f *packFlags) zoomOptions() (zoom.WriteOptions, error) {
	z := f.zoom
	o := zoom.WriteOptions{Zlib: z.zlib, Delta: z.delta, Watermark: z.watermark}
	if z.watermark < 0 {
		return o, usagef("--watermark %d: want a number of samples", z.watermark)
	}
	if z.rate != "" {
		var err error
		if o.Rate, err = zoom.ParseRate(z.rate); err != nil {
			return o, usagef("--rate: %s", err)
		}
	}
	if _, err := zoom.ParseUnit(z.csv.Unit); err != nil {
		return o, usagef("--times: want s, ms, us, ns, min, h, d, date, year or excel, not %q", z.csv.Unit)
	}
	if err := z.csv.Check(); err != nil {
		return o, usagef("--times, --time-format and --tz: %s", err)
	}
	if z.origin != "" {
		at, err := zoom.ParseOrigin(z.origin)
		if err != nil {
			return o, usagef("--origin: %s", err)
		}
		o.Origin = zoomcache.OriginOf(at)
	}
	if f.blosc.codec != "" {
		c, err := zoomcache.ParseCodec(f.blosc.codec)
		if err != nil {
			return o, usagef("--codec %s: a .zoom stores samples as f32, f64, int, i8, i16, i32, i64, word, u8, u16, u32, u64, bool, or pcm- and a signed one", f.blosc.codec)
		}
		o.Codec = &c
	}
	return o, nil
}

// seriesReport is the JSON of `pack` for zoom-cache files.
type seriesReport struct {
	arrayReport

	Tracks   int      `json:"tracks"`
	Samples  int64    `json:"samples"` // number of samples of all tracks together
	Warnings []string `json:"warnings"`
}

func (r *seriesReport) tell(a *app) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	if !r.Unchanged {
		if _, err := fmt.Fprintf(a.stdout, "%s of %s, ", human.Plural(r.Samples, "sample"), human.Plural(int64(r.Tracks), "track")); err != nil {
			return err
		}
	}
	return r.arrayReport.tell(a)
}

// packSeries packs the series in one SRC.
func packSeries(ctx context.Context, a *app, srcs []string, dst target, f *packFlags) error {
	if len(srcs) != 1 {
		return usagef("%d SRC: a .zoom is made of one", len(srcs))
	}
	if dst.key == "" || strings.HasSuffix(dst.key, "/") {
		return usagef("DST %q is a folder; a .zoom is one object", dst.uri)
	}
	o, err := f.zoomOptions()
	if err != nil {
		return err
	}
	ob, err := a.client.Open(ctx, srcs[0])
	if err != nil {
		return at(srcs[0], err)
	}
	b := a.newBar("pack", ob.Size())
	defer b.clear()
	o.Progress = b.set
	rep := &seriesReport{arrayReport: arrayReport{Format: zoomcache.Format, Outputs: []string{join(dst.bucket.Name(), dst.key)}}, Warnings: []string{}}
	if err := a.packZoom(ctx, srcs[0], ob, dst, f, o, rep); err != nil {
		return at(srcs[0], err)
	}
	b.clear()
	for _, w := range rep.Warnings {
		a.warn(srcs[0], w)
	}
	return rep.tell(a)
}

func (a *app) packZoom(ctx context.Context, src string, ob *objstore.Object, dst target, f *packFlags, o zoom.WriteOptions, rep *seriesReport) error {
	if err := f.onlyCSV(ctx, ob); err != nil {
		return err
	}
	if job, u := zoomJob(ob, dst, f, o); job != nil {
		job.Warn = func(_, text string) { rep.Warnings = append(rep.Warnings, text) }
		job.About = func(x zoom.About) { rep.Tracks, rep.Bytes = len(x.Tracks), x.Bytes }
		job.Done = func(w zoom.Written) { rep.Samples = w.Samples }
		job.Replace = f.force
		var err error
		rep.Stored, rep.Unchanged, err = runJob(ctx, job, ob.Bucket(), u, dst)
		return err
	}
	note, err := a.zoomNote(ctx, src, f)
	if err != nil {
		return err
	}
	s, err := zoom.Open(ctx, ob, zoom.Options{Note: note, Table: f.zoom.csv})
	if err != nil {
		return err
	}
	about := s.About()
	rep.Tracks, rep.Bytes, rep.Warnings = len(about.Tracks), about.Bytes, append(rep.Warnings, about.Warnings...)
	info, err := a.packObject(ctx, dst, f.force, func(ctx context.Context, w objstore.Writer) error {
		done, err := zoom.Write(ctx, w, s, o)
		rep.Samples = done.Samples
		return err
	})
	rep.Stored = info.Size
	return err
}

// onlyCSV refuses the flags about a column of times if SRC is no CSV and no Parquet.
func (f *packFlags) onlyCSV(ctx context.Context, ob *objstore.Object) error {
	name := ""
	for flag, set := range map[string]bool{"times": f.zoom.csv.Unit != "", "time": f.zoom.csv.Time != "", "time-format": f.zoom.csv.Format != "", "tz": f.zoom.csv.Zone != "",
		"columns": f.zoom.csv.Columns != nil, "skip": f.zoom.csv.Skip != nil, "sort": f.zoom.csv.Sort} {
		if set && (name == "" || flag < name) {
			name = flag
		}
	}
	if name == "" {
		return nil
	}
	is := false
	if f.array.dtype == "" && f.array.shape == nil { // otherwise SRC is raw
		var err error
		if is, err = zoom.IsTable(ctx, ob, zoom.Options{}); err != nil {
			return err
		}
	}
	if !is {
		return usagef("--%s is for a .csv, .tsv or .parquet, the only SRC with columns by name", name)
	}
	return nil
}

// zoomNote returns the note about raw samples, from the flags or from the file beside
// SRC. It returns nil if SRC needs no note.
func (a *app) zoomNote(ctx context.Context, src string, f *packFlags) (*zoom.Note, error) {
	if n, err := f.array.note(); err != nil || n != nil {
		if err != nil {
			return nil, err
		}
		return &zoom.Note{Note: *n}, notRaw(src)
	}
	return noteBeside(ctx, a, src, zoom.ParseNote, ".gz", ".zst", ".zstd", ".wav", ".npy", ".csv", ".tsv", ".txt", ".parquet")
}

// zoomJob returns the job that a worker runs for the object, if DST is the output of
// this job: command and worker must then agree on who made DST.
func zoomJob(ob *objstore.Object, dst target, f *packFlags, o zoom.WriteOptions) (*zoom.Job, functions.Upload) {
	from, fromS3 := strings.CutPrefix(ob.Bucket().Name(), "s3://")
	in := ob.Info()
	prefix, ok := strings.CutSuffix(dst.key, functions.OutputKey("", in.Key, zoomcache.Suffix))
	if !fromS3 || !strings.HasPrefix(dst.bucket.Name(), "s3://") || !ok || functions.OutputKey(prefix, in.Key, zoomcache.Suffix) != dst.key || f.array.dtype != "" {
		return nil, functions.Upload{}
	}
	return &zoom.Job{Out: dst.bucket, Prefix: prefix, Write: o, CSV: f.zoom.csv},
		functions.Upload{Bucket: from, Key: in.Key, ETag: in.ETag, VersionID: in.VersionID, Size: in.Size}
}
