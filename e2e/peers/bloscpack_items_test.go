//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
)

// A madeItems is a file of items of their own lengths, and how it was made.
type madeItems struct {
	name, path, meta string
	o                bloscpack.WriteOptions
	items            [][]byte
}

// manyItems draws items: none, empty ones, one, short, long and mixed.
func (r random) manyItems(class, typesize int) [][]byte {
	n := []int{0, 1, 2, 7, 40, 300}[class%6]
	items := make([][]byte, n)
	for i := range items {
		size := []int{0, 1, r.IntN(40), 15, 16, 17, 127, 128, 129, r.IntN(3000), r.IntN(30_000)}[r.IntN(11)]
		items[i] = r.items(dataClasses[r.IntN(len(dataClasses))], size/typesize+1, typesize)[:size]
	}
	return items
}

func (r random) variable(dir string, i int, checksum bloscpack.Checksum, codec blosc.Codec) madeItems {
	typesize := []int{1, 1, 1, 2, 4, 8, 3}[r.IntN(7)]
	filter := packFilters[r.IntN(len(packFilters))]
	m := madeItems{path: filepath.Join(dir, fmt.Sprintf("%d.blp", i)), meta: r.metadata(i), items: r.manyItems(i, typesize)}
	m.o = bloscpack.WriteOptions{
		Variable: true, Checksum: checksum, NoChecksum: checksum == bloscpack.None, Parallel: r.IntN(3),
		Encode: blosc.EncodeOptions{Codec: codec, Level: r.level(), TypeSize: typesize, Filters: pipelines(typesize)[filter]},
	}
	if r.IntN(3) == 0 {
		m.o.Chunks = int64(len(m.items))
	}
	m.name = fmt.Sprintf("%d: %s, %d items, metadata %.40s, %+v", i, filter, len(m.items), m.meta, m.o)
	return m
}

func (m madeItems) write(t *testing.T) {
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
	for _, p := range m.items {
		if err := w.WriteItem(p); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	if err := os.WriteFile(m.path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBloscpackItems: the independent reader of version 4 reads what we write.
func TestBloscpackItems(t *testing.T) {
	dir := t.TempDir()
	var made []madeItems
	var jobs []pyJob
	for round := range 4 {
		for _, sum := range checksums {
			for _, codec := range bloscCodecs {
				i := len(made)
				m := seeded(uint64(40_000+i)).variable(dir, i+round, sum, codec)
				m.write(t)
				made, jobs = append(made, m), append(jobs, pyJob{"kind": "variable", "path": m.path})
			}
		}
	}
	for i, got := range pyRead(t, jobs) {
		m := made[i]
		if got.Error != "" {
			t.Errorf("%s: %s", m.name, got.Error)
			continue
		}
		want := make([]pyItem, len(m.items))
		for k, p := range m.items {
			want[k] = pyItem{Length: len(p), SHA256: sum(p)}
		}
		same(t, want, got.Items)
		if got.Checksum != m.o.Checksum.String() || got.TypeSize != m.o.Encode.TypeSize || !got.Variable || !got.HasOffsets || got.Aborted {
			t.Errorf("%s: header %+v", m.name, got)
		}
		if got.Slack != 0 || len(got.Warnings) > 0 || got.ChunkSize != -1 || got.LastChunk != -1 {
			t.Errorf("%s: %d bytes of no chunk, chunks of %d and %d, %q", m.name, got.Slack, got.ChunkSize, got.LastChunk, got.Warnings)
		}
		checkMetadata(t, m.name, m.meta, got.HasMetadata, got.Metadata)
		m.readBack(t, nil)
	}
}

// readBack reads all items with our own reader, one by one and together; some
// may never have been written.
func (m madeItems) readBack(t *testing.T, missing []int) {
	t.Helper()
	f := openPack(t, m.name, m.path)
	aborted, lost := len(missing) > 0 && len(missing) == len(m.items), formats.ErrNoEntry
	if aborted {
		lost = formats.ErrCorrupt // a file of which no item was written is one whose writing did not end
	}
	if f.Len() != int64(len(m.items)) || f.Aborted() != aborted {
		t.Errorf("%s: we read %d items, aborted %t", m.name, f.Len(), f.Aborted())
		return
	}
	checkMetadata(t, m.name, m.meta, f.Metadata() != nil, decoded(t, f.Metadata()))
	for i, want := range m.items {
		got, err := f.AppendItem(t.Context(), []byte("x"), int64(i))
		switch {
		case slices.Contains(missing, i):
			if !errors.Is(err, lost) {
				t.Errorf("%s: item %d, never written: %d bytes, %v", m.name, i, len(got)-1, err)
				return
			}
		case err != nil || !bytes.Equal(got[1:], want):
			t.Errorf("%s: item %d: we read %d bytes of %d, %v", m.name, i, len(got)-1, len(want), err)
			return
		}
	}
	all, err := f.AppendItems(t.Context(), nil, 0, f.Len())
	if len(missing) > 0 {
		if err == nil {
			t.Errorf("%s: all are read", m.name)
		}
		return
	}
	if d := cmp.Diff(m.items, all, cmp.Comparer(bytes.Equal)); err != nil || d != "" && len(m.items) > 0 {
		t.Errorf("%s: all items: %v\n%.2000s", m.name, err, d)
	}
}

// TestBloscpackTheirItems: we read what the independent writer of version 4
// writes in this moment: in any order, with gaps, and with items left out.
func TestBloscpackTheirItems(t *testing.T) {
	dir := t.TempDir()
	var made []madeItems
	var missing [][]int
	var jobs []pyJob
	for _, sum := range checksums {
		for _, codec := range bloscCodecs {
			i := len(made)
			r := seeded(uint64(50_000 + i))
			m := r.variable(dir, i, sum, codec)
			if m.meta == "null" {
				m.meta = "" // None is no metadata in their eyes
			}
			job := pyJob{"kind": "variable", "path": m.path, "items": m.items, "checksum": sum.String(), "typesize": m.o.Encode.TypeSize,
				"codecs": []string{codec.String(), bloscCodecs[r.IntN(len(bloscCodecs))].String()}, "level": max(0, m.o.Encode.Level), "filter": filterName(m.o.Encode)}
			if m.meta != "" {
				job["metadata"] = json.RawMessage(m.meta)
			}
			out := []int{}
			if i%3 == 1 {
				job["order"] = r.Perm(len(m.items))
				job["gap"] = make([]byte, r.IntN(100))
			}
			if i%4 == 3 {
				for k := range m.items {
					if i%8 == 7 || r.IntN(3) == 0 {
						out = append(out, k)
					}
				}
				job["missing"] = out
			}
			m.name += fmt.Sprintf(", %d missing", len(out))
			made, missing, jobs = append(made, m), append(missing, out), append(jobs, job)
		}
	}
	pyWrite(t, jobs)
	for i, m := range made {
		m.readBack(t, missing[i])
	}
}
