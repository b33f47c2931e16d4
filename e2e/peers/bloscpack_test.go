//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/rangeio"
)

// A pyJob is something to do for read_bloscpack.py or write_bloscpack.py.
type pyJob map[string]any

// A pyFile is what a reference reader found in a file.
type pyFile struct {
	Error       string `json:"error"`
	SHA256      string `json:"sha256"`
	Chunks      []int  `json:"chunks"` // decoded
	TypeSize    int    `json:"typesize"`
	ChunkSize   int64  `json:"chunk_size"`
	LastChunk   int64  `json:"last_chunk"`
	NChunks     int64  `json:"nchunks"`
	MaxApp      int64  `json:"max_app_chunks"`
	Checksum    string `json:"checksum"`
	HasOffsets  bool   `json:"has_offsets"`
	HasMetadata bool   `json:"has_metadata"`
	Metadata    any    `json:"metadata"`
	Meta        pyMeta `json:"meta"`
	Rest        int    `json:"rest"` // bytes behind the last chunk
	Shape       []int64
	DType       string

	// Version 4.
	Items    []pyItem
	Aborted  bool
	Variable bool
	Slack    int
	Warnings []string
}

// pyMeta is how metadata are stored in version 3.
type pyMeta struct {
	Checksum, Codec string
	Size, Stored    int
	MaxSize         int `json:"max_size"`
}

type pyItem struct {
	Length  int    `json:"length"`
	SHA256  string `json:"sha256"`
	Missing bool   `json:"missing"`
}

// bloscpackJobs has one of the two scripts do all jobs in one process.
func bloscpackJobs(t *testing.T, script string, jobs []pyJob) []pyFile {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var out []pyFile
	runIn(t.Context(), t, bytes.NewReader(in), &out, script)
	if len(out) != len(jobs) {
		t.Fatalf("%d answers to %d questions", len(out), len(jobs))
	}
	return out
}

func pyRead(t *testing.T, jobs []pyJob) []pyFile {
	t.Helper()
	return bloscpackJobs(t, "read_bloscpack.py", jobs)
}

// pyWrite has the reference writers write, and fails where one of them does not.
func pyWrite(t *testing.T, jobs []pyJob) {
	t.Helper()
	for i, r := range bloscpackJobs(t, "write_bloscpack.py", jobs) {
		if r.Error != "" {
			t.Errorf("their writer, %s %s: %s", jobs[i]["kind"], jobs[i]["path"], r.Error)
		}
	}
}

var checksums = []bloscpack.Checksum{
	bloscpack.None, bloscpack.Adler32, bloscpack.CRC32, bloscpack.MD5, bloscpack.SHA1,
	bloscpack.SHA224, bloscpack.SHA256, bloscpack.SHA384, bloscpack.SHA512,
}

// pyName is the name that bloscpack has for a checksum.
func pyName(c bloscpack.Checksum) string {
	if c == bloscpack.None {
		return "None"
	}
	return c.String()
}

// A madePack is a file of chunks of one size, what it holds, and how it was made.
type madePack struct {
	name, path string
	o          bloscpack.WriteOptions
	data       []byte
	meta       string // JSON; "": none
}

// packFilters are those that Blosc1 chunks can have.
var packFilters = []string{"none", "shuffle", "bitshuffle"}

// metadataKinds are JSON texts of each sort; the noise does not get smaller by
// compression.
func (r random) metadata(kind int) string {
	switch kind % 8 {
	case 1:
		return `{"a":1,"b":[true,null,-2.5e-3],"c":{"d":"e"}}`
	case 2:
		return `{}`
	case 3:
		return `"häßlich 中文 😀 \" \\ \u0001 /"`
	case 4:
		return `{"long":"` + strings.Repeat("again and ", 300) + `"}`
	case 5:
		return fmt.Sprintf(`{"noise":"%x%x"}`, r.Uint64(), r.Uint64())
	case 6:
		return `[1,2,[3,[4,"five"]]]`
	case 7:
		return `null`
	}
	return ""
}

// pack draws a file of one checksum, codec and class of size.
func (r random) pack(t *testing.T, dir string, i int, checksum bloscpack.Checksum, codec blosc.Codec) madePack {
	t.Helper()
	typesize := []int{1, 2, 4, 8, 3, 16, 255}[r.IntN(7)]
	chunk := []int{typesize, 7 * typesize, 4096 / typesize * typesize, 65536 / typesize * typesize, 1000}[i%5]
	size := []int{0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 5*chunk + chunk/2, 11 * chunk}[i/5%8]
	class, filter := dataClasses[r.IntN(len(dataClasses))], packFilters[r.IntN(len(packFilters))]
	m := madePack{path: filepath.Join(dir, fmt.Sprintf("%d.blp", i)), meta: r.metadata(i), data: r.items(class, size/typesize+1, typesize)[:size]}
	m.o = bloscpack.WriteOptions{
		Checksum: checksum, NoChecksum: checksum == bloscpack.None, ChunkSize: chunk, NoOffsets: i%3 == 2, Parallel: r.IntN(3),
		Encode: blosc.EncodeOptions{Codec: codec, Level: r.level(), TypeSize: typesize, Filters: pipelines(typesize)[filter]},
	}
	if r.IntN(2) == 0 {
		c := checksums[r.IntN(len(checksums))]
		m.o.Meta = bloscpack.MetaOptions{Checksum: c, NoChecksum: c == bloscpack.None, Plain: r.IntN(2) == 0, Room: r.IntN(2) * r.IntN(9000)}
		m.o.MaxAppend = []int64{0, bloscpack.NoAppend, 1, 7}[r.IntN(4)]
	}
	if m.o.NoOffsets {
		m.o.MaxAppend = 0
	}
	m.name = fmt.Sprintf("%d: %s in chunks of %d, %d bytes of %s, metadata %.40s, %+v", i, filter, chunk, size, class, m.meta, m.o)
	return m
}

