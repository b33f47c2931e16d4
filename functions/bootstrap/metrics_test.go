package bootstrap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// emfLine is a line that keeps the rules of the specification, with its content.
type emfLine struct {
	dimensions []string // "function=a job=b"
	values     map[string][]float64
	units      map[string]string
	request    string
}

// units are those that CloudWatch knows:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html
var units = strings.Fields(`Seconds Microseconds Milliseconds Bytes Kilobytes Megabytes Gigabytes Terabytes Bits Kilobits
	Megabits Gigabits Terabits Percent Count Bytes/Second Kilobytes/Second Megabytes/Second Gigabytes/Second Terabytes/Second
	Bits/Second Kilobits/Second Megabits/Second Gigabits/Second Terabits/Second Count/Second None`)

// parseEMF checks a line against the specification and its JSON schema:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func parseEMF(line []byte) (emfLine, error) {
	out := emfLine{values: map[string][]float64{}, units: map[string]string{}}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(line, &root); err != nil {
		return out, err
	}
	var aws struct {
		Timestamp         *int64
		CloudWatchMetrics []struct {
			Namespace  *string
			Dimensions [][]string
			Metrics    []struct {
				Name, Unit        string
				StorageResolution int
			}
		}
	}
	d := json.NewDecoder(bytes.NewReader(root["_aws"]))
	d.DisallowUnknownFields() // the specification lists every member of this object
	if err := d.Decode(&aws); err != nil {
		return out, fmt.Errorf("_aws: %w", err)
	}
	if len(line) > 1<<20 || aws.Timestamp == nil || *aws.Timestamp < 0 || len(aws.CloudWatchMetrics) == 0 {
		return out, errors.New("over 1 MB, no Timestamp or no CloudWatchMetrics")
	}
	for _, m := range aws.CloudWatchMetrics {
		if m.Namespace == nil || len(*m.Namespace) < 1 || len(*m.Namespace) > 1024 || len(m.Dimensions) == 0 || len(m.Metrics) > 100 {
			return out, errors.New("Namespace, Dimensions or Metrics")
		}
		for _, set := range m.Dimensions {
			var pairs []string
			if len(set) > 30 {
				return out, errors.New("more than 30 dimensions")
			}
			for _, name := range set {
				var v string
				if err := json.Unmarshal(root[name], &v); err != nil || len(name) < 1 || len(name) > 250 || strings.TrimSpace(v) == "" || len(v) > 1024 || !ascii(v) {
					return out, fmt.Errorf("dimension %q: %s, %w", name, root[name], err)
				}
				pairs = append(pairs, name+"="+v)
			}
			out.dimensions = append(out.dimensions, strings.Join(pairs, " "))
		}
		for _, x := range m.Metrics {
			if len(x.Name) < 1 || len(x.Name) > 1024 || !slices.Contains(units, x.Unit) || x.StorageResolution != 0 {
				return out, fmt.Errorf("metric %+v", x)
			}
			v := root[x.Name]
			if !bytes.HasPrefix(v, []byte("[")) {
				v = slices.Concat([]byte("["), v, []byte("]"))
			}
			var n []float64
			if err := json.Unmarshal(v, &n); err != nil || len(n) < 1 || len(n) > 100 {
				return out, fmt.Errorf("metric %s: %s, %w", x.Name, root[x.Name], err)
			}
			for _, f := range n { // the largest number that CloudWatch takes
				if math.IsNaN(f) || math.Abs(f) > math.Pow(2, 360) {
					return out, fmt.Errorf("metric %s: %v", x.Name, f)
				}
			}
			if _, twice := out.values[x.Name]; twice {
				return out, fmt.Errorf("metric %s is there twice", x.Name)
			}
			out.values[x.Name], out.units[x.Name] = n, x.Unit
		}
	}
	if r, ok := root["request"]; ok {
		if err := json.Unmarshal(r, &out.request); err != nil {
			return out, err
		}
	}
	return out, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

func linesOf(t *testing.T, b []byte) []emfLine {
	t.Helper()
	var out []emfLine
	for line := range bytes.Lines(b) {
		l, err := parseEMF(bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, l)
	}
	return out
}

