//go:build e2e

package aws_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pagetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/objstoretest"
	"github.com/farread/farread/objstore/s3store"
)

// TestStore holds the S3 driver against the contract of buckets, with and without
// versions.
func TestStore(t *testing.T) {
	t.Parallel()
	for name, versioned := range map[string]bool{"plain": false, "versions": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := cloud.Bucket(t, versioned)
			keys, err := cloud.AWS.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b, err := s3store.New(t.Context(), s3store.Config{Bucket: bucket, Endpoint: cloud.Config.Endpoint, Region: cloud.AWS.Region,
				AccessKey: keys.AccessKeyID, SecretKey: keys.SecretAccessKey})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.CloseIdleConnections)
			f := objstoretest.Features{Meta: true, Versions: versioned, NoAfter: cloud.LocalStack, BadKeys: []string{"\xff", strings.Repeat("k", 1025)}}
			if !versioned {
				f.ManyKeys = 1100
			}
			objstoretest.Run(t, func(*testing.T) objstore.Bucket { return b }, f)
		})
	}
}

// TestDoctor: of LocalStack doctor says what the table of docs/stores.md does. The races are left out: who wins
// where two may is chance.
func TestDoctor(t *testing.T) {
	t.Parallel()
	if !cloud.LocalStack {
		t.Skip("another store than LocalStack")
	}
	cmd := exec.CommandContext(t.Context(), scenario.BuildCLI(t), "doctor", "s3://"+cloud.Bucket(t, false)+"/", "--json")
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+cloud.Config.Endpoint)
	out, err := cmd.Output()
	if err != nil {
		t.Logf("doctor: %v", err) // the report says what is bad
	}
	pagetest.Doctor(t, scenario.Root(t), "LocalStack", out, false)
}

// TestLarge measures from the return of an upload of 100 MB to the first read of its
// dataset.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("20 uploads of 100 MB")
	}
	scenario.Large(t, cloud, scenario.BusToQueue, 20, 100<<20)
}
