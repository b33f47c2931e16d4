package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

func newExplain(a *app) *cobra.Command {
	var (
		sel  selector
		how  aim
		more bool
		f    packFlags
	)
	c := &cobra.Command{
		Use: "explain URI [SLICE] [selector]", DisableFlagsInUseLine: true, Short: "The requests that a read or an append would make, without making them",
		Long: `Show the requests that get with the same selector, slice with the same SLICE, or
view with the same --width or --level would make. The index is read for it; requests
for payload are planned, by the same code as in these, and not sent. Requests of one
phase are sent side by side; each phase waits for the one before.

Where single blocks of a chunk are worth reading, their places stand in the chunk:
such a request is marked ~, as an estimate. So is a pass over a zoom-cache file without
an index, which may end early. A negative offset counts from the end.

--append SRC DST tells what pack --append SRC DST would cost: requests and bytes that
are read, bytes that are sent, and bytes that S3 copies itself. SRC, and what an append
needs of DST, are read for it, and encoded; nothing is written. The flags of pack that
say how SRC is read are those of pack.`,
		Example: `  farread explain s3://frames/train/data_0.gulp --id 702766 --frames 0:16:4
  farread explain s3://arrays/temperature.b2nd '0:10, 5, ::2'
  farread explain s3://arrays/temperature.b2nd '0' --where 'v > 310'
  farread explain s3://series/day.zoom --track 1 --from 6h --to 7h --width 2000
  farread explain s3://frames/train/ --id 702766 --policy lean --json
  farread explain --append today.csv s3://series/tide.zoom`,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			a.tracing, a.remote = true, true // other commands keep no list of their reads
			return a.setup()
		},
		Args: func(_ *cobra.Command, args []string) error {
			if more {
				return exactly("SRC", "DST")(nil, args)
			}
			if len(args) == 2 {
				return nil
			}
			return exactly("URI")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := onlyForAppend(cmd, more); err != nil {
				return err
			}
			if more {
				f.array.dtype = sel.dtype
				return a.explainAppend(cmd, args, &f)
			}
			if err := sel.parse(args[1:]); err != nil {
				return err
			}
			how.item, how.bignum, how.byID, how.numbered = sel.wanted(), sel.bignum, sel.byID(), sel.byNumber()
			return at(args[0], a.explain(cmd.Context(), args[0], sel, how))
		},
	}
	sel.register(c, []func(*pflag.FlagSet){sel.ofFrames, sel.ofChunks, sel.ofItems, sel.ofValues, sel.ofTrack, sel.ofSamples, sel.ofView})
	offsetFlag(c, &how.offset)
	c.Flags().BoolVar(&more, "append", false, "what pack --append SRC DST would cost")
	f.registerSource(c)
	return c
}

// A trace lists the requests so far. In `explain` it also lists the requests that would
// follow.
type trace struct {
	mu   sync.Mutex
	rows []traceRow
}

type traceRow struct {
	Phase  int64  `json:"phase"`
	Object string `json:"object"`
	Off    int64  `json:"off"`
	Len    int64  `json:"len"`
	Why    string `json:"why"`
	// Estimated says that Off and Len are estimates, since they depend on bytes that
	// were not read.
	Estimated bool `json:"estimated,omitempty"`

	made   bool // the request was sent
	failed bool
}

func (t *trace) add(r traceRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r)
}

// watch notes the requests to a bucket.
func (t *trace) watch(c *objstore.Counter) objstore.Middleware {
	return func(b objstore.Bucket) objstore.Bucket {
		return objstore.Trace(func(e objstore.Event) {
			r := traceRow{Phase: max(1, c.Stats().Phases), Object: join(b.Name(), e.Key), Off: e.Range.Off, Len: e.Bytes, made: true}
			switch {
			case e.Op == "list":
				r.Why = "list"
			case e.Op != "get":
				r.Why = e.Op
			case strings.HasSuffix(e.Key, gulp.MetaSuffix), strings.HasSuffix(e.Key, index.Suffix):
				r.Why = "index"
			case e.IfMatch == "" && e.VersionID == "":
				r.Why = "size and ETag"
			default:
				r.Why = "data"
			}
			if e.Err != nil {
				r.Why, r.failed = r.Why+": "+e.Err.Error(), true
			}
			t.add(r)
		})(b)
	}
}

