package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
)

// TestOpenLink: the page is opened at what the arguments select, the system's program gets
// the address that is printed, and Ctrl-C is no error.
func TestOpenLink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("xdg-open is Linux's")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "opened")
	write(t, filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >\""+out+".new\" && mv \""+out+".new\" \""+out+"\"\n"))
	if err := os.Chmod(filepath.Join(dir, "xdg-open"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	const arrays, series = "../../formats/b2nd/testdata/", zoomFiles + "/p-multitrack.zoom"
	for i, c := range []struct {
		args []string
		want string
	}{
		{[]string{"slice", arrays + "nd2.b2nd", "10:20, -5:"}, "/#/nd2.b2nd?i=10,82&win=10,20,82,87"},
		{[]string{"slice", served(t, arrays) + "/nd2.b2nd", "...", "--range", "-1:2.5", "--colors", "gray"}, "/#/nd2.b2nd?map=gray&range=-1,2.5"},
		{[]string{"view", series, "--track", "slow", "--from", "0.1", "--to", "2011-11-05T12:00:00.25Z"}, "/#/p-multitrack.zoom?show=2&from=0.1&to=0.249999998766"},
		{[]string{"view", served(t, zoomFiles) + "/p-multitrack.zoom"}, "/#/p-multitrack.zoom"},
	} {
		if t.Setenv("PATH", dir+string(os.PathListSeparator)+path); i == 1 {
			t.Setenv("PATH", t.TempDir()) // no browser: the link is there all the same
		}
		_ = os.Remove(out)
		p, url := showing(t, append(c.args, "--open", "--json")...)
		base, rest, _ := strings.Cut(url, "/#")
		if "/#"+rest != c.want {
			t.Errorf("%q: %s, want %s", c.args, url, c.want)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "?")
		if status, text := fetched(t, base+"/info/"+name); status != 200 {
			t.Errorf("%q: %d %s", c.args, status, text)
		}
		for range 200 {
			if p, err := os.ReadFile(out); err == nil {
				if got := strings.TrimSpace(string(p)); got != url {
					t.Errorf("opened %q, want %q", got, url)
				}
				break
			}
			if i == 1 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		p.signal(os.Interrupt)
		if code := p.wait(); code != exitOK || i != 1 && p.errs.String() != "" {
			t.Errorf("%q: exit %d %s", c.args, code, p.errs.String())
		}
	}
}

// showing is a process that serves or shows a dataset, and the link that it prints.
func showing(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	return newProcess(t, args...).listening(t)
}

// listening starts a server, and returns its address.
func (p *process) listening(t *testing.T) (*process, string) {
	t.Helper()
	args := p.cmd.Args[1:]
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(p.started)
	line, err := bufio.NewReader(out).ReadString('\n')
	var told struct{ URL string }
	if err != nil || json.Unmarshal([]byte(line), &told) != nil || told.URL == "" {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		t.Fatalf("%q %q: %v\n%s", args, line, err, p.errs.String())
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, told.URL
}

// TestOpenRefuses: what the command would refuse, and flags of its output.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const arrays, series = "../../formats/b2nd/testdata/", zoomFiles + "/p-multitrack.zoom"
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--output does not go with --open", []string{"slice", arrays + "nd2.b2nd", "3", "-o", "x.npy"}},
		{"--where does not", []string{"slice", arrays + "nd2.b2nd", "--where", "v > 3"}},
		{"--dtype does not", []string{"slice", arrays + "nd2.b2nd", "3", "--dtype", "<u2"}},
		{"--width does not", []string{"view", series, "--width", "30"}},
		{"--format does not", []string{"view", series, "--format", "csv"}},
		{"has no items", []string{"slice", arrays + "nd2.b2nd", "3:3"}},
		{"out of bounds", []string{"slice", arrays + "nd2.b2nd", "1000"}},
		{"past the end", []string{"view", series, "--track", "1", "--from", "40h"}},
		{"is not before", []string{"view", series, "--from", "2", "--to", "1"}},
		{"track 7: no such entry", []string{"view", series, "--track", "7"}},
		{"farread serve --open show other", []string{"view", arrays + "nd2.b2nd"}},
	} {
		r := runner{}.run(t, append(c.args, "--open")...)
		if r.code == 0 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: exit %d %q, want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// TestBoxState: which axes, place, window and point a slice becomes.
func TestBoxState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape       []int64
		slice, want string
	}{
		{nil, "...", ""},
		{[]int64{90}, "5", "?i=5&point=0,5"},
		{[]int64{90}, "5:60:7", "?i=5&win=5,55"},
		{[]int64{90}, "::-1", ""},
		{[]int64{90, 80}, "3, 4", "?i=3,4&point=3,4"},
		{[]int64{90, 80}, ":, 4", "?i=0,4&point=0,4&profile=0"},
		{[]int64{90, 80}, "7:9", "?i=7,0&win=7,9,0,80"},
		{[]int64{90, 80}, "-1:-4:-1, -1:", "?i=87,79&win=87,90,0,80&point=87,79&profile=0"},
		{[]int64{24, 90, 80}, "3", "?i=3,0,0"},
		{[]int64{24, 90, 80}, ":, 7, 60", "?ax=0,2&i=0,7,60&point=0,60&profile=0"},
		{[]int64{24, 90, 80}, "2:8, :, 60", "?ax=0,1&i=2,0,60&win=2,8,0,90"},
		{[]int64{24, 90, 80}, "2:8, 10:20, 30:40", "?i=2,10,30&win=10,20,30,40"},
		{[]int64{24, 1, 80}, "2:8, 0", "?ax=0,2&i=2,0,0&win=2,8,0,80"},
		{[]int64{1, 1}, "0, 0", ""},
	} {
		s, err := b2nd.ParseSlice(c.slice)
		if err != nil {
			t.Fatal(err)
		}
		box, err := s.Resolve(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if got := query(boxState(box, c.shape)); got != c.want {
			t.Errorf("%v[%s]: %q, want %q", c.shape, c.slice, got, c.want)
		}
	}
}