// checkMetadata compares metadata that were read with a JSON text; "" is none.
func checkMetadata(t *testing.T, name, want string, has bool, got any) {
	t.Helper()
	var text json.RawMessage
	if want != "" {
		text = json.RawMessage(want)
	}
	if d := cmp.Diff(decoded(t, text), got); d != "" || has != (want != "") {
		t.Errorf("%s: metadata (-wanted +read)\n%s", name, d)
	}
}

// readBack reads the file with our own reader, whole and chunk by chunk.
func (m madePack) readBack(t *testing.T) {
	t.Helper()
	f := m.open(t)
	got := make([]byte, len(m.data))
	if n, err := f.ReadChunks(t.Context(), got, 0, f.Len()); err != nil || n != len(m.data) || !bytes.Equal(got, m.data) {
		t.Errorf("%s: we read %d bytes, %v", m.name, n, err)
	}
	if n, err := f.Size(t.Context()); err != nil || n != int64(len(m.data)) {
		t.Errorf("%s: size %d, %v", m.name, n, err)
	}
	checkMetadata(t, m.name, m.meta, f.Metadata() != nil, decoded(t, f.Metadata()))
}

func decoded(t *testing.T, text json.RawMessage) any {
	t.Helper()
	if text == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("metadata %q: %v", text, err)
	}
	return v
}

func (m madePack) open(t *testing.T) *bloscpack.File { t.Helper(); return openPack(t, m.name, m.path) }

func openPack(t *testing.T, name, path string) *bloscpack.File {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := bloscpack.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), bloscpack.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// TestBloscpackTheirs: we read what the real bloscpack writes in this moment, as
// it comes, appended to, and with other metadata.
func TestBloscpackTheirs(t *testing.T) {
	dir := t.TempDir()
	var made []madePack
	var jobs []pyJob
	for round := range 4 {
		for _, sum := range checksums {
			for _, codec := range bloscCodecs {
				i := len(made)
				r := seeded(uint64(30_000 + i))
				m := r.pack(t, dir, i+round, sum, codec)
				js := m.theirs(t, r)
				made, jobs = append(made, m), append(jobs, js...)
			}
		}
	}
	pyWrite(t, jobs)
	for _, m := range made {
		m.readBack(t)
		f := m.open(t)
		if h := f.Header(); h.Checksum != m.o.Checksum || h.TypeSize != m.o.Encode.TypeSize || h.Offsets == m.o.NoOffsets || h.Version != 3 {
			t.Errorf("%s: header %+v", m.name, h)
		}
	}
}

// theirs are the jobs by which their writer makes the file, with what it is to
// have in the end; some are appended to and get other metadata.
func (m *madePack) theirs(t *testing.T, r random) []pyJob {
	t.Helper()
	src := strings.TrimSuffix(m.path, ".blp")
	args := pyJob{"typesize": m.o.Encode.TypeSize, "level": max(0, m.o.Encode.Level), "codec": m.o.Encode.Codec.String(), "filter": filterName(m.o.Encode)}
	file := pyJob{"chunk_size": m.o.ChunkSize, "checksum": pyName(m.o.Checksum), "offsets": !m.o.NoOffsets}
	if r.IntN(2) == 0 {
		file["meta"] = pyJob{"meta_checksum": pyName(checksums[r.IntN(len(checksums))]), "meta_codec": []string{"None", "zlib"}[r.IntN(2)], "max_meta_size": 20_000}
	}
	first := len(m.data)
	more := r.IntN(2) == 0 && !m.o.NoOffsets && first > 1
	if more { // the chunks are as long as what is there first, if that is less
		first -= 1 + r.IntN(first/2)
		file["max_app"] = 1000
	}
	jobs := []pyJob{{"kind": "pack", "src": saved(t, src, m.data[:first]), "path": m.path, "blosc": args, "file": file}}
	if m.meta == "null" {
		m.meta = "" // None is no metadata in their eyes
	}
	if m.meta != "" {
		jobs[0]["metadata"] = json.RawMessage(m.meta)
	}
	if more {
		m.name += fmt.Sprintf(", appended behind %d", first)
		jobs = append(jobs, pyJob{"kind": "append", "src": saved(t, src+".more", m.data[first:]), "path": m.path, "blosc": args})
	}
	if other := r.metadata(r.IntN(8)); m.meta != "" && file["meta"] != nil && other != "" && other != "null" && other != m.meta {
		m.name, m.meta = m.name+", then "+other, other
		jobs = append(jobs, pyJob{"kind": "metadata", "path": m.path, "metadata": json.RawMessage(other)})
	}
	return jobs
}

func saved(t *testing.T, path string, p []byte) string {
	t.Helper()
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func filterName(o blosc.EncodeOptions) string {
	if len(o.Filters) == 0 {
		return "none"
	}
	return o.Filters[0].ID.String()
}
