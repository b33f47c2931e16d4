package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A rehearsal lists the requests by which an append would have written.
type rehearsal struct {
	mu    sync.Mutex
	steps []objstore.Step
}

func (r *rehearsal) step(s objstore.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
}

// appendPlan is the JSON of `explain --append`.
type appendPlan struct {
	appendReport

	Requests []traceRow `json:"requests"`
	Reads    int64      `json:"reads"`  // requests that read SRC and DST
	Read     int64      `json:"read"`   // bytes of their answers
	Writes   int64      `json:"writes"` // requests that write, and were not sent
}

// tellAppend tells what an append would cost. What it reads was read.
func (a *app) tellAppend(rep *appendReport) error {
	spent := a.counter.Stats()
	p := appendPlan{appendReport: *rep, Requests: a.trace.rows, Reads: spent.Requests, Read: spent.Bytes, Writes: int64(len(a.rehearsal.steps))}
	slices.SortStableFunc(p.Requests, func(x, y traceRow) int {
		return cmp.Or(cmp.Compare(x.Phase, y.Phase), cmp.Compare(x.Object, y.Object), cmp.Compare(x.Off, y.Off))
	})
	words := map[string]string{"create": "begin an upload", "part": "send a part", "copy": "copied by the store", "complete": "join the parts", "put": "send all", "delete": "remove it: the new index lies inside"}
	last := max(spent.Phases, 1)
	for _, s := range a.rehearsal.steps {
		row := traceRow{Phase: last + 1, Object: rep.Output, Len: s.Len, Why: words[s.Op]}
		if s.Op == "delete" {
			row.Object += index.Suffix
		}
		p.Requests = append(p.Requests, row)
	}
	if a.flags.json {
		return writeJSON(a.stdout, p)
	}
	out := human.NewTable(">OFFSET", ">LENGTH", "OBJECT", "WHY")
	for _, r := range p.Requests {
		out.Add(human.Count(r.Off), human.Count(r.Len), human.Printable(r.Object), human.Printable(r.Why))
	}
	if err := out.Print(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s that read %s, %s that write: %s sent, %s copied by the store, %s in all\n", human.Plural(p.Reads, "request"), human.Size(p.Read),
		human.Plural(p.Writes, "request"), human.Size(p.Sent), human.Size(p.Copied), human.Size(p.Stored))
	return err
}

// sourceFlagNames are the flags of pack that explain --append takes; --dtype is there already.
func sourceFlagNames() []string {
	return append([]string{"member", "coord", "shape", "order", "records", "rate", "watermark", "codec", "filter"}, csvFlagNames()...)
}

// registerSource adds the flags of pack that say how SRC is read.
func (f *packFlags) registerSource(c *cobra.Command) {
	var all cobra.Command
	f.array.register(&all)
	f.meta.register(&all)
	f.blosc.register(&all)
	f.blp.register(&all)
	f.zoom.register(&all)
	for _, name := range sourceFlagNames() {
		c.Flags().AddFlag(all.Flags().Lookup(name))
	}
}

// onlyForAppend refuses flags that say something about reads beside --append, and the
// reverse.
func onlyForAppend(cmd *cobra.Command, more bool) error {
	only := sourceFlagNames()
	var err error
	cmd.LocalNonPersistentFlags().Visit(func(g *pflag.Flag) {
		switch of := slices.Contains(only, g.Name); {
		case err != nil || g.Name == "append" || g.Name == "dtype" || g.Name == "help":
		case of && !more:
			err = usagef("--%s goes with --append only", g.Name)
		case !of && more:
			err = usagef("--%s does not go with --append", g.Name)
		}
	})
	return err
}

// explainAppend plans the append of SRC to DST, with the flags of pack that say how SRC is read.
func (a *app) explainAppend(cmd *cobra.Command, args []string, f *packFlags) error {
	b, key, err := a.client.Bucket(cmd.Context(), args[1])
	if err != nil {
		return at(args[1], err)
	}
	dst := target{uri: args[1], bucket: b, key: key}
	if path.Ext(key) == "" {
		return usagef("DST %q: --append wants one .b2nd, .b2frame, .blp or .zoom", args[1])
	}
	p, err := packerOf(dst, f, cmd)
	if err != nil {
		return err
	}
	if err := appendable(p, dst, f, cmd); err != nil {
		return err
	}
	a.rehearsal = &rehearsal{}
	return notRead(args[:1], a.appendTo(cmd.Context(), p, args[:1], dst, f))
}
