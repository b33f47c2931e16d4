// Command release makes what a release consists of, in one folder: for each system an
// archive, with lists of what is inside (SBOM), and a wheel; for Linux the zips of the
// functions; checksums of all. Beside the folder, in dist/release-notes.md, lies what the
// release's page says.
//
//	release -version v0.1.0 -out dist/release [-targets linux/amd64,linux/arm64]
//
// The same commit and the same Go give the same
// bytes: times are those of the commit, entries are sorted, and owners are root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// all are the systems that have an archive.
const all = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// versions are those of https://semver.org, with the v that Go wants.
var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// A release is what the steps share.
type release struct {
	version   string // with its v
	commit    string
	functions bool      // are made, too
	out       string    // where archives go
	work      string    // where they are put together; removed at the end
	when      time.Time // of all entries
}

// A target is a system.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// exe is the ending of programs.
func (t target) exe() string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	version := f.String("version", "", "`vX.Y.Z`, of the tag")
	out := f.String("out", "dist/release", "`folder` of the archives, made anew")
	root := f.String("root", ".", "`folder` of the checkout")
	list := f.String("targets", all, "systems, `os/arch,…`")
	functions := f.Bool("functions", true, "zips of the functions, for Linux")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := os.Chdir(*root); err != nil {
		return err
	}
	if !versions.MatchString(*version) {
		return fmt.Errorf("-version %q is not of the form v1.2.3", *version)
	}
	log, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return err
	}
	notes, err := notes(string(log), *version)
	if err != nil {
		return err
	}
	when, err := commitTime(ctx)
	if err != nil {
		return err
	}
	r := release{version: *version, commit: commit(ctx), functions: *functions, out: *out, when: when}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "farread-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	texts := filepath.Join(r.work, "texts")
	if err := r.texts(ctx, texts); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*list, ",") {
		os, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("-targets: %q is not of the form os/arch", name)
		}
		if err := r.system(ctx, target{os, arch}, texts); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := write(r.out+"-notes.md", []byte(notes)); err != nil {
		return err
	}
	return checksums(r.out)
}

// notes are what the page of a release says: the overview that the changelog's part of the
// version begins with, else all of it. A version without a part is an error.
func notes(log, version string) (string, error) {
	_, text, ok := strings.Cut(log, "\n## ["+strings.TrimPrefix(version, "v")+"]")
	if !ok {
		return "", fmt.Errorf("-version %s has no part in CHANGELOG.md", version)
	}
	_, text, _ = strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "\n## ")
	if overview, _, _ := strings.Cut(text, "\n### "); strings.TrimSpace(overview) != "" {
		text = overview
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return link.MatchString(l) })
	// Pages of the checkout are elsewhere for a reader of the release.
	return linked(strings.TrimSpace(strings.Join(lines, "\n"))+"\n", version), nil
}

// link is the target of a reference, as at the end of the changelog.
var link = regexp.MustCompile(`^\[[^]]+\]: `)

// system makes all that is for one system.
func (r release) system(ctx context.Context, t target, texts string) error {
	name := r.label(t)
	root := filepath.Join(r.work, name)
	if err := r.fill(ctx, t, root, texts); err != nil {
		return err
	}
	if err := r.archive(t, root, name); err != nil {
		return err
	}
	wheel := exec.CommandContext(ctx, "go", "run", "./scripts/wheel", r.out, r.version, t.os+"/"+t.arch, filepath.Join(root, "farread"+t.exe()))
	if _, err := output(wheel); err != nil {
		return err
	}
	if r.functions && t.os == "linux" {
		if err := r.zips(ctx, t, root); err != nil {
			return err
		}
	}
	return os.RemoveAll(root)
}

// commit is the commit that is checked out, or "unknown" if git does not tell it.
func commit(ctx context.Context) string {
	text, err := output(exec.CommandContext(ctx, "git", "rev-parse", "HEAD"))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(text)
}

// commitTime is that of the commit that is checked out, or SOURCE_DATE_EPOCH
// (https://reproducible-builds.org/specs/source-date-epoch/).
func commitTime(ctx context.Context) (time.Time, error) {
	s := os.Getenv("SOURCE_DATE_EPOCH")
	if s == "" {
		b, err := output(exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct"))
		if err != nil {
			return time.Time{}, err
		}
		s = strings.TrimSpace(b)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// texts writes what is the same on every system: licences, pages, completion.
func (r release) texts(ctx context.Context, dir string) error {
	native := target{runtime.GOOS, runtime.GOARCH}
	bin := filepath.Join(r.work, "native")
	if err := r.build(ctx, native, bin, programs[:1]); err != nil {
		return err
	}
	farread := filepath.Join(bin, "farread"+native.exe())
	man := filepath.Join(dir, "man", "man1")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	if _, err := output(exec.CommandContext(ctx, farread, "man", man)); err != nil {
		return err
	}
	for shell, name := range map[string]string{"bash": "farread.bash", "zsh": "_farread", "fish": "farread.fish", "powershell": "farread.ps1"} {
		text, err := output(exec.CommandContext(ctx, farread, "completion", shell))
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, "completion", name), []byte(text)); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(filepath.Join("docs", "releases.md"))
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "INSTALL.md"), []byte(install(string(page)))); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, name), []byte(linked(string(b), r.version))); err != nil {
			return err
		}
	}
	return nil
}

// linked is a page of the archive, whose links lead to the pages of its version on the forge: the archive has no docs/.
func linked(page, version string) string {
	return localLink.ReplaceAllStringFunc(page, func(link string) string {
		m := localLink.FindStringSubmatch(link)
		as := "blob"
		if m[1] != "" {
			as = "raw" // a picture
		}
		return m[1] + m[2] + "](https://github.com/farread/farread/" + as + "/" + version + "/" + m[3] + ")"
	})
}

// localLink is one to a file of the checkout.
var localLink = regexp.MustCompile(`(!?)(\[[^\]]*)\]\(([^)#:][^):]*)\)`)

// install is the part of docs/releases.md that is about installing.
func install(page string) string {
	_, text, _ := strings.Cut(page, "\n## Install\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return "# Install\n" + remark.ReplaceAllString(text, "")
}

// remark is one for tests of pages.
var remark = regexp.MustCompile(`(?m)^<!-- .* -->\n`)

// write writes a file and the folders above it.
func write(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, b, 0o644)
}

// output runs a command and returns what it prints; an error has what it said.
func output(c *exec.Cmd) (string, error) {
	b, err := c.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(e.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(c.Args, " "), err)
	}
	return string(b), nil
}
