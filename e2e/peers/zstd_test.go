//go:build peers

package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// repeated makes n bytes of few kinds or many, in which what came before comes again, near and
// far, and changed.
func (r random) repeated(n int) []byte {
	kinds, words := 1+r.IntN(256), 1+r.IntN(60)
	p := make([]byte, 0, n+words)
	for len(p) < n {
		if len(p) > words && r.IntN(3) > 0 {
			at := r.IntN(len(p))
			if r.IntN(2) == 0 {
				at = len(p) - 1 - r.IntN(words)
			}
			for range 1 + r.IntN(words) {
				p = append(p, p[at])
				at++
			}
			p[len(p)-1] ^= byte(r.IntN(2))
			continue
		}
		for range 1 + r.IntN(8) {
			p = append(p, byte(r.IntN(kinds)))
		}
	}
	return p[:n]
}

// TestZstdStreams: libzstd, which refuses some frames that the library takes, reads what is
// encoded at level 1, of every length of a few hundred bytes and of some up to the longest that
// our own encoder takes.
func TestZstdStreams(t *testing.T) {
	r := seeded(12)
	lengths := []int{64 << 10, 64<<10 - 1, 64<<10 + 1, 48 << 10, 32 << 10, 16<<10 + 1, 16 << 10, 16<<10 - 1, 8 << 10, 4095, 4096, 1 << 10, 1<<10 - 1}
	for n := 24; n < 1500; n += 1 + r.IntN(3) {
		lengths = append(lengths, n)
	}
	for range 300 {
		lengths = append(lengths, 513+r.IntN(64<<10))
	}
	dir := t.TempDir()
	var jobs []bloscJob
	var all [][]byte
	compressed := 0
	for i, n := range lengths {
		data := r.repeated(n)
		if i%4 == 0 {
			data = r.items([]string{"sine", "text", "ramp", "sparse"}[r.IntN(4)], n/8, 8)
		}
		o := blosc.EncodeOptions{Codec: blosc.Zstd, Level: 1, TypeSize: []int{1, 2, 8}[r.IntN(3)], BlockSize: n + 8, Filters: []blosc.Filter{}}
		if r.IntN(2) == 0 {
			o.Filters = []blosc.Filter{{ID: blosc.Shuffle}}
		}
		chunk, err := blosc.AppendEncoded(nil, data, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk) < len(data) {
			compressed++
		}
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, chunk, 0o600); err != nil {
			t.Fatal(err)
		}
		jobs, all = append(jobs, bloscJob{Path: path, Kind: "blosc2"}), append(all, data)
	}
	for i, got := range readBlosc(t, jobs) {
		if got.Error != "" || got.SHA256 != sum(all[i]) {
			t.Errorf("%d bytes: %s, %d bytes were read", len(all[i]), got.Error, got.NBytes)
		}
	}
	if compressed < len(all)/2 {
		t.Errorf("only %d of %d chunks are shorter than what they hold", compressed, len(all))
	}
	t.Logf("%d chunks, %d of them shorter than what they hold", len(all), compressed)
}
