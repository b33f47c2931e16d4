//go:build e2e

package aws_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pages"
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
	list, err := pages.All(scenario.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	const name = "docs/stores.md"
	i := slices.IndexFunc(list, func(p pages.Page) bool { return p.Name == name })
	_, cells := list[i].Column("LocalStack")
	cmd := exec.CommandContext(t.Context(), scenario.BuildCLI(t), "doctor", "s3://"+cloud.Bucket(t, false)+"/", "--json")
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+cloud.Config.Endpoint)
	out, err := cmd.Output() // fails where something is bad
	var r struct {
		Findings []struct{ Check, Level, Seen string }
	}
	if jerr := json.Unmarshal(out, &r); jerr != nil {
		t.Fatalf("%v, %v: %s", err, jerr, out)
	}
	seen := 0
	for _, f := range r.Findings {
		cell, told := cells[f.Check]
		if !told || strings.Contains(f.Check, "several at once") {
			continue
		}
		seen++
		if strings.Trim(cell, "*") != f.Level {
			t.Errorf("%s: %s %q, and in %s %q: run make stores", f.Check, f.Level, f.Seen, name, cell)
		}
	}
	if seen < 16 {
		t.Errorf("%d checks are in the table", seen)
	}
}

// TestLarge measures from the return of an upload of 100 MB to the first read of its
// dataset.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("20 uploads of 100 MB")
	}
	scenario.Large(t, cloud, scenario.BusToQueue, 20, 100<<20)
}
