package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var parts = regexp.MustCompile(`(?m)^## \[(\S+)\](?: - (\d{4}-\d\d-\d\d))?$`)

// TestChangelog: its parts are Unreleased and versions with their days, newest first, each
// with a link at the end.
func TestChangelog(t *testing.T) {
	t.Parallel()
	text := read(t, "CHANGELOG.md")
	list := parts.FindAllStringSubmatch(text, -1)
	if len(list) < 2 || list[0][1] != "Unreleased" || strings.Count(text, "\n## ") != len(list) {
		t.Fatalf("parts: %q", list)
	}
	day := "9999-99-99"
	for _, p := range list {
		if !strings.Contains(text, "\n["+p[1]+"]: https://github.com/farread/farread/") {
			t.Errorf("%s: no link at the end", p[1])
		}
		if p[1] == "Unreleased" {
			continue
		}
		if !versions.MatchString("v"+p[1]) || p[2] == "" || p[2] > day {
			t.Errorf("%q after %s", p, day)
		}
		day = p[2]
	}
}

// TestNotes: an overview if there is one, else the whole part, and nothing of others.
func TestNotes(t *testing.T) {
	t.Parallel()
	const log = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-01\n\n### Added\n- B.\n\n### Fixed\n- C.\n\n## [0.1.0] - 2026-11-28\n\nFirst ([how](docs/x.md)).\n\n### Added\n- A.\n\n[0.1.0]: https://x\n"
	for version, want := range map[string]string{
		"v0.2.0": "### Added\n- B.\n\n### Fixed\n- C.\n",
		"v0.1.0": "First ([how](https://github.com/farread/farread/blob/v0.1.0/docs/x.md)).\n",
		"v0.3.0": "",
	} {
		got, err := notes(log, version)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", version, got, err, want)
		}
	}
	got, err := notes(read(t, "CHANGELOG.md"), "v0.1.0")
	if err != nil || len(got) > 5000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestOneVersion: pages that name the newest version name that of the changelog.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	newest := parts.FindAllStringSubmatch(read(t, "CHANGELOG.md"), 2)[1][1]
	for name, pattern := range map[string]string{
		"docs/releases.md":                     `farread_(\d+\.\d+\.\d+)_|RELEASE=v(\S+?)[` + "`" + `\s]`,
		"terraform/modules/pipeline/README.md": `ref=v([0-9.]+)`,
		"terraform/modules/serving/README.md":  `ref=v([0-9.]+)`,
	} {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, name), -1) {
			if got := strings.Join(m[1:], ""); got != newest {
				t.Errorf("%s: %s, but CHANGELOG.md has %s", name, m[0], newest)
			}
		}
	}
	if text := read(t, "python/pyproject.toml"); regexp.MustCompile(`(?m)^version\b`).MatchString(text) {
		t.Error("pyproject.toml has a version of its own; scripts/wheel takes that of the release")
	}
}

// TestInstallable: go install takes no module whose go.mod replaces or excludes others.
func TestInstallable(t *testing.T) {
	t.Parallel()
	if m := regexp.MustCompile(`(?m)^(replace|exclude)\b.*`).FindString(read(t, "go.mod")); m != "" {
		t.Errorf("go.mod: %s", m)
	}
}

// TestInstall: the page inside archives is the part of docs/releases.md, and leads nowhere
// that is not inside.
func TestInstall(t *testing.T) {
	t.Parallel()
	text := install(read(t, "docs/releases.md"))
	if !strings.Contains(text, "sha256sum --check") || !strings.Contains(text, "completion/") || strings.Contains(text, "\n## ") {
		t.Errorf("%s", text)
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "https://") {
			t.Errorf("a link to %s", m[1])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestLinked: the archive has no docs/.
func TestLinked(t *testing.T) {
	const page = "[a](docs/a.md#x), ![b](docs/b.svg) ([c](SECURITY.md)), [d](#d), [e](https://e.example/), [f](mailto:f@e.example)"
	const want = "[a](https://github.com/farread/farread/blob/v1.2.3/docs/a.md#x), ![b](https://github.com/farread/farread/raw/v1.2.3/docs/b.svg) " +
		"([c](https://github.com/farread/farread/blob/v1.2.3/SECURITY.md)), [d](#d), [e](https://e.example/), [f](mailto:f@e.example)"
	if got := linked(page, "v1.2.3"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
