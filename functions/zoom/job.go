package zoom

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

const (
	// layoutVersion must change if the same upload would give other bytes.
	layoutVersion = "zoom-1"
	// layoutCSV is the layoutVersion for a table: dates are read, columns are found by what
	// is in them, and packets end at gaps; dates go with hours, and times that go back are refused.
	layoutCSV = "zoom-4"
	// slowest is the rate by which a job's time is estimated before it begins: a
	// function of 512 MB reads a CSV twice at that rate.
	slowest = 10 << 20
)

// Names in the user metadata of an upload, for what its bytes do not say. Rate and
// origin never override a WAV, stamps, a note or WriteOptions.
const (
	MetaRate       = "rate"        // samples a second: "1000", "30000/1001"
	MetaOrigin     = "origin"      // UTC of time 0, as ParseOrigin reads it
	MetaTimes      = "times"       // for a table: the value of CSVOptions.Unit
	MetaTimeColumn = "time-column" // for a table: the value of CSVOptions.Time
	MetaTimeFormat = "time-format" // for a table: the value of CSVOptions.Format
	MetaZone       = "tz"          // for a table: the value of CSVOptions.Zone
	MetaColumns    = "columns"     // for a table: CSVOptions.Columns, with commas between them
	MetaSort       = "sort"        // for a table: "true" is CSVOptions.Sort
	MetaSkip       = "skip"        // for a table: CSVOptions.Skip, with commas between them
)

// New returns the functions.JobMaker of zoom-cache files. warn, if not nil, is
// called with the About.Warnings of each upload. The maker refuses rules whose
// fields would have no effect.
func New(o WriteOptions, warn func(key, text string)) functions.JobMaker {
	return MakerOptions{Write: o, Warn: warn}.Maker()
}

// MakerOptions are the options of a functions.JobMaker.
type MakerOptions struct {
	Write WriteOptions
	Warn  func(key, text string) // that of Job; may be nil
	Late  func(key, text string) // that of Job; may be nil
}

// Maker is New with these options.
func (m MakerOptions) Maker() functions.JobMaker {
	return func(r functions.Rule, out objstore.Bucket) (functions.Job, error) {
		if r.Chunk > 0 || r.Records != "" || r.Layout != "" || r.Format != "" && r.Format != zoomcache.Format {
			return nil, fmt.Errorf("format, records and chunk say nothing about %s: %w", zoomcache.Format, kit.ErrRule)
		}
		j := &Job{Out: out, Prefix: r.Out.Prefix, To: r.Joined(), Write: m.Write, Warn: m.Warn, Late: m.Late}
		if c := r.CSV; c != nil {
			j.CSV = CSVOptions{Time: c.Time, Unit: c.Times, Format: c.TimeFormat, Zone: c.TZ, Columns: c.Columns, Skip: c.Skip, Sort: c.Sort}
			if err := j.CSV.Check(); err != nil {
				return nil, fmt.Errorf("csv: %w: %w", err, kit.ErrRule)
			}
		}
		if r.Codec != "" {
			c, err := zoomcache.ParseCodec(r.Codec)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", err, kit.ErrRule)
			}
			j.Write.Codec = &c
		}
		return j, nil
	}
}

// A Job turns uploads into zoom-cache files under Prefix of Out. It implements
// functions.Job and is safe for concurrent use if its callbacks are.
type Job struct {
	Out    objstore.Bucket
	Prefix string
	// To, if not empty, is the key of the dataset that all uploads join (functions.Joined),
	// instead of an output of each.
	To string
	// Replace says that a file that was made from something else is replaced. If it is
	// not set, the error for such a file is functions.ErrTaken.
	Replace bool
	Write   WriteOptions // options of files; the job sets Seal
	CSV     CSVOptions   // for a CSV or Parquet, options that are used instead of those in its metadata
	// About is called with the description of the series, and Warn with its Warnings,
	// even if the output exists already. Done is called with the result before it is
	// committed. Late is told that samples lay behind the place of an upload in the dataset
	// To. Nil means no call.
	About func(About)
	Late  func(key, text string)
	Warn  func(key, text string)
	Done  func(Written)
}

