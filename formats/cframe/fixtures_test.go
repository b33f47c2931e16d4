package cframe_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

// A fixture is a line of the manifest: what python-blosc2 says of a file.
type fixture struct {
	File     string `json:"file"`
	Kind     string `json:"kind"`
	Size     int64  `json:"size"`
	SHA256   string `json:"file_sha256"`
	Optional bool   `json:"optional"`
	Expect   expect `json:"expect"`
}

type expect struct {
	BlockSize  int               `json:"blocksize"`
	CBytes     int64             `json:"cbytes"`
	ChunkSize  int               `json:"chunksize"`
	CLevel     int               `json:"clevel"`
	Codec      string            `json:"codec"`
	Filters    [6]uint8          `json:"filters"`
	FilterMeta [6]uint8          `json:"filters_meta"`
	Meta       map[string][]byte `json:"metalayers"`
	VLMeta     map[string][]byte `json:"vlmetalayers"`
	NBytes     int64             `json:"nbytes"`
	NChunks    int               `json:"nchunks"`
	TypeSize   int               `json:"typesize"`
	SplitMode  string            `json:"splitmode"`
	Digest     string            `json:"sha256"`
	Undefined  bool              `json:"undefined_content"`
	Chunks     []chunkFacts      `json:"chunks"`
	Ranges     []rangeFacts      `json:"ranges"`
	Off        int64             `json:"frame_offset"`
	Header     struct {
		Flags     int   `json:"general_flags"`
		Version   int   `json:"format_version"`
		FrameSize int64 `json:"frame_size"`
		Header    int64 `json:"header_size"`
	} `json:"frame_header"`
	Frame    *expect `json:"frame"` // of a container
	Ours     string  `json:"ours"`  // of malformed input
	Original string  `json:"original_sha256"`
}

type chunkFacts struct {
	I       int    `json:"i"`
	CBytes  int    `json:"cbytes"`
	NBytes  int    `json:"nbytes"`
	Digest  string `json:"sha256"`
	Special string `json:"special"`
	Version uint8  `json:"version"`
}

type rangeFacts struct {
	Digest string `json:"sha256"`
	Start  int    `json:"start"`
	Stop   int    `json:"stop"`
	Unit   int    `json:"unit"`
}

