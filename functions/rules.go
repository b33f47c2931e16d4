package functions

import (
	"bytes"
	_ "embed" // the schema
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Rules decide what is made of an upload; the first matching rule is used. One JSON
// document (schema: RulesSchema) drives the workers, the local cloud, backfill and
// Terraform.
type Rules []Rule

// A Rule sends uploads of one bucket, prefix and suffix to a job.
type Rule struct {
	Bucket string `json:"bucket"`           // bucket of the uploads
	Prefix string `json:"prefix,omitempty"` // keys begin with it; empty: all
	Suffix string `json:"suffix,omitempty"` // keys end with it; empty: all
	Job    string `json:"job"`              // job: "pack", "zoom" for zoom-cache files of series, or another one of the handler
	Format string `json:"format,omitempty"` // container that "pack" makes: "b2nd", "bloscpack", "gulp"; empty: by content
	Codec  string `json:"codec,omitempty"`  // codec of formats that compress: "zstd", "lz4-9"; for zoom the type of stored samples: "f32", "pcm-i16"
	// Records is how bloscpack cuts an upload into records: "lines", "jsonl",
	// "files", "chunks" (there are none), or how the length before each is written:
	// "u32le", "u32be", "u64le", "u64be", "varint"; empty: by content.
	Records string `json:"records,omitempty"`
	// Layout says which images of an upload are one id: "clips", "imagefolder", "webdataset",
	// "flat"; empty: by their names. It needs the format "gulp".
	Layout string `json:"layout,omitempty"`
	Chunk  int64  `json:"chunk,omitempty"` // bytes of one chunk of a bloscpack without records; 0: the format's default
	// Append says that the arrays or series of all uploads join one dataset, whose key is
	// Out.Prefix and To: see Joined. It needs the format "b2nd" and a To that ends in ".b2nd",
	// or the job "zoom" and a To that ends in ".zoom".
	Append bool   `json:"append,omitempty"`
	To     string `json:"to,omitempty"`  // key of that dataset behind Out.Prefix; at most 512 bytes
	CSV    *CSV   `json:"csv,omitempty"` // for "zoom", how CSVs and Parquet are read; nil: names and values of their columns decide
	Out    Out    `json:"out"`
	Shape  string `json:"shape,omitempty"` // event shape that the local cloud delivers; in AWS the wiring decides. Empty: "s3"
}

// A CSV tells how uploads that are CSVs are read, in words of the flags of `farread pack`
// and of package functions/zoom. What it does not say, the metadata of an upload may.
type CSV struct {
	Time       string   `json:"time,omitempty"`        // column of the times, or columns joined by +
	Times      string   `json:"times,omitempty"`       // unit of numbers there: "s", "ms", "us", "ns", "min", "h", "d", "date", "year", "excel"
	TimeFormat string   `json:"time_format,omitempty"` // how a time is written, for strptime
	TZ         string   `json:"tz,omitempty"`          // zone of times that tell none: "Europe/Berlin", "+02:00"
	Columns    []string `json:"columns,omitempty"`     // columns to take; none: all of numbers
	Skip       []string `json:"skip,omitempty"`        // columns to pass over
	Sort       bool     `json:"sort,omitempty"`        // rows are put in the order of their times; without it times that go back are an error
}

// Out is the place for derived objects.
type Out struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"` // begins every output's key; at most 256 bytes
}

// The values that a rule may name. They grow with the formats.
func jobs() []string    { return []string{"pack", zoomJob} }
func outputs() []string { return []string{"", "b2nd", "bloscpack", "gulp"} }
func records() []string {
	return []string{"", "lines", "jsonl", "files", "u32le", "u32be", "u64le", "u64be", "varint", "chunks"}
}
func timeUnits() []string {
	return []string{"", "s", "ms", "us", "ns", "min", "h", "d", "date", "year", "excel"}
}
func layouts() []string { return []string{"", "clips", "imagefolder", "webdataset", "flat"} }
func shapes() []string {
	return []string{"", "s3", "sqs", "sns-sqs", "eventbridge", "eventbridge-sqs"}
}

