package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// itemOf is a record: short, and no two alike.
func itemOf(dst []byte, i int64) []byte {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendInt(dst, i, 10)
	dst = append(dst, `,"v":0.`...)
	dst = strconv.AppendInt(dst, i*2654435761%997, 10)
	return append(dst, '}')
}

// uploadItems writes n records as a Bloscpack file into the bench bucket, as it
// is made: a stream whose table is put in front at the end. Nothing is kept of it
// here but the lengths.
func (b *bench) uploadItems(ctx context.Context, key string, n int64) error {
	bk, err := b.bucket(ctx, b.stack.Endpoint)
	if err != nil {
		return err
	}
	defer bk.CloseIdleConnections()
	w, err := bk.Create(ctx, key, objstore.PutOptions{})
	if err != nil {
		return err
	}
	defer w.Abort()
	const perItem = 16 // bytes of an item's length, and of its entry in the table
	p, err := bloscpack.NewWriter(w, bloscpack.WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}},
		Metadata: map[string]any{"container": "lines", "dtype": "varchar", "shape": []int64{n}}, Limits: formats.Limits{MaxMeta: perItem*n + 1<<20}})
	if err != nil {
		return err
	}
	var item []byte
	for i := range n {
		item = itemOf(item[:0], i)
		if err := p.WriteItem(item); err != nil {
			return err
		}
	}
	if err := p.Close(); err != nil {
		return err
	}
	_, err = w.Commit(ctx)
	return err
}

// bloscpackItem is one record of a million and of ten million, by its number, with
// a client and connections of its own each time; and what a reader holds.
func bloscpackItem(ctx context.Context, b *bench) ([]row, error) {
	if err := b.s3server(ctx); err != nil {
		return nil, err
	}
	// farread's own client takes its credentials from the environment.
	if err := errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", b.stack.AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", b.stack.SecretKey)); err != nil {
		return nil, err
	}
	x, err := b.before(ctx, rtt30())
	if err != nil {
		return nil, err
	}
	defer x.close()
	var rs []row
	most := pick(b, int64(10e6), 20_000)
	for _, n := range []int64{most / 10, most} {
		key := fmt.Sprintf("items-%d.blp", n)
		if err := b.uploadItems(ctx, key, n); err != nil {
			return nil, err
		}
		some, err := b.itemRows(ctx, x, key, n)
		if err != nil {
			return nil, err
		}
		rs = append(rs, some...)
	}
	memory, err := b.itemMemory(ctx, fmt.Sprintf("items-%d.blp", most), most)
	return append(rs, memory...), err
}

// itemMemory measures the peak memory of the command: for one item of very many,
// and while it verifies all of them.
func (b *bench) itemMemory(ctx context.Context, key string, n int64) ([]row, error) {
	if runtime.GOOS != "linux" {
		return []row{{job: "peak resident memory", note: "not measured: told on Linux"}}, nil
	}
	bin, err := b.buildCommand(ctx)
	if err != nil {
		return nil, err
	}
	uri := "s3://" + bucketName + "/" + key
	out := filepath.Join(b.dir, "item")
	one, _, err := b.peak(ctx, bin, "get", uri, "--item", strconv.FormatInt(n/2, 10), "-o", out)
	if err != nil {
		return nil, err
	}
	got, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	if want := itemOf(nil, n/2); !bytes.Equal(got, want) {
		return nil, fmt.Errorf("got %q as item %d, not %q", got, n/2, want)
	}
	all, took, err := b.peak(ctx, bin, "verify", uri)
	if err != nil {
		return nil, err
	}
	const most = 64 << 20
	return []row{
		{job: fmt.Sprintf("farread get --item of %d: peak resident, all of the program", n), goal: "<= " + mib(most), judged: true, met: one <= most, ours: mib(one)},
		{job: "farread verify of the same file: peak resident, all of the program", goal: "<= " + mib(most), judged: true, met: all <= most, ours: mib(all),
			note: fmt.Sprintf("%.1f s", took.Seconds())},
	}, nil
}

// peak runs a program and says how much of it was resident at the most. A new
// process is told to have held what the one held that started it, so a small one
// stands between: this program's own, which does nothing else.
func (b *bench) peak(ctx context.Context, args ...string) (held int64, took time.Duration, err error) {
	held, _, took, err = b.peakIn(ctx, "", args...)
	return held, took, err
}

// peakIn runs it in a folder, and also returns what it has printed.
func (b *bench) peakIn(ctx context.Context, dir string, args ...string) (held int64, printed []byte, took time.Duration, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, 0, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-peak"}, args...)...)
	if b.stack != nil {
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+b.stack.Endpoint, "AWS_REGION="+b.stack.Region)
	}
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &said
	start := time.Now()
	text, err := cmd.Output()
	took = time.Since(start)
	if err != nil {
		return 0, nil, 0, fmt.Errorf("%w: %s", err, &said)
	}
	first, printed, _ := bytes.Cut(text, []byte("\n"))
	held, err = strconv.ParseInt(string(first), 10, 64)
	return held, printed, took, err
}

