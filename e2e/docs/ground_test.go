//go:build docs

package docs

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/teststack"
)

// A ground is where commands run: a local cloud that the quickstart has filled, the
// built programs, and the files that pages take for granted.
type ground struct {
	root, bin, files string
	stack            *teststack.Stack
	env              []string
}

// buckets are those that the pages name, beside the quickstart's own.
var buckets = []string{"archive", "arrays", "climate", "frames", "logs", "records", "series"}

func newGround(t *testing.T) *ground {
	t.Helper()
	g := &ground{root: scenario.Root(t), bin: os.Getenv("FARREAD_BIN"), files: t.TempDir()}
	if g.bin == "" {
		g.bin = filepath.Join(g.root, "bin")
	}
	t.Setenv("FARREAD_LOCALCLOUD", filepath.Join(g.bin, "localcloud"))
	began := time.Now()
	cloud := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(g.bin, "farread"), "quickstart", "--once", "--json", "--dir", cloud)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("quickstart: %v\n%s", err, out)
	}
	g.stack = teststack.Run(t, teststack.Options{Dir: cloud, Buckets: buckets,
		Args: []string{"--rules", filepath.Join(cloud, "rules.json"), "--functions", g.bin}})
	g.env = append(environ(t, g.stack, g.bin+":"+os.Getenv("PATH")), "FARREAD_RULES="+filepath.Join(cloud, "rules.json"))
	g.fill(t, cloud)
	t.Logf("the cloud is filled after %v", since(began))
	return g
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }

