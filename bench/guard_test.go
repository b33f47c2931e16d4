package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const guardPage = "text\n" + beginMark + `Measured 2026-11-22 on linux/amd64, A CPU, Linux; 5 rounds.

| job | goal | ours | peer | ratio | | |
| --- | --- | --- | --- | --- | --- | --- |
| read of 16 MiB, os.File | >= 2x | 3 GB/s | 2 GB/s | 1.50x | met | note |
| same, by path |  | 3 GB/s | 3 GB/s | 1.00x |  |  |
| start | <= 10 ms | 5 ms |  |  | met |  |
| npy, chunks [4 512], 8388608 items |  | 1 B/s | 4 B/s | 0.25x | **missed** |  |
` + endMark

func TestParsePublished(t *testing.T) {
	p, err := parsePublished(guardPage)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"read of #, os.File": 1.5, "read of #, os.File; same, by path": 1, "npy, chunks #, # items": 0.25}
	if d := cmp.Diff(want, p.ratios); d != "" || len(p.keys) != 3 || !strings.Contains(p.machine, "A CPU,") {
		t.Errorf("%+v\n%s", p, d)
	}
	for _, page := range []string{
		"", beginMark, endMark + beginMark, beginMark + endMark,
		strings.Replace(guardPage, "1.00x", "1.00", 1),
		strings.Replace(guardPage, "1.00x", "x", 1),
		strings.Replace(guardPage, "1.00x", "NaNx", 1),
		strings.Replace(guardPage, "1.00x", "-1x", 1),
		strings.Replace(guardPage, "npy, chunks [4 512], 8388608 items", "read of 8 MiB, os.File", 1), // the same key
	} {
		if p, err := parsePublished(page); err == nil {
			t.Errorf("%q: %v", page, p)
		}
	}
}

// TestWatches: each pattern names a job that there is, and finds rows.
func TestWatches(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePublished(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range p.watched() {
		jobNamed(w.job) // panics
		if len(w.keys) == 0 {
			t.Errorf("%s: no row matches %s", w.job, w.rows)
		}
	}
}

// guardOf runs the guard over results, a list for each try; the rounds of the tries come back.
func guardOf(t *testing.T, slack float64, tries ...[]row) (text string, rounds []int, err error) {
	t.Helper()
	p, err := parsePublished(guardPage)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	g := guarding{page: "PAGE", ratios: p.ratios, slack: slack, rounds: 2, out: &out, measure: func(_ context.Context, w watched, n int) ([]row, error) {
		if w.job == "lacks" {
			return nil, &skipped{"no peer"}
		}
		rounds = append(rounds, n)
		rs := tries[min(len(rounds), len(tries))-1]
		return rs, nil
	}}
	err = g.run(t.Context(), []watched{{watch{"read", "^read"}, p.keys[:2]}, {watch{"lacks", "^npy"}, p.keys[2:]}, {watch{"new", "^new"}, nil}})
	return out.String(), rounds, err
}

func TestGuard(t *testing.T) {
	made := func(first, second float64) []row {
		return []row{{job: "read of 4 MiB, os.File", ratio: first}, {job: "same, by path", ratio: second}, {job: "another", ratio: 0.1}}
	}
	text, rounds, err := guardOf(t, guardSame, made(1.5, 0.5), made(1, 0.67))
	want := `guard: ok: read of #, os.File: 1.50x, published 1.50x
guard: LOW: read of #, os.File; same, by path: 0.50x, published 1.00x
guard: skipped: npy, chunks #, # items: no peer
guard: skipped: ^new: the table has no such rows
guard: ok: read of #, os.File; same, by path: 0.67x, published 1.00x
`
	if d := cmp.Diff(want, text); d != "" || err != nil || !cmp.Equal(rounds, []int{2, 6}) {
		t.Errorf("one busy moment: %v, rounds %v\n%s", err, rounds, d)
	}

	_, rounds, err = guardOf(t, guardSame, made(0.9, 1))
	const said = "fallen in each of three tries: 1 rows\n  read of #, os.File: 0.90x, and PAGE says 1.50x; look closer: cd bench && go run . -rows '^read$' -rounds 15"
	if err == nil || err.Error() != said || !cmp.Equal(rounds, []int{2, 6, 18}) {
		t.Errorf("always low: %v, rounds %v", err, rounds)
	}
	if _, _, err = guardOf(t, guardOther, made(0.9, 1)); err != nil {
		t.Errorf("another processor: %v", err)
	}
	if _, _, err = guardOf(t, guardSame, made(1.5, 1)[:1]); err == nil || !strings.Contains(err.Error(), "not measured any more") {
		t.Errorf("a row is gone: %v", err)
	}
}
