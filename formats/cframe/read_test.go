package cframe_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// policies that always read block starts first, or always whole chunks.
var (
	starts = rangeio.Policy{MaxLen: 1 << 40}
	whole  = rangeio.Policy{MaxGap: 1 << 40, Parallel: 1}
)

// collected is what a Read gave, by want and block.
type collected struct {
	mu     sync.Mutex
	blocks map[[2]int][]byte
}

func collect(ctx context.Context, f *cframe.Frame, wants []cframe.Want) (map[[2]int][]byte, error) {
	c := collected{blocks: map[[2]int][]byte{}}
	err := f.EachConcurrent(ctx, wants, func(want, block int, p []byte) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		k := [2]int{want, block}
		if c.blocks[k] != nil {
			return errors.New("a block came twice")
		}
		c.blocks[k] = append([]byte{}, p...)
		clear(p) // it is ours
		return nil
	})
	return c.blocks, err
}

// scrambledSet scrambles the readers of a set.
func scrambledSet(s *memSet) *memSet {
	s.wrap = func(name string, r rangeio.Reader) rangeio.Reader { return formattest.Scramble(r, uint64(len(name))) }
	return s
}

// TestRead reads random blocks of every fixture by both ways, through a reader
// that keeps only the promises of rangeio.Reader.
func TestRead(t *testing.T) {
	loans := bufpool.Loans()
	for _, x := range manifest(t) {
		if x.Kind == "malformed" || x.Expect.Undefined {
			continue
		}
		for name, policy := range map[string]rangeio.Policy{"starts": starts, "whole": whole, "fast": rangeio.Fast()} {
			t.Run(x.File+"/"+name, func(t *testing.T) {
				o := cframe.Options{Policy: policy, Parallel: 1 + len(x.File)%3}
				var f *cframe.Frame
				var err error
				if x.Kind == "sframe" {
					f, err = cframe.OpenSet(t.Context(), scrambledSet(loadSet(t, x.File)), o)
				} else {
					p := load(t, x.File)[x.Expect.Off:]
					f, err = cframe.Open(t.Context(), formattest.Scramble(reader(p), 1), o)
				}
				if err != nil {
					t.Fatal(err)
				}
				readBlocks(t, f)
				readRanges(t, f)
			})
		}
	}
	if n := bufpool.Loans(); n != loans {
		t.Errorf("%d buffers were not given back", n-loans)
	}
}

// readBlocks compares random blocks with the chunks that hold them.
func readBlocks(t *testing.T, f *cframe.Frame) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, uint64(f.Chunks())))
	n := min(f.Chunks(), 200)
	hs, err := f.ChunkHeaders(t.Context(), 0, n)
	if err != nil {
		t.Fatal(err)
	}
	var wants []cframe.Want
	for i := range n {
		w := cframe.Want{Chunk: i}
		switch rnd.IntN(4) {
		case 0:
		case 1:
			w.Dst = make([]byte, hs[i].NBytes+rnd.IntN(3))
		case 2:
			w.Blocks = []int{}
			fallthrough
		default:
			for b := range hs[i].Blocks() {
				if rnd.IntN(3) == 0 {
					w.Blocks = append(w.Blocks, b)
				}
			}
		}
		wants = append(wants, w)
	}
	rnd.Shuffle(len(wants), func(i, j int) { wants[i], wants[j] = wants[j], wants[i] })
	got, err := collect(t.Context(), f, wants)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range wants {
		chunk, err := f.AppendChunk(t.Context(), nil, w.Chunk)
		if err != nil {
			t.Fatal(err)
		}
		checkWant(t, i, w, hs[w.Chunk], chunk, got)
	}
	if len(got) > 0 {
		t.Errorf("%d blocks that nobody wanted", len(got))
	}
}

