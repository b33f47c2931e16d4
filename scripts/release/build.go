package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A program is built for each system; module is its folder of go.mod.
type program struct{ name, module, pkg, tags string }

const functionTags = "lambda.norpc,nethttpomithttp2" // as the Makefile has them

// programs are farread itself, and what its quickstart starts: the local cloud and the
// functions behind it.
var programs = []program{
	{"farread", ".", "./cmd/farread", ""},
	{"localcloud", "localcloud", ".", ""},
	{"fn-pack/bootstrap", ".", "./cmd/fn-pack", functionTags},
	{"fn-zoom/bootstrap", ".", "./cmd/fn-zoom", functionTags},
}

// inside are the programs of an archive. Functions are started by the local cloud, which
// needs the processes of Unix.
func inside(t target) []program {
	if t.os == "windows" {
		return programs[:1]
	}
	return programs
}

// build makes programs in a folder.
func (r release) build(ctx context.Context, t target, dir string, list []program) error {
	for _, p := range list {
		name, err := filepath.Abs(filepath.Join(dir, p.name+t.exe()))
		if err != nil {
			return err
		}
		c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", p.tags,
			"-ldflags", "-s -w -X github.com/farread/farread/internal/version.stamp="+r.version+" -X github.com/farread/farread/internal/version.commit="+r.commit, "-o", name, p.pkg)
		c.Dir = p.module
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS="+t.os, "GOARCH="+t.arch)
		fmt.Fprintf(os.Stderr, "release: %s: %s\n", t, p.name)
		if _, err := output(c); err != nil {
			return err
		}
	}
	return nil
}

// zips makes those of all functions as `make zip` does: fn-pack-arm64.zip. root has the
// functions of the archive, which are not built again.
func (r release) zips(ctx context.Context, t target, root string) error {
	list, err := filepath.Glob("cmd/fn-*")
	if err != nil {
		return err
	}
	for _, dir := range list {
		name := filepath.Base(dir)
		p := program{name + "/bootstrap", ".", "./" + filepath.ToSlash(dir), functionTags}
		if !slices.Contains(inside(t), p) {
			if err := r.build(ctx, t, root, []program{p}); err != nil {
				return err
			}
		}
		zip := exec.CommandContext(ctx, "go", "run", "./scripts/fnzip", filepath.Join(r.out, name+"-"+t.arch+".zip"), filepath.Join(root, p.name))
		if _, err := output(zip); err != nil {
			return err
		}
	}
	return nil
}

// sbom lists the modules in a program, as CycloneDX. No serial number and no time: both
// would differ in each build.
func (r release) sbom(ctx context.Context, program, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp", "-version", r.version, "-output", out, program)
	c.Dir = filepath.Join("scripts", "release")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") // the list has checksums of what made it
	if _, err := output(c); err != nil {
		return err
	}
	// The local cloud takes the library from the folder above.
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	const module = "github.com/farread/farread"
	return os.WriteFile(out, []byte(strings.NewReplacer("pkg:golang/../@(devel)", "pkg:golang/"+module+"@"+r.version,
		`"name": "../"`, `"name": "`+module+`"`, `"version": "(devel)"`, `"version": "`+r.version+`"`).Replace(string(text))), 0o644)
}

// modules are those in a program, path@version, without its own.
func modules(ctx context.Context, program string) (list []string, err error) {
	text, err := output(exec.CommandContext(ctx, "go", "version", "-m", program))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" && !strings.HasPrefix(f[1], "github.com/farread/") {
			list = append(list, f[1]+"@"+f[2])
		}
	}
	return list, nil
}
