package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestKilled (docs/reliability.md, E5): the function is killed at random moments of its
// work, in each format. Readers that look all the time see no output or the whole one.
// The next try finishes it. Multipart uploads that the killed function leaves lie below
// the prefix of the lifecycle rule.
func TestKilled(t *testing.T) {
	t.Parallel()
	c := start(t, options{seed: 5, tries: 20, retryDelay: 30 * time.Millisecond, concurrency: 1})
	rng := rand.New(rand.NewPCG(5, 5))
	size := scale(16<<20, 24<<20) // two or three parts of an upload
	want := scale(4, 200)
	kills, looks, late := map[string]int64{}, 0, 0
	total := 0
	data, span := map[string][]byte{}, map[string]float64{}
	for _, k := range kinds() {
		// Undisturbed, to measure how long it takes.
		data[k.name] = k.data(t, 1, size)
		for n := range 2 { // the first starts the process
			c.put(t, k.key(-1-n), data[k.name])
			r, _, err := c.settled(k.key(-1 - n))
			if err != nil || r.failed {
				t.Fatalf("%s: %+v, %v", k.name, r, err)
			}
			span[k.name] = r.ms * float64(time.Millisecond)
		}
	}
	for n := 0; total < want && n < 25*want && !t.Failed(); n++ {
		k := kinds()[n%len(kinds())]
		key := k.key(n)
		w := watch(t, c, k, key, data[k.name])
		begins := c.proxy.begins(key)
		c.put(t, key, data[k.name])
		for tries := 1; ; tries++ {
			select {
			case <-begins:
			case <-c.after(key, tries): // the one before was killed between its output and its answer: there is nothing left to do
			}
			time.Sleep(time.Duration(rng.Float64() * span[k.name]))
			begins = c.proxy.begins(key) // of the next try
			c.kill(k.function)
			r, err := c.wait(key, tries)
			if err != nil {
				t.Fatal(err)
			}
			if !r.failed {
				late++              // it had answered before the kill
				span[k.name] *= 0.8 // the machine was slower during the measurement
				break
			}
			if !strings.Contains(r.err, "signal: killed") {
				t.Errorf("%s: failed by itself: %s", key, r.err)
			}
			kills[k.name]++
			total++
			if rng.IntN(4) > 0 || total >= want { // most second tries are left alone
				break
			}
		}
		if r, runs, err := c.settled(key); err != nil || r.dead {
			t.Errorf("%s after %d runs: %+v, %v", key, runs, r, err)
		}
		looks += w()
		if there, err := k.check(t.Context(), c.out, key, data[k.name]); !there || err != nil {
			t.Errorf("%s: in the end: %t, %v", key, there, err)
		}
	}
	if total < want {
		t.Errorf("only %d kills", total)
	}
	left := unfinished(t, c)
	filter := lifecycle(t)
	for _, key := range left {
		if !strings.HasPrefix(key, filter) {
			t.Errorf("an upload of %q is left, outside of the rule for %q", key, filter)
		}
	}
	figure(t, "E5", fmt.Sprintf("%d kills in %d uploads of %d MiB (%s; %d more came after the work)", total, len(keys(t.Context(), t, c.in, ""))-2*len(kinds()), size>>20, listed(kills), late),
		fmt.Sprintf("%d looks at outputs, none partial; all retried to the right output; %d multipart uploads left, all under the lifecycle rule", looks, len(left)),
		"no partial output, all finished", !t.Failed())
}

// watch looks at the output of key all the time until the returned function is called,
// which returns the number of looks.
func watch(t *testing.T, c *cloud, k kind, key string, data []byte) func() int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var looks int
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			there, err := k.check(ctx, c.out, key, data)
			if ctx.Err() != nil {
				return
			}
			looks++
			if err != nil {
				t.Errorf("%s: a partial output: %v", key, err)
				return
			}
			pause := 5 * time.Millisecond
			if there {
				pause = 100 * time.Millisecond
			}
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		}
	})
	return func() int {
		cancel()
		wg.Wait()
		return looks
	}
}

// unfinished are the keys of the multipart uploads that nobody completed.
func unfinished(t *testing.T, c *cloud) []string {
	t.Helper()
	api := s3.New(s3.Options{BaseEndpoint: &c.Endpoint, Region: c.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, "")})
	var left []string
	p := s3.NewListMultipartUploadsPaginator(api, &s3.ListMultipartUploadsInput{Bucket: aws.String(datasets)})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range page.Uploads {
			left = append(left, *u.Key)
		}
	}
	for _, b := range []string{uploads} { // the functions write only to the other bucket
		out, err := api.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &b})
		if err != nil || len(out.Uploads) > 0 {
			t.Errorf("uploads left in %s: %v, %v", b, out.Uploads, err)
		}
	}
	slices.Sort(left)
	return left
}

// lifecycle is the prefix of the rule of the Terraform module that drops unfinished
// uploads.
func lifecycle(t *testing.T) string {
	t.Helper()
	const file = "../../terraform/modules/pipeline/buckets.tf"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(b), `resource "aws_s3_bucket_lifecycle_configuration" `)
	if !ok {
		t.Fatalf("%s has no lifecycle rules", file)
	}
	for _, rule := range strings.Split(text, "\n  rule {\n")[1:] {
		rule, _, _ = strings.Cut(rule, "\n  }\n")
		if !strings.Contains(rule, "abort_incomplete_multipart_upload {") {
			continue
		}
		if !regexp.MustCompile(`status\s*=\s*"Enabled"`).MatchString(rule) {
			t.Errorf("the rule is not enabled: %s", rule)
		}
		m := regexp.MustCompile(`filter\s*{\s*(?:prefix\s*=\s*"([^"]*)"\s*)?}`).FindStringSubmatch(rule)
		if m == nil {
			t.Fatalf("cannot tell what the rule looks at: %s", rule)
		}
		return m[1]
	}
	t.Fatalf("%s has no rule for unfinished uploads", file)
	return ""
}
