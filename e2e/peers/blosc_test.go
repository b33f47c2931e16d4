//go:build peers

package peers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// A bloscJob is a file for the Blosc libraries to read, a bloscFile what they found.
type (
	bloscJob struct {
		Path  string  `json:"path"`
		Kind  string  `json:"kind"`            // blosc1, blosc2, frame, b2nd, grow
		Shape []int64 `json:"shape,omitempty"` // for grow
	}
	bloscFile struct {
		Error        string            `json:"error"`
		SHA256       string            `json:"sha256"`
		NBytes       int               `json:"nbytes"`
		TypeSize     int               `json:"typesize"`
		Chunks       []int             `json:"chunks"`
		Metalayers   map[string][]byte `json:"metalayers"`
		VLMetalayers map[string][]byte `json:"vlmetalayers"`
		Shape        []int64           `json:"shape"`
		ChunkShape   []int64           `json:"chunkshape"`
		BlockShape   []int64           `json:"blockshape"`
		DType        string            `json:"dtype"`
	}
)

// readBlosc reads files with python-blosc2, and Blosc1 chunks with python-blosc.
func readBlosc(t *testing.T, jobs []bloscJob) []bloscFile {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var out []bloscFile
	runIn(t.Context(), t, bytes.NewReader(in), &out, "read_blosc.py")
	if len(out) != len(jobs) {
		t.Fatalf("%d answers to %d questions", len(out), len(jobs))
	}
	return out
}

func sum(p []byte) string {
	h := sha256.Sum256(p)
	return hex.EncodeToString(h[:])
}

// dataClasses name what items makes; each compresses in its own way.
var dataClasses = []string{"zeros", "const", "ramp", "sine", "runs", "sparse", "text", "noise", "nan"}

// items makes n items of the given size.
func (r random) items(class string, n, size int) []byte {
	p := make([]byte, n*size)
	for i := range n {
		v := uint64(0)
		switch class {
		case "const":
			v = 0x0807060504030201
		case "ramp":
			v = uint64(i)
		case "sine":
			v = math.Float64bits(math.Sin(float64(i) / 50))
		case "runs":
			v = uint64(i / 37 % 5)
		case "sparse":
			if r.IntN(50) == 0 {
				v = r.Uint64()
			}
		case "text":
			v = uint64("the quick brown fox "[i%20]) | uint64('a'+r.IntN(3))<<8
		case "noise":
			v = r.Uint64()
		case "nan":
			if v = math.Float64bits(math.NaN()); size == 4 {
				v = uint64(math.Float32bits(float32(math.NaN())))
			}
		}
		item := p[i*size : (i+1)*size]
		for k := 0; k < size; k += 8 {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			copy(item[k:], b[:])
		}
	}
	return p
}

// pipelines are the filters in the combinations that people use, and some that
// they should not.
func pipelines(typesize int) map[string][]blosc.Filter {
	f := func(ids ...blosc.FilterID) []blosc.Filter {
		out := []blosc.Filter{}
		for _, id := range ids {
			meta := uint8(0)
			if id == blosc.ByteDelta { // a bare chunk knows no super-chunk
				meta = uint8(min(typesize, 255))
			}
			out = append(out, blosc.Filter{ID: id, Meta: meta})
		}
		return out
	}
	return map[string][]blosc.Filter{
		"none": f(), "shuffle": f(blosc.Shuffle), "bitshuffle": f(blosc.BitShuffle), "delta": f(blosc.Delta),
		"delta+shuffle": f(blosc.Delta, blosc.Shuffle), "delta+bitshuffle": f(blosc.Delta, blosc.BitShuffle),
		"shuffle+bytedelta": f(blosc.Shuffle, blosc.ByteDelta), "bitshuffle+shuffle": f(blosc.BitShuffle, blosc.Shuffle),
		"all": f(blosc.Delta, blosc.Shuffle, blosc.Shuffle, blosc.BitShuffle, blosc.Shuffle, blosc.ByteDelta),
	}
}

var bloscCodecs = []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}

// levels are those of EncodeOptions for Blosc's 0 to 9.
func (r random) level() int {
	return []int{blosc.LevelStore, 1, 2, 3, 4, 5, 6, 7, 8, 9}[r.IntN(10)]
}

// A madeChunk is a chunk, what it holds, and how it was made.
type madeChunk struct {
	name  string
	kind  string
	data  []byte
	chunk []byte
}

// chunk makes one chunk of the given codec, pipeline and item size.
func (r random) chunk(t *testing.T, codec blosc.Codec, filters string, typesize int, old bool) madeChunk {
	t.Helper()
	class := dataClasses[r.IntN(len(dataClasses))]
	n := []int{0, 1, 2, 7, 8, 31, 100, 1000, 4096, 5000, 40000}[r.IntN(11)]
	if typesize > 32 {
		n = min(n, 1000)
	}
	data := r.items(class, n, typesize)
	o := blosc.EncodeOptions{
		Codec: codec, Level: r.level(), TypeSize: typesize, Filters: pipelines(typesize)[filters], Blosc1: old,
		Dict: !old && codec == blosc.Zstd && r.IntN(3) == 0, Split: blosc.SplitMode(r.IntN(5)), Parallel: r.IntN(3),
	}
	if r.IntN(3) == 0 && n > 100 {
		o.BlockSize = typesize * (32 + r.IntN(200))
	}
	m := madeChunk{name: fmt.Sprintf("%s %s typesize %d %s x%d %+v", codec, filters, typesize, class, n, o), kind: "blosc2", data: data}
	if old {
		m.kind = "blosc1"
	}
	var err error
	if m.chunk, err = blosc.AppendEncoded(nil, data, o); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return m
}

// TestBloscChunks: the C libraries read the chunks that we write, over every
// codec, pipeline and a range of item sizes.
func TestBloscChunks(t *testing.T) {
	r := seeded(11)
	var made []madeChunk
	for _, codec := range bloscCodecs {
		for _, typesize := range []int{1, 2, 3, 4, 7, 8, 12, 16, 17, 32, 255, 300} {
			for name := range pipelines(typesize) {
				if typesize > 255 && name != "none" && name != "shuffle" {
					continue // a chunk records such items as single bytes
				}
				made = append(made, r.chunk(t, codec, name, typesize, false))
			}
			for _, name := range []string{"none", "shuffle", "bitshuffle"} {
				if typesize <= 255 {
					made = append(made, r.chunk(t, codec, name, typesize, true))
				}
			}
		}
	}
	dir := t.TempDir()
	jobs := make([]bloscJob, len(made))
	for i, m := range made {
		jobs[i] = bloscJob{Path: filepath.Join(dir, fmt.Sprint(i)), Kind: m.kind}
		if err := os.WriteFile(jobs[i].Path, m.chunk, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range readBlosc(t, jobs) {
		m := made[i]
		switch {
		case got.Error != "":
			t.Errorf("%s: %s", m.name, got.Error)
		case got.SHA256 != sum(m.data):
			t.Errorf("%s: other bytes (%d, wrote %d)", m.name, got.NBytes, len(m.data))
		}
		if back, err := blosc.AppendDecoded(nil, m.chunk); err != nil || !slices.Equal(back, m.data) {
			t.Errorf("%s: we read %d bytes back, %v", m.name, len(back), err)
		}
	}
	t.Logf("%d chunks", len(made))
}
