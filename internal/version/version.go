// Package version says which build of farread this is.
package version

import "runtime/debug"

// stamp is set by the linker (-X …/internal/version.stamp=v1.2.3); the Makefile
// takes it from git. It is constant in a running program.
var stamp string

// commit is set by the linker for releases, whose version names none.
var commit string

// Commit is the commit that was released; "" in all other builds.
func Commit() string { return commit }

// String returns the version of the running program: the version that the Makefile
// stamped, else the module's version ("go install …@v1.2.3"), else the commit that the
// Go tool recorded, with "-dirty" if files had changed, else "devel".
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return from(stamp, info)
}

// UserAgent is the product token for HTTP requests: "farread/v1.2.3".
func UserAgent() string { return "farread/" + String() }

// from picks the best of the known versions.
func from(stamp string, info *debug.BuildInfo) string {
	if stamp != "" {
		return stamp
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if rev == "" {
		return "devel"
	}
	return "devel-" + rev[:min(12, len(rev))] + dirty
}
