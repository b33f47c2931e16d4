package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// memorySize is about how many bytes each kind of input has.
const memorySize = 256 << 20

// lowMemory is what --max-memory allows in the second column.
const lowMemory = 128 << 20

// A command is a line of the table of peak memory.
type command struct {
	args  string // FARREAD's, split at blanks
	input string // the file whose size is told
}

// commands are run one after the other in a folder of inputs: those below use what those
// above have made. Each verb is there but replay-dlq, which needs SQS; pack and unpack with
// each format.
func commands() []command {
	return []command{
		{"version", ""},
		{"pack x.npy x.b2nd", "x.npy"},
		{"pack x.npy lz4.b2nd --codec lz4 --for series", "x.npy"},
		{"pack x.npy x.b2frame", "x.npy"},
		{"pack x.npy x.blp --records chunks", "x.npy"},
		{"pack x.jsonl lines.blp", "x.jsonl"},
		{"pack x.tar x.gulp", "x.tar"},
		{"pack x.wav x.zoom", "x.wav"},
		{"pack x.csv csv.zoom", "x.csv"},
		{"pack --append x.npy x.b2nd", "x.npy"},
		{"pack --append x.jsonl lines.blp", "x.jsonl"},
		{"info x.b2nd", "x.b2nd"},
		{"ls lines.blp --scan -q", "lines.blp"},
		{"get x.b2nd -o got.npy", "x.b2nd"},
		{"get lines.blp --item 41823 -o item", "lines.blp"},
		{"get x.zoom --track 1 --from 0 --to 60s -o got.csv", "x.zoom"},
		{"get x.gulp --id clips/clip_00001 -o frames/", "x.gulp"},
		{"slice x.b2nd 7:40 -o part.npy", "x.b2nd"},
		{"slice x.b2nd :,100,200 -o column.csv", "x.b2nd"},
		{"slice x.b2nd ... --where v>0.9999999 -o found.npy", "x.b2nd"},
		{"view x.b2nd 7 -o plane.png", "x.b2nd"},
		{"view x.zoom --track 1 --width 2000 -o wave.png", "x.zoom"},
		{"verify x.b2nd", "x.b2nd"},
		{"verify lines.blp", "lines.blp"},
		{"verify x.gulp", "x.gulp"},
		{"verify x.zoom", "x.zoom"},
		{"unpack x.b2nd out.npy", "x.b2nd"},
		{"unpack x.b2nd out.zarr", "x.b2nd"},
		{"unpack lines.blp out.jsonl", "lines.blp"},
		{"unpack x.gulp images/", "x.gulp"},
		{"unpack x.zoom wave.npy", "x.zoom"},
		{"pack out.zarr zarr.b2nd", "x.npy"},
		{"analyze x.b2nd --stats mean,std,min,max,quantiles(0.5)", "x.b2nd"},
		{"analyze x.b2nd --over 1,2 --stats mean -o mean.npy", "x.b2nd"},
		{"analyze x.zoom --track 1 --every 1m --stats mean -o minutes.csv", "x.zoom"},
		{"analyze lines.blp --where .ms>=100 --group .event --stats count,quantiles(.ms,0.5)", "lines.blp"},
		{"advise x.b2nd :,30,50", "x.b2nd"},
		{"explain x.b2nd 0:10", "x.b2nd"},
		{"index x.b2nd --ranges --force -o x.fri", "x.b2nd"},
		{"index x.zoom --force -o x.zfri", "x.zoom"},
		{"cp x.npy s3://bench/m/x.npy", "x.npy"},
		{"cp x.tar s3://bench/m/x.tar", "x.tar"},
		{"cp s3://bench/m/x.npy copy.npy", "x.npy"},
		{"pack s3://bench/m/x.npy s3://packed/m/x.b2nd", "x.npy"},
		{"get s3://packed/m/x.b2nd -o far.npy", "x.b2nd"},
		{"worker --event event.json --rules rules.json", "x.tar"},
		{"cp x.tar s3://bench/m/more.tar", "x.tar"},
		{"backfill s3://bench/m/more.tar --rules rules.json", "x.tar"},
		{"get s3://packed/m/x.b2nd -o kept.npy --cache kept", "x.b2nd"},
		{"cache verify --cache kept", "x.b2nd"},
		{"doctor s3://bench/m/", ""},
		{"share http://127.0.0.1/slice/d/x.b2nd?s=0 --token-file token", ""},
	}
}

