package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefusedKeys: the keys that the local cloud refuses, and that only LocalStack
// tests, are those that localstack/README.md names.
func TestRefusedKeys(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(Root(t), "localstack", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "because it keeps objects as files:")
	list, _, ok := strings.Cut(list, "(in code:")
	if !ok {
		t.Fatal("localstack/README.md has no list of keys that the local cloud refuses")
	}
	var named, refused []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		key, err := strconv.Unquote(`"` + m[1] + `"`)
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		named = append(named, key)
	}
	for _, key := range NastyKeys() {
		if refusedByFiles(key) != "" {
			refused = append(refused, key)
		}
	}
	slices.Sort(named)
	slices.Sort(refused)
	if diff := cmp.Diff(named, refused); diff != "" {
		t.Errorf("(- named, + refused)\n%s", diff)
	}
}
