package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farread/farread/localcloud/delivery"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// strictly decodes a line of the README, which has to have every member and no others.
func strictly(t *testing.T, line string, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var page, ours map[string]any
	if err := json.Unmarshal([]byte(line), &page); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &ours); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ours, page); d != "" {
		t.Errorf("%s (-printed +page):\n%s", line, d)
	}
}

// TestReadmeExample starts the example of the README with its rules. It compares the
// printed lines with the README's, apart from times, keys and places.
func TestReadmeExample(t *testing.T) {
	lines := strings.Split(readme(t), "\n")
	after := func(start string) string {
		i := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, start) })
		if i < 0 || i+1 >= len(lines) {
			t.Fatalf("the README has no line %q", start)
		}
		return lines[i+1]
	}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.json")
	if err := os.WriteFile(rules, []byte(after("$ cat rules.json")), 0o600); err != nil {
		t.Fatal(err)
	}
	cloud := filepath.Join(dir, "farread-cloud")
	p := start(t, "--rules", rules, "--functions", dir, "--dir", cloud)
	var first ready
	strictly(t, after("$ localcloud "), &first)
	if d := cmp.Diff(p.ready, first, cmpopts.IgnoreFields(ready{}, "Endpoint", "SecretKey", "Dir")); d != "" {
		t.Errorf("first line (-printed +page):\n%s", d)
	}
	var invoked delivery.Invocation
	strictly(t, after("```json"), &invoked)
	p.put("uploads", "clip.tar", strings.Repeat("x", 40960))
	if d := cmp.Diff(p.next(), invoked, cmpopts.IgnoreFields(delivery.Invocation{}, "RequestID", "MS")); d != "" {
		t.Errorf("invocation (-printed +page):\n%s", d)
	}
}

// TestReadmeFlags: the table of flags has those of the program, with their defaults.
func TestReadmeFlags(t *testing.T) {
	var help bytes.Buffer
	if code := run([]string{"--help"}, nil, io.Discard, &help); code != 0 {
		t.Fatal(code)
	}
	flags := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^  -([a-z-]+).*\n(?:    \t.*?(?:\(default "?([^ "]+?)"?\))?$)?`).FindAllStringSubmatch(help.String(), -1) {
		flags[m[1]] = m[2]
	}
	page := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`(.*?)`)?").FindAllStringSubmatch(readme(t), -1) {
		page[m[1]] = m[2]
		if d, err := time.ParseDuration(m[2]); err == nil {
			page[m[1]] = d.String()
		}
	}
	if d := cmp.Diff(flags, page); d != "" || len(page) < 10 {
		t.Errorf("flags (-program +README):\n%s", d)
	}
}