// peakMemory is what each command holds at the most, as it comes and with a low ceiling.
func peakMemory(ctx context.Context, b *bench) ([]row, error) {
	if runtime.GOOS != "linux" {
		return nil, &skipped{"told on Linux"}
	}
	if err := errors.Join(b.s3server(ctx), b.credentials()); err != nil {
		return nil, err
	}
	bin, err := b.buildCommand(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("memory")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // gigabytes
	sizes := map[string]int64{}
	if err := b.memoryInputs(dir); err != nil {
		return nil, err
	}
	var rows []row
	for _, c := range commands() {
		r, err := b.commandMemory(ctx, bin, dir, c, sizes)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	n, usual, err := b.serveMemory(ctx, dir)
	if err != nil {
		return nil, err
	}
	_, low, err := b.serveMemory(ctx, dir, "--max-memory", strconv.Itoa(lowMemory))
	return append(rows, memoryRow("`serve`, one answer", mib(n), usual, low, "")), err
}

func (b *bench) commandMemory(ctx context.Context, bin, dir string, c command, sizes map[string]int64) (row, error) {
	args := strings.Fields(c.args)
	if args[0] == "worker" {
		info, err := b.head(ctx, bucketName, "m/x.tar")
		if err != nil {
			return row{}, err
		}
		event, err := json.Marshal(created(info))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "event.json"), event, 0o600)
		}
		if err != nil {
			return row{}, err
		}
	}
	usual, _, took, err := b.peakIn(ctx, dir, append([]string{bin}, args...)...)
	if err != nil {
		return row{}, err
	}
	held, err := b.lowMemory(ctx, bin, dir, args)
	if err != nil {
		return row{}, err
	}
	size := ""
	if c.input != "" {
		if _, known := sizes[c.input]; !known {
			info, err := os.Stat(filepath.Join(dir, c.input))
			if err != nil {
				return row{}, err
			}
			sizes[c.input] = info.Size()
		}
		size = mib(sizes[c.input])
	}
	return memoryRow("`"+c.args+"`", size, usual, held, fmt.Sprintf("%.1f s", took.Seconds())), nil
}

// memoryRow judges what was held by what is promised: the ceiling, and what the program
// holds beside buffers and caches. low is 0 for a command that was refused or has no second run.
func memoryRow(what, size string, usual, low int64, took string) row {
	const ceiling, beside = 1 << 30, 64 << 20
	r := row{judged: true, met: usual <= ceiling+beside && low <= lowMemory+beside}
	second := "refused"
	if low > 0 {
		second = mib(low)
	}
	r.cells = []string{what, size, mib(usual), second, r.verdict(), took}
	return r
}

// lowMemory runs a command again with a low ceiling; 0: it said that this does not suffice.
func (b *bench) lowMemory(ctx context.Context, bin, dir string, args []string) (int64, error) {
	again := append([]string{bin, "--max-memory", strconv.Itoa(lowMemory)}, args...)
	if takesForce(args) {
		again = append(again, "--force")
	}
	held, _, _, err := b.peakIn(ctx, dir, again...)
	if err != nil && strings.Contains(err.Error(), "exit status 7") { // it ran before, so nothing is wrong with its input
		return 0, nil
	}
	return held, err
}

// takesForce are commands that refuse to replace what they have made before.
func takesForce(args []string) bool {
	return slices.Contains([]string{"pack", "unpack", "cp"}, args[0]) && args[1] != "--append"
}

// serveMemory is the server with one answer of 30 planes; of no bytes if it refuses that.
func (b *bench) serveMemory(ctx context.Context, dir string, flags ...string) (answer, peak int64, err error) {
	d, err := b.startGateway(ctx, dir, flags...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = d.stop() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/slice/d/x.b2nd?s=0:30&format=npy", http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		return 0, 0, err
	}
	answer, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode == http.StatusRequestEntityTooLarge {
		return 0, 0, errors.Join(err, resp.Body.Close()) // refused
	}
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("serve: %s", resp.Status)
	}
	peak, err = processMemory(d.cmd.Process.Pid, "VmHWM")
	return answer, peak, err
}

// memoryInputs writes x.npy, x.jsonl, x.tar, x.wav, x.csv, token and rules.json.
func (b *bench) memoryInputs(dir string) error {
	size := pick(b, memorySize, 8<<20)
	c, err := b.newCube("x", seriesOf("f32 sine"), int64(size>>20), 512, 512)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(c.dir) }()
	frames := size / 4
	return errors.Join(
		os.Rename(c.npy(), filepath.Join(dir, "x.npy")),
		os.WriteFile(filepath.Join(dir, "x.jsonl"), eventLines(size/107, false), 0o600),
		writeWAV(filepath.Join(dir, "x.wav"), 2, 48_000, frames),
		os.WriteFile(filepath.Join(dir, "token"), []byte("0123456789abcdef0123456789abcdef\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "rules.json"), []byte(`[{"bucket":"bench","prefix":"m/","suffix":".tar","job":"pack","out":{"bucket":"packed"}}]`), 0o600),
		writeTo(filepath.Join(dir, "x.tar"), func(w io.Writer) error {
			_, err := makeTar(w, size/frameSize)
			return err
		}),
		writeTo(filepath.Join(dir, "x.csv"), func(w io.Writer) error {
			_, err := io.WriteString(w, "seconds,level\n")
			for i := 0; i < size/22 && err == nil; i++ {
				_, err = fmt.Fprintf(w, "%d.%03d,%.6f\n", 1000+i/1000, i%1000, wave(i))
			}
			return err
		}))
}

func writeTo(name string, f func(io.Writer) error) error {
	out, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	return errors.Join(f(w), w.Flush(), out.Close())
}
