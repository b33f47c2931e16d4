package zarrface_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/zarrface"
)

// A passCase is an array of one chunk.
type passCase struct {
	codec   blosc.Codec
	filters []blosc.Filter
	item    int // bytes
	block   int // items
	split   blosc.SplitMode
	level   int
	dict    bool
	blocks  int // 0 means 5
}

func (c passCase) count() int {
	if c.blocks == 0 {
		return 5
	}
	return c.blocks
}

// data makes items whose high bytes are mostly constant, so that planes of zeros and of other
// bytes become runs.
func (c passCase) data(r *rand.Rand, kind int) []byte {
	p := make([]byte, c.item*c.block*c.count())
	if kind == 4 { // words, for a dictionary
		for i := 0; i < len(p); {
			i += copy(p[i:], fmt.Sprintf("%d words of a sentence that is so long that it never comes twice in one block of letters and digits, %x; ", r.IntN(1000), r.Uint64()))
		}
		return p
	}
	for i := range p {
		switch plane := i % c.item; {
		case kind == 0 || plane == 0 && kind < 3: // noise, or the low byte
			p[i] = byte(r.Uint32())
		case kind == 1 && plane == 1:
			p[i] = byte(i / c.item / 16)
		case kind == 2 && plane > 1:
			p[i] = 0xA5
		case kind == 3:
			p[i] = byte(i / c.item / c.block)
		}
	}
	return p
}

func (c passCase) array(t tester, data []byte) *b2nd.Array {
	t.Helper()
	m := b2nd.Meta{Shape: []int64{int64(len(data) / c.item)}, ChunkShape: []int{c.block * c.count()}, BlockShape: []int{c.block}, DType: fmt.Sprintf("|V%d", c.item)}
	return newArray(t, m, data, b2nd.WriteOptions{
		Encode: blosc.EncodeOptions{Codec: c.codec, Filters: c.filters, Split: c.split, Level: c.level, Dict: c.dict}, Parallel: 1,
	})
}

func storedChunk(t tester, a *b2nd.Array, v *zarrface.View) (zarrface.Chunk, []byte, bool) {
	t.Helper()
	c, err := v.Key("c" + strings.Repeat("/0", len(a.Shape())))
	if errors.Is(err, zarrface.ErrAbsent) {
		return c, nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, err := a.Frame().AppendStored(t.Context(), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c, stored, true
}

var (
	passCodecs  = []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd}
	passFilters = map[string][]blosc.Filter{
		"none": {}, "shuffle": {{ID: blosc.Shuffle}}, "bitshuffle": {{ID: blosc.BitShuffle}}, "delta": {{ID: blosc.Delta}, {ID: blosc.Shuffle}},
		"trunc": {{ID: blosc.TruncPrec, Meta: 10}, {ID: blosc.Shuffle}}, "two": {{ID: blosc.Shuffle}, {ID: blosc.BitShuffle}},
		"width": {{ID: blosc.Shuffle, Meta: 2}}, "bytedelta": {{ID: blosc.Shuffle}, {ID: blosc.ByteDelta, Meta: 4}},
	}
)

// TestPassedWhere: which chunks pass, by the rules of Blosc1's readers.
func TestPassedWhere(t *testing.T) {
	base := passCase{codec: blosc.LZ4, filters: passFilters["shuffle"], item: 4, block: 4096, level: 5}
	with := func(f func(*passCase)) passCase { c := base; f(&c); return c }
	for _, x := range []struct {
		name string
		c    passCase
		kind int
		want bool
	}{
		{"lz4", base, 1, true},
		{"lz4 with runs", base, 2, true},
		{"lz4hc", with(func(c *passCase) { c.codec = blosc.LZ4HC }), 2, true},
		{"zlib with runs", with(func(c *passCase) { c.codec, c.split = blosc.Zlib, blosc.SplitAlways }), 2, true},
		{"zstd with runs", with(func(c *passCase) { c.codec = blosc.Zstd }), 2, true},
		{"blosclz", with(func(c *passCase) { c.codec, c.split = blosc.BloscLZ, blosc.SplitNever }), 1, true},
		{"blosclz with runs", with(func(c *passCase) { c.codec = blosc.BloscLZ }), 2, false},
		{"noise, stored", with(func(c *passCase) { c.filters = []blosc.Filter{} }), 0, true},
		{"bit shuffle", with(func(c *passCase) { c.filters = passFilters["bitshuffle"] }), 1, true},
		{"bit shuffle of odd items", with(func(c *passCase) { c.filters, c.block = passFilters["bitshuffle"], 4099 }), 1, false},
		{"delta", with(func(c *passCase) { c.filters = passFilters["delta"] }), 1, false},
		{"byte delta", with(func(c *passCase) { c.filters = passFilters["bytedelta"] }), 1, false},
		{"two shuffles", with(func(c *passCase) { c.filters = passFilters["two"] }), 1, false},
		{"shuffle of another width", with(func(c *passCase) { c.filters = passFilters["width"] }), 1, false},
		{"shuffle of its width", with(func(c *passCase) { c.filters = []blosc.Filter{{ID: blosc.Shuffle, Meta: 4}} }), 1, true},
		{"dictionary", with(func(c *passCase) {
			c.codec, c.dict, c.block, c.filters, c.blocks = blosc.Zstd, true, 32, passFilters["none"], 500
		}), 4, false},
		{"split in 16", with(func(c *passCase) { c.item, c.split = 16, blosc.SplitAlways }), 1, true},
		{"split in 17", with(func(c *passCase) { c.item, c.split = 17, blosc.SplitAlways }), 1, false},
		{"unsplit 17", with(func(c *passCase) { c.item, c.split = 17, blosc.SplitNever }), 1, true},
		{"streams of 128", with(func(c *passCase) { c.block, c.split = 128, blosc.SplitAlways }), 1, true},
		{"streams of 127", with(func(c *passCase) { c.block, c.split = 127, blosc.SplitAlways }), 1, false},
		{"unsplit blocks of 127", with(func(c *passCase) { c.block, c.split = 127, blosc.SplitNever }), 1, true},
		{"blocks of few bytes", with(func(c *passCase) { c.item, c.block, c.blocks, c.split = 1, 11, 100, blosc.SplitNever }), 3, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			a := x.c.array(t, x.c.data(rand.New(rand.NewPCG(1, 2)), x.kind))
			v := view(t, a, zarrface.Options{})
			c, stored, ok := storedChunk(t, a, v)
			if !ok {
				t.Fatal("absent")
			}
			if x.c.dict {
				if h, err := blosc.ParseHeader(stored); err != nil || !h.Dict {
					t.Fatal("no dictionary was worth its bytes")
				}
			}
			if got := zarrface.Passes(v, c, stored); got != x.want {
				h, err := blosc.ParseHeader(stored)
				t.Errorf("passes %v: %+v %v", got, h, err)
			}
			checkChunk(t, x.name, a, v, zarrface.Pass, c, stored)
		})
	}
}

