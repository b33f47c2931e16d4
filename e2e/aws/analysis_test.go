//go:build e2e

package aws_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/farread/farread/e2e/scenario"
)

// What TestAnalysis works on. By hand: -args -analysis.mib 512, or -analysis.parts 1000.
var (
	analysisMiB   = flag.Int("analysis.mib", 8, "size of the array")
	analysisParts = flag.Int("analysis.parts", 32, "parts that it is cut into")
	analysisFault = flag.String("analysis.fault", "permanent", "what becomes of a batch that fails for ever: permanent, or always, which is tried again for half a minute")
)

// analysisBatch is how many parts are a batch.
const analysisBatch = 4

// TestAnalysis: the state machine of the module gives the answer of this machine, to the
// byte. A batch that fails once is tried again, one that fails for ever is told with its
// reason, and another run makes only what is missing.
func TestAnalysis(t *testing.T) {
	t.Parallel()
	data, work := cloud.Bucket(t, false), cloud.Bucket(t, false)
	a := &analysed{cli: scenario.BuildCLI(t), work: work, machine: cloud.Analysis(t, zipped(t, "./faulty"))}
	array := "s3://" + data + "/x.b2nd"
	a.pack(t, array)
	part := *analysisMiB << 20 / *analysisParts
	ask := []string{"analyze", array, "--stats", "count,nan,min,max,argmax,sum,mean,std,hist(32,-4:4),quantiles(0.01,0.5,0.99)", "--where", "v > -2.5", "--part-size", strconv.Itoa(part), "--json"}
	on := append(slices.Clone(ask), "--on", a.machine, "--work", "s3://"+work+"/jobs", "--batch-size", strconv.Itoa(analysisBatch*part))
	want := a.run(t, 0, ask...)

	a.fault(t, 4, "once")
	a.fault(t, 8, *analysisFault)
	begun := time.Now()
	a.run(t, map[string]int{"permanent": 7, "always": 6}[*analysisFault], on...)
	t.Logf("%d MiB, %d parts, of which a batch fails: %.1f s", *analysisMiB, *analysisParts, time.Since(begun).Seconds())
	if says := fmt.Sprintf("%d of %d parts failed: parts 8-11: a fault", analysisBatch, *analysisParts); !strings.Contains(a.stderr, says) {
		t.Errorf("%q does not say %q", a.stderr, says)
	}
	if a.exists(t, "faults/4") {
		t.Error("nothing failed once")
	}

	for _, key := range a.keys(t, "") { // mended, and a part is lost
		if strings.HasPrefix(key, "faults/") || strings.HasSuffix(key, "/parts/00000017.json") {
			if _, err := cloud.S3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &work, Key: &key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	begun = time.Now()
	if got := a.run(t, 0, on...); got != want {
		t.Errorf("resumed: %s, want %s", got, want)
	}
	t.Logf("the rest: %.1f s", time.Since(begun).Seconds())
	if list := a.last(t, "/runs/"); list != `[{"from":8,"to":12},{"from":17,"to":18}]`+"\n" {
		t.Errorf("the second run made %s", list)
	}
	if got := a.run(t, 0, on...); got != want {
		t.Errorf("again: %s, want %s", got, want)
	}
	runs, err := cloud.States.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &a.machine})
	if err != nil || len(runs.Executions) != 2 {
		t.Errorf("%d executions, want 2: %v", len(runs.Executions), err)
	}

	estimate := a.estimate(t, append(on, "--where", "v > -9"))
	begun = time.Now()
	if got := a.run(t, 0, append(on, "--where", "v > -9")...); got != a.run(t, 0, append(ask, "--where", "v > -9")...) {
		t.Errorf("in one run: %s", got)
	}
	t.Logf("in one run: %.1f s", time.Since(begun).Seconds())
	if ran := a.counted(t); ran != estimate {
		t.Errorf("counted %+v, estimated %+v", ran, estimate)
	}
}

// paid is what Step Functions and Lambda are paid for, and the objects that a run wrote.
type paid struct {
	Invocations, Transitions, Puts int64
}

