//go:build e2e

package aws_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/e2e/scenario"
)

// TestPacks: the state machine of the module packs an array by many workers into the bytes
// that this machine makes. A part fails once, and runs are copied by the store.
func TestPacks(t *testing.T) {
	t.Parallel()
	data, out, work := cloud.Bucket(t, false), cloud.Bucket(t, false), cloud.Bucket(t, false)
	a := &analysed{cli: scenario.BuildCLI(t), work: work, machine: cloud.Packs(t, zipped(t, "./faulty"))}
	const rows, row = 6 << 10, 1 << 10 // 24 MiB
	rnd := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, 0, 4*rows*row)
	for range rows * row {
		raw, _ = binary.Append(raw, binary.LittleEndian, float32(rnd.NormFloat64()))
	}
	dir := t.TempDir()
	file, want := filepath.Join(dir, "x.raw"), filepath.Join(dir, "want.b2nd")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	how := []string{"--dtype", "<f4", "--shape", "6144,1024", "--chunk-shape", "256,1024", "-q"}
	a.run(t, 0, "cp", file, "s3://"+data+"/x.raw", "-q")
	a.run(t, 0, slices.Concat([]string{"pack", file, want}, how)...)
	a.fault(t, 2, "once")
	on := slices.Concat([]string{"pack", "s3://" + data + "/x.raw", "s3://" + out + "/x.b2nd", "--on", a.machine, "--work", "s3://" + work + "/jobs", "--part-size", "6MiB", "--batch-size", "6MiB"}, how)
	begun := time.Now()
	a.run(t, 0, on...)
	t.Logf("24 MiB by 4 workers: %.1f s", time.Since(begun).Seconds())
	if a.exists(t, "faults/2") {
		t.Error("nothing failed once")
	}
	if list := a.last(t, "/runs/"); strings.Count(list, "from") != 4 {
		t.Errorf("the batches are %s", list)
	}
	key := "x.b2nd"
	o, err := cloud.S3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &out, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Body.Close()
	got, err := io.ReadAll(o.Body)
	if err != nil {
		t.Fatal(err)
	}
	if local, err := os.ReadFile(want); err != nil || !bytes.Equal(got, local) {
		t.Errorf("%d bytes are others than the %d of one machine: %v", len(got), len(local), err)
	}
	for _, k := range a.keys(t, "") {
		if strings.Contains(k, "/chunks/") {
			t.Errorf("%s remains", k)
		}
	}
	a.run(t, 5, append(slices.Clone(on), "--level", "9")...) // another plan, and the output is there
}