// Run makes KEY.zoom of the upload u of src: of a WAV, .npy or Parquet by its content, of a CSV
// by its name, of any other bytes by the note beside them, KEY.json, whichever of the
// two came last. Data without a note, and notes without data, are functions.ErrSkip:
// they wait for each other. If the file of this version, or of a newer one, is there,
// Run writes nothing and returns nothing; a CSV is read to its end before that is known.
func (j *Job) Run(ctx context.Context, src objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	obj, u, err := kit.Open(ctx, src, u)
	if err != nil {
		return nil, err
	}
	k, _, err := kindOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	if k != kindNone {
		return j.publish(ctx, src, u, obj, nil, "")
	}
	if data, is := kit.NoteOf(u.Key); is {
		note, err := readNote(ctx, obj)
		if err != nil {
			return nil, err
		}
		return j.noted(ctx, src, u, data, note, obj.Info().ETag)
	}
	beside, err := objstore.Open(ctx, src, u.Key+npy.NoteSuffix, objstore.OpenOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, fmt.Errorf("raw samples wait for their note %s: %w", path.Base(u.Key)+npy.NoteSuffix, functions.ErrSkip)
	}
	if err != nil {
		return nil, err
	}
	note, err := readNote(ctx, beside)
	if err != nil {
		return nil, err
	}
	return j.publish(ctx, src, u, obj, &note, beside.Info().ETag)
}

// noted makes the series of a note whose event came. The output belongs to the current
// version of the data: that version counts as the upload.
func (j *Job) noted(ctx context.Context, src objstore.Bucket, u functions.Upload, key string, note Note, tag string) ([]objstore.Info, error) {
	obj, of, err := kit.OpenNoted(ctx, src, u, key)
	if err != nil {
		return nil, err
	}
	if k, _, err := kindOf(ctx, obj); err != nil || k != kindNone {
		if err == nil {
			err = kit.SaysItself(key)
		}
		return nil, err
	}
	return j.publish(ctx, src, of, obj, &note, tag)
}

// readNote reads an object that may be a note.
func readNote(ctx context.Context, obj *objstore.Object) (Note, error) {
	if obj.Size() > npy.MaxNote {
		return Note{}, kit.Fail("note", obj.Info().Key, -1, kit.TooLarge("%d bytes", obj.Size()))
	}
	p, err := kit.Head(ctx, obj, npy.MaxNote)
	if err != nil {
		return Note{}, err
	}
	return ParseNote(p)
}

// publish makes and publishes the file of a series.
func (j *Job) publish(ctx context.Context, src objstore.Bucket, u functions.Upload, obj *objstore.Object, note *Note, noteTag string) ([]objstore.Info, error) {
	if err := kit.Fits(ctx, obj.Size(), slowest); err != nil {
		return nil, err
	}
	say := j.CSV.orMeta(obj.Info().Meta)
	if err := say.Check(); err != nil {
		return nil, kit.Fail("upload", u.Key, -1, err)
	}
	s, err := Open(ctx, obj, Options{Note: note, Table: say})
	if err != nil {
		return nil, err
	}
	o, err := j.Write.told(s.About(), obj.Info().Meta, note)
	if err != nil {
		return nil, kit.Fail("upload", u.Key, -1, err)
	}
	if _, err := o.tracks(s.About()); err != nil {
		return nil, err
	}
	if j.About != nil {
		j.About(s.About())
	}
	if j.Warn != nil {
		for _, text := range s.About().Warnings {
			j.Warn(u.Key, text)
		}
	}
	layout := o.layout(s.About().Format, say, noteTag)
	if j.To != "" {
		return j.join(ctx, src, u, s, o, layout, noteTag)
	}
	single := functions.Single{Bucket: j.Out, Replace: j.Replace, Key: functions.OutputKey(j.Prefix, u.Key, zoomcache.Suffix), Layout: layout}
	return single.Publish(ctx, src, u, func(ctx context.Context, _ functions.Upload, w objstore.Writer, seal []byte) error {
		if noteTag != "" {
			if err := kit.StillNoted(ctx, src, u.Key, noteTag); err != nil {
				return err
			}
		}
		o := o
		o.Seal = seal
		done, err := Write(ctx, w, s, o)
		if err == nil && j.Done != nil {
			j.Done(done)
		}
		return err
	})
}