// join returns the URI of a key, or the path of a local file.
func join(bucket, key string) string {
	bucket = strings.TrimPrefix(bucket, "file://")
	return strings.TrimSuffix(bucket, "/") + "/" + key
}

// planned adds the requests of a plan after the requests that were made. place returns
// the place of a request: the key in the bucket, and the offset in this object.
func (a *app) planned(t target, plan []rangeio.Planned, place func(rangeio.Planned) (key string, off int64)) {
	phases := a.counter.Stats().Phases
	for _, r := range plan {
		key, off := place(r)
		a.trace.add(traceRow{Phase: phases + int64(r.Phase), Object: join(t.bucket.Name(), key), Off: off, Len: r.Len,
			Why: r.Why, Estimated: r.Estimated})
	}
}

// follow adds a plan of the model after the requests that were made. The plan has keys
// of the bucket.
func (o *opened) follow(p farread.Plan) {
	o.a.planned(o.target, p.Requests, func(r rangeio.Planned) (string, int64) { return r.Object, r.Off })
}

// able returns the dataset as the interface T, or an error if it does not implement T.
func able[T farread.Dataset](o *opened) (T, error) {
	x, ok := o.d.(T)
	if !ok {
		return x, fmt.Errorf("%s is no %T: %w", o.d.Format(), &x, formats.ErrUnsupported)
	}
	return x, nil
}

// plan is the JSON of `explain`.
type plan struct {
	Policy   string     `json:"policy"`
	Requests []traceRow `json:"requests"`
	Bytes    int64      `json:"bytes"`
	Phases   int64      `json:"phases"`
	// Search says what --where reads.
	Search *b2nd.SearchReport `json:"search,omitempty"`
	Unused string             `json:"index_unused,omitempty"` // as in --stats
}

func (a *app) explain(ctx context.Context, uri string, sel selector, how aim) error {
	how.plan = true
	c, err := a.open(ctx, uri, how)
	if err != nil {
		return err
	}
	x, err := c.pick(ctx, sel)
	if err != nil {
		return err
	}
	if err := x.plan(ctx); err != nil {
		return err
	}
	spent := a.counter.Stats() // cost of the listing and the index
	p := plan{Policy: string(a.flags.policy), Requests: a.trace.rows, Bytes: spent.Bytes, Phases: spent.Phases, Search: a.search, Unused: a.unusedIndex()}
	for _, r := range p.Requests {
		if p.Phases = max(p.Phases, r.Phase); !r.made {
			p.Bytes += r.Len
		}
	}
	unnamed(p.Requests, spent.Bytes)
	slices.SortStableFunc(p.Requests, func(x, y traceRow) int {
		return cmp.Or(cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Object, y.Object), cmp.Compare(x.Off, y.Off))
	})
	if a.flags.json {
		return writeJSON(a.stdout, p)
	}
	return a.tellPlan(p)
}

// unnamed adds the bytes of answers that the trace does not see to the first listing,
// or else to the first failed request.
func unnamed(rows []traceRow, bytes int64) {
	first := -1
	for i, r := range rows {
		if !r.made {
			continue
		}
		bytes -= r.Len
		if (r.Why == "list" || r.failed) && (first < 0 || r.Why == "list" && rows[first].Why != "list") {
			first = i
		}
	}
	if first >= 0 {
		rows[first].Len += max(0, bytes)
	}
}

func (a *app) tellPlan(p plan) error {
	out := human.NewTable(">PHASE", ">OFFSET", ">LENGTH", "OBJECT", "WHY")
	for _, r := range p.Requests {
		guess := ""
		if r.Estimated {
			guess = "~"
		}
		out.Add(fmt.Sprint(r.Phase), guess+human.Count(r.Off), guess+human.Count(r.Len), human.Printable(r.Object), human.Printable(r.Why))
	}
	if err := out.Print(a.stdout); err != nil {
		return err
	}
	if p.Search != nil {
		if _, err := fmt.Fprintln(a.stdout, searchText(*p.Search)); err != nil {
			return err
		}
	}
	if p.Unused != "" {
		if _, err := fmt.Fprintln(a.stdout, "index: "+human.Printable(p.Unused)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%s in %s, %s, policy %s\n", human.Plural(int64(len(p.Requests)), "request"),
		human.Plural(p.Phases, "phase"), human.Size(p.Bytes), p.Policy)
	return err
}