// TestPassAll: codecs, filters, item sizes, block sizes and kinds of data.
func TestPassAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	passed, led, all := 0, 0, 0
	for _, codec := range passCodecs {
		for _, name := range slices.Sorted(maps.Keys(passFilters)) {
			filters := passFilters[name]
			for _, item := range []int{1, 2, 3, 4, 8, 16, 17, 300} {
				c := passCase{codec: codec, filters: filters, item: item, block: []int{8, 100, 127, 128, 1000}[r.IntN(5)], split: blosc.SplitMode(1 + r.IntN(4)), level: 1 + r.IntN(9)}
				if all++; !racetest.Sampled(all) || name == "trunc" && item != 4 && item != 8 {
					continue
				}
				a := c.array(t, c.data(r, r.IntN(5)))
				v := view(t, a, zarrface.Options{Blocks: r.IntN(2) == 0})
				ch, stored, ok := storedChunk(t, a, v)
				if !ok {
					continue
				}
				if zarrface.Passes(v, ch, stored) {
					passed++
				}
				if _, _, ok := v.Lead(ch, stored); ok {
					led++
				}
				checkChunk(t, fmt.Sprintf("%+v", c), a, v, zarrface.Pass, ch, stored)
			}
		}
	}
	if passed < racetest.Share(60, 6) || led < racetest.Share(15, 1) {
		t.Errorf("only %d of %d passed, %d in one piece", passed, all, led)
	}
}

// FuzzPass: any array gives its items, and a damaged chunk an error or a chunk that is no
// longer than twice its items: never a panic.
func FuzzPass(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(4), uint16(256), uint8(2), uint8(0), uint16(0), uint8(0))
	f.Add(uint8(4), uint8(2), uint8(2), uint16(64), uint8(3), uint8(1), uint16(31), uint8(0x10))
	f.Add(uint8(0), uint8(0), uint8(8), uint16(130), uint8(1), uint8(2), uint16(50), uint8(0xff))
	f.Add(uint8(3), uint8(3), uint8(1), uint16(16), uint8(0), uint8(3), uint16(12), uint8(1))
	filters := [][]blosc.Filter{passFilters["none"], passFilters["shuffle"], passFilters["bitshuffle"], passFilters["delta"], passFilters["trunc"], passFilters["two"]}
	f.Fuzz(func(t *testing.T, codec, filter, item uint8, block uint16, kind, split uint8, where uint16, flip uint8) {
		c := passCase{
			codec: passCodecs[codec%5], filters: filters[filter%6], item: int(item%32) + 1, block: int(block%600) + 1,
			split: blosc.SplitMode(1 + split%4), level: 1 + int(split)%9,
		}
		if filter%6 == 4 { // floats
			c.item = 4 + int(item)%2*4
		}
		a := c.array(t, c.data(rand.New(rand.NewPCG(uint64(where), uint64(flip))), int(kind%5)))
		v := view(t, a, zarrface.Options{Blocks: split%2 == 0})
		ch, stored, ok := storedChunk(t, a, v)
		if !ok {
			return
		}
		checkChunk(t, fmt.Sprintf("%+v", c), a, v, zarrface.Pass, ch, stored)
		damaged(t, v, ch, stored[:int(where)%len(stored)])
		stored[int(where)%len(stored)] ^= flip
		damaged(t, v, ch, stored)
	})
}

