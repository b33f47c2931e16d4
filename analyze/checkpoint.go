package analyze

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/farread/farread/formats"
)

// errCheckpoint is matched by errors of the file of a checkpoint.
var errCheckpoint = errors.New("the checkpoint cannot be used")

// ErrOtherPlan is matched by the errors for a checkpoint, a part or answers of another plan.
var ErrOtherPlan = errors.New("of another plan")

const checkpointVersion = 1

// A Checkpoint is a file with the results of parts of a job: a line for the plan, then one
// for each part. A part counts once its line has an end, so that a run that is killed loses
// only what it had not finished.
type Checkpoint struct {
	f     *os.File
	plan  string           // "": a new file
	parts map[int]position // of the lines
	end   int64
}

// A position is where the result of a part is in the file.
type position struct{ off, length int64 }

// A planLine is the first line of a checkpoint.
type planLine struct {
	Version int    `json:"farread_checkpoint"`
	Plan    string `json:"plan"`
}

// A partLine is each other line.
type partLine struct {
	Part   int             `json:"part"`
	Result json.RawMessage `json:"result"`
}

// OpenCheckpoint opens the file of a checkpoint, or makes it. A file that is none matches
// formats.ErrCorrupt, and stays as it is. What a killed run left of a last line is dropped.
func OpenCheckpoint(name string) (*Checkpoint, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{f: f, parts: map[int]position{}}
	if err := c.read(); err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// read finds the lines of the file.
func (c *Checkpoint) read() error {
	r := bufio.NewReader(c.f)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if n == 0 && len(line) > 0 && !bytes.HasPrefix([]byte(`{"farread_checkpoint":`), line[:min(len(line), 22)]) {
				return fmt.Errorf("%w: no checkpoint: %w", errCheckpoint, formats.ErrCorrupt)
			}
			return nil // a line without an end was not finished
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errCheckpoint, err)
		}
		if err := c.line(n, line); err != nil {
			return fmt.Errorf("%w: line %d: %w", errCheckpoint, n+1, err)
		}
		c.end += int64(len(line))
	}
}

func (c *Checkpoint) line(n int, line []byte) error {
	if n == 0 {
		var p planLine
		if err := json.Unmarshal(line, &p); err != nil || p.Version == 0 || p.Plan == "" {
			return fmt.Errorf("no checkpoint: %w", formats.ErrCorrupt)
		}
		if p.Version != checkpointVersion {
			return fmt.Errorf("a checkpoint of version %d, this program has %d: %w", p.Version, checkpointVersion, formats.ErrUnsupported)
		}
		c.plan = p.Plan
		return nil
	}
	var p partLine
	if err := json.Unmarshal(line, &p); err != nil || p.Part < 0 || p.Result == nil {
		return fmt.Errorf("no result of a part: %w", formats.ErrCorrupt)
	}
	c.parts[p.Part] = position{c.end, int64(len(line))}
	return nil
}

// Parts returns how many parts have results.
func (c *Checkpoint) Parts() int { return len(c.parts) }

// start binds the checkpoint to a job.
func (c *Checkpoint) start(plan string, parts int) error {
	if c == nil {
		return nil
	}
	switch c.plan {
	case plan:
		for part := range c.parts {
			if part >= parts {
				return fmt.Errorf("%w: part %d of %d: %w", errCheckpoint, part, parts, formats.ErrCorrupt)
			}
		}
		return c.f.Truncate(c.end)
	case "":
	default:
		return fmt.Errorf("the checkpoint is %w: other data, other questions or other sizes of parts", ErrOtherPlan)
	}
	line, err := json.Marshal(planLine{checkpointVersion, plan})
	if err != nil {
		return err
	}
	c.plan = plan
	if err := c.f.Truncate(0); err != nil {
		return err
	}
	return c.append(line)
}

// kept returns the result of a part. It may be called concurrently with itself and with
// keep for other parts.
func (c *Checkpoint) kept(part int) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	at, ok := c.parts[part]
	if !ok {
		return nil, false
	}
	line := make([]byte, at.length)
	var p partLine
	if _, err := c.f.ReadAt(line, at.off); err != nil || json.Unmarshal(line, &p) != nil {
		return nil, true // which Decode refuses
	}
	return p.Result, true
}

// keep adds the result of a part.
func (c *Checkpoint) keep(part int, result []byte) error {
	line, err := json.Marshal(partLine{part, result})
	if err != nil {
		return err
	}
	return c.append(line)
}

// append adds a line.
func (c *Checkpoint) append(line []byte) error {
	line = append(line, '\n')
	if _, err := c.f.WriteAt(line, c.end); err != nil {
		return fmt.Errorf("%w: %w", errCheckpoint, err)
	}
	c.end += int64(len(line))
	return nil
}

// Close closes the file.
func (c *Checkpoint) Close() error { return c.f.Close() }

// Remove removes the file, after a run that needs it no more.
func (c *Checkpoint) Remove() error {
	name := c.f.Name()
	if err := c.f.Close(); err != nil {
		return err
	}
	return os.Remove(name)
}
