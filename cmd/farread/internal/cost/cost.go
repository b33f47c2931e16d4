// Package cost estimates what an analysis takes before anything is read: seconds here, and
// on many workers seconds, GB-seconds and dollars. It is a model of a few rates, which are
// told with each estimate and can be replaced; it measures nothing.
package cost

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Work is what an analysis reads.
type Work struct {
	Parts    int
	Requests int64
	Stored   int64 // bytes that are read
	Decoded  int64 // bytes that come out of them
}

// Rates are what the model assumes.
type Rates struct {
	Decode    float64 `json:"decode"`    // decoded bytes a second and processor, with sums
	Latency   float64 `json:"latency"`   // seconds from a request to its answer
	Bandwidth float64 `json:"bandwidth"` // bytes a second, of all requests together
	InFlight  float64 `json:"in_flight"` // requests at the same time
	Cores     float64 `json:"cores"`

	// Of the workers elsewhere.
	WorkerBandwidth float64 `json:"worker_bandwidth"`
	WorkerMemory    float64 `json:"worker_memory"` // GB, which Lambda counts in units of 2^30 bytes
	WorkerCores     float64 `json:"worker_cores"`
	Start           float64 `json:"start"`   // seconds until a worker reads
	Ramp            float64 `json:"ramp"`    // workers that begin a second
	Timeout         float64 `json:"timeout"` // seconds that a worker has

	Prices
}

// Prices are in dollars: list prices of us-east-1, without free tiers and discounts.
type Prices struct {
	GBSecond   float64 `json:"gb_second"` // Lambda, arm64
	Invocation float64 `json:"invocation"`
	Get        float64 `json:"get"` // S3
	Put        float64 `json:"put"`
	Transition float64 `json:"transition"` // Step Functions, standard
}

// PricesOf is the month of the prices that Default has.
const PricesOf = "2025-01"

// transitions are those of a child of a map.
const transitions = 2

// Default returns the rates of a store at hand, or of files of this machine. Decoding is what
// mean, std, min and max of a b2nd of float32 with zstd 1 took on one processor.
func Default(local bool, cores int) Rates {
	r := Rates{
		Decode: 800e6, Latency: 0.030, Bandwidth: 100e6, InFlight: 16, Cores: float64(cores),
		WorkerBandwidth: 75e6, WorkerMemory: 1769.0 / 1024, WorkerCores: 1, Start: 1, Ramp: 100, Timeout: 900,
		Prices: Prices{GBSecond: 1.33334e-5, Invocation: 0.2e-6, Get: 0.4e-6, Put: 5e-6, Transition: 25e-6},
	}
	if local {
		r.Latency, r.Bandwidth = 0.0001, 1e9
	}
	return r
}

// fields are the names of rates.
func (r *Rates) fields() map[string]*float64 {
	return map[string]*float64{
		"decode": &r.Decode, "latency": &r.Latency, "bandwidth": &r.Bandwidth, "in-flight": &r.InFlight, "cores": &r.Cores,
		"worker-bandwidth": &r.WorkerBandwidth, "worker-memory": &r.WorkerMemory, "worker-cores": &r.WorkerCores,
		"start": &r.Start, "ramp": &r.Ramp, "timeout": &r.Timeout,
		"gb-second": &r.GBSecond, "invocation": &r.Invocation, "get": &r.Get, "put": &r.Put, "transition": &r.Transition,
	}
}

// Names returns the names that Assume knows.
func Names() []string { return slices.Sorted(maps.Keys(new(Rates).fields())) }

// Assume sets rates by their names: numbers, or seconds as a duration such as 30ms. Prices
// may be 0, other rates not.
func (r *Rates) Assume(list map[string]string) error {
	known := r.fields()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		to, ok := known[name]
		if !ok {
			return fmt.Errorf("%q: want some of %s", name, strings.Join(Names(), ", "))
		}
		v, err := strconv.ParseFloat(list[name], 64)
		if d, bad := time.ParseDuration(list[name]); err != nil && bad == nil {
			v, err = d.Seconds(), nil
		}
		free := slices.Contains([]string{"gb-second", "invocation", "get", "put", "transition", "latency", "start"}, name)
		if err != nil || math.IsInf(v, 0) || !(v > 0 || v == 0 && free) {
			return fmt.Errorf("%s=%q: want a number, such as %s=%v", name, list[name], name, *to)
		}
		*to = v
	}
	return nil
}

// Seconds estimates how long a work takes here: whatever is slowest of its requests, its
// bytes and its decoding, since they go on at the same time.
func (r *Rates) Seconds(w Work) float64 {
	if w.Requests == 0 && w.Decoded == 0 {
		return 0
	}
	return r.Latency + max(float64(w.Requests)*r.Latency/r.InFlight, float64(w.Stored)/r.Bandwidth, float64(w.Decoded)/(r.Decode*r.Cores))
}

// A Bill is what a work takes on workers elsewhere.
type Bill struct {
	Workers   int     `json:"workers"` // at the same time
	Seconds   float64 `json:"seconds"`
	Part      float64 `json:"part_seconds"` // of the worker of a part
	GBSeconds float64 `json:"gb_seconds"`
	Dollars   float64 `json:"dollars"` // the sum of those below

	Compute float64 `json:"compute_dollars"`
	Calls   float64 `json:"invocation_dollars"`
	Reads   float64 `json:"get_dollars"`
	Writes  float64 `json:"put_dollars"`
	Steps   float64 `json:"transition_dollars"`

	// Limits are those that the work does not keep.
	Limits []string `json:"limits,omitempty"`
}

// Limits of Step Functions.
const (
	MaxChildren = 10_000 // of a map, at the same time
	MaxPayload  = 256 << 10
	MaxHistory  = 25_000
)

// On estimates a work on so many workers, each of which takes a part after the other. A part
// is read, and its result written; one worker more merges.
func (r *Rates) On(w Work, workers int) Bill {
	if w.Parts == 0 {
		return Bill{}
	}
	parts := float64(w.Parts)
	b := Bill{Workers: min(workers, w.Parts)}
	b.Part = r.Start + max(float64(w.Stored)/parts/r.WorkerBandwidth, float64(w.Decoded)/parts/(r.Decode*r.WorkerCores), float64(w.Requests)/parts*r.Latency/r.InFlight)
	waves := math.Ceil(parts / float64(b.Workers))
	merge := r.Start + parts*r.Latency/r.InFlight
	b.Seconds = float64(b.Workers)/r.Ramp + waves*b.Part + merge
	b.GBSeconds = (parts*b.Part + merge) * r.WorkerMemory
	b.Compute = b.GBSeconds * r.GBSecond
	b.Calls = (parts + 1) * r.Invocation
	b.Reads = (float64(w.Requests) + parts) * r.Get
	b.Writes = (parts + 1) * r.Put
	b.Steps = parts * transitions * r.Transition
	b.Dollars = b.Compute + b.Calls + b.Reads + b.Writes + b.Steps
	if b.Part > r.Timeout {
		b.Limits = append(b.Limits, fmt.Sprintf("a part takes %.0f s of %.0f: make parts smaller", b.Part, r.Timeout))
	}
	if b.Workers > MaxChildren {
		b.Limits = append(b.Limits, fmt.Sprintf("%d workers of %d at the same time", b.Workers, MaxChildren))
	}
	return b
}