// TestMetrics: lines tell what was done, once for the function and once for each job.
func TestMetrics(t *testing.T) {
	t.Parallel()
	var r functions.Result
	done := func(n int, job string, o functions.Outcome) {
		for range n {
			r.Uploads++
			d := functions.Done{Rule: functions.Rule{Job: job}, Outcome: o, Took: 1500 * time.Microsecond, Stats: rangeio.Stats{Requests: 3, Bytes: 1000, Retries: 1}}
			if o == functions.Packed {
				d.Outputs = []objstore.Info{{Size: 70}, {Size: 30}}
			}
			r.Done = append(r.Done, d)
		}
	}
	done(120, "pack", functions.Packed)
	done(2, "pack", functions.Unchanged)
	done(1, "pack", functions.Own)
	done(1, "pack", functions.Dropped)
	done(5, "pack", functions.Retried)
	done(3, "zoom", functions.Failed)
	done(4, "zoom", functions.Ignored)
	r.Retry, r.Ignored, r.Unmatched = 5+2, 4+1, 6 // two given back and one test event belong to no job
	var b bytes.Buffer
	m := bootstrap.Metrics{Function: "fn-any", Out: &b, Now: func() time.Time { return time.UnixMilli(1790000000123) }}
	m.Write(r, "req-1")
	if !bytes.Contains(b.Bytes(), []byte(`"Timestamp":1790000000123`)) {
		t.Error("no timestamp in milliseconds")
	}
	sums, durations := map[string]map[string]float64{}, map[string]int{}
	for _, l := range linesOf(t, b.Bytes()) {
		if l.request != "req-1" {
			t.Errorf("request %q", l.request)
		}
		for _, set := range l.dimensions {
			if sums[set] == nil {
				sums[set] = map[string]float64{}
			}
			for name, v := range l.values {
				if name == "Duration" {
					durations[set] += len(v)
				}
				for _, f := range v {
					sums[set][name] += f
				}
			}
		}
		for name, unit := range map[string]string{"Done": "Count", "BytesRead": "Bytes", "Duration": "Milliseconds"} {
			if u, ok := l.units[name]; ok && u != unit {
				t.Errorf("%s in %s", name, u)
			}
		}
	}
	of := func(done, skipped, failed, retried, ignored, uploads float64) map[string]float64 {
		return map[string]float64{"Done": done, "Skipped": skipped, "Failed": failed, "Retried": retried, "Ignored": ignored, "Requests": 3 * uploads,
			"Retries": uploads, "BytesRead": 1000 * uploads, "BytesWritten": 100 * done, "Duration": 1.5 * uploads}
	}
	if d := cmp.Diff(map[string]map[string]float64{
		"function=fn-any":          of(120, 4, 3, 7, 11, 136),
		"function=fn-any job=pack": of(120, 4, 0, 5, 0, 129),
		"function=fn-any job=zoom": of(0, 0, 3, 0, 4, 7),
	}, sums); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]int{"function=fn-any": 136, "function=fn-any job=pack": 129, "function=fn-any job=zoom": 7}, durations); d != "" {
		t.Error(d)
	}
	b.Reset()
	m.Write(functions.Result{Uploads: 1, Packed: 1, Done: r.Done[:1]}, "req-2")
	if l := linesOf(t, b.Bytes()); len(l) != 1 || !cmp.Equal(l[0].dimensions, []string{"function=fn-any", "function=fn-any job=pack"}) {
		t.Errorf("one upload: %+v", l)
	}
	b.Reset()
	m.Write(functions.Result{}, "req-3")
	(&bootstrap.Metrics{}).Write(r, "")
	if b.Len() > 0 {
		t.Errorf("an empty batch wrote %s", b.String())
	}
}

// TestEMFRules: parseEMF finds wrong lines.
func TestEMFRules(t *testing.T) {
	t.Parallel()
	const good = `{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"n","Dimensions":[["f"]],"Metrics":[{"Name":"A","Unit":"Count"}]}]},"f":"x","A":1}`
	if _, err := parseEMF([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{`"Timestamp":1`, `"Timestamp":1.5`}, {`"Timestamp":1,`, ``}, {`"n"`, `""`}, {`[["f"]]`, `[]`}, {`[["f"]]`, `[["g"]]`}, {`"x"`, `""`}, {`"x"`, `1`},
		{`"Count"`, `"Counts"`}, {`"A":1`, `"A":"1"`}, {`"A":1`, `"B":1`}, {`"A":1`, `"A":[]`}, {`"A":1`, `"A":[` + strings.Repeat("1,", 100) + `1]`},
	} {
		bad := strings.Replace(good, c[0], c[1], 1)
		if _, err := parseEMF([]byte(bad)); err == nil || bad == good {
			t.Errorf("taken: %s", bad)
		}
	}
}
