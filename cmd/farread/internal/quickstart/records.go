package quickstart

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats/bloscpack"
)

const (
	recordPrefix = "logs/"
	recordName   = "requests.jsonl"
	// shownRecord is one whose place stands far behind the head of the dataset.
	shownRecord = 41_234
	recordCount = 60_000
)

func recordOutput() output {
	return output{format: bloscpack.Format, data: bloscpack.Suffix, commit: bloscpack.Suffix}
}

// requestLog is the log of a server of map tiles as JSON Lines, the same on every
// run.
func requestLog(n int) []byte {
	rng := rand.New(rand.NewPCG(7, 41)) //nolint:gosec // a picture of chance
	at := time.Date(2026, 5, 1, 6, 0, 0, 0, time.UTC)
	status := []int{200, 200, 200, 200, 200, 200, 206, 304, 404, 503}
	agents := []string{"farread/1.0", "Mozilla/5.0 (X11; Linux x86_64)", "curl/8.9.1"}
	p := make([]byte, 0, n*170)
	for range n {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(40*time.Millisecond)))
		z := 3 + rng.IntN(12)
		p = fmt.Appendf(p, `{"ts":"%s","host":"tiles-%d","path":"/%d/%d/%d.png","status":%d,"bytes":%d,"ms":%.1f,"agent":"%s"}`+"\n",
			at.Format("2006-01-02T15:04:05.000Z"), rng.IntN(4), z, rng.IntN(1<<z), rng.IntN(1<<z),
			status[rng.IntN(len(status))], 200+rng.IntN(40_000), rng.ExpFloat64()*12, agents[rng.IntN(len(agents))])
	}
	return p
}

// recordStory: one record of a log, cold and warm, and a hundred neighbours.
func recordStory(log []byte) story {
	lines := bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	i := int64(min(shownRecord, len(lines)-1))
	some := min(i+100, int64(len(lines)))
	count := humanize.Comma
	return story{
		upload: upload{fmt.Sprintf("%s: %s records as JSON Lines", recordName, count(int64(len(lines)))),
			[]sample.File{{Name: recordPrefix + recordName, Data: log}}},
		output: recordOutput(),
		steps: []step{
			records(lines, fmt.Sprintf("record %s, cold", count(i)), false, i, i+1),
			records(lines, "the same again, warm", true, i, i+1),
			records(lines, fmt.Sprintf("%d records from there, warm", some-i), true, i, some),
		},
	}
}

// records reads the records [i, j) and compares them with the lines of the log.
func records(lines [][]byte, what string, warm bool, i, j int64) step {
	return step{what: what, warm: warm, run: func(ctx context.Context, s *session, uri string) (int64, error) {
		if !warm || s.records == nil {
			var o farread.BloscpackOptions
			o.Item = i
			var err error
			if s.records, err = s.client.OpenBloscpack(ctx, uri, o); err != nil {
				return 0, err
			}
		}
		if n := s.records.Len(); n != int64(len(lines)) {
			return 0, fmt.Errorf("%s: %d records, not %d: %w", uri, n, len(lines), ErrMismatch)
		}
		got, err := s.records.ReadItems(ctx, i, j)
		if err != nil {
			return 0, err
		}
		var n int64
		for k := i; k < j; k++ {
			if int64(len(got)) != j-i || !bytes.Equal(got[k-i], lines[k]) {
				return 0, fmt.Errorf("%s: record %d: %w", uri, k, ErrMismatch)
			}
			n += int64(len(lines[k]))
		}
		return n, nil
	}}
}