// told adds properties of the samples from the metadata of an upload, if neither the
// options nor a note, a WAV or stamps tell them.
func (o WriteOptions) told(about About, meta map[string]string, note *Note) (WriteOptions, error) {
	mute := about.Format == "npy" || note != nil && note.Rate.Num == 0
	if text := strings.TrimSpace(meta[MetaRate]); text != "" && mute && o.Rate.Num == 0 {
		var err error
		if o.Rate, err = ParseRate(text); err != nil {
			return o, err
		}
	}
	if text := strings.TrimSpace(meta[MetaOrigin]); text != "" && about.Origin.Den == 0 && o.Origin.Den == 0 {
		at, err := ParseOrigin(text)
		if err != nil {
			return o, err
		}
		o.Origin = zoomcache.OriginOf(at)
	}
	return o, nil
}

// layout names everything besides the upload's bytes that decides the file.
func (o WriteOptions) layout(format string, say CSVOptions, noteTag string) string {
	var s strings.Builder
	add := func(format string, a ...any) { fmt.Fprintf(&s, " "+format, a...) }
	if format == formatCSV || format == formatParquet {
		if s.WriteString(layoutCSV); !say.zero() {
			add("csv %q %s %q %q %q %q", say.Time, say.Unit, say.Format, say.Zone, say.Columns, say.Skip)
		}
		if say.Sort {
			add("sorted")
		}
	} else {
		s.WriteString(layoutVersion)
	}
	if o.Codec != nil {
		add("%s", o.Codec)
	}
	if o.Rate.Num != 0 {
		add("rate %d/%d", o.Rate.Num, o.Rate.Den)
	}
	if o.Origin.Den != 0 {
		add("origin %d %d/%d", o.Origin.Day, o.Origin.Num, o.Origin.Den)
	}
	if o.Watermark != 0 {
		add("by %d", o.Watermark)
	}
	if o.Zlib {
		add("zlib")
	}
	if o.Delta {
		add("delta")
	}
	if o.NoIndex {
		add("bare")
	}
	if noteTag != "" {
		add("note %s", noteTag)
	}
	return s.String()
}

// Command returns the command line that makes the file of u on another machine, if a
// function cannot.
func Command(r functions.Rule, u functions.Upload) string {
	text := kit.Command(r, u, u.Key, zoomcache.Suffix)
	if to := r.Joined(); to != "" { // the codec is that of the dataset
		return kit.CommandTo(r, u, u.Key, to) + csvFlags(r.CSV)
	}
	if r.Codec != "" {
		text += " --codec " + r.Codec
	}
	return text + csvFlags(r.CSV)
}

// csvFlags are the flags of pack that say what a rule says about CSVs.
func csvFlags(c *functions.CSV) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range [][2]string{{"time", c.Time}, {"times", c.Times}, {"time-format", c.TimeFormat}, {"tz", c.TZ}} {
		if f[1] != "" {
			b.WriteString(" --" + f[0] + " " + kit.Quote(f[1]))
		}
	}
	for _, list := range []struct {
		flag  string
		names []string
	}{{"columns", c.Columns}, {"skip", c.Skip}} {
		for _, name := range list.names { // a flag reads CSV, for commas in names
			if strings.ContainsAny(name, "\",\n") {
				name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
			}
			b.WriteString(" --" + list.flag + " " + kit.Quote(name))
		}
	}
	return b.String()
}
