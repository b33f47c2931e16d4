package main

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/farread/farread/internal/version"
)

// versionInfo is the JSON of `version`.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Which build this is",
		Long:    `Print the version, the commit it was built from, and the Go release that built it.`,
		Example: `  farread version --json`,
		Args:    exactly(),
		RunE:    func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	v := versionInfo{version.String(), commit(version.String()), runtime.Version(), runtime.GOOS, runtime.GOARCH}
	if a.flags.json {
		return writeJSON(a.stdout, v)
	}
	_, err := fmt.Fprintf(a.stdout, "farread %s commit %s %s %s/%s\n", v.Version, v.Commit, v.Go, v.OS, v.Arch)
	return err
}

// describedCommit finds the commit in the output of `git describe --always`.
var describedCommit = regexp.MustCompile(`(?:^|-g|^devel-)([0-9a-f]{7,40})(?:-dirty)?$`)

// commit returns the commit of a release, or that which the Go tool recorded, or else
// the commit in the version.
func commit(v string) string {
	if c := version.Commit(); c != "" {
		return c
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	if m := describedCommit.FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return "unknown"
}