func manifest(tb testing.TB) []fixture {
	tb.Helper()
	var all []fixture
	if err := json.Unmarshal(load(tb, "MANIFEST"), &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", "fixtures", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func digest(p []byte) string {
	d := sha256.Sum256(p)
	return hex.EncodeToString(d[:])
}

func reader(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

// A memSet is a formats.Set in memory, which counts what was opened.
type memSet struct {
	mu     sync.Mutex
	files  map[string][]byte
	opened map[string]int
	wrap   func(name string, r rangeio.Reader) rangeio.Reader
}

func (s *memSet) Open(_ context.Context, name string) (rangeio.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.files[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if s.opened == nil {
		s.opened = map[string]int{}
	}
	s.opened[name]++
	if s.wrap != nil {
		return s.wrap(name, reader(p)), nil
	}
	return reader(p), nil
}

func (s *memSet) List(context.Context) ([]string, error) {
	return nil, errors.New("nobody lists a frame")
}

func loadSet(tb testing.TB, dir string) *memSet {
	tb.Helper()
	s := &memSet{files: map[string][]byte{}}
	entries, err := os.ReadDir(filepath.Join("testdata", "fixtures", filepath.FromSlash(dir)))
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		s.files[e.Name()] = load(tb, path.Join(dir, e.Name()))
	}
	return s
}

// openFixture opens a frame of the manifest.
func openFixture(tb testing.TB, x *fixture, o cframe.Options) (*cframe.Frame, error) {
	tb.Helper()
	if x.Kind == "sframe" {
		return cframe.OpenSet(tb.Context(), loadSet(tb, x.File), o)
	}
	p := load(tb, x.File)
	if d := digest(p); d != x.SHA256 {
		tb.Fatalf("%s has digest %s, the manifest says %s", x.File, d, x.SHA256)
	}
	return cframe.Open(tb.Context(), rangeio.Section(reader(p), x.Expect.Off, int64(len(p))-x.Expect.Off), o)
}

// TestFixtures holds every frame of python-blosc2, new and old, against what
// python-blosc2 says of it.
func TestFixtures(t *testing.T) {
	loans := bufpool.Loans()
	for _, x := range manifest(t) {
		if x.Kind == "malformed" {
			continue
		}
		t.Run(x.File, func(t *testing.T) {
			f, err := openFixture(t, &x, cframe.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e := &x.Expect
			if e.Frame != nil {
				e = e.Frame
			}
			checkInfo(t, f, e)
			checkMeta(t, f, e)
			checkChunks(t, f, e)
			checkData(t, f, e)
		})
	}
	if n := bufpool.Loans(); n != loans {
		t.Errorf("%d buffers were not given back", n-loans)
	}
}

func checkInfo(t *testing.T, f *cframe.Frame, e *expect) {
	t.Helper()
	in := f.Info()
	type facts struct {
		NBytes, CBytes, FrameLen, HeaderLen                int64
		Chunks, ChunkSize, BlockSize, TypeSize, Level, Ver int
		Codec, Split                                       string
		Filters, Meta                                      [6]uint8
	}
	got := facts{in.NBytes, in.CBytes, in.FrameLen, in.HeaderLen, f.Chunks(), in.ChunkSize, in.BlockSize, in.TypeSize, in.Level, in.Version,
		in.Codec.String(), [...]string{"", "ALWAYS_SPLIT", "NEVER_SPLIT", "AUTO_SPLIT", "FORWARD_COMPAT_SPLIT"}[in.SplitMode], [6]uint8{}, [6]uint8{}}
	for i, f := range in.Filters {
		got.Filters[i], got.Meta[i] = uint8(f.ID), f.Meta
	}
	want := facts{e.NBytes, e.CBytes, e.Header.FrameSize, e.Header.Header, e.NChunks, e.ChunkSize, e.BlockSize, e.TypeSize, e.CLevel, e.Header.Version,
		e.Codec, e.SplitMode, e.Filters, e.FilterMeta}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info (-want +got):\n%s", d)
	}
}

func checkMeta(t *testing.T, f *cframe.Frame, e *expect) {
	t.Helper()
	got := map[string][]byte{}
	for _, m := range f.Metalayers() {
		got[m.Name] = m.Data
		if p, ok := f.Metalayer(m.Name); !ok || !bytes.Equal(p, m.Data) {
			t.Errorf("metalayer %q is not found by name", m.Name)
		}
	}
	if d := cmp.Diff(e.Meta, got); d != "" {
		t.Errorf("metalayers:\n%s", d)
	}
	layers, err := f.VLMetalayers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got = map[string][]byte{}
	for _, m := range layers {
		got[m.Name] = m.Data
	}
	if d := cmp.Diff(e.VLMeta, got); d != "" {
		t.Errorf("vlmetalayers:\n%s", d)
	}
}

func checkChunks(t *testing.T, f *cframe.Frame, e *expect) {
	t.Helper()
	hs, err := f.ChunkHeaders(t.Context(), 0, f.Chunks())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e.Chunks {
		h := hs[c.I]
		in, err := f.Chunk(t.Context(), c.I)
		if err != nil {
			t.Fatal(err)
		}
		if h.NBytes != c.NBytes || in.NBytes >= 0 && in.NBytes != c.NBytes || h.Special.String() != c.Special {
			t.Errorf("chunk %d: %+v, %+v, want %+v", c.I, in, h, c)
		}
		if in.Special == blosc.None && (h.CBytes != c.CBytes || h.Version != c.Version || in.MaxLen >= 0 && in.MaxLen < int64(c.CBytes)) {
			t.Errorf("chunk %d: %+v, %+v, want %+v", c.I, in, h, c)
		}
		p, err := f.AppendChunk(t.Context(), []byte("x"), c.I)
		if err != nil {
			t.Fatal(err)
		}
		if p = p[1:]; len(p) != c.NBytes || c.Digest != "" && digest(p) != c.Digest {
			t.Errorf("chunk %d: %d bytes, digest %s, want %d and %s", c.I, len(p), digest(p), c.NBytes, c.Digest)
		}
	}
}

func checkData(t *testing.T, f *cframe.Frame, e *expect) {
	t.Helper()
	all := make([]byte, e.NBytes)
	if err := f.ReadBytes(t.Context(), all, 0); err != nil {
		t.Fatal(err)
	}
	if !e.Undefined && digest(all) != e.Digest {
		t.Errorf("digest %s, want %s", digest(all), e.Digest)
	}
	for _, r := range e.Ranges {
		p := make([]byte, (r.Stop-r.Start)*r.Unit)
		if err := f.ReadBytes(t.Context(), p, int64(r.Start*r.Unit)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p, all[r.Start*r.Unit:r.Stop*r.Unit]) || !e.Undefined && digest(p) != r.Digest {
			t.Errorf("range %+v differs", r)
		}
	}
}

// TestMalformed: damaged frames give an error where they must, the original
// data where they may, and never anything that is no proper error.
func TestMalformed(t *testing.T) {
	loans := bufpool.Loans()
	rules := map[string]int{}
	for _, x := range manifest(t) {
		if x.Kind != "malformed" {
			continue
		}
		rules[x.Expect.Ours]++
		got, err := readAll(t.Context(), reader(load(t, x.File)))
		switch {
		case err != nil && !formattest.Allowed(err):
			t.Errorf("%s: error of no known class: %v", x.File, err)
		case err != nil && !strings.HasPrefix(err.Error(), "cframe: "):
			t.Errorf("%s: %v does not say where", x.File, err)
		case err == nil && x.Expect.Ours == "error":
			t.Errorf("%s: %d bytes and no error", x.File, len(got))
		case err == nil && x.Expect.Ours == "same_or_error" && digest(got) != x.Expect.Original:
			t.Errorf("%s: other bytes than the original's and no error", x.File)
		}
	}
	if rules["error"] < 30 || rules["any"] < 20 {
		t.Errorf("rules %v: the manifest has lost some", rules)
	}
	if n := bufpool.Loans(); n != loans {
		t.Errorf("%d buffers were not given back", n-loans)
	}
}

// readAll opens a frame and reads its data and its vlmetalayers.
func readAll(ctx context.Context, r rangeio.Reader) ([]byte, error) {
	f, err := cframe.Open(ctx, r, cframe.Options{Limits: formats.Limits{MaxDecoded: 1 << 24, MaxMeta: 1 << 22}})
	if err != nil {
		return nil, err
	}
	if _, err := f.VLMetalayers(ctx); err != nil {
		return nil, err
	}
	var out []byte
	for i := range f.Chunks() {
		if out, err = f.AppendChunk(ctx, out, i); err != nil {
			return nil, err
		}
	}
	return out, nil
}
