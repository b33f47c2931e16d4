package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// TestAdviseS3: an array in S3 is planned as slice reads it, and the line packs it from S3 to S3.
func TestAdviseS3(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"arrays"}})
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey, "AWS_REGION": s.Region,
		"AWS_ENDPOINT_URL": s.Endpoint, "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		t.Setenv(k, v)
	}
	name := filepath.Join(t.TempDir(), "w.npy")
	weather(t, name, []int64{100, 60, 70})
	const uri = "s3://arrays/d/w.b2nd"
	run(t, "pack", name, uri, "--chunk-shape", "1,60,70")
	a := adviceOf(t, uri, ":, 5, 5")
	got := stats(t, "slice", uri, ":, 5, 5", "-o", filepath.Join(t.TempDir(), "out.npy"))
	if now := a.Shapes[0].All; now.Requests != got.Requests || now.Bytes != got.Bytes || now.Phases != got.Phases {
		t.Errorf("%+v, took %+v", now, got)
	}
	if want := fmt.Sprintf("farread pack %s s3://arrays/d/w-%s.b2nd --for %[2]s", uri, a.Better); a.Better == "" || a.Pack != want {
		t.Fatalf("%q, want %q", a.Pack, want)
	}
	run(t, strings.Fields(a.Pack)[1:]...)
	if b := adviceOf(t, fmt.Sprintf("s3://arrays/d/w-%s.b2nd", a.Better), ":, 5, 5"); b.Better != "" || b.Shapes[0].All.Bytes*2 > got.Bytes {
		t.Errorf("packed as told: %+v of %+v", b.Better, b.Shapes[0])
	}
}
