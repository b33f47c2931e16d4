package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
)

// A finding is a line of doctor's report, or one of our own like it.
type finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Seen  string `json:"seen"`
	Means string `json:"means"`
}

// A trip uses a store as people do.
type trip struct {
	*server

	program, dir string
}

// An outcome is how a run of the program ended.
type outcome struct {
	code        int
	out, errors string
}

// farread runs the program.
func (t *trip) farread(ctx context.Context, args ...string) outcome {
	cmd := exec.CommandContext(ctx, t.program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+t.endpoint, "AWS_ACCESS_KEY_ID="+t.accessKey, "AWS_SECRET_ACCESS_KEY="+t.secretKey,
		"AWS_REGION="+region, "AWS_SESSION_TOKEN=", "AWS_PROFILE=", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
	err := cmd.Run()
	o := outcome{cmd.ProcessState.ExitCode(), out.String(), strings.TrimSpace(errs.String())}
	if err != nil && o.errors == "" {
		o.errors = err.Error()
	}
	return o
}

// err is the error of a run, or nil.
func (o outcome) err() error {
	if o.code == 0 {
		return nil
	}
	return errors.New(o.errors)
}

// doctor asks doctor.
func (t *trip) doctor(ctx context.Context) ([]finding, error) {
	o := t.farread(ctx, "doctor", "s3://"+bucket+"/doctor/", "--json")
	var r struct {
		Findings []finding `json:"findings"`
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil || len(r.Findings) == 0 {
		return nil, fmt.Errorf("doctor: exit %d: %s", o.code, o.errors)
	}
	return r.Findings, nil
}

// The array of the round trip: rows of bytes that cannot be compressed, three parts long.
const (
	rowLen  = 64 << 10
	rows    = 384
	added   = 3
	racers  = 8
	rounds  = 5
	uri     = "s3://" + bucket + "/trip/big.b2nd"
	another = "s3://" + bucket + "/trip/raced-%d.b2nd"
)

// noise are rows that differ from all others.
func noise(seed uint64, n int) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	p := make([]byte, n*rowLen)
	_, _ = rand.NewChaCha8(key).Read(p) // never fails
	return p
}

// file writes rows to a file, and returns the arguments that say what they are.
func (t *trip) file(name string, data []byte) (path string, raw []string, err error) {
	path = filepath.Join(t.dir, name)
	return path, []string{"--dtype", "|u1", "--shape", strconv.Itoa(len(data)/rowLen) + "," + strconv.Itoa(rowLen)}, os.WriteFile(path, data, 0o600)
}

// pack packs rows.
func (t *trip) pack(ctx context.Context, name string, data []byte, to string, flags ...string) error {
	path, raw, err := t.file(name, data)
	if err != nil {
		return err
	}
	return t.farread(ctx, slices.Concat([]string{"pack", path, to}, raw, flags)...).err()
}

// all makes the round trip.
func (t *trip) all(ctx context.Context) []finding {
	big := noise(1, rows)
	steps := []struct {
		name string
		do   func() (seen string, err error)
	}{
		{"pack, slice, ls, verify", func() (string, error) { return "24 MiB", t.there(ctx, big) }},
		{"pack --append to 24 MiB", func() (string, error) { return "", t.append(ctx, big) }},
		{"replaced while it is read", func() (string, error) { return "noticed", t.replaced(ctx) }},
		{"8 packs of one name", func() (string, error) { return t.packs(ctx) }},
		{"8 appends to one array", func() (string, error) { return t.appends(ctx) }},
	}
	out := make([]finding, 0, len(steps))
	for _, step := range steps {
		f := finding{Check: step.name, Level: "ok"}
		seen, err := step.do()
		if f.Seen = seen; err != nil {
			f.Level, f.Seen = "bad", err.Error()
		}
		out = append(out, f)
	}
	return out
}

// holds compares an array with rows.
func (t *trip) holds(ctx context.Context, at string, want []byte) error {
	o := t.farread(ctx, "slice", at, ":", "-o", "-", "--format", "raw")
	if err := o.err(); err != nil {
		return err
	}
	if o.out != string(want) {
		return fmt.Errorf("%d bytes came back, not the %d that were written", len(o.out), len(want))
	}
	return nil
}

func (t *trip) there(ctx context.Context, big []byte) error {
	if err := t.pack(ctx, "big.raw", big, uri, "--level", "0", "--chunk-shape", "16,"+strconv.Itoa(rowLen), "--force"); err != nil {
		return err
	}
	if err := t.holds(ctx, uri, big); err != nil {
		return err
	}
	if o := t.farread(ctx, "ls", "s3://"+bucket+"/trip/"); o.code != 0 || !strings.Contains(o.out, "big.b2nd") {
		return fmt.Errorf("ls: %s%s", o.out, o.errors)
	}
	return t.farread(ctx, "verify", uri).err()
}

func (t *trip) append(ctx context.Context, big []byte) error {
	more := noise(2, added)
	if err := t.pack(ctx, "more.raw", more, uri, "--append"); err != nil {
		return err
	}
	return t.holds(ctx, uri, slices.Concat(big, more))
}

// replaced reads a row, has another array put in the place of this one, and reads on.
func (t *trip) replaced(ctx context.Context) error {
	c := farread.New(farread.Config{Endpoint: t.endpoint, Region: region, AccessKey: t.accessKey, SecretKey: t.secretKey})
	defer c.CloseIdleConnections()
	a, err := c.OpenArray(ctx, uri, farread.FrameOptions{})
	if err != nil {
		return err
	}
	if _, _, err := farread.Slice[uint8](ctx, a, "0"); err != nil {
		return err
	}
	if err := t.pack(ctx, "other.raw", noise(3, rows), uri, "--level", "0", "--force"); err != nil {
		return err
	}
	switch _, _, err = farread.Slice[uint8](ctx, a, "200"); {
	case err == nil:
		return errors.New("not noticed: bytes of another array")
	case !errors.Is(err, objstore.ErrChanged):
		return err
	}
	return nil
}

// race runs several calls at the same time, and returns which of them succeeded.
func race(call func(i int) outcome) (won []int, err error) {
	all := make([]outcome, racers)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = call(i) })
	}
	wg.Wait()
	const changed = 5 // exit code: somebody else was there first
	for i, o := range all {
		switch o.code {
		case 0:
			won = append(won, i)
		case changed:
		default:
			return won, o.err()
		}
	}
	return won, nil
}

