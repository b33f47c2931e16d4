// Command wheel packs the Python package and one farread program as a wheel, the
// archive that pip installs: the package in its folder, the program where pip puts
// programs. Nothing in it depends on when or where it was made, so the same files give
// the same bytes.
//
//	wheel OUT-FOLDER VERSION OS/ARCH PROGRAM
//
// It is run in the checkout, whose python/ has the package and its metadata.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: wheel OUT-FOLDER VERSION OS/ARCH PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Stdout, "python", os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

// run makes a wheel of the package in dir, and prints its name.
func run(told io.Writer, dir, out, describe, platform, program string) error {
	tag, err := platformTag(platform)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if err != nil {
		return err
	}
	m, err := parseProject(string(text))
	if err != nil {
		return err
	}
	version := pep440(describe)
	w := &wheel{prefix: m.name + "-" + version}
	if err := w.sources(dir, m.name, version); err != nil {
		return err
	}
	if err := w.program(program, platform); err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(dir, m.readme))
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(dir, "..", "LICENSE"))
	if err != nil {
		return err
	}
	w.info("METADATA", m.metadata(version, string(readme)))
	tags := "Tag: py3-none-" + strings.ReplaceAll(tag, ".", "\nTag: py3-none-") + "\n"
	w.info("WHEEL", "Wheel-Version: 1.0\nGenerator: farread scripts/wheel\nRoot-Is-Purelib: false\n"+tags)
	w.info("licenses/LICENSE", string(license))
	w.info("entry_points.txt", m.entryPoints())
	if err := os.MkdirAll(out, 0o750); err != nil {
		return err
	}
	name := filepath.Join(out, w.prefix+"-py3-none-"+tag+".whl")
	f, err := os.CreateTemp(out, ".wheel-*")
	if err != nil {
		return err
	}
	if err := errors.Join(w.write(f), f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	_, err = fmt.Fprintln(told, name)
	return err
}
