package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/farread/farread/localcloud/delivery"
)

func TestDeadLetterAndRedrive(t *testing.T) {
	t.Parallel()
	dir, marks := filepath.Join(t.TempDir(), "data"), t.TempDir()
	p := start(t, "--dir", dir, "--env", "TEST_DIR="+marks)
	p.put("uploads", "mended-1.bin", "x")
	for try := 1; try <= 3; try++ {
		i := p.next()
		if r := i.Records[0]; i.OK || i.Error == "" || r.Try != try || !r.Failed || r.Dead != (try == 3) {
			t.Fatalf("try %d: %+v", try, i)
		}
	}
	if s := p.status(idle); s.Dead != 1 || s.DeadLetters != 1 || s.Invocations != 3 {
		t.Fatalf("%+v", s)
	}
	// The letter stays dead while the function fails.
	var n struct{ Redriven int }
	p.control(http.MethodPost, "/_localcloud/redrive", &n)
	if s := p.status(idle); n.Redriven != 1 || s.Dead != 2 || s.DeadLetters != 1 {
		t.Fatalf("redriven %d, %+v", n.Redriven, s)
	}
	for range 3 {
		p.next()
	}
	p.signal(os.Interrupt)
	p.wait()
	if err := os.WriteFile(filepath.Join(marks, "mended-1.bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, "--dir", dir, "--env", "TEST_DIR="+marks, "--redrive")
	if i := p.next(); !i.OK || i.Records[0].Key != "mended-1.bin" || i.Records[0].Try != 1 {
		t.Errorf("%+v", i)
	}
	if s := p.status(idle); s.Delivered != 1 || s.DeadLetters != 0 {
		t.Errorf("%+v", s)
	}
}

func TestPartialBatch(t *testing.T) {
	t.Parallel()
	p := start(t, "--concurrency", "1", "--batch-window", "1s")
	for i := range 10 {
		key := fmt.Sprintf("queue/%d", i)
		if i == 4 {
			key = "queue/poison"
		}
		p.put("uploads", key, "x")
	}
	tried := map[string]int{}
	batch := 0
	for settled := 0; settled < 10; {
		i := p.next()
		if i.Shape != "sqs" || len(i.Records) > 10 {
			t.Fatalf("%+v", i)
		}
		batch = max(batch, len(i.Records))
		for _, r := range i.Records {
			tried[r.Key]++
			if r.Failed != strings.Contains(r.Key, "poison") || r.Dead != (r.Failed && r.Try == 3) {
				t.Errorf("%+v", r)
			}
			if !r.Failed || r.Dead {
				settled++
			}
		}
	}
	if s := p.status(idle); s.Delivered != 9 || s.Dead != 1 {
		t.Errorf("%+v", s)
	}
	for key, n := range tried {
		if want := map[bool]int{false: 1, true: 3}[key == "queue/poison"]; n != want {
			t.Errorf("%s tried %d times, want %d", key, n, want)
		}
	}
	if batch < 2 || len(tried) != 10 {
		t.Errorf("largest batch %d, %d keys", batch, len(tried))
	}
}

// TestEveryShape: in every shape the function finds the object under the key of its
// upload. Shapes with a queue give back single messages.
func TestEveryShape(t *testing.T) {
	t.Parallel()
	p := start(t, "--tries", "2")
	for shape, folder := range map[string]string{"s3": "", "sqs": "queue/", "sns-sqs": "sns-sqs/", "eventbridge": "eventbridge/", "eventbridge-sqs": "eventbridge-sqs/"} {
		key := folder + oddKey
		p.put("uploads", key, "hello")
		if i := p.next(); !i.OK || i.Shape != shape || len(i.Records) != 1 || i.Records[0].Key != key {
			t.Errorf("%s: %+v", shape, i)
		}
		if got := p.get("datasets", key); !strings.Contains(got, `5d41402abc4b2a76b9719d911017c592`) {
			t.Errorf("%s: the function wrote %s", shape, got)
		}
		p.put("uploads", folder+"poison.bin", "x")
		for _, dead := range []bool{false, true} {
			if i := p.next(); i.OK || i.Records[0].Dead != dead {
				t.Errorf("%s: %+v", shape, i)
			}
		}
	}
	if s := p.status(idle); s.Delivered != 5 || s.Dead != 5 || s.DeadLetters != 5 {
		t.Errorf("%+v", s)
	}
}

func TestLimitsOfFunctions(t *testing.T) {
	t.Parallel()
	// Only the function that sleeps should reach the time limit, however busy this
	// machine is.
	slept, p := start(t, "--timeout", "3s", "--tries", "1"), start(t, "--timeout", "10m", "--memory", "256", "--tries", "1")
	for _, c := range []struct {
		p         *process
		key, want string
	}{
		{slept, "sleep.bin", "task timed out after 3s"},
		{p, "hog.bin", "of 256 MiB"},
		{p, "exit.bin", "exit status 4"},
	} {
		c.p.put("uploads", c.key, "x")
		if i := c.p.next(); !strings.Contains(i.Error, c.want) || !i.Records[0].Dead {
			t.Errorf("%s: %+v", c.key, i)
		}
	}
	for _, p := range []*process{slept, p} {
		p.put("uploads", "good.bin", "x")
		i := p.next()
		for try := 0; p == slept && try < 20 && strings.Contains(i.Error, "timed out"); try++ { // on a busy machine
			p.put("uploads", "good.bin", "x")
			i = p.next()
		}
		if !i.OK {
			t.Errorf("%+v", i)
		}
	}
}

func TestInitError(t *testing.T) {
	t.Parallel()
	p := start(t, "--env", "TEST_INIT=exit", "--tries", "2")
	p.put("uploads", "a.bin", "x")
	for _, dead := range []bool{false, true} {
		if i := p.next(); !strings.Contains(i.Error, "init error: exit status 3") || i.Records[0].Dead != dead {
			t.Errorf("%+v", i)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, "--concurrency", "2")
	const n = 100
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- p.tryPut("uploads", fmt.Sprintf("many/%d ü+.bin", i), "x") }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	seen, cold := map[string]bool{}, 0
	for range n {
		i := p.next()
		if !i.OK {
			t.Fatalf("%+v", i)
		}
		seen[i.Records[0].Key] = true
		if i.Cold {
			cold++
		}
	}
	if len(seen) != n || cold < 1 || cold > 2 {
		t.Errorf("%d keys, %d cold starts", len(seen), cold)
	}
}

// After a restart events that were not done are delivered, and events of objects whose
// own a crash cut off; others are not.
func TestReplay(t *testing.T) {
	t.Parallel()
	dir, marks := filepath.Join(t.TempDir(), "data"), t.TempDir()
	args := []string{"--dir", dir, "--env", "TEST_DIR=" + marks, "--retry-delay", "1h"}
	p := start(t, args...)
	p.put("uploads", "done.bin", "x")
	p.next()
	p.put("uploads", "gone.bin", "x")
	p.next()
	p.put("uploads", "mended-a.bin", "x")
	p.next()
	p.put("uploads", "lost.bin", "x")
	p.next()
	p.put("uploads", "done.bin", "changed and lost")
	p.next()
	p.status(func(s delivery.Status) bool { return s.Delivered == 4 && s.Pending == 1 })
	p.signal(syscall.SIGKILL)
	<-p.ended

	// As if the crash had come between PUT and spool: cut the last events, and leave
	// half of a line.
	file := filepath.Join(dir, "spool", "events.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(b), "\n"), func(l string) bool {
		return strings.Contains(l, "arn:aws:s3:::uploads") && (strings.Contains(l, `"lost.bin"`) || strings.Contains(l, `"size":16,`))
	})
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")+`{"id":17`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(marks, "mended-a.bin"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "buckets", "uploads", "gone.bin")); err != nil {
		t.Fatal(err)
	}
	p = start(t, args...)
	got := []string{p.next().Records[0].Key, p.next().Records[0].Key, p.next().Records[0].Key}
	slices.Sort(got)
	if want := []string{"done.bin", "lost.bin", "mended-a.bin"}; !slices.Equal(got, want) {
		t.Errorf("after the crash came %q, want %q", got, want)
	}
	p.status(idle)
	p.signal(os.Interrupt)
	p.wait()

	p = start(t, args...)
	if s := p.status(idle); s.Invocations != 0 || s.Ignored != 0 {
		t.Errorf("after a clean end events came again: %+v", s)
	}
	if b, err = os.ReadFile(file); err != nil || strings.Contains(string(b), `"record"`) {
		t.Errorf("the spool keeps what is done: %v\n%s", err, b)
	}
}

// If localcloud is killed at any moment, it loses no upload that the client saw
// succeed.
func TestKillLosesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var stored []string
	for round := range 6 {
		p := start(t, "--dir", dir, "--concurrency", "2")
		done := make(chan string, 100)
		for w := range 4 {
			go func() {
				for i := range 25 {
					key := fmt.Sprintf("%d/%d/odd %d+ü.bin", round, w, i)
					if err := p.tryPut("uploads", key, "x"); err != nil {
						key = ""
					}
					done <- key
				}
			}()
		}
		for i := range 100 {
			if i == 3+round*15 {
				p.signal(syscall.SIGKILL)
			}
			if key := <-done; key != "" {
				stored = append(stored, key)
			}
		}
		<-p.ended
	}
	if len(stored) < 6*3 {
		t.Fatalf("only %d uploads", len(stored))
	}
	p := start(t, "--dir", dir, "--concurrency", "2")
	if s := p.status(idle); s.Dead > 0 {
		t.Errorf("%+v", s)
	}
	for _, key := range stored {
		if got := p.get("datasets", key); !strings.Contains(got, `"size":1`) {
			t.Errorf("%q became %q", key, got)
		}
	}
}
