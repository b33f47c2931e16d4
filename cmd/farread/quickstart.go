package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/quickstart"
)

// newQuickstart is the command that shows all steps of the work on this machine.
func newQuickstart(a *app) *cobra.Command {
	var o quickstart.Options
	c := &cobra.Command{
		Use:   "quickstart",
		Short: "Everything on this machine, on sample data",
		Long: `Start a local S3 with the functions behind it, upload three generated clips as tar,
zip and folder, an array as .npy, a log as JSON Lines, and a day of an ECG and of a tide
as WAV and CSV, show what becomes of each, read frames, slices, records and views back
and compare all of it with its source. Serve the datasets over HTTP and ask for some
numbers. Then stay up, with links and commands to try in another terminal, until Ctrl-C
ends it and leaves nothing running. A slice and the views are
drawn as .png in slices/ in the folder of the run; with --once, only where --dir names
that folder.

Nothing but loopback is used: no AWS account, no Docker. localcloud and the functions
are taken from beside this program, as archives of releases have them, or else built from
the checkout it is started in, which takes about 70 s and 100 MB of downloads the first
time. There are none for Windows.

With --json the report is JSON: {"uploads":n,"outputs":[{"key","format","source","uri",
"size","ms", …}],"reads":[{"what","uri","requests","phases","bytes","payload","ms",
"ok"}],"pictures":[…],"served":{"url","link","ms","ok"}, …}. The exit code is 0 only if every
read matched its source.`,
		Example: `  farread quickstart
  farread quickstart --once --json
  farread quickstart --dir ~/farread-cloud --port 9000`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.JSON, o.Terminal = a.flags.json, a.terminal
			o.Config = farread.Config{Policy: a.flags.policy.policy(), MaxMemory: int64(a.flags.maxMemory), Counter: &a.counter, Timeout: a.flags.silence(), NoHedge: a.flags.noHedge || a.patient}
			if a.flags.verbose {
				o.Config.Logger = a.logger()
			}
			if o.Kept = o.Dir != ""; !o.Kept {
				dir, err := os.MkdirTemp("", "farread-quickstart-")
				if err == nil {
					err = a.trash.Add(dir)
				}
				if err != nil {
					return errors.Join(err, os.RemoveAll(dir))
				}
				o.Dir = dir
			}
			o.Program, _ = os.Executable() // "" is told as not found
			o.Command = calledAs(o.Program, os.Args[0])
			remarks := a.stderr
			if a.flags.quiet {
				remarks = io.Discard
			}
			return quickstart.Run(cmd.Context(), o, a.stdout, remarks)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Once, "once", false, "end after the tour")
	f.StringVar(&o.Dir, "dir", "", "`folder` of buckets and events, kept (default: a temporary one, removed at the end)")
	f.IntVar(&o.Port, "port", 0, "of the local S3; 0: any free one")
	return c
}

// calledAs returns the command by which a shell runs this program again.
func calledAs(program, arg string) string {
	same := func(path string) bool {
		x, err1 := os.Stat(path)
		y, err2 := os.Stat(program)
		return err1 == nil && err2 == nil && os.SameFile(x, y)
	}
	if path, err := exec.LookPath("farread"); err == nil && same(path) {
		return "farread"
	}
	if !strings.ContainsRune(arg, filepath.Separator) || !same(arg) {
		arg = program
	}
	if strings.ContainsAny(arg, " \t\n'\"\\$`*?[]()<>|&;#~") {
		arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return arg
}
