// Package scenario holds what is asked of a whole pipeline: uploads go into a
// bucket, functions run, and the datasets that they make are read back through the
// library and the command line. The scenarios know no cloud. Here they run against
// the local one in every event shape that it delivers; the module e2e/aws runs the
// same ones against LocalStack, or whatever speaks AWS's interfaces.
package scenario

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// The ways of an upload's event to a function, named as the shapes of
// functions.Rule.
const (
	Direct     = "s3"              // S3 calls the function
	Queue      = "sqs"             // S3 to a queue
	Topic      = "sns-sqs"         // S3 to a topic, the topic to a queue
	Bus        = "eventbridge"     // S3 to EventBridge, which calls the function
	BusToQueue = "eventbridge-sqs" // S3 to EventBridge to a queue: what the Terraform module makes
)

// Paths are all ways of an event.
func Paths() []string { return []string{Direct, Queue, Topic, Bus, BusToQueue} }

// Queued reports whether events of that path wait in a queue.
func Queued(path string) bool { return path != Direct && path != Bus }

// A Cloud makes pipelines.
type Cloud interface {
	// Start makes a pipeline for the test alone, and removes it at the end of the
	// test. Pipelines of tests that run at the same time do not affect each other.
	Start(t *testing.T, o Options) *Pipeline
}

// Options are the properties of a pipeline that a scenario needs.
type Options struct {
	Path      string // way of the events to the functions
	Versioned bool   // both buckets keep versions
	// Hasty gives up on an upload after a few tries with short waits, so that a test
	// can wait for it. If it is false, tries and waits are as in production.
	Hasty bool
}

// A Pipeline is a bucket of uploads, functions, and the buckets they write to.
type Pipeline struct {
	Endpoint, Region, AccessKey, SecretKey string
	Uploads, Datasets                      string
	// Spare is a second bucket of datasets: what is uploaded under "spare/" goes there.
	// Scenarios take it away and give it back.
	Spare string

	// Refuses says which keys the store cannot hold, and why; nil: it takes all.
	Refuses func(key string) string
	// Dead counts the uploads that were given up.
	Dead func(ctx context.Context) (int, error)
	// ReplayDLQ are the arguments of `farread replay-dlq` that deliver them again.
	// Where it is nil the cloud does it itself: Redrive.
	ReplayDLQ []string
	Redrive   func(ctx context.Context) error
}

// Prefixes returns the prefixes of uploads by function. The last one of fn-pack
// is for keys that begin with a slash.
func Prefixes() map[string][]string {
	return map[string][]string{"fn-pack": {"pack/", "spare/", joinPrefix, "/"}, "fn-zoom": {"zoom/", joinSeriesPrefix}}
}

// Rules returns the rules of a pipeline with these buckets, for one function ("":
// for all).
func Rules(p *Pipeline, function, shape string) functions.Rules {
	var rules functions.Rules
	for _, name := range []string{"fn-pack", "fn-zoom"} {
		if function != "" && function != name {
			continue
		}
		for _, prefix := range Prefixes()[name] {
			r := functions.Rule{Bucket: p.Uploads, Prefix: prefix, Job: strings.TrimPrefix(name, "fn-"), Out: functions.Out{Bucket: p.Datasets}, Shape: shape}
			switch prefix {
			case "spare/":
				r.Out.Bucket = p.Spare
			case joinPrefix:
				r.Format, r.Append, r.To = b2nd.Format, true, joinedKey
			case joinSeriesPrefix:
				r.Append, r.To = true, joinedSeriesKey
			}
			rules = append(rules, r)
		}
	}
	return rules
}

// Run runs the scenarios over the given paths.
func Run(t *testing.T, c Cloud, paths []string) {
	t.Helper()
	programs := Build(t)
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			for _, s := range []struct {
				name string
				o    Options
				run  func(*testing.T, *session)
			}{
				{"datasets", Options{}, datasets},
				{"nasty keys", Options{}, nasty},
				{"replaced", Options{}, replaced},
				{"versions", Options{Versioned: true}, replaced},
				{"ordered", Options{Versioned: true}, ordered},
				{"looped", Options{}, looped},
				{"turned", Options{}, turned},
				{"presigned", Options{}, presigned},
				{"given up", Options{Hasty: true}, givenUp},
				{"backfill", Options{}, backfilled},
				{"joined", Options{Versioned: true}, joined},
				{"joined series", Options{Versioned: true}, joinedSeries},
			} {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.o.Path = path
					s.run(t, open(t, c, s.o, programs))
				})
			}
		})
	}
}

// patience bounds each wait. It is long enough for a loaded machine that also runs a
// cloud: only something that hangs takes longer.
const patience = 5 * time.Minute

// A session is a pipeline, with the clients and helpers of a scenario.
type session struct {
	*Pipeline
	o        Options
	programs *Programs
	uploads  *s3store.Bucket
	datasets *s3store.Bucket
	client   *farread.Client
	counter  *objstore.Counter
}

func open(t *testing.T, c Cloud, o Options, programs *Programs) *session {
	t.Helper()
	r := &session{Pipeline: c.Start(t, o), o: o, programs: programs}
	r.uploads, r.datasets = r.bucket(t, r.Uploads), r.bucket(t, r.Datasets)
	return r.reader(t)
}

// reader returns the session with a client of its own, which counts its own
// transfers.
func (r *session) reader(t *testing.T) *session {
	t.Helper()
	own := *r
	own.counter = &objstore.Counter{}
	own.client = farread.New(farread.Config{Endpoint: r.Endpoint, Region: r.Region, AccessKey: r.AccessKey, SecretKey: r.SecretKey, Counter: own.counter})
	t.Cleanup(own.client.CloseIdleConnections)
	return &own
}

func (r *session) bucket(t *testing.T, name string) *s3store.Bucket {
	t.Helper()
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: r.Endpoint, Region: r.Region, AccessKey: r.AccessKey, SecretKey: r.SecretKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// put uploads data.
func (r *session) put(t *testing.T, key string, data []byte) objstore.Info {
	t.Helper()
	info, err := objstore.Put(t.Context(), r.uploads, key, strings.NewReader(string(data)), objstore.PutOptions{})
	if err != nil {
		t.Fatalf("upload of %q: %v", key, err)
	}
	return info
}

// until calls ok until it returns true, and fails the test if that takes too
// long. what describes the last state.
func until(t *testing.T, ok func() (done bool, what string, err error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, what, err := ok()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// made waits for the output of the upload that info describes. A failure that the
// functions report in its place fails the test.
func (r *session) made(t *testing.T, b objstore.Bucket, of objstore.Info, suffix string) objstore.Info {
	t.Helper()
	key := functions.OutputKey("", of.Key, suffix)
	var got objstore.Info
	until(t, func() (bool, string, error) {
		info, err := b.Head(t.Context(), key)
		if errors.Is(err, objstore.ErrNotFound) {
			if text, err := read(t.Context(), r.datasets, functions.ErrorKey(of.Key)); err == nil {
				return false, key, errors.New(text)
			}
			return false, key, nil
		}
		got = info
		from, ok := functions.SourceOf(info.Meta)
		return err == nil && ok && from.ETag == of.ETag, key + " is made of " + from.ETag + ", not of " + of.ETag, err
	})
	return got
}

func read(ctx context.Context, b objstore.Bucket, key string) (string, error) {
	o, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if err != nil {
		return "", err
	}
	p := make([]byte, o.Info().Size)
	_, err = o.ReadAt(p, 0) //nolint:contextcheck // an io.ReaderAt
	return string(p), err
}
