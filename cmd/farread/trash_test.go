package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The steps of making an output. Files and folders differ only in the object that is
// made and in the place where it appears.
var outputSteps = map[string]func(a *app, dir string) (steps []func() error, s *sink){
	"file": func(a *app, dir string) ([]func() error, *sink) {
		s := new(sink)
		return []func() error{
			func() (err error) { *s, err = a.byteSink(filepath.Join(dir, "out")); return err },
			func() error { _, err := (*s).(byteSink).Write([]byte("one")); return err },
			func() error { _, err := (*s).(byteSink).Write([]byte("two")); return err },
			func() error { return (*s).commit() },
		}, s
	},
	"folder": func(a *app, dir string) ([]func() error, *sink) {
		return folderSteps(a, filepath.Join(dir, "on", "the", "way", "out"))
	},
	"folder that is there": func(a *app, dir string) ([]func() error, *sink) {
		return folderSteps(a, filepath.Join(dir, "there"))
	},
}

func folderSteps(a *app, out string) ([]func() error, *sink) {
	s := new(sink)
	return []func() error{
		func() error {
			folder, err := a.newFolderSink(out, false)
			if err == nil {
				*s = folder
			}
			return err
		},
		func() error { return (*s).(*folderSink).file("one", []byte("1")) },
		func() error { return (*s).(*folderSink).file("sub/two", []byte("2")) },
		func() error { return (*s).commit() },
	}, s
}

// TestInterruptAnywhere: an interrupt comes between any two steps of an output. The
// run ends at once, or the command goes on until it notices. Either way the whole
// output is left or nothing, and the run can say which.
func TestInterruptAnywhere(t *testing.T) {
	t.Parallel()
	for name, make := range outputSteps {
		for _, abandoned := range []bool{false, true} {
			for at := range 5 {
				dir := t.TempDir()
				if err := os.Mkdir(filepath.Join(dir, "there"), 0o755); err != nil {
					t.Fatal(err)
				}
				a := &app{}
				steps, s := make(a, dir)
				var failed error
				for k, step := range steps {
					if k == at {
						a.trash.shut()
						if abandoned { // the process ends here; the abandoned command must leave nothing
							a.trash.empty()
						}
					}
					if failed == nil {
						failed = step()
					}
				}
				if *s != nil {
					(*s).abort()
				}
				if at == len(steps) {
					a.trash.shut()
				}
				a.trash.empty()
				left := files(t, dir)
				dirs := 0
				_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, _ error) error {
					if d.IsDir() {
						dirs++
					}
					return nil
				})
				whole := at == len(steps)
				switch {
				case whole != a.trash.settled() || whole != (failed == nil):
					t.Errorf("%s, interrupt before step %d, abandoned %v: settled %v, error %v", name, at, abandoned, a.trash.settled(), failed)
				case whole && len(left) == 0, !whole && (len(left) > 0 || dirs > 2): // dir and there
					t.Errorf("%s, interrupt before step %d, abandoned %v: left %v, %d folders", name, at, abandoned, left, dirs)
				case !whole && !abandoned && !errors.Is(failed, errInterrupted):
					t.Errorf("%s, interrupt before step %d: %v", name, at, failed)
				}
			}
		}
	}
}

// TestInterruptGet: get of a frame is interrupted hundreds of times, at any moment of
// its run. Exit 130 leaves nothing, and exit 0 the whole output.
func TestInterruptGet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selectors := everyFormat(t, dir, 64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	t.Cleanup(s.Close)
	want := map[string]map[string]string{}
	var took time.Duration
	for file, sel := range selectors {
		out := t.TempDir()
		start := time.Now()
		if r := getFrom(t, s.URL+"/"+file, out, sel, nil); r.code != 0 {
			t.Fatal(r.stderr)
		}
		took = max(took, time.Since(start))
		want[file] = files(t, out)
	}
	rounds := 100 // of five formats
	if testing.Short() {
		rounds = 10
	}
	ends := map[int]int{}
	for round := range rounds {
		for file, sel := range selectors {
			out := t.TempDir()
			var errs strings.Builder
			a := &app{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &errs, env: func(string) string { return "" }}
			interrupts := make(chan os.Signal, 1)
			if round == 0 {
				interrupts <- os.Interrupt
			} else {
				time.AfterFunc(took*time.Duration(round)/time.Duration(2*rounds), func() { interrupts <- os.Interrupt })
			}
			code := a.main(append([]string{"get", s.URL + "/" + file, "-o", filepath.Join(out, "out")}, sel...), interrupts, time.Hour)
			ends[code]++
			left := files(t, out)
			switch d := cmp.Diff(want[file], left); {
			case code == exitInterrupted && len(left) == 0 && errs.String() == "interrupted\n":
			case code == exitOK && d == "" && errs.String() == "":
			default:
				t.Fatalf("%s, round %d: exit %d %q, left %d files", file, round, code, errs.String(), len(left))
			}
		}
	}
	if ends[exitInterrupted] == 0 {
		t.Errorf("no run was interrupted: %v", ends)
	}
}
