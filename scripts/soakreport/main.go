// Command soakreport puts the figures of `make soak` into a document: it reads the
// lines of JSON that the tests wrote, and prints the table, too.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/farread/farread/functions/soak"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: soakreport FIGURES DOCUMENT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "soakreport:", err)
		os.Exit(1)
	}
}

func run(figures, document string) error {
	b, err := os.ReadFile(figures)
	if err != nil {
		return err
	}
	fs, err := soak.ParseFigures(bytes.NewReader(b))
	if err != nil {
		return err
	}
	if len(fs) == 0 {
		return errors.New("no figures")
	}
	doc, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Machine: %s/%s, %d CPUs, %s, %s%s.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version(), load()) + soak.Table(fs, soak.Between(string(doc), "figures"))
	if _, err := os.Stdout.WriteString(text); err != nil {
		return err
	}
	out, err := soak.Insert(string(doc), "figures", text)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, []byte(out), 0o644)
}

// processor is its name, as far as the system says.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return "processor unknown"
}

// load returns the load of the machine, since times are worse on a busy machine.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	f := strings.Fields(string(b))
	if err != nil || len(f) < 3 {
		return ""
	}
	return "; load average of the last 15 minutes " + f[2]
}
