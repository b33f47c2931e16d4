package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFlagsOfKinds holds each flag that is about some kinds of objects against all
// kinds: those kinds take the flag, the others refuse it in one line. No kind ignores
// a flag in silence.
func TestFlagsOfKinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	write(t, name("a.txt"), []byte(strings.Repeat("hello\n", 50)))
	write(t, name("a.csv"), []byte("time,v\n1,2\n2,3\n3,4\n"))
	if err := os.MkdirAll(name("plain"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, name("plain/a.txt"), []byte("a"))
	write(t, name("photos.tar"), photosTar(t))
	run(t, "pack", name("photos.tar"), name("x.gulp"))
	run(t, "pack", name("photos.tar"), name("set/"), "--format", "gulp")
	run(t, "pack", name("a.txt"), name("x.b2frame"))
	run(t, "pack", name("a.txt"), name("x.blp"))
	run(t, "pack", name("a.csv"), name("x.zoom"))
	kinds := map[string]string{"gulp": name("x.gulp"), "set": name("set"), "b2nd": bloscDir + "/nd2.b2nd", "sparse": bloscDir + "/sparse_dir.b2nddir",
		"b2frame": name("x.b2frame"), "blosc": "../../formats/all/testdata/chunk.blosc", "blp": name("x.blp"), "zoom": name("x.zoom"), "plain": name("plain")}
	folders := []string{"set", "sparse", "plain"}
	out := func(kind string) string { return filepath.Join(t.TempDir(), kind) }
	for flag, c := range map[string]struct {
		args  func(kind string) []string
		takes []string
	}{
		"ls --objects":    {func(kind string) []string { return []string{"ls", kinds[kind], "--objects"} }, folders},
		"verify --repair": {func(kind string) []string { return []string{"verify", kinds[kind], "--repair", out(kind)} }, []string{"blp"}},
		"view --width":    {func(kind string) []string { return []string{"view", kinds[kind], "--width", "5"} }, []string{"zoom"}},
		"view --resync":   {func(kind string) []string { return []string{"view", kinds[kind], "--width", "5", "--resync"} }, []string{"zoom"}},
		"get --resync":    {func(kind string) []string { return []string{"get", kinds[kind], "--resync", "-o", "-"} }, []string{"zoom"}},
		"get --track":     {func(kind string) []string { return []string{"get", kinds[kind], "--track", "1", "-o", "-"} }, []string{"zoom"}},
		"get --frames":    {func(kind string) []string { return []string{"get", kinds[kind], "--frames", "0", "-o", out(kind)} }, []string{"gulp"}}, // without --id
		"get --item":      {func(kind string) []string { return []string{"get", kinds[kind], "--item", "1", "-o", "-"} }, []string{"blp"}},
		"explain --width": {func(kind string) []string { return []string{"explain", kinds[kind], "--width", "5"} }, []string{"zoom"}},
	} {
		for kind := range kinds {
			r := runner{}.run(t, c.args(kind)...)
			switch {
			case slices.Contains(c.takes, kind):
				if r.code != exitOK {
					t.Errorf("%s of %s: exit %d, %q", flag, kind, r.code, r.stderr)
				}
			case kind == "plain" && r.code == exitCorrupt && !strings.HasPrefix(flag, "ls"): // nothing can be read from it at all
			case r.code != exitUsage || r.stdout != "" || strings.Count(r.stderr, "\n") != 1:
				t.Errorf("%s of %s: exit %d, %q; want it refused", flag, kind, r.code, r.stderr)
			}
		}
	}
	for _, command := range [][]string{{"info"}, {"ls"}, {"verify"}, {"explain"}, {"get", "-o", "-"}, {"unpack", out("x")}} {
		for kind, uri := range kinds {
			args := slices.Insert(slices.Clone(command), 1, uri)
			r := runner{}.run(t, append(args, "--offset", "3")...)
			if r.code == exitOK || (slices.Contains(folders, kind) || kind == "gulp") && (r.code != exitUsage || !strings.Contains(r.stderr, "--offset 3: ")) {
				t.Errorf("%v of %s: exit %d, %q", command, kind, r.code, r.stderr)
			}
		}
	}
	// A flag that asks for something that is so anyway is no mistake: an index that
	// tells all, no checksums.
	for kind, uri := range kinds {
		for _, args := range [][]string{{"ls", uri, "--scan"}, {"info", uri, "--scan"}} {
			if r := (runner{}).run(t, args...); r.code != exitOK {
				t.Errorf("%v of %s: exit %d, %q", args, kind, r.code, r.stderr)
			}
		}
		if kind == "plain" {
			continue
		}
		if r := (runner{}).run(t, "unpack", uri, out(kind), "--no-verify"); r.code != exitOK {
			t.Errorf("unpack --no-verify of %s: exit %d, %q", kind, r.code, r.stderr)
		}
	}
}

// TestPackFlagsOfSources: flags that only some kinds of SRC need are refused for all
// others.
func TestPackFlagsOfSources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	write(t, name("a.csv"), []byte("time,v\n1,2\n2,3\n3,4\n"))
	write(t, name("a.wav"), tideWAV(50))
	run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", name("a.npy"))
	write(t, name("a.raw"), make([]byte, 400))
	write(t, name("noted.raw"), make([]byte, 400))
	write(t, name("noted.raw.json"), []byte(`{"dtype": "<i2", "shape": [200], "rate": 10}`))
	sources := map[string][]string{"csv": {name("a.csv")}, "wav": {name("a.wav")}, "npy": {name("a.npy"), "--rate", "10"},
		"raw": {name("a.raw"), "--dtype", "<i2", "--shape", "200", "--rate", "10"}, "noted": {name("noted.raw")}}
	for flag, takes := range map[string][]string{
		"--times s":        {"csv"},
		"--time time":      {"csv"},
		"--time-format %s": {"csv"},
		"--tz +02:00":      {"csv"},
		"--columns v":      {"csv"},
		"--skip w":         {"csv"},
		"--rate 20":        {"wav", "npy", "raw", "noted"},
		"--watermark 20":   {"csv", "wav", "npy", "raw", "noted"},
		"--zlib":           {"csv", "wav", "npy", "raw", "noted"},
		"--chunk 1MiB":     {},
		"--member x":       {},
		"--records lines":  {},
	} {
		for kind, src := range sources {
			made := filepath.Join(t.TempDir(), "x.zoom")
			r := runner{}.run(t, slices.Concat([]string{"pack", src[0], made}, src[1:], strings.Fields(flag))...)
			_, err := os.Stat(made)
			if slices.Contains(takes, kind) {
				if r.code != exitOK || err != nil {
					t.Errorf("%s of %s: exit %d, %q", flag, kind, r.code, r.stderr)
				}
				continue
			}
			if r.code == exitOK || err == nil || strings.HasPrefix(flag, "--time") && (r.code != exitUsage || !strings.Contains(r.stderr, strings.Fields(flag)[0]+" is for a .csv")) {
				t.Errorf("%s of %s: exit %d, %q; want it refused", flag, kind, r.code, r.stderr)
			}
		}
	}
}
