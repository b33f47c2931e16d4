//go:build peers

package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/rangeio"
)

const b2ndFixtures = "../../formats/b2nd/testdata"

// A zarrJob is what the readers of Zarr are asked to read, a zarrRead what they found.
type (
	zarrJob struct {
		Zarr  string `json:"zarr,omitempty"`
		Group string `json:"group,omitempty"`
		Array string `json:"array,omitempty"`
		B2ND  string `json:"b2nd,omitempty"`
		Cast  string `json:"cast,omitempty"`
		Blosc string `json:"blosc,omitempty"`
	}
	zarrRead struct {
		Error      string
		SHA256     string
		Shape      []int64
		DType      string
		Chunks     []int64
		Names      []string
		Attributes []string
	}
)

func readZarr(t *testing.T, jobs []zarrJob) []zarrRead {
	t.Helper()
	in, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var out []zarrRead
	runIn(t.Context(), t, bytes.NewReader(in), &out, "read_zarr.py")
	switch {
	case out != nil:
	case os.Getenv("FARREAD_PEERS_REQUIRE") != "":
		t.Fatal("no Python with zarr and numcodecs: run 'make venv'")
	default:
		t.Skip("no Python with zarr and numcodecs: run 'make venv'")
	}
	if len(out) != len(jobs) {
		t.Fatalf("%d answers to %d questions", len(out), len(jobs))
	}
	return out
}

// chunkFolder is a Set of the files of a folder.
type chunkFolder struct{ fs.FS }

func (d chunkFolder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	b, err := fs.ReadFile(d.FS, name)
	return rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), err
}

func (d chunkFolder) List(context.Context) ([]string, error) { return fs.Glob(d.FS, "*") }

// arrayIn opens the array in a file or folder of python-blosc2.
func arrayIn(t *testing.T, path string) *b2nd.Array {
	t.Helper()
	if filepath.Ext(path) == ".b2nddir" {
		a, err := b2nd.OpenSet(t.Context(), chunkFolder{os.DirFS(path)}, b2nd.Options{})
		if err != nil {
			t.Fatal(path, err)
		}
		return a
	}
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		t.Fatal(path, err)
	}
	return a
}

func writeFile(t *testing.T, path string, p []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
}

