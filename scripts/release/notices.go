package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licences are the files that a module's terms are in, whatever their ending.
var licences = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// notices writes the terms of all modules into one file, as these terms ask of whoever
// hands out programs. A module without any is an error: nobody may hand it out.
func notices(ctx context.Context, seen map[string]bool, out string) error {
	var text strings.Builder
	goroot, err := output(exec.CommandContext(ctx, "go", "env", "GOROOT"))
	if err != nil {
		return err
	}
	if err := terms(&text, "the Go standard library", strings.TrimSpace(goroot)); err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(seen)) {
		c := exec.CommandContext(ctx, "go", "mod", "download", "-json", m)
		b, err := output(c)
		if err != nil {
			return err
		}
		var at struct{ Dir string }
		if err := json.Unmarshal([]byte(b), &at); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if err := terms(&text, m, at.Dir); err != nil {
			return err
		}
	}
	return write(out, []byte(text.String()))
}

// terms appends those in a module's folder.
func terms(text *strings.Builder, module, dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range list {
		if e.IsDir() || !licences.MatchString(e.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(text, "==== %s: %s\n\n%s\n\n", module, e.Name(), strings.TrimRight(string(b), "\n"))
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", module, dir)
	}
	return nil
}
