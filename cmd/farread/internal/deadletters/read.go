package deadletters

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/dustin/go-humanize"

	"github.com/farread/farread/functions"
)

// maxLetter is the longest line of a file: a message of SQS has at most 1 MiB, and
// quoting may make it longer.
const maxLetter = 8 << 20

// Read calls give for each event of in: JSON objects, one on each line (also letters of
// the local cloud), or a single event on several lines.
func Read(ctx context.Context, in io.Reader, give func(event []byte) error, o Options) error {
	t := teller{Options: o}
	for l, err := range linesIn(in) {
		if err != nil {
			return err
		}
		if t.full() {
			return nil
		}
		event, err := eventOf(l.text)
		if err == nil && !o.DryRun {
			err = give(event)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := t.tell(Letter{fmt.Sprintf("line %d", l.n), event, err}); err != nil {
			return err
		}
	}
	return nil
}

// eventOf is the event of a line. A letter of the local cloud holds one record of a
// notification, which is the event; any other line is an event itself.
func eventOf(line []byte) ([]byte, error) {
	var own struct {
		Function string          `json:"function"`
		Record   json.RawMessage `json:"record"`
	}
	if err := json.Unmarshal(line, &own); err != nil {
		return line, fmt.Errorf("%w: %w", functions.ErrEvent, err)
	}
	if own.Function == "" || own.Record == nil {
		return line, nil
	}
	return json.Marshal(map[string]any{"Records": []json.RawMessage{own.Record}})
}

// A line is a line of a file, or all of its lines if they are one event.
type line struct {
	n    int // number of the line, from 1
	text []byte
}

// linesIn yields the lines of r that are not empty, with their numbers from 1. If r
// is one event on several lines, it yields r as a whole.
func linesIn(r io.Reader) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		in := bufio.NewScanner(r)
		in.Buffer(nil, maxLetter)
		n := 1
		if held, from := heldLines(in, &n); len(held) > 1 && json.Valid(bytes.Join(held, []byte("\n"))) {
			yield(line{from, bytes.Join(held, []byte("\n"))}, nil)
			return
		} else if !yieldLines(held, from, yield) {
			return
		}
		for ; in.Scan(); n++ {
			if !yieldLines([][]byte{in.Bytes()}, n, yield) {
				return
			}
		}
		if err := in.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = &ArgumentError{fmt.Sprintf("line %d has more than %s", n, humanize.IBytes(maxLetter))}
			}
			yield(line{}, err)
		}
	}
}

// heldLines reads the first line that is not empty. If that is no JSON by itself it
// also reads the lines after it, as long as they may be one letter. It counts lines in
// n.
func heldLines(in *bufio.Scanner, n *int) (held [][]byte, from int) {
	size := 0
	for size <= maxLetter && in.Scan() {
		text := bytes.Clone(in.Bytes())
		*n++
		if len(held) == 0 && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if held = append(held, text); len(held) == 1 {
			from = *n - 1
			if json.Valid(text) {
				break
			}
		}
		size += len(text) + 1
	}
	return held, from
}

// yieldLines returns those lines that are not empty, the first one as line n.
func yieldLines(lines [][]byte, n int, yield func(line, error) bool) bool {
	for i, text := range lines {
		if text = bytes.TrimSpace(text); len(text) > 0 && !yield(line{n + i, bytes.Clone(text)}, nil) {
			return false
		}
	}
	return true
}
