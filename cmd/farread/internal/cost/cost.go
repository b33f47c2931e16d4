// Package cost estimates what an analysis takes before anything is read: seconds here, and
// on many workers requests, seconds, GB-seconds and dollars. It is a model of a few rates,
// which are told with each estimate and can be replaced. Tests hold it against small runs
// of the engine: its counts are those of a run in which nothing fails, its seconds lie
// within a quarter.
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

	// Of a run on workers elsewhere.
	Batches   int   // calls that make parts; 0: a part each
	Open      int64 // requests that open the source and plan, which each worker makes again
	OpenBytes int64 // of those
	Phases    int64 // how many of those follow one another; 0: all
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
	Retries         float64 `json:"retries"` // calls that fail and are made again, for each call

	Prices
}

// Prices are in dollars: list prices of us-east-1, without free tiers and discounts.
//
// They were looked up again on 2026-11-28 in stored pages, and none is another one:
//   - GB-second: the first tier, up to 7.5e9 a month (aws.amazon.com/blogs/compute, tiered
//     pricing; cloudchipr.com, 2024). The Lambda page of 2026-06-18 is stored without its
//     table; it says that initialization is billed, so Start is.
//   - Transition: aws.amazon.com/step-functions/pricing, not dated: 0.025 for 1,000, retries
//     are further ones. Whether a start counts is not said there; here it does.
//   - PUT and LIST, GET: c3x.dev/blog/s3-request-fees-explained, not dated.
type Prices struct {
	GBSecond   float64 `json:"gb_second"` // Lambda, arm64
	Invocation float64 `json:"invocation"`
	Get        float64 `json:"get"`        // S3
	Put        float64 `json:"put"`        // and of a page of a list
	Transition float64 `json:"transition"` // Step Functions, standard
}

// PricesOf is the month of the prices that Default has.
const PricesOf = "2025-01"

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
		"start": &r.Start, "ramp": &r.Ramp, "timeout": &r.Timeout, "retries": &r.Retries,
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
		free := slices.Contains([]string{"gb-second", "invocation", "get", "put", "transition", "latency", "start", "retries"}, name)
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
