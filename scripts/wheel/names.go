package main

import (
	"fmt"
	"regexp"
	"strings"
)

// platformTag is what pip calls the systems that a program runs on. Go's programs need no
// C library, so the tags of Linux hold for glibc of 2014 and for musl, and the macOS is
// the oldest that Go runs on.
func platformTag(platform string) (string, error) {
	tags := map[string]string{
		"linux/amd64":   "manylinux2014_x86_64.musllinux_1_1_x86_64",
		"linux/arm64":   "manylinux2014_aarch64.musllinux_1_1_aarch64",
		"darwin/amd64":  "macosx_12_0_x86_64",
		"darwin/arm64":  "macosx_12_0_arm64",
		"windows/amd64": "win_amd64",
		"windows/arm64": "win_arm64",
	}
	tag, ok := tags[platform]
	if !ok {
		return "", fmt.Errorf("no wheels for %s", platform)
	}
	return tag, nil
}

var described = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?(?:(?:-(\d+))?-g([0-9a-f]+))?(-dirty)?$`)

// pep440 spells a version of git describe as Python orders them: v0.1.0 is 0.1.0, five
// commits behind it are 0.1.0.post5+gCOMMIT, v0.2.0-rc.1 is 0.2.0rc1, and what is no version
// is before all others.
func pep440(describe string) string {
	m := described.FindStringSubmatch(describe)
	if m == nil {
		local := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(describe), "."), ".")
		if local == "" {
			return "0.0.0.dev0"
		}
		return "0.0.0.dev0+" + local
	}
	v := m[1]
	if m[2] != "" {
		v += map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3]
	}
	if m[4] != "" {
		v += ".post" + m[4]
	}
	var local []string
	if m[5] != "" {
		local = append(local, "g"+m[5])
	}
	if m[6] != "" {
		local = append(local, "dirty")
	}
	if local != nil {
		v += "+" + strings.Join(local, ".")
	}
	return v
}