// damaged encodes a chunk that may be damaged.
func damaged(t *testing.T, v *zarrface.View, c zarrface.Chunk, stored []byte) {
	t.Helper()
	if lead, rest, ok := v.Lead(c, stored); ok {
		whole(t, slices.Concat(lead, rest), c)
	}
	p, err := v.Encode(nil, c, stored)
	if err != nil {
		if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrTooLarge) {
			t.Fatalf("no sentinel: %v", err)
		}
		if p != nil {
			t.Fatal("bytes besides an error")
		}
		return
	}
	whole(t, p, c)
}

// whole says that an answer has the lengths of a Zarr chunk.
func whole(t *testing.T, p []byte, c zarrface.Chunk) {
	t.Helper()
	h, err := blosc.ParseHeader(p)
	if err != nil || h.CBytes != len(p) || int64(h.NBytes) != c.Size || int64(len(p)) > 2*c.Size+64 {
		t.Fatalf("%d bytes for %d: %+v, %v", len(p), c.Size, h, err)
	}
}

// TestDamaged: every truncation and every flipped bit of chunks with and without runs.
func TestDamaged(t *testing.T) {
	for i, c := range []passCase{
		{codec: blosc.LZ4, filters: passFilters["shuffle"], item: 4, block: 128, split: blosc.SplitAlways},
		{codec: blosc.Zstd, filters: passFilters["bitshuffle"], item: 2, block: 64, split: blosc.SplitNever},
		{codec: blosc.BloscLZ, filters: passFilters["none"], item: 1, block: 100, split: blosc.SplitNever},
	} {
		a := c.array(t, c.data(rand.New(rand.NewPCG(5, uint64(i))), 2))
		v := view(t, a, zarrface.Options{})
		ch, stored, ok := storedChunk(t, a, v)
		if !ok {
			t.Fatal("absent")
		}
		for n := 0; n < len(stored); n++ {
			damaged(t, v, ch, stored[:n])
			for bit := range 8 {
				stored[n] ^= 1 << bit
				damaged(t, v, ch, stored)
				stored[n] ^= 1 << bit
			}
		}
		checkChunk(t, fmt.Sprintf("%+v", c), a, v, zarrface.Pass, ch, stored)
	}
}

// arrayOf is an array of one chunk of C-Blosc2, or nil if the chunk is none of an array:
// those have whole blocks of whole items.
func arrayOf(t tester, chunk []byte) *b2nd.Array {
	t.Helper()
	h, err := blosc.ParseHeader(chunk)
	if err != nil || !h.Extended || h.VL || h.NBytes == 0 || h.NBytes%h.BlockBytes() != 0 || h.BlockBytes()%h.TypeSize != 0 {
		return nil
	}
	n := h.NBytes / h.TypeSize
	meta, err := b2nd.AppendMeta(nil, b2nd.Meta{Shape: []int64{int64(n)}, ChunkShape: []int{n}, BlockShape: []int{h.BlockBytes() / h.TypeSize}, DType: fmt.Sprintf("|V%d", h.TypeSize)})
	if err != nil {
		t.Fatal(err)
	}
	var b buffer
	w, err := cframe.NewWriter(&b, cframe.WriteOptions{
		TypeSize: h.TypeSize, ChunkSize: h.NBytes, BlockSize: h.BlockBytes(), Metalayers: []cframe.Metalayer{{Name: "b2nd", Data: meta}},
	})
	if err == nil {
		err = w.WriteEncoded(chunk)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, b.Bytes())
}

// TestPassChunksOfC: chunks that C-Blosc2 wrote.
func TestPassChunksOfC(t *testing.T) {
	files, err := filepath.Glob("../../formats/blosc/testdata/blosc2/*.chunk")
	if err != nil {
		t.Fatal(err)
	}
	passed, all := 0, 0
	for i, file := range files {
		chunk, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := arrayOf(t, chunk)
		if a == nil || !racetest.Sampled(i) {
			continue
		}
		v := view(t, a, zarrface.Options{Blocks: i%3 == 0})
		c, stored, ok := storedChunk(t, a, v)
		if !ok {
			continue
		}
		if all++; zarrface.Passes(v, c, stored) {
			passed++
		}
		checkChunk(t, file, a, v, zarrface.Pass, c, stored)
	}
	t.Logf("%d of %d passed through", passed, all)
	if passed < racetest.Share(30, 6) {
		t.Error("too few")
	}
}
