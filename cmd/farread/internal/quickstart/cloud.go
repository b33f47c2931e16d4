package quickstart

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

const (
	host = "127.0.0.1"
	// startLimit is far above the 0.3 s that a start takes, for slow machines.
	startLimit = 30 * time.Second
	// stopLimit fits twice into the second in which Ctrl-C is answered: the
	// cloud ends by itself within some 10 ms unless requests hang.
	stopLimit = 400 * time.Millisecond
)

// An invocation is a line that localcloud prints when a function has ended.
type invocation struct {
	Event    string   `json:"event"`
	Function string   `json:"function"`
	Records  []record `json:"records"`
	MS       float64  `json:"ms"`
	Cold     bool     `json:"cold"`
	OK       bool     `json:"ok"`
	Error    string   `json:"error"`
}

type record struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Try    int    `json:"try"`
	Failed bool   `json:"failed"`
	Dead   bool   `json:"dead"` // there will be no other try
}

// cloud is the running child process.
type cloud struct {
	endpoint Endpoint
	dir      string
	took     time.Duration
	lines    chan invocation // closed when the child's output ends
	ended    chan struct{}   // closed when the child has ended

	cmd   *exec.Cmd
	stdin io.Closer
	log   *tail
	once  sync.Once
	asked chan struct{} // closed once it was told to stop
	err   error         // of its end, valid after ended
}

// portFree fails when another program has the port.
func portFree(ctx context.Context, port int) error {
	if port == 0 {
		return nil
	}
	if port < 0 || port > 65535 {
		return &problem{fmt.Sprintf("--port %d is not in 1 to 65535", port), objstore.ErrInvalid}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return unavailable("--port %d: %v (0 takes a free one)", port, cause(err))
	}
	return l.Close()
}

// cause drops what net says about an address that the flag has named.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}

// startCloud starts localcloud and waits until it answers.
func startCloud(ctx context.Context, p parts, dir string, port int, r functions.Rules) (_ *cloud, err error) {
	start := time.Now()
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "rules.json")
	if err := os.WriteFile(file, append(doc, '\n'), 0o600); err != nil {
		return nil, err
	}
	c := &cloud{dir: dir, lines: make(chan invocation, 1024), ended: make(chan struct{}), asked: make(chan struct{}), log: &tail{}}
	// Not CommandContext: stop asks before it kills.
	c.cmd = exec.Command(p.cloud, "--dir", dir, "--addr", net.JoinHostPort(host, strconv.Itoa(port)), //nolint:gosec,noctx // our own binary; stop ends it
		"--rules", file, "--functions", p.functions, "--exit-with-stdin")
	c.cmd.Stderr = c.log
	c.cmd.WaitDelay = stopLimit // for a log that a grandchild would hold open
	apart(c.cmd)
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("localcloud: %w", err)
	}
	first := make(chan error, 1)
	go c.read(out, first)
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case err = <-first:
		if err != nil {
			<-c.ended
			err = unavailable("localcloud did not start: %s", c.lastWords())
		}
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit.C:
		err = unavailable("localcloud did not answer within %s", startLimit)
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	c.took = time.Since(start)
	return c, nil
}

// read takes the child's lines and then its end.
func (c *cloud) read(out io.Reader, first chan<- error) {
	r := bufio.NewReader(out)
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.endpoint)
	}
	first <- err
	for err == nil {
		if line, err = r.ReadBytes('\n'); err != nil {
			break
		}
		var i invocation
		if json.Unmarshal(line, &i) != nil || i.Event != "invocation" {
			continue // lines of later versions
		}
		select {
		case c.lines <- i:
		case <-c.asked:
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.stdin.Close() // no line of ours: make it end
	}
	_, _ = io.Copy(io.Discard, r)
	close(c.lines)
	c.err = c.cmd.Wait()
	close(c.ended)
}

// died is why the child ended although nobody had asked it to; nil while it runs.
func (c *cloud) died() error {
	select {
	case <-c.asked:
		return nil
	default:
	}
	select {
	case <-c.ended:
		return unavailable("localcloud ended: %s", c.lastWords())
	default:
		return nil
	}
}

// lastWords is the error that the child ended with, or how it ended. Its log is
// no answer.
func (c *cloud) lastWords() string {
	const own = "localcloud: "
	for _, line := range slices.Backward(strings.Split(c.log.String(), "\n")) {
		if s, ok := strings.CutPrefix(line, own); ok {
			return strings.TrimSpace(s)
		}
	}
	if c.err != nil {
		return c.err.Error()
	}
	return "without a word"
}

// stop ends the child and all that it started. It returns when it is gone.
func (c *cloud) stop() {
	c.once.Do(func() {
		close(c.asked)
		c.stdin.Close()
		terminate(c.cmd)
	})
	t := time.NewTimer(stopLimit)
	defer t.Stop()
	select {
	case <-c.ended:
	case <-t.C:
		kill(c.cmd)
		<-c.ended
	}
}

// tail keeps the end of what a child logs.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 16<<10; n > 0 {
		t.b = bytes.Clone(t.b[n:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