// printPeak runs a program and prints how many bytes of it were resident at the
// most, and then what it printed.
func printPeak(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("-peak needs a program")
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, &said)
	}
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("this system does not tell")
	}
	_, err = fmt.Fprintf(out, "%d\n%s", u.Maxrss<<10, text) // KiB on Linux
	return err
}

// buildCommand builds the command as it is released.
func (b *bench) buildCommand(ctx context.Context) (string, error) {
	bin := filepath.Join(b.dir, "farread")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "./cmd/farread")
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build farread: %w\n%s", err, text)
	}
	return bin, nil
}

func (b *bench) itemRows(ctx context.Context, x *proxy, key string, n int64) ([]row, error) {
	fast, err := b.coldItems(ctx, x, key, n, rangeio.Policy{})
	if err != nil {
		return nil, err
	}
	lean, err := b.coldItems(ctx, x, key, n, rangeio.Lean())
	if err != nil {
		return nil, err
	}
	const most, beside = 75 * time.Millisecond, 64 << 10
	seen := func(c itemCost) string {
		return fmt.Sprintf("%s, %d phases, %d requests, %.1f KiB", ms(c.cold), c.stats.Phases, c.requests, float64(c.stats.Bytes)/1024)
	}
	name := fmt.Sprintf("one item of %d, cold, rtt30", n)
	return []row{
		{job: name, goal: fmt.Sprintf("<= 2 phases, %v", most), judged: true, met: fast.stats.Phases <= 2 && fast.cold <= most, ours: seen(fast)},
		{job: name + ", lean", goal: fmt.Sprintf("<= 2 phases, item + %d KiB", beside>>10), judged: true,
			met: lean.stats.Phases <= 2 && lean.stats.Bytes <= lean.item+beside, ours: seen(lean), note: fmt.Sprintf("item of %d bytes", lean.item)},
		{job: "another item, warm, the file opened before", ours: fmt.Sprintf("%s, at most %d requests", ms(fast.warm), fast.warmSeen), note: "one more request where its part of the table was not read yet"},
	}, nil
}

// itemCost is what one item takes. Times are medians, all else the most.
type itemCost struct {
	cold, warm         time.Duration
	stats              rangeio.Stats
	requests, warmSeen int64 // counted at the server
	item               int64 // bytes
}

func (b *bench) coldItems(ctx context.Context, x *proxy, key string, n int64, p rangeio.Policy) (itemCost, error) {
	var c itemCost
	var colds, warms []time.Duration
	for k := range int64(4*b.rounds + 1) {
		const step = 7919 * 104_729 // two primes, so that all places are met
		one, err := b.coldItem(ctx, x, key, (k+1)*step%n, (k+3)*step%n, p)
		if err != nil {
			return c, err
		}
		if k == 0 {
			continue // the process's own first time: tables of the SDK, page cache
		}
		colds, warms = append(colds, one.cold), append(warms, one.warm)
		c.stats.Phases, c.stats.Bytes = max(c.stats.Phases, one.stats.Phases), max(c.stats.Bytes, one.stats.Bytes)
		c.requests, c.warmSeen, c.item = max(c.requests, one.requests), max(c.warmSeen, one.warmSeen), max(c.item, one.item)
	}
	c.cold, c.warm = median(colds), median(warms)
	return c, nil
}

// coldItem opens the file with a new client for the sake of item i, reads it, then
// another.
func (b *bench) coldItem(ctx context.Context, x *proxy, key string, i, other int64, p rangeio.Policy) (itemCost, error) {
	var c itemCost
	count := &objstore.Counter{}
	client := farread.New(farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true, Counter: count, Policy: p})
	defer client.CloseIdleConnections()
	before, start := x.requests.Load(), time.Now()
	f, err := client.OpenBloscpack(ctx, "s3://"+bucketName+"/"+key, farread.BloscpackOptions{Options: bloscpack.Options{Item: i}})
	if err != nil {
		return c, err
	}
	got, err := f.AppendItem(ctx, nil, i)
	if err != nil {
		return c, err
	}
	c.cold, c.requests, c.stats, c.item = time.Since(start), x.requests.Load()-before, count.Stats(), int64(len(got))
	start = time.Now()
	next, err := f.AppendItem(ctx, nil, other)
	if err != nil {
		return c, err
	}
	c.warm, c.warmSeen = time.Since(start), x.requests.Load()-before-c.requests
	if !bytes.Equal(got, itemOf(nil, i)) || !bytes.Equal(next, itemOf(nil, other)) {
		return c, fmt.Errorf("wrong bytes of item %d or %d", i, other)
	}
	return c, nil
}
