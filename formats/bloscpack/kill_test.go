package bloscpack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/s3store"
	"github.com/farread/farread/rangeio"
)

// childEnv tells TestChild what to write, and where: "what where". The test then kills
// it.
const childEnv = "FARREAD_BLOSCPACK_CHILD"

// killItem is item i of the files that children write.
func killItem(i int64) []byte {
	return fmt.Appendf(bytes.Clone(killText()[i*37%60_000:][:i*31%400]), "item %d", i)
}

var killText = sync.OnceValue(func() []byte { return text(rand.New(rand.NewPCG(1, 5)), 61_000) })

// TestChild is no test: TestKilled runs it as a process of its own.
func TestChild(t *testing.T) {
	what, where, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		t.Skip("run by TestKilled")
	}
	if what == "append" {
		childAppend(t, where)
		return
	}
	b := childBucket(t, where)
	w, err := b.Create(t.Context(), "k.blp", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bw, err := NewWriter(w, WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}, Parallel: 2, Metadata: "of items"})
	if err != nil {
		t.Fatal(err)
	}
	for i := int64(0); what == "stream" || i < closeItems; i++ {
		if err := bw.WriteItem(killItem(i)); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 999 {
			say(i + 1)
		}
	}
	say("closing")
	if err := bw.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	say("committed")
	select {} // until it is killed
}

var closeItems = racetest.Share[int64](40_000, 3)

func say(v any) { fmt.Fprintln(os.Stdout, v) }

func childBucket(t *testing.T, where string) objstore.Bucket {
	t.Helper()
	var b objstore.Bucket
	var err error
	if parts := strings.Split(where, "|"); len(parts) == 3 {
		b, err = s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: parts[0], AccessKey: parts[1], SecretKey: parts[2]})
	} else {
		b, err = filestore.New(filestore.Config{Dir: where})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// child runs TestChild and returns its output.
func child(t *testing.T, what, where string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$")
	c.Env = append(os.Environ(), childEnv+"="+what+" "+where, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
	return c, bufio.NewScanner(out)
}

func kill(c *exec.Cmd) {
	_ = c.Process.Kill() // it may be gone
	_ = c.Wait()         // killed
}

// heard reads the output of a child up to a line, and fails if it ends before.
func heard(t *testing.T, s *bufio.Scanner, line string) {
	t.Helper()
	for s.Scan() {
		if s.Text() == line {
			return
		}
	}
	t.Fatalf("the child ended before it said %q", line)
}

// pause is a time that is different in each round.
func pause(most time.Duration) { <-time.After(rand.N(most)) }

// TestKilledFile kills a process that writes a file. Then no file has the name, or a
// whole one. The temporary files are known to be aborted, and their items can be
// salvaged.
func TestKilledFile(t *testing.T) {
	t.Parallel()
	for round := range 6 {
		dir := t.TempDir()
		what, line := "stream", "10000" // more than buffers hold
		if round > 0 {
			what, line = "close", "closing"
		}
		c, s := child(t, what, dir)
		heard(t, s, line)
		if round > 0 {
			pause(60 * time.Millisecond)
		}
		kill(c)
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		best := int64(0)
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".tmp") && f.Name() != "k.blp" {
				t.Errorf("round %d: there is a file %s", round, f.Name())
			}
			n, whole := checkKilled(t, filepath.Join(dir, f.Name()))
			if best = max(best, n); f.Name() == "k.blp" && !whole || whole && n != closeItems {
				t.Errorf("round %d: %s looks whole: %t, %d items", round, f.Name(), whole, n)
			}
		}
		// Items that a child had not yet handed on are lost: a few batches.
		if least := map[bool]int64{true: 5000, false: closeItems / 2}[round == 0]; best < least {
			t.Errorf("round %d: %d items can be had of %d files", round, best, len(files))
		}
	}
}

