package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

//go:embed peer_lines.py
var linesScript string

// analyzeLines asks for counts, sums and medians by a field of lines of JSON: of a Bloscpack
// file in memory, beside Python's json and DuckDB over the same lines as a text.
func analyzeLines(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.python(ctx, "lines", "import duckdb", linesScript)
	if err != nil {
		return nil, err
	}
	text := eventLines(pick(b, 1_000_000, 10_000), false)
	n := bytes.Count(text, []byte("\n"))
	file := filepath.Join(b.dir, "asked.jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	bk := memstore.New(memstore.Config{})
	if _, err := objstore.Put(ctx, bk, "events.jsonl", bytes.NewReader(text), objstore.PutOptions{}); err != nil {
		return nil, err
	}
	var out parts
	if _, err := packLines(bk, &out, nil)(ctx); err != nil {
		return nil, err
	}
	packed := out.bytes()
	var ours, loop, duck work
	took, err := b.interleave(ctx, onCPU(func(ctx context.Context) (err error) {
		ours, err = askLines(ctx, packed)
		return err
	}), p.side(&loop, "loop", file), p.side(&duck, "duck", file))
	if err != nil {
		return nil, err
	}
	if ours != loop || ours != duck {
		return nil, fmt.Errorf("groups and lines: ours %v, Python's %v, DuckDB's %v", ours, loop, duck)
	}
	job := fmt.Sprintf("count, sum and median by a field of %d lines of JSON of %d bytes that match", n, len(text)/n)
	const goal = 3
	return []row{
		against(job+", beside Python's json in a loop", "B", float64(len(text)), took[0], took[1], goal),
		against(job+", beside DuckDB", "B", float64(len(text)), took[0], took[2], 0),
	}, nil
}

// askLines returns the number of groups, and that of lines in them.
func askLines(ctx context.Context, file []byte) (w work, err error) {
	f, err := bloscpack.Open(ctx, rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file))), bloscpack.Options{})
	if err != nil {
		return w, err
	}
	o := analyze.ItemsOptions{Group: []string{".event"}, Bytes: int64(len(file))}
	if o.Stats, err = analyze.ParseStats("count,sum(.ms),quantiles(.ms,0.5)"); err != nil {
		return w, err
	}
	if o.Where, err = predicate.ParseValues(".ms >= 100"); err != nil {
		return w, err
	}
	j, err := analyze.NewItems(f, o)
	if err != nil {
		return w, err
	}
	a, err := j.Run(ctx, analyze.Options{})
	if err != nil {
		return w, err
	}
	w.frames = a.Shape[0]
	for counts := a.Results[0].Items; len(counts) > 0; counts = counts[8:] {
		w.bytes += int64(binary.LittleEndian.Uint64(counts))
	}
	return w, nil
}
