package diskcache

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/rangeio"
)

// hammerVariable makes the test binary a process that uses the cache in a folder.
const hammerVariable = "FARREAD_TEST_HAMMER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(hammerVariable); dir != "" {
		if err := hammer(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const hammerBound = 2 << 20

// hammer reads and keeps parts of a few objects whose versions change, and fails if a
// byte is wrong. The second line of dir is a seed.
func hammer(dir string) error {
	dir, number, _ := strings.Cut(dir, "\n")
	seed, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 7))
	c, err := Open(Config{Dir: dir, MaxBytes: hammerBound})
	if err != nil {
		return err
	}
	for i := range 250 {
		if i == 60 {
			fmt.Println("half")
		}
		if i%50 == 49 { // as a new process would
			if err := c.Close(); err != nil {
				return err
			}
			if c, err = Open(Config{Dir: dir, MaxBytes: hammerBound}); err != nil {
				return err
			}
		}
		key, size := fmt.Sprint("key", r.IntN(12)), int64(200_000)
		ver := 1 + r.IntN(2)
		in := object(key, ver, size)
		k := c.Place("p").Version(in)
		off := r.Int64N(size)
		s := span(off, 1+r.Int64N(min(size-off, 60_000)))
		rest, _ := k.Missing([]rangeio.Span{s}, true)
		for _, m := range rest {
			content(key, ver, m)
		}
		for j, b := range s.P {
			if b != byteOf(key, ver, off+int64(j)) {
				return fmt.Errorf("byte %d of %s is wrong", off+int64(j), key)
			}
		}
		k.Keep(rest)
		if r.IntN(8) == 0 {
			k.Seen("", in)
		}
		if got, _, ok := c.Place("p").Last(key, ""); ok && (got.Key != key || got.Size != size) {
			return fmt.Errorf("%s is described as %+v", key, got)
		}
	}
	return nil
}

// TestProcesses: several processes use one small folder at once, and one of them is
// killed. No byte is wrong, the folder stays usable, and the bound holds.
func TestProcesses(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	dir := t.TempDir()
	type process struct {
		cmd *exec.Cmd
		out *bufio.Reader
	}
	var all []process
	for i := range 4 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", hammerVariable, dir, i))
		out, err := cmd.StdoutPipe()
		if err = errors.Join(err, cmd.Start()); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, bufio.NewReader(out)})
	}
	for i, p := range all {
		if i == 0 {
			if line, err := p.out.ReadString('\n'); line != "half\n" {
				t.Errorf("process 0: %q, %v", line, err)
			}
			if err := p.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = p.cmd.Wait()
			continue
		}
		text, _ := io.ReadAll(p.out)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, text)
		}
	}
	c := open(t, Config{Dir: dir, MaxBytes: hammerBound})
	if u := c.Usage(); u.Bytes > hammerBound || u.Bytes < hammerBound/4 {
		t.Errorf("%+v", u)
	}
	if v, err := c.Verify(t.Context()); err != nil || v.Damaged > 2 || v.Pieces == 0 {
		t.Errorf("%+v, %v", v, err) // of the process that was killed a segment and a description may be unfinished
	}
}