// zoomJob makes one format only; its codecs are types of samples.
const zoomJob = "zoom"

// Joined is the key of the dataset that the uploads of a rule with Append become, else "".
func (r Rule) Joined() string {
	if !r.Append {
		return ""
	}
	return r.Out.Prefix + r.To
}

// maxTo is the longest To: with the longest prefix it is a key.
const maxTo = 512

// maxOutPrefix leaves most of a key's 1024 bytes to the upload's own name.
const maxOutPrefix = 256

// bucketName is S3's rule for bucket names without its rarer exceptions:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// codecText is a codec of Blosc with or without a level.
var codecText = regexp.MustCompile(`^(blosclz|lz4|lz4hc|zlib|zstd)(-[0-9])?$`)

// sampleText is a codec of zoom-cache.
var sampleText = regexp.MustCompile(`^((pcm-)?(f32|f64|int|i8|i16|i32|i64)|bool|word|u8|u16|u32|u64)$`)

// RulesSchema is the JSON Schema (2020-12) of a rules document. It must not be
// changed. ParseRules checks what the schema says and, besides, that fields fit the job
// and the format, and that outputs meet neither uploads nor each other.
//
//go:embed rules.schema.json
var RulesSchema []byte

// ParseRules decodes and validates a rules document. Unknown fields are errors,
// so that a misspelt field is not silently without effect. Rules may name jobs of others
// than farread, if more lists these.
func ParseRules(b []byte, more ...string) (Rules, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var r Rules
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("rules: text after the list")
	}
	return r, r.Validate(more...)
}

