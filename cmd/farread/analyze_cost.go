package main

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farread/farread/cmd/farread/internal/cost"
	"github.com/farread/farread/internal/human"
)

// estimate is the flags of what an analysis would take.
type estimate struct {
	assume map[string]string
	cloud  int // workers; 0: none
}

func (e *estimate) register(f *pflag.FlagSet) {
	f.StringToStringVar(&e.assume, "assume", nil, "with --explain or --on: other rates and prices, a list of `NAME=VALUE` such as latency=80ms,bandwidth=1e9,gb-second=1.1e-5")
	f.IntVar(&e.cloud, "cloud", 0, "with --explain or --on: what `N` workers on Step Functions would take, and cost")
	f.Lookup("cloud").DefValue = "with --on 1000"
}

// check refuses what the model does not know, before anything is opened.
func (e *estimate) check(explain, on bool) error {
	switch {
	case !explain && !on && (e.assume != nil || e.cloud != 0):
		return usagef("--assume and --cloud go with --explain, and --on")
	case e.cloud < 0:
		return usagef("--cloud %d: want workers, such as 100", e.cloud)
	}
	if on && e.cloud == 0 {
		e.cloud = defaultWorkers
	}
	r := cost.Default(true, 1)
	if err := r.Assume(e.assume); err != nil {
		return usagef("--assume: %s", human.Printable(err.Error()))
	}
	return nil
}

// An estimated is what a job takes, about.
type estimated struct {
	Seconds float64    `json:"seconds"`
	Rates   cost.Rates `json:"assumed"`
	Cloud   *cost.Bill `json:"cloud,omitempty"`
	Prices  string     `json:"prices_of,omitempty"`
}

// of estimates a work that reads from uri.
func (e *estimate) of(uri string, w cost.Work) (estimated, error) {
	r := cost.Default(!strings.Contains(uri, "://"), runtime.GOMAXPROCS(0))
	if err := r.Assume(e.assume); err != nil {
		return estimated{}, err
	}
	out := estimated{Seconds: rounded(r.Seconds(w)), Rates: r}
	if e.cloud > 0 {
		b := r.On(w, e.cloud)
		out.Cloud, out.Prices = &b, cost.PricesOf
	}
	return out, nil
}

// rounded keeps three digits of a number that is an estimate.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, math.Floor(math.Log10(v))-2)
	return math.Round(v/scale) * scale
}

// lines tells it to people.
func (e *estimated) lines() string {
	r := &e.Rates
	out := fmt.Sprintf("about %.3g s here: %.3g ms a request, %.0f at a time, %s/s, %s/s decoded on each of %.0f processors (--assume)\n",
		e.Seconds, 1000*r.Latency, r.InFlight, human.Size(int64(r.Bandwidth)), human.Size(int64(r.Decode)), r.Cores)
	b := e.Cloud
	if b == nil {
		return out
	}
	out += fmt.Sprintf("about %.3g s on %s of %.2f GB, %.3g s the first call: %.3g GB-seconds, %.3g $ (compute %.3g, requests %.3g, steps %.3g; list prices of %s)\n",
		b.Seconds, human.Plural(int64(b.Workers), "worker"), r.WorkerMemory, b.Batch, b.GBSeconds, b.Dollars, b.Compute+b.Calls, b.Reads+b.Writes, b.Steps, e.Prices)
	out += fmt.Sprintf("in %s, %s, %s, %s and %s\n", human.Plural(b.Invocations, "call"), human.Plural(b.Transitions, "transition"),
		human.Plural(b.Gets, "GET"), human.Plural(b.Puts, "PUT"), human.Plural(b.Lists, "LIST"))
	for _, l := range b.Limits {
		out += "beyond a limit: " + l + "\n"
	}
	return out
}
