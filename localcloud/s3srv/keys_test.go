package s3srv

import (
	"path/filepath"
	"strings"
	"testing"
)

// Each key that passes is the path of a file of its own, below its bucket.
func FuzzCheckKey(f *testing.F) {
	for _, k := range []string{"", "a", "a/", "a/b", "/a", "a//b", "a/./b", "..", "a/..", ".sgwtmp/x", "ü +%2F", "a\x00b", strings.Repeat("n", 256), "...", ".a", "a\\..\\b"} {
		f.Add(k)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if checkKey(key) != nil {
			return
		}
		path := filepath.Join("bucket", key)
		if path != "bucket/"+strings.TrimSuffix(key, "/") || !filepath.IsLocal(key) {
			t.Errorf("key %q is the path %q", key, path)
		}
		if strings.HasPrefix(key, tempDir+"/") || key == tempDir {
			t.Errorf("key %q is among the store's own files", key)
		}
	})
}