// fill makes the files that pages take for granted: what the quickstart has uploaded
// under the names of the pages, and some of other kinds.
func (g *ground) fill(t *testing.T, cloud string) {
	t.Helper()
	in := filepath.Join(cloud, "buckets", "uploads")
	out := filepath.Join(cloud, "buckets", "datasets")
	for name, from := range map[string]string{
		"rules.json": filepath.Join(cloud, "rules.json"), "storm.npy": in + "/arrays/storm.npy", "temperature.npy": in + "/arrays/storm.npy",
		"day1.jsonl": in + "/logs/requests.jsonl", "events.jsonl": in + "/logs/requests.jsonl", "day.wav": in + "/series/heart.wav",
		"tide.csv": in + "/series/tide.csv", "photos.tar": in + "/clips/sunrise.tar", "weather.b2nd": out + "/arrays/storm.npy.b2nd",
		"day.zoom": out + "/series/heart.wav.zoom", "talk.zoom": out + "/series/heart.wav.zoom",
		"data_0.gulp": out + "/clips/sunrise.tar.gulp", "meta_0.gmeta": out + "/clips/sunrise.tar.gmeta",
	} {
		g.file(t, name, []byte(read(t, from)))
	}
	frames, err := filepath.Glob(in + "/clips/aurora/*.jpg")
	if err != nil || len(frames) < 20 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for _, dir := range []string{"day1/a", "day2/b", "702766"} {
		for _, name := range frames {
			g.file(t, dir+"/"+filepath.Base(name), []byte(read(t, name)))
		}
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	g.file(t, "photos.tar.zst", e.EncodeAll([]byte(read(t, in+"/clips/sunrise.tar")), nil))
	g.file(t, "grid.raw", make([]byte, 720*1440*4))
	g.file(t, "samples.raw", make([]byte, 3_600_000*4*2))
	var records []byte
	for i := range 100 {
		records = append(binary.AppendUvarint(records, uint64(i)), make([]byte, i)...)
	}
	g.file(t, "messages.bin", records)
	g.file(t, "today.csv", []byte("time,level\n86400,-78\n86410,-71\n"))
	g.file(t, "air.csv", []byte("time,temp_C,dew_C\n2026-05-01,11.5,6\n2026-05-02,13,7.5\n2026-05-03,12,7\n"))
	g.file(t, "today.jsonl", []byte(`{"path": "/", "status": 200}`+"\n"))
	g.file(t, "event.json", []byte(`{"bucket": "uploads", "key": "clips/sunrise.tar"}`))
	g.file(t, "dead-letters.jsonl", []byte(`{"bucket": "uploads", "key": "clips/planet.zip"}`+"\n"))
	damaged := read(t, out+"/logs/requests.jsonl.blp")
	for _, name := range []string{"broken.blp", "records.blp"} {
		g.file(t, name, []byte(damaged[:len(damaged)/2]))
	}
	g.file(t, "logs.tar", tarOf(t, "app/error.log", strings.Repeat("all is well\n", 100)))
	photo := read(t, frames[0])
	g.file(t, "shard-000000.tar", tarOf(t, "000.cls", "7\n", "000.jpg", photo))
	for _, name := range []string{"cats/tabby.jpg", "cats/ginger.jpg", "dogs/pug.jpg"} {
		g.file(t, "classes/"+name, []byte(photo))
	}
}

// tarOf is a tar of names and contents.
func tarOf(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o600, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (g *ground) file(t *testing.T, name string, p []byte) {
	t.Helper()
	write(t, filepath.Join(g.files, name), p)
}

// folder is a new folder with all those files, by links.
func (g *ground) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	list, err := os.ReadDir(g.files)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := os.Symlink(filepath.Join(g.files, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// shell runs a line as it stands in a page.
func (g *ground) shell(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	// The address of a local cloud in a page is that of whoever wrote it.
	line = strings.ReplaceAll(line, "http://127.0.0.1:45277", g.stack.Endpoint)
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = dir, g.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs what comes before the lines of a page.
func (g *ground) must(t *testing.T, line string) {
	t.Helper()
	if out, err := g.shell(t, g.files, line); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// try runs a line of a page, which has to end well.
func (g *ground) try(t *testing.T, where, dir, line string) {
	t.Helper()
	began := time.Now()
	run := g.shell
	if strings.HasPrefix(line, "farread serve ") || strings.HasSuffix(line, " --open") {
		run = g.serve
	}
	out, err := run(t, dir, line)
	fmt.Printf("  %6.2f s  %s: %s\n", time.Since(began).Seconds(), where, line)
	if err != nil {
		t.Errorf("%s: %s: %v\n%.2000s", where, line, err, out)
	}
}

// serve runs a line that is a server. Once it has told its address, it answers there,
// and then gets a Ctrl-C, which has to end it in order.
func (g *ground) serve(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	if rest, ok := strings.CutPrefix(line, "farread serve "); ok && !regexp.MustCompile(`^[^#]* --addr`).MatchString(line) {
		line = "farread serve --addr 127.0.0.1:0 " + rest // another server may have the usual port
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", "exec "+line)
	cmd.Dir, cmd.Env = dir, g.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	stdin, err := cmd.StdinPipe() // open, for those that end with it
	if err != nil {
		return "", err
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	in := bufio.NewReader(out)
	told, err := in.ReadString('\n')
	address := regexp.MustCompile(`http://[0-9.:]+|unix:[^"\s]+`).FindString(told)
	if err == nil && address == "" {
		err = fmt.Errorf("no address in %q", told)
	}
	if err == nil {
		err = reached(t, address)
	}
	_ = cmd.Process.Signal(os.Interrupt) // it may be over already
	rest, _ := io.ReadAll(in)
	if ended := cmd.Wait(); err == nil && ended != nil && cmd.ProcessState.ExitCode() != 130 {
		err = ended
	}
	return told + string(rest) + stderr.String(), err
}

// reached makes a request that has to succeed.
func reached(t *testing.T, address string) error {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	path := "/ls/"
	if socket, ok := strings.CutPrefix(address, "unix:"); ok {
		address, path = "http://localhost", "/healthz" // its roots are all that there is
		client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
	if err != nil {
		return err
	}
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address+path, a.Status)
	}
	return nil
}
