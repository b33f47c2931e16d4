package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
)

// givenUp: ten uploads of which one cannot be packed for now, for its bucket is
// gone. The nine others are packed, the one is tried again and then lies with the
// dead letters; a corrupt one does not, it is reported. Once the bucket is back, the
// dead letter is delivered again and nothing is lost.
func givenUp(t *testing.T, r *session) {
	t.Helper()
	client := r.s3()
	if _, err := client.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: &r.Spare}); err != nil {
		t.Fatal(err)
	}
	shape := []int64{8, 9, 10}
	var good []objstore.Info
	var poison objstore.Info
	for i := range 10 {
		data, _ := volume(t, i, shape...)
		if i == 4 {
			poison = r.put(t, "spare/poison.npy", data)
			continue
		}
		good = append(good, r.put(t, fmt.Sprintf("pack/ten/%d.npy", i), data))
	}
	corrupt := r.put(t, "pack/corrupt.npy", []byte("\x93NUMPY\x01\x00 this is no header"))
	for _, up := range good {
		r.made(t, r.datasets, up, pack.ArraySuffix)
	}
	until(t, func() (bool, string, error) {
		text, err := read(t.Context(), r.datasets, functions.ErrorKey(corrupt.Key))
		if err != nil {
			return false, "no report of the corrupt upload", nil //nolint:nilerr // comes later
		}
		var report functions.Report
		err = json.Unmarshal([]byte(text), &report)
		return report.Key == corrupt.Key && report.ETag == corrupt.ETag && report.Kind == "corrupt", text, err
	})
	r.untilDead(t, 1)
	in := &s3.CreateBucketInput{Bucket: &r.Spare}
	if r.Region != "us-east-1" {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(r.Region)}
	}
	if _, err := client.CreateBucket(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if r.ReplayDLQ != nil {
		r.cli(t, append([]string{"replay-dlq"}, r.ReplayDLQ...)...)
	} else if err := r.Redrive(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.made(t, r.bucket(t, r.Spare), poison, pack.ArraySuffix)
	r.untilDead(t, 0)
}

func (r *session) untilDead(t *testing.T, want int) {
	t.Helper()
	until(t, func() (bool, string, error) {
		n, err := r.Dead(t.Context())
		return n == want, fmt.Sprintf("%d dead letters, not %d", n, want), err
	})
}

// rulesFile holds the rules of all functions.
func (r *session) rulesFile(t *testing.T) string {
	t.Helper()
	b, err := json.Marshal(Rules(r.Pipeline, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
