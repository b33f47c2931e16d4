package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/render"
)

// coarsenFlags are those of levels of pyramids.
func (x *analysis) coarsenFlags(f *pflag.FlagSet) {
	f.IntSliceVar(&x.coarsen, "coarsen", nil, "cut the first axes into windows of so many items, `FACTORS` such as 4,4, and keep the others: a level of a pyramid")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		switch name {
		case "stat": // of one stat
			name = "stats"
		case "memory": // of which there is one kind here
			name = "max-memory"
		}
		return pflag.NormalizedName(name)
	})
}

// windows returns the axes that are reduced and the windows of the first of them.
func (x *analysis) windows() (over []int, every []int64, err error) {
	over, list := x.over, x.every
	if x.coarsen != nil {
		if over != nil || list != nil {
			return nil, nil, usagef("--coarsen names the axes itself: give no --over and no --every")
		}
		over, list = []int{}, x.coarsen
		for i := range list {
			over = append(over, i)
		}
	}
	for _, n := range list {
		every = append(every, int64(n))
	}
	return over, every, nil
}

// isStreamed reports whether the answer can be written as it becomes known.
func isStreamed(format string, list []analyze.Stat) bool {
	return len(list) == 1 && (format == render.Npy || format == render.B2nd)
}

// An answering returns the answers of a Work, or passes them on.
type answering = func(ctx context.Context, w analyze.Work) (*analyze.Answers, error)

// stream runs the job and writes its answer as it becomes known.
func (x *analysis) stream(ctx context.Context, j *analyze.Array, out sink.Sink, format string, run answering) error {
	r := j.Answer()
	o := render.ArrayOptions{Format: format, Memory: int64(x.a.flags.maxMemory) / 4, Cubes: x.coarsen != nil}
	var err error
	if o.Layers, err = x.layers(ctx, format, j, []analyze.Result{r}); err != nil {
		return err
	}
	return render.Array(out, r.Type, r.Shape, o, func(put func(p []byte) error) error {
		j.Stream(put)
		_, err := run(ctx, j)
		return err
	})
}
