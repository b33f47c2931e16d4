package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A project is what pyproject.toml says: of TOML only tables, strings and lists of strings,
// which is all that it has.
type project struct {
	name, readme string
	fields       map[string]string
	lists        map[string][]string // by table and key
	order        []string            // keys of lists and fields of tables besides project
}

var quoted = regexp.MustCompile(`"([^"\\]*)"`)

func parseProject(text string) (*project, error) {
	p := &project{fields: map[string]string{}, lists: map[string][]string{}}
	table := ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			table = strings.Trim(line, "[]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("pyproject.toml:%d: want KEY = VALUE", i+1)
		}
		key, value = table+"/"+strings.TrimSpace(key), strings.TrimSpace(value)
		p.order = append(p.order, key)
		if !strings.HasPrefix(value, "[") {
			p.fields[key] = strings.Trim(value, `"`)
			continue
		}
		for !strings.HasSuffix(value, "]") && i+1 < len(lines) {
			i++
			value += strings.TrimSpace(lines[i])
		}
		p.lists[key] = []string{}
		for _, m := range quoted.FindAllStringSubmatch(value, -1) {
			p.lists[key] = append(p.lists[key], m[1])
		}
	}
	p.name, p.readme = p.fields["project/name"], p.fields["project/readme"]
	if p.name == "" || p.readme == "" {
		return nil, errors.New("pyproject.toml: no name or no readme of the project")
	}
	return p, nil
}

// metadata is the file METADATA, of version 2.4.
func (p *project) metadata(version, readme string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: %s\nLicense-File: LICENSE\nRequires-Python: %s\n",
		p.name, version, p.fields["project/description"], p.fields["project/license"], p.fields["project/requires-python"])
	for _, c := range p.lists["project/classifiers"] {
		fmt.Fprintf(&b, "Classifier: %s\n", c)
	}
	for _, d := range p.lists["project/dependencies"] {
		fmt.Fprintf(&b, "Requires-Dist: %s\n", d)
	}
	for _, key := range p.order {
		if label, ok := strings.CutPrefix(key, "project.urls/"); ok {
			fmt.Fprintf(&b, "Project-URL: %s, %s\n", label, p.fields[key])
		}
	}
	const extras = "project.optional-dependencies/"
	for _, key := range p.order {
		extra, ok := strings.CutPrefix(key, extras)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "Provides-Extra: %s\n", extra)
		for _, d := range p.lists[key] {
			fmt.Fprintf(&b, "Requires-Dist: %s; extra == '%s'\n", d, extra)
		}
	}
	fmt.Fprintf(&b, "Description-Content-Type: text/markdown\n\n%s", readme)
	return b.String()
}

// entryPoints is the file entry_points.txt.
func (p *project) entryPoints() string {
	var b strings.Builder
	const tables = `project.entry-points."`
	last := ""
	for _, key := range slices.Sorted(slices.Values(p.order)) {
		table, name, _ := strings.Cut(key, "/")
		group, ok := strings.CutPrefix(table, tables)
		if !ok {
			continue
		}
		if group = strings.TrimSuffix(group, `"`); group != last {
			fmt.Fprintf(&b, "[%s]\n", group)
			last = group
		}
		fmt.Fprintf(&b, "%s = %s\n", name, p.fields[key])
	}
	return b.String()
}
