package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// TestAdviseS3: an array in S3 is planned as slice reads it, and the line packs it from S3 to S3.
func TestAdviseS3(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"arrays"}})
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
