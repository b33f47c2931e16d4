//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestZoomSources: series that Python's own modules and NumPy write come back through
// `farread pack` and `farread get` as they were, and the independent program finds
// every block of the files between right.
func TestZoomSources(t *testing.T) {
	dir, bin := t.TempDir(), program(t)
	script, err := filepath.Abs("zoomsources.py")
	if err != nil {
		t.Fatal(err)
	}
	var jobs []struct {
		Name   string
		Tracks int
		Stamps bool
		Origin string
	}
	runIn(t.Context(), t, strings.NewReader(""), &jobs, script, "make", dir)
	if len(jobs) < 40 {
		t.Fatalf("%d sources", len(jobs))
	}
	var read []pyJob
	for _, j := range jobs {
		src := filepath.Join(dir, j.Name)
		out := src + ".zoom"
		command(t, bin, "pack", src, out)
		command(t, bin, "verify", out)
		var info struct {
			Origin string `json:"utc_origin"`
			Tracks []struct{ Track int }
		}
		if err := json.Unmarshal(command(t, bin, "info", "--json", out), &info); err != nil || info.Origin != j.Origin || len(info.Tracks) != j.Tracks {
			t.Errorf("%s: %+v, %v", j.Name, info, err)
		}
		for i := range j.Tracks {
			n := strconv.Itoa(i + 1)
			command(t, bin, "get", out, "--track", n, "-o", fmt.Sprintf("%s.%s.want.got.npy", src, n))
			if j.Stamps {
				command(t, bin, "get", out, "--track", n, "--stamps", "-o", fmt.Sprintf("%s.%s.stamps.got.npy", src, n))
			}
		}
		read = append(read, zoomRead(out, "", nil))
	}
	var wrong []string
	runIn(t.Context(), t, strings.NewReader(""), &wrong, script, "check", dir)
	for _, text := range wrong {
		t.Error(text)
	}
	for i, got := range zoomJobs(t, read) {
		if got.Error != "" || len(got.Tracks) != jobs[i].Tracks {
			t.Errorf("%s: %d tracks, %s", jobs[i].Name, len(got.Tracks), got.Error)
		}
	}
}