// Validate reports everything that is wrong with the rules at once. An empty list
// of rules is wrong, too. Known jobs are the jobs of farread, and more. The
// JobMaker of a job also checks its rules; for jobs in more it alone checks format,
// codec, records and chunk.
func (rs Rules) Validate(more ...string) error {
	known := jobs()
	for _, name := range more {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	var errs []error
	if len(rs) == 0 {
		errs = append(errs, errors.New("rules: empty"))
	}
	for i, r := range rs {
		bad := func(format string, a ...any) {
			errs = append(errs, fmt.Errorf("rules: rule %d: %s", i, fmt.Sprintf(format, a...)))
		}
		if !bucketName.MatchString(r.Bucket) {
			bad("bucket %q is not a bucket name", r.Bucket)
		}
		if !bucketName.MatchString(r.Out.Bucket) {
			bad("out.bucket %q is not a bucket name", r.Out.Bucket)
		}
		if !slices.Contains(known, r.Job) {
			bad("job %q is not one of %q", r.Job, known)
		}
		if !slices.Contains(shapes(), r.Shape) {
			bad("shape %q is not one of %q", r.Shape, shapes())
		}
		if !utf8.ValidString(r.Prefix+r.Suffix+r.Out.Prefix) || len(r.Out.Prefix) > maxOutPrefix {
			bad("prefixes are UTF-8, that of outputs of at most %d bytes", maxOutPrefix)
		}
		switch {
		case r.Job == zoomJob:
			r.badZoom(bad)
			r.badPack(bad)
		case slices.Contains(jobs(), r.Job) || !slices.Contains(more, r.Job):
			r.badPack(bad)
		}
		for _, w := range rs {
			if w.Bucket == r.Out.Bucket && (overlap(w.Prefix, r.Out.Prefix) || overlap(w.Prefix, "errors/")) {
				bad("output %s/%s lies under the watched prefix %q of the same bucket: a loop", r.Out.Bucket, r.Out.Prefix, w.Prefix)
				break
			}
		}
		for k, o := range rs[:i] {
			if o.meets(r) {
				bad("its outputs and those of rule %d can get the same key in %s", k, r.Out.Bucket)
			}
		}
	}
	return errors.Join(errs...)
}

// badPack tells the contradictions in a rule of a job of farread.
func (r Rule) badPack(bad func(format string, a ...any)) {
	if !slices.Contains(outputs(), r.Format) {
		bad("format %q is not one of %q", r.Format, outputs())
	}
	if r.Job != zoomJob && r.Codec != "" && (r.Format == "gulp" || !codecText.MatchString(r.Codec)) {
		bad("codec %q: none is taken by gulp; by b2nd and bloscpack blosclz, lz4, lz4hc, zlib or zstd, and after a dash a level from 0 to 9", r.Codec)
	}
	if !slices.Contains(records(), r.Records) {
		bad("records %q is not one of %q", r.Records, records())
	} else if r.Records != "" && r.Format != "bloscpack" {
		bad("records %q: they are told apart by format bloscpack alone", r.Records)
	}
	if !slices.Contains(layouts(), r.Layout) {
		bad("layout %q is not one of %q", r.Layout, layouts())
	} else if r.Layout != "" && r.Format != "gulp" {
		bad("layout %q: images have one, under format gulp alone", r.Layout)
	}
	r.badAppend(bad)
	if r.Chunk < 0 {
		bad("chunk %d is negative", r.Chunk)
	}
	switch c := r.CSV; {
	case c == nil:
	case r.Job != zoomJob:
		bad("csv says nothing about job %q", r.Job)
	case !slices.Contains(timeUnits(), c.Times):
		bad("csv.times %q is not one of %q", c.Times, timeUnits())
	case c.Times != "" && c.TimeFormat != "":
		bad("csv.times and csv.time_format are both there: one says how times are read")
	}
}

// badZoom tells the contradictions in a rule of the job zoom.
func (r Rule) badZoom(bad func(format string, a ...any)) {
	if r.Format != "" || r.Chunk > 0 {
		bad("format and chunk say nothing about job %q", r.Job)
	}
	if r.Codec != "" && !sampleText.MatchString(r.Codec) {
		bad("codec %q: job %q takes a type of samples: f32, f64, i16, u8, pcm-i16 …", r.Codec, r.Job)
	}
}

// badAppend tells the contradictions in what a rule says about appending.
func (r Rule) badAppend(bad func(format string, a ...any)) {
	switch {
	case r.To != "" && !r.Append:
		bad("to %q: it names the dataset of a rule that says \"append\": true", r.To)
	case !r.Append:
	case r.Job != zoomJob && r.Format != "b2nd":
		bad("append: of format b2nd, or of job \"zoom\", not of format %q", r.Format)
	case r.To == "":
		bad("append: to is missing, the key of the dataset behind out.prefix, as \"days%s\"", r.toSuffix())
	case !strings.HasSuffix(r.To, r.toSuffix()) || !utf8.ValidString(r.To) || len(r.To) > maxTo:
		bad("to %q is not the key of a %s of at most %d bytes of UTF-8", r.To, r.toSuffix(), maxTo)
	}
}

// toSuffix ends the key of a dataset of many uploads.
func (r Rule) toSuffix() string {
	if r.Job == zoomJob {
		return ".zoom"
	}
	return ".b2nd"
}

// meets reports whether uploads of the two rules could have the same output. Outputs
// keep the whole key of the upload, so two outputs in one bucket and output prefix
// differ.
func (r Rule) meets(o Rule) bool {
	return r.Out.Bucket == o.Out.Bucket && overlap(r.Out.Prefix, o.Out.Prefix) &&
		(r.Bucket != o.Bucket || r.Out.Prefix != o.Out.Prefix)
}

// overlap reports whether a key can begin with both a and b.
func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// jobs are the jobs that the rules name, each once.
func (rs Rules) jobs() []string {
	var names []string
	for _, r := range rs {
		if !slices.Contains(names, r.Job) {
			names = append(names, r.Job)
		}
	}
	return names
}

// Match is the first rule for an upload; false if there is none.
func (rs Rules) Match(bucket, key string) (Rule, bool) {
	for _, r := range rs {
		if r.Bucket == bucket && strings.HasPrefix(key, r.Prefix) && strings.HasSuffix(key, r.Suffix) {
			return r, true
		}
	}
	return Rule{}, false
}
