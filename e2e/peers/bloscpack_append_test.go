//go:build peers

package peers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
)

// A grown file is one that is added to in turn by us and by the real bloscpack.
type grown struct {
	madePack
	room int // chunks that still fit
}

// TestBloscpackAppend: files that either side has made, and either side has added
// to and given other metadata, in any order: both read the same.
func TestBloscpackAppend(t *testing.T) {
	dir := t.TempDir()
	made := make([]grown, 90)
	var jobs []pyJob
	for i := range made {
		r := seeded(uint64(60_000 + i))
		g, js := r.grown(t, dir, i)
		made[i], jobs = g, append(jobs, js...)
	}
	pyWrite(t, jobs)
	for round := range 4 {
		jobs = nil
		ours := make([]bool, len(made))
		for i := range made {
			r := seeded(uint64(70_000 + 100*round + i))
			if ours[i] = r.IntN(2) == 0; ours[i] {
				r.append(t, &made[i])
			} else {
				jobs = append(jobs, r.theyAppend(t, &made[i], round)...)
			}
		}
		pyWrite(t, jobs)
		jobs = nil
		for _, g := range made {
			g.readBack(t)
			jobs = append(jobs, pyJob{"kind": "fixed", "path": g.path})
		}
		for i, got := range pyRead(t, jobs) {
			made[i].checkGrown(t, got, ours[i])
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// grown draws a file of a few chunks with metadata and room for many more, made by
// us, or by the jobs.
func (r random) grown(t *testing.T, dir string, i int) (grown, []pyJob) {
	t.Helper()
	typesize := []int{1, 2, 4, 8, 3}[r.IntN(5)]
	chunk := typesize * (300 + r.IntN(3000))
	size := 1 + r.IntN(4*chunk)
	if r.IntN(4) == 0 {
		size = chunk * (1 + r.IntN(3)) // the last one is full
	}
	checksum, codec := checksums[i%len(checksums)], bloscCodecs[i%len(bloscCodecs)]
	filter := packFilters[r.IntN(len(packFilters))]
	g := grown{room: 400}
	g.path, g.meta = filepath.Join(dir, fmt.Sprintf("%d.blp", i)), []string{"", `{"first":1}`, `["first"]`}[r.IntN(3)]
	g.data = r.items(dataClasses[r.IntN(len(dataClasses))], size/typesize+1, typesize)[:size]
	g.o = bloscpack.WriteOptions{
		Checksum: checksum, NoChecksum: checksum == bloscpack.None, ChunkSize: min(chunk, size), MaxAppend: int64(g.room),
		Encode: blosc.EncodeOptions{Codec: codec, Level: r.level(), TypeSize: typesize, Filters: pipelines(typesize)[filter]},
		Meta:   bloscpack.MetaOptions{Room: 5000},
	}
	if r.IntN(2) == 0 {
		g.name = fmt.Sprintf("%d: ours, %s %s %s, %d bytes in chunks of %d", i, checksum, codec, filter, size, chunk)
		g.write(t, r)
		return g, nil
	}
	g.name = fmt.Sprintf("%d: theirs, %s %s %s, %d bytes in chunks of %d", i, checksum, codec, filter, size, chunk)
	job := pyJob{
		"kind": "pack", "src": saved(t, strings.TrimSuffix(g.path, ".blp"), g.data), "path": g.path,
		"blosc": pyJob{"typesize": typesize, "level": max(0, g.o.Encode.Level), "codec": codec.String(), "filter": filterName(g.o.Encode)},
		"file":  pyJob{"chunk_size": chunk, "checksum": pyName(checksum), "max_app": g.room, "meta": pyJob{"max_meta_size": 5000}},
	}
	if g.meta != "" {
		job["metadata"] = json.RawMessage(g.meta)
	}
	return g, []pyJob{job}
}

// more draws bytes to add, and what they do to the room.
func (r random) more(g *grown) []byte {
	n := 1 + r.IntN(3*g.o.ChunkSize)
	if last := len(g.data) % g.o.ChunkSize; last > 0 && r.IntN(3) == 0 {
		n = g.o.ChunkSize - last // exactly what fills the last chunk
	}
	p := r.items(dataClasses[r.IntN(len(dataClasses))], n, 1)
	g.room -= len(chunkPlan(len(g.data)+n, g.o.ChunkSize)) - len(chunkPlan(len(g.data), g.o.ChunkSize))
	g.data = append(g.data, p...)
	return p
}

// other metadata, where there were some.
func (r random) other(g *grown, who string, round int) bool {
	if g.meta == "" || r.IntN(2) == 0 {
		return false
	}
	g.meta = fmt.Sprintf(`{"by":"%s","round":%d,"häßlich":[%s]}`, who, round, strings.Repeat("1,", r.IntN(300))+"2")
	return true
}

func (r random) append(t *testing.T, g *grown) {
	t.Helper()
	f, err := os.OpenFile(g.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	e, err := bloscpack.Edit(t.Context(), f, info.Size(), bloscpack.EditOptions{})
	if err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
	if err := e.Extend(make([]byte, (g.room+2)*g.o.ChunkSize)); !errors.Is(err, bloscpack.ErrRefused) {
		t.Errorf("%s: more than there is room for: %v", g.name, err)
	}
	g.name += fmt.Sprintf(", we add behind %d", len(g.data))
	for range 1 + r.IntN(3) {
		if err := e.Extend(r.more(g)); err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
	}
	if r.other(g, "us", 0) {
		if err := e.SetMetadata(json.RawMessage(g.meta)); err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatalf("%s: %v", g.name, err)
	}
}

func (r random) theyAppend(t *testing.T, g *grown, round int) []pyJob {
	t.Helper()
	g.name += fmt.Sprintf(", they add behind %d", len(g.data))
	codec := bloscCodecs[r.IntN(len(bloscCodecs))].String()
	jobs := []pyJob{{
		"kind": "append", "path": g.path, "src": saved(t, fmt.Sprintf("%s.more%d", g.path, round), r.more(g)),
		"blosc": pyJob{"typesize": g.o.Encode.TypeSize, "level": r.IntN(10), "codec": codec, "filter": packFilters[r.IntN(len(packFilters))]},
	}}
	if r.other(g, "them", round) {
		jobs = append(jobs, pyJob{"kind": "metadata", "path": g.path, "metadata": json.RawMessage(g.meta)})
	}
	return jobs
}

// checkGrown compares what bloscpack found with what there should be.
func (g grown) checkGrown(t *testing.T, got pyFile, ours bool) {
	t.Helper()
	switch {
	case got.Error != "":
		t.Errorf("%s: %s", g.name, got.Error)
		return
	case got.SHA256 != sum(g.data):
		t.Errorf("%s: other bytes, in chunks of %v", g.name, got.Chunks)
	case got.MaxApp != int64(g.room) || got.NChunks != int64(len(chunkPlan(len(g.data), g.o.ChunkSize))):
		t.Errorf("%s: %d chunks and room for %d, not %d", g.name, got.NChunks, got.MaxApp, g.room)
	case ours && got.Rest != 0: // they leave what is behind a shorter last chunk
		t.Errorf("%s: %d bytes behind the last chunk", g.name, got.Rest)
	}
	same(t, chunkPlan(len(g.data), g.o.ChunkSize), got.Chunks)
	checkMetadata(t, g.name, g.meta, got.HasMetadata, got.Metadata)
}

// TestBloscpackAppendToEmpty: to an empty file, ours or theirs, the real bloscpack
// cannot append; what we have made of it, it reads and appends to.
func TestBloscpackAppendToEmpty(t *testing.T) {
	dir := t.TempDir()
	r := seeded(90_000)
	more := r.items("text", 2_500_000, 1)
	src := saved(t, filepath.Join(dir, "more"), more)
	empty := saved(t, filepath.Join(dir, "empty"), nil)
	ours := madePack{name: "ours", path: filepath.Join(dir, "ours.blp"), o: bloscpack.WriteOptions{MaxAppend: 10}}
	ours.write(t, r)
	theirs := madePack{name: "theirs", path: filepath.Join(dir, "theirs.blp"), o: bloscpack.WriteOptions{MaxAppend: 10}}
	pyWrite(t, []pyJob{{"kind": "pack", "src": empty, "path": theirs.path, "blosc": pyJob{"typesize": 1}, "file": pyJob{"max_app": 10}}})
	var appends, reads []pyJob
	for _, m := range []madePack{ours, theirs} {
		g := grown{madePack: m}
		f, err := os.OpenFile(g.path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		e, err := bloscpack.Edit(t.Context(), f, info.Size(), bloscpack.EditOptions{})
		if err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		if err := errors.Join(e.Extend(more), e.Close(), f.Close()); err != nil {
			t.Fatalf("%s: %v", g.name, err)
		}
		appends = append(appends, pyJob{"kind": "append", "path": g.path, "src": src, "blosc": pyJob{"typesize": 1}})
		reads = append(reads, pyJob{"kind": "fixed", "path": g.path})
	}
	for i, want := range [][]byte{more, slices.Concat(more, more)} {
		for k, got := range pyRead(t, reads) {
			if got.Error != "" || got.SHA256 != sum(want) || got.NChunks+got.MaxApp != 11 {
				t.Errorf("%s: %d chunks, room for %d, of %v, %s", reads[k]["path"], got.NChunks, got.MaxApp, got.Chunks, got.Error)
			}
		}
		for _, m := range []madePack{ours, theirs} {
			m.data = want
			m.readBack(t)
		}
		if i == 0 {
			pyWrite(t, appends)
		}
	}
}