// checkWant takes from got what belongs to want i.
func checkWant(t *testing.T, i int, w cframe.Want, h blosc.Header, chunk []byte, got map[[2]int][]byte) {
	t.Helper()
	if p, ok := got[[2]int{i, -1}]; ok {
		delete(got, [2]int{i, -1})
		if !bytes.Equal(p, chunk) || w.Dst == nil && h.Special == blosc.None {
			t.Errorf("chunk %d: wrong bytes, or a whole chunk that was not asked for", w.Chunk)
		}
		return
	}
	if w.Dst != nil {
		t.Errorf("chunk %d did not come", w.Chunk)
		return
	}
	at := 0
	for b := range h.Blocks() {
		p, ok := got[[2]int{i, b}]
		delete(got, [2]int{i, b})
		if wanted := w.Blocks == nil || slices.Contains(w.Blocks, b); ok != wanted {
			t.Errorf("chunk %d block %d: came %t, wanted %t", w.Chunk, b, ok, wanted)
		}
		if !h.VL {
			at = b * h.BlockBytes()
		} else if w.Blocks != nil {
			if ok && !bytes.Contains(chunk, p) {
				t.Errorf("chunk %d VL block %d: wrong bytes", w.Chunk, b)
			}
			continue
		}
		if ok && !bytes.HasPrefix(chunk[at:], p) {
			t.Errorf("chunk %d block %d: wrong bytes", w.Chunk, b)
		}
		at += len(p)
	}
	if w.Blocks == nil && at != len(chunk) && len(chunk) > 0 {
		t.Errorf("chunk %d: %d bytes of %d", w.Chunk, at, len(chunk))
	}
}

func readRanges(t *testing.T, f *cframe.Frame) {
	t.Helper()
	n := int(f.Info().NBytes)
	all := make([]byte, 0, n)
	for i := range f.Chunks() {
		var err error
		if all, err = f.AppendChunk(t.Context(), all, i); err != nil {
			t.Fatal(err)
		}
	}
	rnd := rand.New(rand.NewPCG(8, uint64(n)))
	for range 20 {
		from := rnd.IntN(n + 1)
		p := make([]byte, rnd.IntN(n-from+1)>>rnd.IntN(8))
		if err := f.ReadBytes(t.Context(), p, int64(from)); err != nil || !bytes.Equal(p, all[from:from+len(p)]) {
			t.Fatalf("%d bytes at %d of %d differ, %v", len(p), from, n, err)
		}
	}
	for _, r := range [][2]int{{-1, 1}, {0, n + 1}, {n, 1}, {n + 1, 0}} {
		if err := f.ReadBytes(t.Context(), make([]byte, r[1]), int64(r[0])); !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%d bytes at %d of %d: %v", r[1], r[0], n, err)
		}
	}
}

