//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

func (b *buffer) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(b.Bytes()[n:])
	b.Reset()
	b.Write(p)
	b.Write(rest)
	return nil
}

// metalayers are msgpack texts under names of their own.
func (r random) metalayers(most int) []cframe.Metalayer {
	var out []cframe.Metalayer
	for i := range r.IntN(most) {
		text := fmt.Sprintf("value %d %x", i, r.Uint64())
		out = append(out, cframe.Metalayer{Name: fmt.Sprintf("name %d", i), Data: append([]byte{0xd9, byte(len(text))}, text...)})
	}
	return out
}

func layersByName(list []cframe.Metalayer) map[string][]byte {
	m := map[string][]byte{}
	for _, l := range list {
		m[l.Name] = l.Data
	}
	return m
}

// A madeFrame is a frame in a file or folder, and what it holds.
type madeFrame struct {
	name, path string
	typesize   int
	data       []byte
	chunks     []int
	metas, vls map[string][]byte
}

// frame makes a frame of chunks of all kinds.
func (r random) frame(t *testing.T, path string) madeFrame {
	t.Helper()
	typesize := []int{1, 2, 4, 8, 3, 16, 300}[r.IntN(7)]
	metas, vls := r.metalayers(5), r.metalayers(5)
	codec := bloscCodecs[r.IntN(len(bloscCodecs))]
	vary, sparse, full := r.IntN(4) == 0, r.IntN(4) == 0, 1+r.IntN(3000)
	o := cframe.WriteOptions{
		TypeSize: typesize, ChunkSize: typesize * full, Vary: vary, Metalayers: metas, Parallel: r.IntN(3),
		Encode: blosc.EncodeOptions{Codec: codec, Level: r.level()},
	}
	m := madeFrame{path: path, typesize: typesize, metas: layersByName(metas), vls: layersByName(vls)}
	m.name = fmt.Sprintf("%s: %+v sparse %v", filepath.Base(path), o, sparse)
	w := r.open(t, path, o, sparse)
	n := r.IntN(6)
	for i := range n {
		items := full
		if i == n-1 || vary && r.IntN(2) == 0 {
			items = 1 + r.IntN(full)
		}
		p := r.items(dataClasses[r.IntN(len(dataClasses))], items, typesize)
		var err error
		if !vary && r.IntN(4) == 0 {
			p = make([]byte, len(p))
			err = w.special(blosc.Zeros, len(p))
		} else {
			err = w.chunk(p)
		}
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		m.data, m.chunks = append(m.data, p...), append(m.chunks, len(p))
	}
	for _, l := range vls {
		if err := w.meta(l.Name, l.Data); err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
	}
	if err := w.close(); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return m
}

// frameWriter is what both writers have.
type frameWriter struct {
	chunk   func([]byte) error
	special func(blosc.Special, int) error
	meta    func(string, []byte) error
	close   func() error
}

