package quickstart

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/internal/stack"
	"github.com/farread/farread/objstore"
)

// TestProgram runs the real program: once for scripts, and then until a Ctrl-C or the
// end of its cloud.
func TestProgram(t *testing.T) {
	o, _ := options(t)
	out, err := exec.Command(o.Program, "quickstart", "--once", "--json").Output()
	var r Report
	d := json.NewDecoder(bytes.NewReader(out))
	d.DisallowUnknownFields()
	if err = errors.Join(err, d.Decode(&r)); err != nil || r.Uploads != 7 || len(r.Reads) != 15 || r.Pictures == nil || len(r.Pictures) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	ends(t, o.Program, func(pid int) int { return pid }, 130, "interrupted")
	ends(t, o.Program, func(pid int) int { return offspring(pid)[0] }, 6, "localcloud ended: ")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// ends interrupts one of the program's processes after the tour: then all processes
// have to end.
func ends(t *testing.T, program string, victim func(pid int) int, code int, says string) {
	t.Helper()
	cmd := exec.Command(program, "quickstart")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // usually gone
	page := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "Ctrl-C"); {
		if line, err = page.ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
	}
	running := offspring(cmd.Process.Pid)
	if len(running) < 2 {
		t.Fatalf("children: %v, want localcloud and a function", running)
	}
	if err := syscall.Kill(victim(cmd.Process.Pid), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(page)
	_ = cmd.Wait() // the exit code is looked at below
	if got := cmd.ProcessState.ExitCode(); got != code || err != nil || len(rest) > 0 || !strings.Contains(stderr.String(), says) || strings.Count(stderr.String(), "\n") > 1 {
		t.Errorf("exit code %d, want %d, %v: %s%s", got, code, err, rest, &stderr)
	}
	deadline := time.Now().Add(time.Minute) // it takes that long only if it hangs
	for _, pid := range running {
		for _, alive := processes()[pid]; alive; _, alive = processes()[pid] { // an orphan is gone once its new parent has collected it
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// processes are those that run, with their parents. One that has ended but was not yet
// collected does not run.
func processes() map[int]int {
	parents := map[int]int{}
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=").Output() // on an error there are none, and the caller misses some
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		var state string
		if _, err := fmt.Sscan(line, &pid, &parent, &state); err == nil && state[0] != 'Z' {
			parents[pid] = parent
		}
	}
	return parents
}

// offspring are the processes that pid has started, and those that they have started.
func offspring(pid int) (all []int) {
	for child, parent := range processes() {
		if parent == pid {
			all = append(append(all, child), offspring(child)...)
		}
	}
	return all
}

// TestRefuses: faults are told before anything runs.
func TestRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	dir, other, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	for name, text := range map[string]string{
		file: "", dir + "/go.mod": stack.Module + "\n\ngo 1.26\n", dir + "/localcloud/go.mod": stack.Module + "/localcloud\n\ngo 1.26\n", dir + "/deep/down/note": "",
		dir + "/cmd/fn-pack/main.go": "package main\n\nfunc main() {}\n", dir + "/cmd/fn-zoom/main.go": "package main\n\nfunc main() {}\n",
		dir + "/localcloud/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(\"localcloud: not today\")\n\tos.Exit(1)\n}\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(other, "farread")
	for _, tt := range []struct {
		o    Options
		is   error
		text string
	}{
		{Options{Port: taken}, objstore.ErrUnavailable, fmt.Sprintf("--port %d: address already in use (0 takes a free one)", taken)},
		{Options{Port: 65536}, objstore.ErrInvalid, "--port 65536 is not in 1 to 65535"},
		{Options{Dir: file}, objstore.ErrInvalid, "--dir: " + file + " is not a folder"},
		{Options{Dir: "/sys/kernel/farread"}, fs.ErrPermission, "--dir: mkdir /sys/kernel/farread"},
		{Options{Program: program, Work: other}, fs.ErrNotExist, "localcloud and fn-pack/bootstrap and fn-zoom/bootstrap not found beside " + program},
		{Options{Program: program, Work: filepath.Join(dir, "deep", "down")}, objstore.ErrUnavailable, "localcloud did not start: not today"},
	} {
		var out, errw bytes.Buffer
		if tt.o.Dir == "" {
			tt.o.Dir = t.TempDir()
		}
		err := Run(t.Context(), tt.o, &out, &errw)
		if _, missing := os.Stat("/sys/kernel"); missing != nil && errors.Is(tt.is, fs.ErrPermission) {
			continue // a folder that nobody may write to, not even root
		}
		if !errors.Is(err, tt.is) || !strings.HasPrefix(err.Error(), tt.text) || out.Len() > 0 {
			t.Errorf("%q: %v\n%s", tt.text, err, &out)
		}
		if built := "building localcloud"; strings.Contains(errw.String(), built) != strings.HasSuffix(tt.text, "not today") {
			t.Errorf("%q: %q", tt.text, &errw)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cmd", "fn-pack", "main.go"), []byte("package main\n\nfunc main() { undefined() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := findParts(t.Context(), Options{Program: program, Work: dir, Terminal: true}, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Error(err)
	}
}

// TestAwait: an upload is done after its last try, whatever else happens.
func TestAwait(t *testing.T) {
	run := func(bucket, key string, failed, dead bool) stack.Invocation {
		return stack.Invocation{OK: !failed, Records: []stack.Record{{Bucket: uploads}, {Bucket: bucket, Key: key, Failed: failed, Dead: dead}}}
	}
	for dead, want := range map[bool]error{false: nil, true: objstore.ErrUnavailable} {
		runs := make(chan stack.Invocation, 5)
		for n, i := range []stack.Invocation{run(uploads, "b", false, false), run(datasets, "a", false, false), run(uploads, "a", true, false), run(uploads, "a", dead, dead), {}} {
			i.MS = float64(n)
			runs <- i
		}
		tr := &tour{cloud: &stack.Process{Invocations: runs}}
		if i, err := tr.await(t.Context(), "a"); i.MS != 3 || !errors.Is(err, want) {
			t.Errorf("%v: %+v %v", dead, i, err)
		}
	}
}