// eachKey calls f for each chunk that is not the fill value, and for the stored chunk.
func eachKey(t *testing.T, a *b2nd.Array, v *zarrface.View, f func(key string, c zarrface.Chunk, stored []byte)) {
	t.Helper()
	shape, cell := a.Shape(), v.ChunkShape()
	at := make([]int64, len(shape))
	for {
		key := "c"
		for _, n := range at {
			key += "/" + strconv.FormatInt(n, 10)
		}
		c, err := v.Key(key)
		if err == nil {
			stored, err := a.Frame().AppendStored(t.Context(), nil, c.Number)
			if err != nil {
				t.Fatal(err)
			}
			f(key, c, stored)
		} else if !errors.Is(err, zarrface.ErrAbsent) {
			t.Fatal(key, err)
		}
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i]*cell[i] < shape[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// writeZarr writes the Zarr array of a view into a folder.
func writeZarr(t *testing.T, dir string, a *b2nd.Array, v *zarrface.View) {
	t.Helper()
	writeFile(t, filepath.Join(dir, "zarr.json"), v.Doc())
	eachKey(t, a, v, func(key string, c zarrface.Chunk, stored []byte) {
		p, err := v.Encode(nil, c, stored)
		if err != nil {
			t.Fatal(dir, key, err)
		}
		writeFile(t, filepath.Join(dir, filepath.FromSlash(key)), p)
	})
}

func attributesOf(t *testing.T, a *b2nd.Array) []cframe.Metalayer {
	t.Helper()
	vl, err := a.Frame().VLMetalayers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return vl
}

// TestZarrFixtures: zarr-python reads each array of python-blosc2 as that does, by chunk and
// by block, in each codec, and cast.
func TestZarrFixtures(t *testing.T) {
	var list []struct{ File, Kind string }
	text, err := os.ReadFile(filepath.Join(b2ndFixtures, "MANIFEST"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	casts := map[string]string{"dtype_lef8.b2nd": "float32", "dtype_lei8.b2nd": "int32", "dtype_b1.b2nd": "uint8", "dtype_leM8_ns.b2nd": "int64", "dtype_bei4.b2nd": "uint16", "dtype_bef8.b2nd": "int64", "dtype_lef2.b2nd": "float32", "dtype_leu8.b2nd": "int64"}
	dir, refused := t.TempDir(), 0
	var jobs []zarrJob
	for n, x := range list {
		// The text of that type contradicts the size of items, and blosc2 reads no such chunks.
		if x.Kind != "b2nd" || x.File == "example_day_month_temp.b2nd" {
			continue
		}
		path, err := filepath.Abs(filepath.Join(b2ndFixtures, x.File))
		if err != nil {
			t.Fatal(err)
		}
		a := arrayIn(t, path)
		options := []zarrface.Options{{}, {Blocks: true}}
		if n%5 == 0 { // what lies around the same items
			options = append(options, zarrface.Options{Codec: zarrface.Raw}, zarrface.Options{Codec: zarrface.Zstd}, zarrface.Options{Codec: zarrface.Gzip, Blocks: true})
		}
		if cast := casts[x.File]; cast != "" {
			options = append(options, zarrface.Options{Cast: cast})
		}
		for i, o := range options {
			v, err := zarrface.New(t.Context(), a, attributesOf(t, a), o)
			if errors.Is(err, formats.ErrUnsupported) {
				refused++
				break
			} else if err != nil {
				t.Fatal(x.File, err)
			}
			job := zarrJob{Zarr: filepath.Join(dir, fmt.Sprintf("%s-%d", x.File, i)), B2ND: path, Cast: o.Cast}
			writeZarr(t, job.Zarr, a, v)
			jobs = append(jobs, job)
		}
	}
	for i, r := range readZarr(t, jobs) {
		if r.Error != "" {
			t.Errorf("%s %s: %s", filepath.Base(jobs[i].Zarr), jobs[i].Cast, r.Error)
		}
	}
	t.Logf("%d arrays read, %d fixtures refused", len(jobs), refused)
	if len(jobs) < 200 || refused > 5 {
		t.Error("too few arrays")
	}
}

// TestZarrGroup: zarr-python opens a folder of arrays by its consolidated metadata, with
// names of axes and attributes.
func TestZarrGroup(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "zarr")
	g := zarrface.Group{Arrays: map[string][]byte{}, Skipped: []string{"readme.txt"}}
	var jobs []zarrJob
	for name, shape := range map[string][]int64{"wind": {40, 30, 30}, "lat": {30}, "time": {40}} {
		items := seeded(7).items("ramp", int(shape[0]*prodFrom(shape)), 4)
		units, err := cframe.NewMetalayer("units", "m/s")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".b2nd")
		writeArray(t, path, b2nd.Meta{Shape: shape, DType: ">i4"}, items, b2nd.WriteOptions{VLMetalayers: []cframe.Metalayer{units}, Encode: blosc.EncodeOptions{Codec: blosc.Zstd}})
		a := arrayIn(t, path)
		v, err := zarrface.New(t.Context(), a, attributesOf(t, a), zarrface.Options{Folder: true})
		if err != nil {
			t.Fatal(err)
		}
		writeZarr(t, filepath.Join(root, name), a, v)
		g.Arrays[name] = v.Doc()
		jobs = append(jobs, zarrJob{Group: root, Array: name, B2ND: path})
	}
	text, err := g.Doc()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(root, "zarr.json"), text)
	names := map[string][]string{"wind": {"n40", "n30", "n30_"}, "lat": {"n30"}, "time": {"n40"}}
	for i, r := range readZarr(t, jobs) {
		if want := names[jobs[i].Array]; r.Error != "" || !slices.Equal(r.Names, want) || !slices.Equal(r.Attributes, []string{"farread", "units"}) {
			t.Errorf("%s: %+v", jobs[i].Array, r)
		}
	}
}

func prodFrom(shape []int64) int64 {
	n := int64(1)
	for _, k := range shape[1:] {
		n *= k
	}
	return n
}

func writeArray(t *testing.T, path string, m b2nd.Meta, items []byte, o b2nd.WriteOptions) {
	t.Helper()
	var b buffer
	w, err := b2nd.NewWriter(&b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(items); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.Bytes())
}

// wrapChunk writes an array of one stored chunk; false if it is none of an array, whose
// chunks have whole blocks of whole items.
func wrapChunk(t *testing.T, path, file string) bool {
	t.Helper()
	chunk, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	h, err := blosc.ParseHeader(chunk)
	if err != nil || !h.Extended || h.VL || h.NBytes == 0 || h.NBytes%h.BlockBytes() != 0 || h.BlockBytes()%h.TypeSize != 0 {
		return false
	}
	n := h.NBytes / h.TypeSize
	meta, err := b2nd.AppendMeta(nil, b2nd.Meta{Shape: []int64{int64(n)}, ChunkShape: []int{n}, BlockShape: []int{h.BlockBytes() / h.TypeSize}, DType: fmt.Sprintf("|V%d", h.TypeSize)})
	if err != nil {
		t.Fatal(err)
	}
	var b buffer
	o := cframe.WriteOptions{TypeSize: h.TypeSize, ChunkSize: h.NBytes, BlockSize: h.BlockBytes(), Metalayers: []cframe.Metalayer{{Name: "b2nd", Data: meta}}}
	w, err := cframe.NewWriter(&b, o)
	if err == nil {
		err = w.WriteEncoded(chunk)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, b.Bytes())
	return true
}

// TestZarrChunks: C-Blosc1 decodes the chunks that are passed through as we do, over codecs,
// filters, item and block sizes, and kinds of data.
func TestZarrChunks(t *testing.T) {
	r := seeded(12)
	dir := t.TempDir()
	var jobs []zarrJob
	var want []string
	passed := 0
	add := func(a *b2nd.Array, v *zarrface.View) {
		eachKey(t, a, v, func(key string, c zarrface.Chunk, stored []byte) {
			p, err := v.Encode(nil, c, stored)
			if err != nil {
				t.Fatal(key, err)
			}
			items := make([]byte, c.Size)
			if err := a.ReadSlice(t.Context(), items, c.Box); err != nil {
				t.Fatal(err)
			}
			if anew, err := v.EncodeItems(nil, c, items); err != nil || !bytes.Equal(anew, p) {
				passed++
			}
			file := filepath.Join(dir, fmt.Sprint(len(jobs)))
			writeFile(t, file, p)
			jobs, want = append(jobs, zarrJob{Blosc: file}), append(want, sum(items))
		})
	}
	for _, codec := range bloscCodecs {
		for _, item := range []int{1, 2, 3, 4, 8, 16, 17} {
			for _, name := range []string{"none", "shuffle", "bitshuffle"} {
				for _, class := range dataClasses {
					block := []int{40, 120, 128, 1000, 1024, 4096}[r.IntN(6)]
					m := b2nd.Meta{Shape: []int64{int64(4 * block)}, ChunkShape: []int{4 * block}, BlockShape: []int{block}, DType: fmt.Sprintf("|V%d", item)}
					path := filepath.Join(dir, "a.b2nd")
					writeArray(t, path, m, r.items(class, 4*block, item), b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: codec, Level: 1 + r.IntN(9), Filters: pipelines(item)[name], Split: blosc.SplitMode(1 + r.IntN(4))}})
					a := arrayIn(t, path)
					v, err := zarrface.New(t.Context(), a, nil, zarrface.Options{Blocks: r.IntN(4) == 0})
					if err != nil {
						t.Fatal(err)
					}
					add(a, v)
				}
			}
		}
	}
	files, err := filepath.Glob("../../formats/blosc/testdata/blosc2/*.chunk")
	if err != nil || len(files) < 200 {
		t.Fatal(len(files), err)
	}
	for _, file := range files { // chunks that C-Blosc2 wrote
		path := filepath.Join(dir, "c.b2nd")
		if !wrapChunk(t, path, file) {
			continue
		}
		a := arrayIn(t, path)
		v, err := zarrface.New(t.Context(), a, nil, zarrface.Options{})
		if err != nil {
			t.Fatal(file, err)
		}
		add(a, v)
	}
	for i, got := range readZarr(t, jobs) {
		if got.Error != "" || got.SHA256 != want[i] {
			p, err := os.ReadFile(jobs[i].Blosc)
			h, herr := blosc.ParseHeader(p)
			t.Errorf("chunk %d: %+v, %v %v, %s", i, h, err, herr, got.Error)
		}
	}
	t.Logf("%d chunks, %d passed through", len(jobs), passed)
	if passed < 400 {
		t.Error("too few passed through")
	}
}