// packs has several pack other bytes to one name at the same time.
func (t *trip) packs(ctx context.Context) (string, error) {
	var most int
	for round := range rounds {
		to := fmt.Sprintf(another, round)
		won, err := race(func(i int) outcome {
			path, raw, err := t.file(fmt.Sprintf("r%d.raw", i), noise(uint64(100+i), 1))
			if err != nil {
				return outcome{1, "", err.Error()}
			}
			return t.farread(ctx, slices.Concat([]string{"pack", path, to}, raw)...)
		})
		if err != nil {
			return "", err
		}
		ours := slices.ContainsFunc(won, func(i int) bool { return t.holds(ctx, to, noise(uint64(100+i), 1)) == nil })
		if !ours {
			return "", errors.New("what is there is of nobody who was told so")
		}
		most = max(most, len(won))
	}
	if most > 1 {
		return "", fmt.Errorf("up to %d of 8 were told that theirs is there", most)
	}
	return "one of 8 wrote, in each of 5 rounds", nil
}

// appends has several append at the same time.
func (t *trip) appends(ctx context.Context) (string, error) {
	const to = "s3://" + bucket + "/trip/grown.b2nd"
	if err := t.pack(ctx, "first.raw", noise(200, 1), to, "--force"); err != nil {
		return "", err
	}
	said := 0
	for round := range rounds {
		won, err := race(func(i int) outcome {
			path, raw, err := t.file(fmt.Sprintf("a%d.raw", i), noise(uint64(201+round*racers+i), 1))
			if err != nil {
				return outcome{1, "", err.Error()}
			}
			return t.farread(ctx, slices.Concat([]string{"pack", "--append", path, to}, raw)...)
		})
		if err != nil {
			return "", err
		}
		said += len(won)
	}
	o := t.farread(ctx, "info", to, "--json")
	var in struct {
		Shape []int `json:"shape"`
	}
	if err := json.Unmarshal([]byte(o.out), &in); err != nil || len(in.Shape) == 0 {
		return "", fmt.Errorf("info: %s", o.errors)
	}
	if grown := in.Shape[0] - 1; grown != said {
		return "", fmt.Errorf("%d of %d that succeeded are lost", said-grown, said)
	}
	return "none is lost", nil
}
