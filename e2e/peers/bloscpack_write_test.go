//go:build peers

package peers

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/bloscpack"
)

// write writes the file as a stream in pieces of any size.
func (m madePack) write(t *testing.T, r random) {
	t.Helper()
	var b buffer
	o := m.o
	if m.meta != "" {
		o.Metadata = json.RawMessage(m.meta)
	}
	w, err := bloscpack.NewWriter(&b, o)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	for rest := m.data; len(rest) > 0; {
		n := min(len(rest), 1+r.IntN(len(m.data)))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	if err := os.WriteFile(m.path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// check compares what bloscpack found with what was written.
func (m madePack) check(t *testing.T, got pyFile) {
	t.Helper()
	if got.Error != "" {
		t.Errorf("%s: %s", m.name, got.Error)
		return
	}
	if got.SHA256 != sum(m.data) {
		t.Errorf("%s: other bytes, in chunks of %v", m.name, got.Chunks)
	}
	if got.Checksum != pyName(m.o.Checksum) || got.TypeSize != m.o.Encode.TypeSize || got.HasOffsets == m.o.NoOffsets || got.Rest != 0 {
		t.Errorf("%s: header %+v", m.name, got)
	}
	checkMetadata(t, m.name, m.meta, got.HasMetadata, got.Metadata)
	if d := cmp.Diff(chunkPlan(len(m.data), m.o.ChunkSize), got.Chunks); d != "" {
		t.Errorf("%s: chunks (-wanted +read)\n%s", m.name, d)
	}
	full := int64(got.Chunks[0])
	if got.NChunks != int64(len(got.Chunks)) || got.ChunkSize != full || got.LastChunk != int64(got.Chunks[len(got.Chunks)-1]) {
		t.Errorf("%s: %d chunks of %d, the last of %d, in the header", m.name, got.NChunks, got.ChunkSize, got.LastChunk)
	}
	spare := m.o.MaxAppend
	switch {
	case m.o.NoOffsets || spare == bloscpack.NoAppend:
		spare = 0
	case spare == 0:
		spare = 10 * got.NChunks
	}
	if got.MaxApp != spare {
		t.Errorf("%s: room for %d more chunks", m.name, got.MaxApp)
	}
	if m.meta != "" {
		m.checkStored(t, got.Meta)
	}
}

// checkStored looks at how the metadata are stored.
func (m madePack) checkStored(t *testing.T, got pyMeta) {
	t.Helper()
	sum, room := m.o.Meta.Checksum, m.o.Meta.Room
	if sum == bloscpack.None && !m.o.Meta.NoChecksum {
		sum = bloscpack.Adler32
	}
	if room == 0 {
		room = 10 * got.Size
	}
	codec := "zlib"
	if m.o.Meta.Plain || got.Codec == "None" && got.Stored == got.Size { // what does not get shorter stays as it is
		codec = "None"
	}
	if got.Checksum != pyName(sum) || got.Codec != codec || got.MaxSize != max(room, got.Stored) {
		t.Errorf("%s: metadata stored as %+v", m.name, got)
	}
}

// chunkPlan is how bloscpack cuts n bytes.
func chunkPlan(n, chunk int) []int {
	plan := []int{}
	for ; n > chunk; n -= chunk {
		plan = append(plan, chunk)
	}
	return append(plan, n)
}

// TestBloscpackFixed: the real bloscpack unpacks what we write, over every
// checksum, codec, filter, size class, and with all kinds of metadata.
func TestBloscpackFixed(t *testing.T) {
	dir := t.TempDir()
	var made []madePack
	var jobs []pyJob
	for round := range 8 {
		for _, sum := range checksums {
			for _, codec := range bloscCodecs {
				i := len(made)
				r := seeded(uint64(20_000 + i))
				m := r.pack(t, dir, i+round, sum, codec)
				m.write(t, r)
				if m.meta == "null" {
					m.meta = "" // no section is written for it: bloscpack takes null for none
				}
				made, jobs = append(made, m), append(jobs, pyJob{"kind": "fixed", "path": m.path})
			}
		}
	}
	for i, got := range pyRead(t, jobs) {
		made[i].check(t, got)
		made[i].readBack(t)
	}
	t.Logf("%d files", len(made))
}
