//go:build peers

package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// serveFolder runs the command that serves a folder as "data", until the test ends, and
// returns its URL.
func serveFolder(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program(t), append([]string{"serve", "data=" + dir, "--addr", "127.0.0.1:0", "--ttl", "0", "--ready-json", "--quiet"}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context has ended
	var ready struct{ URL string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil || ready.URL == "" {
		t.Fatalf("%v: %q\n%s", err, line, stderr.Bytes())
	}
	return ready.URL
}

// TestServed: clients of Zarr read from `farread serve` what python-blosc2 reads from the
// files, and an array that is gone is an error in all of them.
func TestServed(t *testing.T) {
	dir := t.TempDir()
	few := []string{"nd2.b2nd", "nd3.b2nd", "nd4_auto.b2nd", "dtype_b1.b2nd", "dtype_u1.b2nd", "dtype_lei8.b2nd", "dtype_bei4.b2nd", "dtype_bef8.b2nd", "dtype_lef2.b2nd", "dtype_lec8.b2nd",
		"make_zeros.b2nd", "make_nans_f4.b2nd", "scalar_f8.b2nd", "make_arange2d.b2nd"}
	all := append([]string{"dtype_S7.b2nd", "dtype_leU5.b2nd", "dtype_leM8_ns.b2nd"}, few...)
	for _, name := range all {
		writeFile(t, filepath.Join(dir, name), loaded(t, filepath.Join(b2ndFixtures, name)))
	}
	in, err := json.Marshal(map[string]any{"url": serveFolder(t, dir), "dir": dir, "arrays": all, "few": few})
	if err != nil {
		t.Fatal(err)
	}
	var out *struct {
		Read   map[string]int
		Faults []string
	}
	runIn(t.Context(), t, bytes.NewReader(in), &out, "read_served.py")
	switch {
	case out != nil:
	case os.Getenv("FARREAD_PEERS_REQUIRE") != "":
		t.Fatal("no Python with xarray, obstore, tensorstore, fsspec and aiohttp: run 'make venv'")
	default:
		t.Skip("no Python with xarray, obstore, tensorstore, fsspec and aiohttp: run 'make venv'")
	}
	for _, fault := range out.Faults {
		t.Error(fault)
	}
	t.Logf("arrays read: %v", out.Read)
	for _, client := range []string{"fsspec", "obstore", "tensorstore", "xarray", "dask"} {
		if out.Read[client] < len(few) {
			t.Errorf("%s read %d arrays", client, out.Read[client])
		}
	}
}
