package main

import (
	"fmt"
	"slices"
	"strings"
)

// untold are checks that say something about the machine, not about the store.
var untold = []string{"latency", "16 requests at a time", "versions", "clean up"} //nolint:gochecknoglobals // a constant table

// checks are the names of all checks, in their order.
func checks(results []result) []string {
	var out []string
	for _, r := range results {
		for _, f := range r.findings {
			if !slices.Contains(out, f.Check) && !slices.Contains(untold, f.Check) {
				out = append(out, f.Check)
			}
		}
	}
	return out
}

// level is a cell: how a check ended at a store.
func (r *result) level(check string) string {
	for _, f := range r.findings {
		switch {
		case f.Check != check:
		case f.Level == "bad" || f.Level == "warning":
			return "**" + f.Level + "**"
		default:
			return f.Level
		}
	}
	return "–"
}

// table has a line for each check, a column for each store.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| check |")
	for _, r := range results {
		fmt.Fprintf(&b, " %s %s |", r.name, r.version)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", len(results)+1) + "\n")
	for _, c := range checks(results) {
		b.WriteString("| " + c + " |")
		for _, r := range results {
			fmt.Fprintf(&b, " %s |", r.level(c))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// flaws says of each store what was seen where it was bad, or gave a warning.
func flaws(results []result) string {
	var b strings.Builder
	for _, r := range results {
		var said []string
		for _, f := range r.findings {
			if (f.Level == "bad" || f.Level == "warning") && !slices.Contains(untold, f.Check) {
				said = append(said, fmt.Sprintf("  - %s: `%s`", f.Check, strings.ReplaceAll(f.Seen, "`", "'")))
			}
		}
		if len(said) == 0 {
			fmt.Fprintf(&b, "- **%s**: nothing to say.\n", r.name)
			continue
		}
		fmt.Fprintf(&b, "- **%s**:\n%s\n", r.name, strings.Join(said, "\n"))
	}
	return b.String()
}
