package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pages"
)

// understood says whether the command line takes these words, without running it. If
// they are only a part of a command line, arguments may be missing.
func understood(words []string, part bool) error {
	root := newRoot(&app{})
	root.InitDefaultHelpCmd()
	mendCompletion(root)
	cmd, rest, err := root.Find(negative(root, words))
	if err != nil {
		return err
	}
	if cmd == root && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("unknown command %q", rest[0])
	}
	switch cmd.Name() {
	case "help":
		if _, unknown, err := root.Find(rest); err != nil || len(unknown) > 0 && !strings.HasPrefix(unknown[0], "-") {
			return fmt.Errorf("help of an unknown command or topic %q", rest)
		}
	case "completion":
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return fmt.Errorf("completion for an unknown shell %q", rest[0])
		}
	}
	if err := cmd.ParseFlags(rest); err != nil {
		if part && strings.Contains(err.Error(), "flag needs an argument") {
			return nil
		}
		return err
	}
	if part || cmd.DisableFlagParsing {
		return nil
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// calls are the words behind each farread in a line of shell, with any path of the
// program and any environment in front.
func calls(line string) [][]string {
	var out [][]string
	for _, words := range pages.Calls(line) {
		for len(words) > 0 && assignment.MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) > 2 && words[0] == "go" && words[1] == "run" {
			words = words[2:]
		}
		if len(words) > 0 && path.Base(words[0]) == "farread" {
			out = append(out, words[1:])
		}
	}
	return out
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// TestUnderstood: a command, a topic or a shell that does not exist is found, for all
// ways of calling the program.
func TestUnderstood(t *testing.T) {
	for line, want := range map[string]string{
		"farread index x.zoom":                     "",
		"farread index":                            "",
		"farread help notes":                       "",
		"farread help":                             "",
		"farread completion bash":                  "",
		"farread indexx":                           `"indexx"`,
		"farread indexx x.zoom --force":            `"indexx"`,
		"bin/farread indexx":                       `"indexx"`,
		"./farread indexx":                         `"indexx"`,
		"go run ./cmd/farread indexx":              `"indexx"`,
		"AWS_PROFILE=x AWS_REGION= farread indexx": `"indexx"`,
		"f x | farread indexx":                     `"indexx"`,
		"source <(farread completion fishh)":       `"fishh"`,
		"farread help indexx":                      `"indexx"`,
		"farread help help indexx":                 `"indexx"`,
		"farread index --nothing":                  "--nothing",
	} {
		found := calls(line)
		if len(found) != 1 {
			t.Errorf("%s: %q", line, found)
			continue
		}
		if err := understood(found[0], true); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// each visits a command and those below it.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

// named are commands in the prose of help, which has no marks of code.
var named = regexp.MustCompile(`\b(?:see: )?(farread help [a-z-]+)|\bsee: (farread [a-z-]+)`)

// TestDocumentedCommands: the program understands each command line in the project's
// pages and in the help of each command, also if no test runs it.
func TestDocumentedCommands(t *testing.T) {
	list, err := pages.All(scenario.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	seen, prose := 0, 0
	check := func(where, line string, part bool) {
		for _, words := range calls(line) {
			seen++
			if err := understood(words, part); err != nil {
				t.Errorf("%s: %s: %v", where, line, err)
			}
		}
	}
	for _, p := range list {
		if p.Name == "CHANGELOG.md" { // history: old command lines may be gone
			continue
		}
		for _, b := range p.Blocks {
			for _, line := range b.Commands() {
				check(p.Where(&b), line, false)
			}
		}
		for _, l := range p.Lines {
			for _, text := range l.Spans() {
				check(fmt.Sprintf("%s:%d", p.Name, l.Number), text, true)
			}
		}
	}
	root := newRoot(&app{})
	mendCompletion(root)
	each(root, func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			if calls(line) == nil {
				t.Errorf("farread help %s: no command in the example %q", c.Name(), line)
			}
			check("farread help "+c.Name(), strings.TrimSpace(line), false)
		}
		for _, m := range named.FindAllStringSubmatch(strings.Join(strings.Fields(c.Long), " "), -1) {
			prose++
			check("farread help "+c.Name(), m[1]+m[2], true)
		}
	})
	if prose < 5 {
		t.Errorf("only %d commands in the prose of help", prose)
	}
	if seen < 100 {
		t.Errorf("only %d command lines", seen)
	}
}

// TestDocumentedFlags: a flag in a page is a flag of some command, of make's tools, or
// of a program that the line names.
func TestDocumentedFlags(t *testing.T) {
	root := newRoot(&app{})
	has := map[string]bool{"help": true}
	each(root, func(c *cobra.Command) {
		add := func(f *pflag.Flag) { has[f.Name] = true }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
	})
	list, err := pages.All(scenario.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range list {
		if !strings.HasPrefix(p.Name, "docs/") && p.Name != "README.md" {
			continue // the others are about programs of their own
		}
		for _, l := range p.Lines {
			for _, text := range l.Spans() {
				name, ok := strings.CutPrefix(text, "--")
				if !ok {
					continue
				}
				name, _, _ = strings.Cut(strings.Fields(name)[0], "=")
				if seen++; !has[name] {
					t.Errorf("%s:%d: no command has the flag --%s", p.Name, l.Number, name)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d flags", seen)
	}
}