// TestZarrTypes: types of which there are no fixtures.
func TestZarrTypes(t *testing.T) {
	dir := t.TempDir()
	var jobs []zarrJob
	for i, text := range []string{
		">U2", "|V3", "<f16", "<c32", ">c16", ">f2", "<M8[25s]", ">M8[us]", "<m8[D]", "|S1", ">u8", "[('a', '<i2'), ('b', '|S1')]", "[('a', [('x', '<f4'), ('y', '|V2')]), ('b', '<M8[s]')]",
		"{'names': ['a', 'b'], 'formats': ['|u1', '<u2'], 'offsets': [0, 2], 'itemsize': 6}",
	} {
		d, err := dtype.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.b2nd", i))
		items := make([]byte, 40*d.ItemSize())
		for k := range items {
			if items[k] = byte(k % 50); d.Kind() == dtype.Text { // code points, not above U+10FFFF
				items[k] = byte(k % 4 / 3 * 'x')
			}
		}
		writeArray(t, path, b2nd.Meta{Shape: []int64{40}, ChunkShape: []int{30}, BlockShape: []int{10}, DType: text}, items, b2nd.WriteOptions{})
		a := arrayIn(t, path)
		v, err := zarrface.New(t.Context(), a, nil, zarrface.Options{})
		if err != nil {
			t.Fatal(text, err)
		}
		job := zarrJob{Zarr: filepath.Join(dir, fmt.Sprint(i)), B2ND: path}
		writeZarr(t, job.Zarr, a, v)
		jobs = append(jobs, job)
	}
	for i, r := range readZarr(t, jobs) {
		if r.Error != "" {
			t.Errorf("%s: %s", arrayIn(t, jobs[i].B2ND).Meta().DType, r.Error)
		}
	}
}