// estimate is what the command says of a run before it starts.
func (a *analysed) estimate(t *testing.T, args []string) paid {
	t.Helper()
	var plan struct {
		Cloud paid
	}
	if err := json.Unmarshal([]byte(a.run(t, 0, append(args, "--explain")...)), &plan); err != nil {
		t.Fatal(err)
	}
	return plan.Cloud
}

// counted counts what the last run took: starts of executions, states that they entered and
// functions that they called, by the history of the run and by the children of its map, in each of
// which one function was called, and none again.
func (a *analysed) counted(t *testing.T) (p paid) {
	t.Helper()
	runs, err := cloud.States.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &a.machine})
	if err != nil || len(runs.Executions) == 0 {
		t.Fatalf("no executions: %v", err)
	}
	last := slices.MaxFunc(runs.Executions, func(x, y types.ExecutionListItem) int { return x.StartDate.Compare(*y.StartDate) })
	p.Transitions = 1
	for h := sfn.NewGetExecutionHistoryPaginator(cloud.States, &sfn.GetExecutionHistoryInput{ExecutionArn: last.ExecutionArn}); h.HasMorePages(); {
		page, err := h.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			switch {
			case strings.HasSuffix(string(e.Type), "StateEntered"):
				p.Transitions++
			case e.Type == types.HistoryEventTypeTaskScheduled:
				p.Invocations++
			case e.MapRunStartedEventDetails != nil:
				m, err := cloud.States.DescribeMapRun(t.Context(), &sfn.DescribeMapRunInput{MapRunArn: e.MapRunStartedEventDetails.MapRunArn})
				if err != nil {
					t.Fatal(err)
				}
				p.Transitions += 2 * m.ItemCounts.Total
				p.Invocations += m.ItemCounts.Total
			}
		}
	}
	list := a.keys(t, "")
	dir := ""
	for _, key := range list {
		if i := strings.Index(key, "/runs/"); i >= 0 && strings.HasSuffix(key, "/"+*last.Name+".json") {
			dir = key[:i+1]
		}
	}
	for _, key := range list {
		if strings.HasPrefix(key, dir+"parts/") || key == dir+"answers.json" {
			p.Puts++
		}
	}
	return p
}

// analysed is the place of a test.
type analysed struct {
	cli, work, machine string
	stderr             string // of the last command
}

// pack packs numbers, in chunks of a part each.
func (a *analysed) pack(t *testing.T, uri string) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	items := *analysisMiB << 20 / 4
	raw := make([]byte, 0, 4*items)
	for range items {
		raw, _ = binary.Append(raw, binary.LittleEndian, float32(rnd.NormFloat64()))
	}
	file := filepath.Join(t.TempDir(), "x.raw")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	a.run(t, 0, "pack", file, uri, "--dtype", "<f4", "--shape", strconv.Itoa(items), "--chunk-shape", strconv.Itoa(items / *analysisParts), "--level", "1", "-q")
}

// run runs a command.
func (a *analysed) run(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), a.cli, args...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+cloud.Config.Endpoint)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if a.stderr = errs.String(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("%q: %v, want %d: %s", args, err, code, a.stderr)
	}
	return out.String()
}

func (a *analysed) fault(t *testing.T, from int, kind string) {
	t.Helper()
	key := fmt.Sprintf("faults/%d", from)
	if _, err := cloud.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &a.work, Key: &key, Body: strings.NewReader(kind)}); err != nil {
		t.Fatal(err)
	}
}

// keys lists what is in the work bucket.
func (a *analysed) keys(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	p := s3.NewListObjectsV2Paginator(cloud.S3, &s3.ListObjectsV2Input{Bucket: &a.work, Prefix: &prefix})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

func (a *analysed) exists(t *testing.T, key string) bool {
	t.Helper()
	return slices.Contains(a.keys(t, key), key)
}

// last returns the last object whose key has a part.
func (a *analysed) last(t *testing.T, part string) string {
	t.Helper()
	key := ""
	for _, k := range a.keys(t, "") {
		if strings.Contains(k, part) {
			key = k
		}
	}
	r, err := cloud.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &a.work, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(r.Body); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
