package docs

import (
	"os"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

// environ is the environment of a user of the local cloud, and nothing else.
func environ(t *testing.T, s *teststack.Stack, path string) []string {
	t.Helper()
	return []string{"AWS_ENDPOINT_URL=" + s.Endpoint, "AWS_REGION=" + s.Region, "AWS_ACCESS_KEY_ID=" + s.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + s.SecretKey, "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "PATH=" + path}
}

// upload puts a file into the cloud as it is.
func upload(t *testing.T, s *teststack.Stack, file, uri string) {
	t.Helper()
	c := farread.New(farread.Config{NoHedge: true, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, PathStyle: true})
	defer c.CloseIdleConnections()
	b, key, err := c.Bucket(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := objstore.Put(t.Context(), b, key, f, objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}
