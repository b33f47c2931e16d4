package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPageAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8080": "http://127.0.0.1:8080/", "http://[::]:80": "http://localhost:80/", "https://0.0.0.0:4431": "https://localhost:4431/", "http://[::1]:9": "http://[::1]:9/",
	} {
		if got := pageAddress(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for system, want := range map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open", "windows": "rundll32"} {
		if got := opener(system, "http://x/"); got[0] != want || got[len(got)-1] != "http://x/" || slices.Contains(got, "-c") {
			t.Errorf("%s: %q", system, got)
		}
	}
}

// TestServeOpen: the system's program is given the address of the page; if it fails, the
// server says so and goes on.
func TestServeOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("xdg-open is Linux's")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >\""+out+".new\" && mv \""+out+".new\" \""+out+"\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, url := serving(t, bloscDir, "--open")
	for range 200 {
		if p, err := os.ReadFile(out); err == nil {
			if got := strings.TrimSpace(string(p)); got != url+"/" {
				t.Errorf("opened %q, want %q", got, url+"/")
			}
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if status, text := fetched(t, url+"/"); status != 200 || !strings.Contains(text, `type="module"`) {
		t.Errorf("the page: %d %s", status, text)
	}
	t.Setenv("PATH", t.TempDir())
	_, url = serving(t, bloscDir, "--open")
	if status, _ := fetched(t, url+"/healthz"); status != 200 {
		t.Errorf("without xdg-open: %d", status)
	}
}

// TestServeNoPage: the page can be left out.
func TestServeNoPage(t *testing.T) {
	t.Parallel()
	_, url := serving(t, bloscDir, "--no-viewer")
	for _, path := range []string{"/", "/ui/app.js"} {
		if status, _ := fetched(t, url+path); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}
