package stack

import (
	"os"
	"path/filepath"
	"strings"
)

// Module is the first line of the go.mod of a checkout.
const Module = "module github.com/farread/farread"

// Checkout is the root of the checkout of farread in which dir lies, or "".
func Checkout(dir string) string {
	dir, err := filepath.Abs(dir)
	for up := ""; err == nil && dir != up; dir, up = filepath.Dir(dir), dir {
		b, _ := os.ReadFile(filepath.Join(dir, "go.mod")) // most folders have none
		first, _, _ := strings.Cut(string(b), "\n")
		_, whole := os.Stat(filepath.Join(dir, "localcloud", "go.mod"))
		if strings.TrimSpace(first) == Module && whole == nil { // the go.mod is this project's
			return dir
		}
	}
	return ""
}
