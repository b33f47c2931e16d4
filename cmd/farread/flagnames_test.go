package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noDataset are the commands that take no dataset.
var noDataset = []string{"worker", "backfill", "replay-dlq", "quickstart", "version", "man", "help", "completion", "cache", "serve", "share", "cp", "doctor"}

// TestFlagsInErrors runs every command that takes a dataset against one of every
// format, with each of its flags, so that most of them select what the format has not
// got. A flag that the error names is a flag of the command, or of the command that the
// error names before it.
func TestFlagsInErrors(t *testing.T) {
	t.Parallel()
	kinds := oneOfEach(t)
	dir := t.TempDir()
	out := func() string { return filepath.Join(dir, "out") }
	args := map[string]func(uri string) [][]string{
		"info":   func(uri string) [][]string { return [][]string{{uri}} },
		"ls":     func(uri string) [][]string { return [][]string{{uri}} },
		"verify": func(uri string) [][]string { return [][]string{{uri}} },
		"index":  func(uri string) [][]string { return [][]string{{uri, out()}} },
		"unpack": func(uri string) [][]string { return [][]string{{uri, out()}} },
		"get":    func(uri string) [][]string { return [][]string{{uri, "-o", "-"}, {uri, "-o", "-", "--id", "x"}} },
		"slice":  func(uri string) [][]string { return [][]string{{uri, ":"}, {uri, ":", "-o", "x.txt"}} },
		"view": func(uri string) [][]string {
			return [][]string{{uri}, {uri, "--width", "5"}, {uri, "--level", "1"}, {uri, "--level", "99"}, {uri, "--width", "5", "-o", "x.txt"}}
		},
		"analyze": func(uri string) [][]string {
			return [][]string{{uri, "--stats", "count"}, {uri, "--stats", "mean", "-o", "x.txt"}}
		},
		"advise":  func(uri string) [][]string { return [][]string{{uri, ":"}} },
		"explain": func(uri string) [][]string { return [][]string{{uri}, {uri, ":"}, {uri, "--width", "5"}} },
		"pack": func(uri string) [][]string {
			var all [][]string
			for _, suffix := range []string{".gulp", ".b2frame", ".b2nd", ".blp", ".zoom", ".x"} {
				all = append(all, []string{uri, out() + suffix})
			}
			return append(all, []string{uri, dir + "/", "--format", "gulp"})
		},
	}
	seen := map[string]bool{}
	for _, c := range newRoot(&app{}).Commands() {
		of := args[c.Name()]
		switch {
		case slices.Contains(noDataset, c.Name()) || !c.Runnable(): // topics of help are not
			continue
		case of == nil:
			t.Errorf("nothing known of the arguments of farread %s", c.Name())
			continue
		}
		for i, uri := range kinds {
			for j, base := range of(uri) {
				for k, flag := range append(values(c, dir), nil) {
					if (i+j+k)%3 != 0 { // each flag with each source and with each target, not all three
						continue
					}
					all := slices.Concat([]string{c.Name()}, base, flag)
					r := runner{}.run(t, all...)
					for _, text := range strangers(c, r.stderr) {
						if key := c.Name() + text; !seen[key] {
							seen[key] = true
							t.Errorf("farread %q: the error names %s, which is not a flag of the command:\n%s", all, text, r.stderr)
						}
					}
				}
			}
		}
	}
}

// oneOfEach makes a dataset of each kind, and a source of each for pack.
func oneOfEach(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	write(t, name("a.txt"), []byte(strings.Repeat("hello\n", 50)))
	write(t, name("a.csv"), []byte("time,v\n1,2\n2,3\n3,4\n"))
	write(t, name("a.wav"), tideWAV(50))
	write(t, name("a.raw"), make([]byte, 400))
	write(t, name("plain/a.txt"), []byte("a"))
	write(t, name("photos.tar"), photosTar(t))
	run(t, "pack", name("photos.tar"), name("x.gulp"))
	run(t, "pack", name("photos.tar"), name("set/"), "--format", "gulp")
	run(t, "pack", name("a.txt"), name("x.b2frame"))
	run(t, "pack", name("a.txt"), name("x.blp"))
	run(t, "pack", name("a.txt"), name("chunks.blp"), "--records", "chunks")
	run(t, "pack", name("plain"), name("files.blp"))
	run(t, "pack", name("a.csv"), name("x.zoom"))
	run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", name("a.npy"))
	return []string{name("x.gulp"), name("set"), bloscDir + "/nd2.b2nd", bloscDir + "/sparse_dir.b2nddir", name("x.b2frame"),
		"../../formats/all/testdata/chunk.blosc", name("x.blp"), name("chunks.blp"), name("files.blp"), name("x.zoom"), name("plain"),
		name("a.txt"), name("a.csv"), name("a.wav"), name("a.raw"), name("a.npy"), name("photos.tar"), name("none")}
}

// values are the flags of a command, each with values that are right for some, files
// below dir.
func values(c *cobra.Command, dir string) [][]string {
	var out [][]string
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help" || f.Name == "open": // the one that ends with Ctrl-C
		case f.Name == "output" || f.Name == "repair":
			out = append(out, []string{"--" + f.Name, filepath.Join(dir, "made")}, []string{"--" + f.Name, filepath.Join(dir, "made.png")})
		case f.NoOptDefVal != "":
			out = append(out, []string{"--" + f.Name})
		default:
			out = append(out, []string{"--" + f.Name, "1"}, []string{"--" + f.Name, "-9"}, []string{"--" + f.Name, "x"})
		}
	})
	return out
}

var flagInText = regexp.MustCompile(`--[a-z][a-z0-9-]*`)
var commandInText = regexp.MustCompile(`\bfarread ([a-z-]+)`)

// strangers are the flags in an error of c that the command which they belong to has
// not got. They belong to c, unless the same clause names another command before.
func strangers(c *cobra.Command, text string) []string {
	var out []string
	for clause := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";:()", r) }) {
		owner, last := c, 0
		for _, m := range flagInText.FindAllStringIndex(clause, -1) {
			if in := commandInText.FindStringSubmatch(clause[last:m[0]]); in != nil {
				if found, _, err := c.Root().Find(in[1:]); err == nil {
					owner = found
				}
				last = m[0]
			}
			name := clause[m[0]+2 : m[1]]
			if name != "help" && owner.Flags().Lookup(name) == nil && owner.InheritedFlags().Lookup(name) == nil {
				out = append(out, "--"+name)
			}
		}
	}
	return out
}
