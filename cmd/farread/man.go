package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farread/farread/cmd/farread/internal/sink"
)

// newMan is the command that writes the manual pages, for packagers.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages into a folder", Hidden: true,
		Long:    `Write one manual page for each command and topic, farread.1, farread-get.1 …, into DIR.`,
		Example: `  farread man /usr/local/share/man/man1`,
		Args:    exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeMan(cmd.Root(), args[0])
		},
	}
}

func writeMan(c *cobra.Command, dir string) error {
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), manPage(c), sink.FilePerm); err != nil {
		return err
	}
	for _, sub := range c.Commands() {
		if sub.Hidden || sub.Name() == "help" {
			continue
		}
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manPage returns the page of one command in man(7) macros.
func manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), roff(name), roff(c.Short))
	if c.Runnable() {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	verbatim := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, roff(text))
		}
	}
	verbatim("DESCRIPTION", c.Long)
	flags := func(title string, f *pflag.FlagSet) {
		if !f.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", title)
		f.VisitAll(func(f *pflag.Flag) {
			value, usage := pflag.UnquoteUsage(f)
			short := ""
			if f.Shorthand != "" {
				short = "-" + f.Shorthand + ", "
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(short+"--"+f.Name+" "+value)), roff(usage))
		})
	}
	flags("OPTIONS", c.NonInheritedFlags())
	flags("OPTIONS OF EVERY COMMAND", c.InheritedFlags())
	verbatim("EXAMPLES", c.Example)
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR farread (1)\n")
	}
	return b.Bytes()
}

// roff escapes text for troff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