func (r random) open(t *testing.T, path string, o cframe.WriteOptions, sparse bool) frameWriter {
	t.Helper()
	if sparse {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := farread.New(farread.Config{NoHedge: true}).Output(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cframe.NewSetWriter(t.Context(), out, o)
		if err != nil {
			t.Fatal(err)
		}
		return frameWriter{
			func(p []byte) error { return w.WriteChunk(p) },
			func(k blosc.Special, n int) error { return w.WriteSpecial(k, n) },
			func(name string, p []byte) error { return w.SetVLMetalayer(name, p) },
			func() error { return w.Close() },
		}
	}
	var b buffer
	w, err := cframe.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	return frameWriter{w.WriteChunk, w.WriteSpecial, w.SetVLMetalayer, func() error {
		if err := w.Close(); err != nil {
			return err
		}
		return os.WriteFile(path, b.Bytes(), 0o600)
	}}
}

// TestBloscFrames: python-blosc2 reads the frames that we write, and those that
// we have edited, with their metalayers.
func TestBloscFrames(t *testing.T) {
	dir := t.TempDir()
	made := make([]madeFrame, 160)
	jobs := make([]bloscJob, len(made))
	for i := range made {
		r := seeded(uint64(1000 + i))
		made[i] = r.frame(t, filepath.Join(dir, fmt.Sprintf("%d.b2frame", i)))
		if info, err := os.Stat(made[i].path); err == nil && !info.IsDir() && i%2 == 0 {
			r.edit(t, &made[i])
		}
		jobs[i] = bloscJob{Path: made[i].path, Kind: "frame"}
	}
	for i, got := range readBlosc(t, jobs) {
		m := made[i]
		switch {
		case got.Error != "":
			t.Errorf("%s: %s", m.name, got.Error)
		case got.SHA256 != sum(m.data) || !slices.Equal(got.Chunks, m.chunks) || got.TypeSize != m.typesize:
			t.Errorf("%s: other data: chunks %v, wrote %v", m.name, got.Chunks, m.chunks)
		case cmp.Diff(m.metas, got.Metalayers, cmpopts.EquateEmpty())+cmp.Diff(m.vls, got.VLMetalayers, cmpopts.EquateEmpty()) != "":
			t.Errorf("%s: metalayers %q and %q, wrote %q and %q", m.name, got.Metalayers, got.VLMetalayers, m.metas, m.vls)
		}
	}
}

// edit changes a frame in place, in a few commits.
func (r random) edit(t *testing.T, m *madeFrame) {
	t.Helper()
	f, err := os.OpenFile(m.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := cframe.Edit(t.Context(), f, cframe.EditOptions{Vary: true})
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	var parts [][]byte
	rest := m.data
	for _, n := range m.chunks {
		parts, rest = append(parts, rest[:n]), rest[n:]
	}
	for range 1 + r.IntN(6) {
		p := r.items(dataClasses[r.IntN(len(dataClasses))], 1+r.IntN(2000), m.typesize)
		i := r.IntN(len(parts) + 1)
		switch k := r.IntN(6); {
		case k == 0 && i < len(parts):
			err, parts = e.Update(i, p), slices.Replace(parts, i, i+1, p)
		case k == 1 && i < len(parts):
			err, parts = e.Delete(i), slices.Delete(parts, i, i+1)
		case k == 2:
			err, parts = e.Extend(p), append(parts, p)
		case k == 3:
			m.vls["edited"] = []byte{0xc4, 2, 1, 2}
			err = e.SetVLMetalayer("edited", m.vls["edited"])
		case k == 4:
			err = e.Commit()
		default:
			err, parts = e.Insert(i, p), slices.Insert(parts, i, p)
		}
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	m.name += ", edited"
	m.data, m.chunks = bytes.Join(parts, nil), nil
	for _, p := range parts {
		m.chunks = append(m.chunks, len(p))
	}
}

// A madeArray is an array in a file, and what it holds.
type madeArray struct {
	name string
	meta b2nd.Meta
	data []byte
	vls  []cframe.Metalayer
	user []cframe.Metalayer
}

// arrayTypes are of every kind, with their sizes.
var arrayTypes = []struct {
	text string
	size int
}{
	{"|b1", 1}, {"|i1", 1}, {"|u1", 1}, {"<i2", 2}, {"<u2", 2}, {"<f2", 2}, {"<i4", 4}, {">i4", 4}, {"<u4", 4}, {"<f4", 4},
	{"<i8", 8}, {"<u8", 8}, {"<f8", 8}, {">f8", 8}, {"<c8", 8}, {"<c16", 16}, {"|S7", 7}, {"<U5", 20}, {"<M8[ns]", 8}, {"<m8[s]", 8},
	{"[('a', '<i4'), ('b', '<f8')]", 12}, {"[('x', '|u1'), ('y', '<i2', (2,)), ('z', '|S3')]", 8},
}

// array draws a shape of one of the classes: tiny, empty, thin, even, odd, of
// many axes, with shapes of chunks and blocks that divide it or not.
func (r random) array(class int) madeArray {
	typ := arrayTypes[r.IntN(len(arrayTypes))]
	m := madeArray{user: r.metalayers(3), vls: r.metalayers(3)}
	nd := []int{0, 1, 1, 2, 2, 3, 3, 4, 5, 7}[class%10]
	items := int64(1)
	for range nd {
		most := map[int]int{1: 5000, 2: 90, 3: 25, 4: 11, 5: 7, 7: 4}[nd]
		n := int64(1 + r.IntN(most))
		if r.IntN(25) == 0 {
			n = 0
		}
		m.meta.Shape = append(m.meta.Shape, n)
		items *= n
	}
	m.meta.DType = typ.text
	if r.IntN(4) > 0 && items > 0 && nd > 0 {
		for _, n := range m.meta.Shape {
			c := 1 + r.IntN(int(n))
			m.meta.ChunkShape = append(m.meta.ChunkShape, c)
			m.meta.BlockShape = append(m.meta.BlockShape, 1+r.IntN(c))
		}
	}
	data := dataClasses[r.IntN(len(dataClasses))]
	m.data = r.items(data, int(items), typ.size)
	switch typ.text {
	case "|b1":
		for i := range m.data {
			m.data[i] &= 1
		}
	case "<U5": // code points, or NumPy itself refuses to look at them
		for i := range m.data {
			if i%4 > 0 {
				m.data[i] = 0
			} else {
				m.data[i] &= 0x7f
			}
		}
	}
	m.name = fmt.Sprintf("class %d %+v of %s", class, m.meta, data)
	return m
}

// TestBloscArrays: python-blosc2 opens 500 arrays of ours, over every codec,
// pipeline, type and class of shape, with equal items and metalayers.
func TestBloscArrays(t *testing.T) {
	dir := t.TempDir()
	var made []madeArray
	var jobs []bloscJob
	for i := range 500 {
		r := seeded(uint64(5000 + i))
		m := r.array(i)
		lines := slices.Sorted(func(yield func(string) bool) {
			for name := range pipelines(8) {
				if !yield(name) {
					return
				}
			}
		})
		line := lines[i/10%len(lines)]
		codec := bloscCodecs[i%len(bloscCodecs)]
		size := 0
		for _, typ := range arrayTypes {
			if typ.text == m.meta.DType {
				size = typ.size
			}
		}
		o := b2nd.WriteOptions{Metalayers: m.user, VLMetalayers: m.vls, Parallel: 1 + r.IntN(2), Encode: blosc.EncodeOptions{Codec: codec, Level: r.level(), Filters: pipelines(size)[line]}}
		m.name = fmt.Sprintf("%d: %s %s %s", i, codec, line, m.name)
		p := m.write(t, o, r)
		if back := m.readBack(t, p); !bytes.Equal(back, m.data) {
			t.Errorf("%s: we read other items back", m.name)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.b2nd", i))
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
		made, jobs = append(made, m), append(jobs, bloscJob{Path: path, Kind: "b2nd"})
	}
	for i, got := range readBlosc(t, jobs) {
		m := made[i]
		delete(got.Metalayers, "b2nd")
		switch {
		case got.Error != "":
			t.Errorf("%s: %s", m.name, got.Error)
		case got.SHA256 != sum(m.data) || got.DType != m.meta.DType || !slices.Equal(got.Shape, m.meta.Shape):
			t.Errorf("%s: other items, or shape %v, dtype %s", m.name, got.Shape, got.DType)
		case cmp.Diff(layersByName(m.user), got.Metalayers, cmpopts.EquateEmpty())+cmp.Diff(layersByName(m.vls), got.VLMetalayers, cmpopts.EquateEmpty()) != "":
			t.Errorf("%s: metalayers %q and %q", m.name, got.Metalayers, got.VLMetalayers)
		}
	}
}

// write writes the array as a stream in pieces of any size.
func (m madeArray) write(t *testing.T, o b2nd.WriteOptions, r random) []byte {
	t.Helper()
	var b buffer
	w, err := b2nd.NewWriter(&b, m.meta, o)
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
	return b.Bytes()
}

func (m madeArray) readBack(t *testing.T, p []byte) []byte {
	t.Helper()
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	var out bytes.Buffer
	if _, err := a.CopyTo(t.Context(), &out, b2nd.Whole(a.Shape()), 0); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	return out.Bytes()
}

// TestSharedBloscReader: the checker that the project shares with others reads
// an array and a chunk of ours, where it is at hand.
func TestSharedBloscReader(t *testing.T) {
	root := os.Getenv("FARREAD_SHARED")
	if root == "" {
		root = "../../../shared"
	}
	script := filepath.Join(root, "fixtures", "tools", "check_blosc2.py")
	if _, err := os.Stat(script); err != nil {
		t.Skipf("%s is not here", script)
	}
	dir := t.TempDir()
	check := func(name string, p, data []byte, args ...string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
		var got struct{ Failed []string }
		run(t.Context(), t, &got, append([]string{script, path, "--expect-sha256", sum(data)}, args...)...)
		if len(got.Failed) > 0 {
			t.Errorf("%s: %v", name, got.Failed)
		}
	}
	for i := range 6 {
		r := seeded(uint64(9000 + i))
		m := r.array(3 + i)
		shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.meta.Shape), " ", ","), "[]")
		check(fmt.Sprintf("%d.b2nd", i), m.write(t, b2nd.WriteOptions{Metalayers: m.user, VLMetalayers: m.vls}, r), m.data, "--expect-shape", shape)
		for old, lib := range map[bool]string{true: "blosc", false: "blosc2"} {
			c := r.chunk(t, bloscCodecs[i%len(bloscCodecs)], "shuffle", 4, old)
			check(fmt.Sprintf("%d.%s", i, lib), c.chunk, c.data, "--chunk", lib)
		}
	}
}