func open(t *testing.T, name string, o cframe.Options) *cframe.Frame {
	t.Helper()
	f, err := cframe.Open(t.Context(), reader(load(t, name)), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOtherBlocks: a want that counts in blocks which a chunk does not have gets
// the whole chunk, by either way.
func TestOtherBlocks(t *testing.T) {
	for _, policy := range []rangeio.Policy{starts, whole} {
		f := open(t, "cframe/oddblock.b2frame", cframe.Options{Policy: policy})
		got, err := collect(t.Context(), f, []cframe.Want{
			{Chunk: 0, Blocks: []int{1, 2}, BlockSize: 1000}, {Chunk: 1, Blocks: []int{0, 4}}, {Chunk: 1, BlockSize: 1000},
		})
		chunk, _ := f.AppendChunk(t.Context(), nil, 1)
		if err != nil || len(got) != 4 || len(got[[2]int{0, -1}]) != 5000 || !bytes.Equal(got[[2]int{2, -1}], chunk) ||
			!bytes.Equal(got[[2]int{1, 0}], chunk[:1036]) || !bytes.Equal(got[[2]int{1, 4}], chunk[4*1036:]) {
			t.Errorf("%d blocks, %v", len(got), err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	f := open(t, "cframe/oddblock.b2frame", cframe.Options{})
	never := func(want, block int, _ []byte) error {
		t.Errorf("want %d block %d came", want, block)
		return nil
	}
	for _, tc := range []struct {
		name string
		want cframe.Want
		err  error
	}{
		{"no chunk", cframe.Want{Chunk: f.Chunks()}, formats.ErrNoEntry},
		{"negative", cframe.Want{Chunk: -1}, formats.ErrNoEntry},
		{"no block", cframe.Want{Blocks: []int{5}}, formats.ErrNoEntry},
		{"negative block", cframe.Want{Blocks: []int{-1}}, formats.ErrNoEntry},
		{"twice", cframe.Want{Blocks: []int{1, 1}}, formats.ErrNoEntry},
		{"descending", cframe.Want{Blocks: []int{1, 0}}, formats.ErrNoEntry},
		{"short buffer", cframe.Want{Dst: make([]byte, 4999)}, formats.ErrTooLarge},
	} {
		if err := f.EachConcurrent(t.Context(), []cframe.Want{tc.want}, never); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if _, err := f.ExplainConcurrent(t.Context(), []cframe.Want{tc.want}); !errors.Is(err, tc.err) {
			t.Errorf("%s explained: %v", tc.name, err)
		}
	}
	if _, err := f.AppendChunk(t.Context(), nil, f.Chunks()); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	if _, err := f.ChunkHeaders(t.Context(), 0, f.Chunks()+1); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	// Where only the chunk tells how many blocks it has.
	g := open(t, "cframe/plain_lz4.b2frame", cframe.Options{Policy: starts})
	if err := g.EachConcurrent(t.Context(), []cframe.Want{{Blocks: []int{99}}}, never); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	if err := f.EachConcurrent(t.Context(), nil, never); err != nil {
		t.Error(err)
	}
}

// TestErrorOfDone comes back as it is, and ends the read, by every way.
func TestErrorOfDone(t *testing.T) {
	loans := bufpool.Loans()
	stop := errors.New("stop")
	for _, name := range []string{"cframe/special_zeros.b2frame", "cframe/delta_multi.b2frame", "cframe/plain_lz4.b2frame"} {
		for _, policy := range []rangeio.Policy{starts, whole} {
			f := open(t, name, cframe.Options{Policy: policy})
			wants := []cframe.Want{{Chunk: 0}, {Chunk: 1, Blocks: []int{0}}}
			if err := f.EachConcurrent(t.Context(), wants, func(int, int, []byte) error { return stop }); err != stop { // the very same
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := bufpool.Loans(); n != loans {
		t.Errorf("%d buffers were not given back", n-loans)
	}
}

func TestCancelled(t *testing.T) {
	f := open(t, "cframe/delta_multi.b2frame", cframe.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wants := []cframe.Want{{Chunk: 0}, {Chunk: 1, Blocks: []int{2}}}
	if err := f.EachConcurrent(ctx, wants, func(int, int, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := f.EachConcurrent(ctx, wants, func(int, int, []byte) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestRefusedStores: what python-blosc2 marks as something else than data opens
// and shows its metadata, but gives no data.
func TestRefusedStores(t *testing.T) {
	for _, name := range []string{"b2o", "LazyArray", "proxy-source", "listarray", "ctable"} {
		var o repeated
		w, err := cframe.NewWriter(&o, cframe.WriteOptions{Metalayers: []cframe.Metalayer{{Name: "x", Data: []byte{1}}, {Name: name, Data: []byte{2}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteChunk(make([]byte, 100)), w.Close()); err != nil {
			t.Fatal(err)
		}
		f, err := cframe.Open(t.Context(), rangeio.FromReaderAt(&o, o.size), cframe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := f.Metalayer(name); !ok || !bytes.Equal(p, []byte{2}) || f.Chunks() != 1 {
			t.Errorf("%s: %v %v", name, p, ok)
		}
		if _, err := f.VLMetalayers(t.Context()); err != nil {
			t.Error(err)
		}
		_, chunkErr := f.AppendChunk(t.Context(), nil, 0)
		_, headersErr := f.ChunkHeaders(t.Context(), 0, 1)
		_, explainErr := f.ExplainConcurrent(t.Context(), []cframe.Want{{}})
		_, bytesErr := f.ExplainBytes(t.Context(), 0, 1)
		for i, err := range []error{f.Refused(), chunkErr, headersErr, explainErr, bytesErr, f.ReadBytes(t.Context(), make([]byte, 1), 0),
			f.EachConcurrent(t.Context(), []cframe.Want{{}}, ignore), f.Each(t.Context(), 0, 1, ignore)} {
			if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, call %d: %v", name, i, err)
			}
		}
	}
}

// TestSparse: each chunk is opened once, by a name that only its number makes.
func TestSparse(t *testing.T) {
	s := loadSet(t, "cframe/sparse_plain.b2dir")
	f, err := cframe.OpenSet(t.Context(), s, cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.opened) != 1 || s.opened[cframe.IndexName] != 1 {
		t.Errorf("open opened %v", s.opened)
	}
	if err := f.ReadBytes(t.Context(), make([]byte, 8100), 3990); err != nil {
		t.Fatal(err)
	}
	for i, n := range map[string]int{"00000000.chunk": 1, "00000001.chunk": 1, "00000002.chunk": 1, "00000003.chunk": 1, "00000004.chunk": 0} {
		if s.opened[i] != n {
			t.Errorf("%s was opened %d times, want %d", i, s.opened[i], n)
		}
	}
	q, err := f.ExplainBytes(t.Context(), 3990, 8100)
	if err != nil || len(q) != 4 || q[3].Object != "00000003.chunk" {
		t.Errorf("%+v, %v", q, err)
	}
	delete(s.files, "00000002.chunk")
	_, err = f.AppendChunk(t.Context(), nil, 2)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "chunk 2") {
		t.Errorf("a missing chunk: %v", err)
	}
	s.files["00000002.chunk"] = s.files["00000001.chunk"][:5]
	if _, err = f.AppendChunk(t.Context(), nil, 2); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("a cut chunk: %v", err)
	}
	s.files["00000002.chunk"] = append(bytes.Clone(s.files["00000001.chunk"]), make([]byte, 1<<20)...)
	if _, err = f.AppendChunk(t.Context(), nil, 2); err != nil {
		t.Errorf("bytes after a chunk: %v", err)
	}
	if _, err := cframe.OpenSet(t.Context(), &memSet{}, cframe.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no index: %v", err)
	}
	if _, err := cframe.Open(t.Context(), reader(s.files[cframe.IndexName]), cframe.Options{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("a sparse frame opened as a contiguous one: %v", err)
	}
	s.files[cframe.IndexName] = load(t, "cframe/plain_lz4.b2frame")
	if _, err := cframe.OpenSet(t.Context(), s, cframe.Options{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("a contiguous frame opened as a sparse one: %v", err)
	}
}

// TestVectors are the smallest frames that the C library takes.
func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		if v.name == "trailer of a vlmetalayer" {
			frame := vectors(t)[0].frame
			frame = append(frame[:len(frame)-35:len(frame)-35], v.frame...)
			frame[23] = byte(len(frame)) // its length, below 65536
			frame[22] = byte(len(frame) >> 8)
			f, err := cframe.Open(t.Context(), reader(frame), cframe.Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := f.VLMetalayers(t.Context())
			if err != nil || len(m) != 1 || m[0].Name != "bar" || !bytes.Equal(m[0].Data, []byte{5}) {
				t.Errorf("%q %v", m, err)
			}
			continue
		}
		f, err := cframe.Open(t.Context(), reader(v.frame), cframe.Options{})
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		got := make([]byte, f.Info().NBytes)
		if err := f.ReadBytes(t.Context(), got, 0); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
		switch {
		case strings.Contains(v.out, "ZSTD"):
			if in := f.Info(); in.Codec != blosc.Zstd || in.Level != 9 {
				t.Errorf("%s: %+v", v.name, in)
			}
		case strings.HasPrefix(v.name, "Header metalayer"):
			if p, ok := f.Metalayer("foo"); !ok || hex.EncodeToString(p) != "c4020102" || string(got) != "abcd" {
				t.Errorf("%s: %x %q", v.name, p, got)
			}
		default:
			if hex.EncodeToString(got) != strings.ReplaceAll(v.out, " ", "") {
				t.Errorf("%s: %x, want %s", v.name, got, v.out)
			}
		}
		bad := bytes.Clone(v.frame)
		bad[len(bad)-23] = 0xcd
		if _, err := cframe.Open(t.Context(), reader(bad), cframe.Options{}); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s without the mark of its end: %v", v.name, err)
		}
	}
}

type vector struct {
	name, out string
	frame     []byte
}

func vectors(tb testing.TB) (out []vector) {
	tb.Helper()
	for line := range strings.Lines(string(load(tb, "../vectors.txt"))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		p, err := hex.DecodeString(f[1])
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, vector{f[0], f[2], p})
	}
	return out
}
