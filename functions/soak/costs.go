package soak

import "fmt"

// Prices are list prices in dollars, without free tiers and discounts.
type Prices struct {
	Region, Date string // region and date of the price lists, for people

	Put         float64 // S3 Standard: a PUT, POST or LIST
	Get         float64 // a GET, HEAD or any other
	Storage     float64 // a GB and month
	GBSecond    float64 // Lambda, arm64: a GB and second
	Invocation  float64 // Lambda: one invocation
	Queue       float64 // SQS, standard: a request
	EventBridge float64 // an event that S3 was told to send
	LogGB       float64 // CloudWatch Logs: a GB taken in
	Metric      float64 // CloudWatch: a metric and month
}

// ListPrices returns the prices of us-east-1, from the pricing pages of S3, Lambda
// (arm64), SQS, EventBridge (opt-in service events) and CloudWatch.
func ListPrices() Prices {
	return Prices{Region: "us-east-1", Date: "mid-2025", Put: 0.005 / 1000, Get: 0.0004 / 1000, Storage: 0.023, GBSecond: 0.0000133334,
		Invocation: 0.20 / 1e6, Queue: 0.40 / 1e6, EventBridge: 1.00 / 1e6, LogGB: 0.50, Metric: 0.30}
}

// Assumptions about a worker in the cloud. Requests are measured; times on one machine
// say nothing about another.
const (
	WorkerGB    = 0.5    // memory of a function
	RoundTrip   = 0.030  // seconds of a request to S3, one after the other
	BytesPerSec = 50e6   // read and packed by a function of that size
	LogBytes    = 2500.0 // bytes of logs for an upload: its line, its metrics, Lambda's lines
	QueueCalls  = 3      // sent, received, deleted; batches of one
)

// A Use is what packing one upload takes.
type Use struct {
	Puts, Gets int64   // requests at the price of Prices.Put and of Prices.Get
	Bytes      float64 // bytes of the upload
}

// A Cost is in dollars.
type Cost struct{ Requests, Lambda, Events, Logs float64 }

// Total is the sum.
func (c Cost) Total() float64 { return c.Requests + c.Lambda + c.Events + c.Logs }

// Times is the cost of n of them.
func (c Cost) Times(n float64) Cost {
	return Cost{c.Requests * n, c.Lambda * n, c.Events * n, c.Logs * n}
}

// Seconds is how long a function works on the upload.
func (u Use) Seconds() float64 {
	return float64(u.Puts+u.Gets)*RoundTrip + u.Bytes/BytesPerSec
}

// Cost returns the cost of an upload from its event on, without the upload itself and
// storage.
func (u Use) Cost(p Prices) Cost {
	return Cost{
		Requests: float64(u.Puts)*p.Put + float64(u.Gets)*p.Get,
		Lambda:   u.Seconds()*WorkerGB*p.GBSecond + p.Invocation,
		Events:   p.EventBridge + QueueCalls*p.Queue,
		Logs:     LogBytes / 1e9 * p.LogGB,
	}
}

// Row is a line, without its newline, of the table of docs/operations.md: n uploads of
// one kind.
func (u Use) Row(what, of string, n float64, p Prices) string {
	c := u.Cost(p).Times(n)
	return fmt.Sprintf("| %s | %s | %d + %d | %.1f | %.2f | %.2f | %.2f | %.2f | **%.2f** |", what, of, u.Puts, u.Gets, u.Seconds(), c.Requests, c.Lambda, c.Events, c.Logs, c.Total())
}

// Head is the head of that table, without a newline at its end.
func Head() string {
	return "| upload | how many | PUT + GET each | s each | S3 requests | Lambda | EventBridge, SQS | logs | $ |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
}
