//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// TestLongItems: python-blosc2 opens arrays of items that a chunk records as
// bytes, also where all bytes are the same, and reads what NDCELL has moved.
func TestLongItems(t *testing.T) {
	dir := t.TempDir()
	var made []madeArray
	var jobs []bloscJob
	for _, size := range []int{3, 255, 256, 300} {
		for name, filters := range map[string][]blosc.Filter{
			"shuffle": nil, "none": {}, "ndcell": {{ID: blosc.NDCell, Meta: 3}}, "ndcell+shuffle": {{ID: blosc.NDCell, Meta: 3}, {ID: blosc.Shuffle}},
		} {
			for _, class := range []string{"same", "ramp", "runs"} {
				m := madeArray{name: fmt.Sprintf("%s of %d bytes, %s", class, size, name)}
				m.meta = b2nd.Meta{Shape: []int64{21, 13}, ChunkShape: []int{10, 8}, BlockShape: []int{5, 4}, DType: fmt.Sprintf("|S%d", size)}
				if m.data = bytes.Repeat([]byte{7}, 21*13*size); class != "same" {
					m.data = seeded(1).items(class, 21*13, size)
				}
				path := filepath.Join(dir, fmt.Sprint(len(made)))
				if err := os.WriteFile(path, m.write(t, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Filters: filters}}, seeded(2)), 0o600); err != nil {
					t.Fatal(err)
				}
				made, jobs = append(made, m), append(jobs, bloscJob{Path: path, Kind: "b2nd"})
			}
		}
	}
	for i, got := range readBlosc(t, jobs) {
		if m := made[i]; got.Error != "" || got.SHA256 != sum(m.data) {
			t.Errorf("%s: other items, %s", m.name, got.Error)
		}
	}
}