// checkKilled counts the right items in a file, and says whether the file is finished.
func checkKilled(t *testing.T, name string) (n int64, whole bool) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
	if err != nil {
		if !errors.Is(err, formats.ErrCorrupt) || len(b) > 5<<20 {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		return 0, false
	}
	check := func(i int64, p []byte) error {
		if want := killItem(n); i != n || !bytes.Equal(p, want) {
			return fmt.Errorf("item %d is %q, not %q", i, p, want)
		}
		n++
		return nil
	}
	if f.Aborted() {
		_, err = f.Salvage(t.Context(), func(i int64, _, p []byte) error { return check(i, p) })
	} else {
		err = f.Each(t.Context(), 0, f.Len(), check)
	}
	if err != nil {
		t.Fatalf("%s, aborted %t: %v", name, f.Aborted(), err)
	}
	return n, !f.Aborted()
}

// TestKilledUpload: if a process is killed while it writes to S3, either nothing of
// the object is there, or all.
func TestKilledUpload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts an S3 server")
	}
	stack := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	where := stack.Endpoint + "|" + stack.AccessKey + "|" + stack.SecretKey
	b := childBucket(t, where)
	for round := range 4 {
		what, line := "stream", strconv.Itoa(racetest.Share(100_000, 10)) // parts are on their way, but for the race detector's
		if round > 0 {
			what, line = "close", "closing"
		}
		c, s := child(t, what, where)
		heard(t, s, line)
		if round > 0 {
			pause(100 * time.Millisecond)
		}
		kill(c)
		o, err := objstore.Open(t.Context(), b, "k.blp", objstore.OpenOptions{})
		if errors.Is(err, objstore.ErrNotFound) {
			continue
		}
		if err != nil || round == 0 {
			t.Fatalf("round %d: %v", round, err)
		}
		f, err := Open(t.Context(), o, Options{})
		if err != nil || f.Len() != closeItems || f.Aborted() {
			t.Fatalf("round %d: %v", round, err)
		}
		if r, err := f.Verify(t.Context(), nil); err != nil || r.Missing > 0 {
			t.Errorf("round %d: %+v, %v", round, r, err)
		}
		if err := b.Delete(t.Context(), "k.blp"); err != nil {
			t.Fatal(err)
		}
	}
}

// appended is byte i of the file that children append to.
func appended(from, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		k := from + i
		b[i] = byte(k*k>>7) ^ byte(k>>11)
	}
	return b
}

// childAppend appends again and again, with an editor of its own each time.
func childAppend(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	bf, err := Open(t.Context(), rangeio.FromReaderAt(f, st.Size()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := bf.Header()
	total := int(h.ChunkSize*(h.Chunks-1) + h.LastChunk)
	for i := 0; ; i++ {
		n := 1 + (i*7919)%60_000
		if err := appendTo(t.Context(), f, appended(total, n)); err != nil {
			t.Fatal(err)
		}
		total += n
		say(total)
	}
}

func appendTo(ctx context.Context, f *os.File, p []byte) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	e, err := Edit(ctx, f, st.Size(), EditOptions{})
	if err != nil {
		return err
	}
	if err := e.Extend(p); err != nil {
		return err
	}
	return e.Close()
}

// TestKilledAppend kills a process that appends in place. The file is whole, or known
// to be aborted, and no data of a closed editor are lost.
func TestKilledAppend(t *testing.T) {
	t.Parallel()
	aborted := 0
	for round := range 10 {
		name := filepath.Join(t.TempDir(), "x.blp")
		if err := os.WriteFile(name, writeAll(t, appended(0, 25_000), WriteOptions{ChunkSize: 10_000, MaxAppend: 20_000}), 0o600); err != nil {
			t.Fatal(err)
		}
		c, s := child(t, "append", name)
		total := 25_000
		for range 1 + round%3 {
			if s.Scan() {
				total = atoi(t, s.Text())
			}
		}
		pause(5 * time.Millisecond)
		_ = c.Process.Kill() // it may be gone
		for s.Scan() {       // the lines that it had written by then
			total = atoi(t, s.Text())
		}
		kill(c)
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		if openBytes(t, b).Aborted() {
			aborted++
			got = bytes.Join(salvaged(t, b), nil)
		} else {
			got = whole(t, b)
		}
		if len(got) < total || !bytes.Equal(got[:total], appended(0, total)) {
			t.Fatalf("round %d: %d bytes were closed, %d are right", round, total, commonLen(got, appended(0, total)))
		}
	}
	t.Logf("aborted in %d of 10 rounds", aborted)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
