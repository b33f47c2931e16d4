package cframe_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A made frame is put together by hand, good or bad.
type made struct {
	typeSize, chunkSize int
	nbytes              int64
	version             byte // with flags; 0: 0x12
	sparse              byte
	chunks              []byte // the section of chunks
	offsets             []byte // the offsets chunk; nil: none
	trailer             []byte // nil: an empty one
}

func (m *made) bytes(tb testing.TB) []byte {
	tb.Helper()
	v := vectors(tb)[0].frame
	b := bytes.Clone(v[:97])
	if m.version != 0 {
		b[25] = m.version
	}
	b[26] = m.sparse
	binary.BigEndian.PutUint64(b[30:], uint64(m.nbytes))
	binary.BigEndian.PutUint64(b[39:], uint64(len(m.chunks)))
	binary.BigEndian.PutUint32(b[48:], uint32(m.typeSize))
	binary.BigEndian.PutUint32(b[58:], uint32(m.chunkSize))
	if m.sparse == 0 {
		b = append(b, m.chunks...)
	}
	b = append(b, m.offsets...)
	if m.trailer == nil {
		b = append(b, v[len(v)-35:]...)
	}
	b = append(b, m.trailer...)
	binary.BigEndian.PutUint64(b[16:], uint64(len(b)))
	return b
}

// offsets is an offsets chunk that holds its data as they are.
func offsets(tb testing.TB, offs ...uint64) []byte {
	tb.Helper()
	var p []byte
	for _, o := range offs {
		p = binary.LittleEndian.AppendUint64(p, o)
	}
	return encoded(tb, p, blosc.EncodeOptions{TypeSize: 8, Level: blosc.LevelStore})
}

func encoded(tb testing.TB, p []byte, o blosc.EncodeOptions) []byte {
	tb.Helper()
	b, err := blosc.AppendEncoded(nil, p, o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func specialChunk(tb testing.TB, n int, value []byte) []byte {
	tb.Helper()
	b, err := blosc.AppendSpecial(nil, blosc.Value, n, len(value), min(n, 1<<14), value)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

const (
	zeros  = 0x81 << 56
	nans   = 0x82 << 56
	value  = 0x83 << 56
	uninit = 0x84 << 56
)

func TestHostileOffsets(t *testing.T) {
	one := encoded(t, []byte("abcd"), blosc.EncodeOptions{Level: blosc.LevelStore}) // 36 bytes
	two := append(bytes.Clone(one), one...)
	le := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, tc := range []struct {
		name  string
		frame made
		err   error
		data  string // where that is no error
	}{
		{"good", made{1, 4, 8, 0, 0, two, offsets(t, 0, 36), nil}, nil, "abcdabcd"},
		{"good, not in order", made{1, 4, 8, 0, 0, two, offsets(t, 36, 0), nil}, nil, "abcdabcd"},
		{"both the same", made{1, 4, 8, 0, 0, two, offsets(t, 36, 36), nil}, nil, "abcdabcd"},
		{"all the same by one value", made{1, 4, 8, 0, 0, one, specialChunk(t, 16, le(0)), nil}, nil, "abcdabcd"},
		{"all special by one value", made{4, 4, 8, 0, 0, nil, specialChunk(t, 16, le(nans)), nil}, nil, "\x00\x00\xc0\x7f\x00\x00\xc0\x7f"},
		{"holes", made{1, 4, 8, 0, 0, append(append(make([]byte, 99), two...), "dead"...), offsets(t, 99, 135), nil}, nil, "abcdabcd"},
		{"specials among others", made{4, 4, 16, 0, 0, two, offsets(t, zeros, 36, uninit, 0), nil}, nil, "\x00\x00\x00\x00abcd\x00\x00\x00\x00abcd"},
		{"overlapping", made{1, 4, 8, 0, 0, two, offsets(t, 0, 4), nil}, formats.ErrCorrupt, ""},
		{"beyond the chunks", made{1, 4, 8, 0, 0, two, offsets(t, 0, 41), nil}, formats.ErrCorrupt, ""},
		{"far beyond", made{1, 4, 8, 0, 0, two, offsets(t, 0, 1<<62), nil}, formats.ErrCorrupt, ""},
		{"no room for its length", made{1, 4, 8, 0, 0, two[:71], offsets(t, 0, 36), nil}, formats.ErrCorrupt, ""},
		{"an unknown special", made{1, 4, 8, 0, 0, two, offsets(t, 0, value), nil}, formats.ErrCorrupt, ""},
		{"two specials at once", made{1, 4, 8, 0, 0, two, offsets(t, 0, zeros|nans), nil}, formats.ErrCorrupt, ""},
		{"a special with low bits", made{1, 4, 8, 0, 0, two, offsets(t, 0, zeros+1), nil}, formats.ErrCorrupt, ""},
		{"NaN of items of 1", made{1, 4, 8, 0, 0, two, offsets(t, 0, nans), nil}, formats.ErrCorrupt, ""},
		{"a special of no size", made{1, 0, 8, 0x53, 0, two, offsets(t, 0, zeros), nil}, formats.ErrCorrupt, ""},
		{"chunks that vary", made{1, 0, 8, 0x53, 0, two, offsets(t, 36, 0), nil}, nil, "abcdabcd"},
		{"chunks that vary and do not add up", made{1, 0, 9, 0x53, 0, two, offsets(t, 36, 0), nil}, formats.ErrCorrupt, ""},
		{"too few", made{1, 4, 9, 0, 0, two, offsets(t, 0, 36), nil}, formats.ErrCorrupt, ""},
		{"too many", made{1, 4, 4, 0, 0, two, offsets(t, 0, 36), nil}, formats.ErrCorrupt, ""},
		{"not a multiple of 8", made{1, 0, 8, 0x53, 0, two, encoded(t, make([]byte, 12), blosc.EncodeOptions{}), nil}, formats.ErrCorrupt, ""},
		{"the last chunk too long", made{1, 4, 7, 0, 0, two, offsets(t, 0, 36), nil}, formats.ErrCorrupt, ""},
		{"chunks of another size", made{1, 5, 10, 0, 0, two, offsets(t, 0, 36), nil}, formats.ErrCorrupt, ""},
		{"longer than incompressible", made{1, 3, 3, 0, 0, two, offsets(t, 0), nil}, formats.ErrCorrupt, ""},
		{"offsets of NaN", made{1, 4, 8, 0, 0, two, append(append([]byte{5, 1, 5, 8, 16, 0, 0, 0, 16, 0, 0, 0, 32}, make([]byte, 18)...), 0x20), nil}, formats.ErrCorrupt, ""},
		{"2^29 chunks", made{1, 1, 1 << 29, 0, 0, nil, specialChunk(t, 16, le(zeros)), nil}, formats.ErrCorrupt, ""},
		{"2^60 bytes in chunks of 1", made{1, 1, 1 << 60, 0, 0, nil, specialChunk(t, 16, le(zeros)), nil}, formats.ErrCorrupt, ""},
		{"no offsets chunk", made{1, 4, 8, 0, 0, two, nil, nil}, formats.ErrCorrupt, ""},
		{"version 4", made{1, 4, 8, 0x14, 0, two, offsets(t, 0, 36), nil}, formats.ErrUnsupported, ""},
		{"offsets of 32 bits", made{1, 4, 8, 0x02, 0, two, offsets(t, 0, 36), nil}, formats.ErrUnsupported, ""},
	} {
		got, err := readFlat(t.Context(), reader(tc.frame.bytes(t)), formats.Limits{})
		if !errors.Is(err, tc.err) || tc.err == nil && (err != nil || string(got) != tc.data) {
			t.Errorf("%s: %q, %v, want %q, %v", tc.name, got, err, tc.data, tc.err)
		}
	}
}

// readFlat opens a frame and reads all of its data by ReadBytes, in two parts.
func readFlat(ctx context.Context, r rangeio.Reader, l formats.Limits) ([]byte, error) {
	f, err := cframe.Open(ctx, r, cframe.Options{Limits: l})
	if err != nil {
		return nil, err
	}
	n := f.Info().NBytes
	if n > 1<<20 {
		return nil, fmt.Errorf("%d bytes: %w", n, formats.ErrTooLarge)
	}
	p := make([]byte, n)
	if err := f.ReadBytes(ctx, p[:n/2], 0); err != nil {
		return nil, err
	}
	return p, f.ReadBytes(ctx, p[n/2:], n/2)
}

// TestHugeIsCheap: frames that claim much in few bytes open without much memory,
// or not at all.
func TestHugeIsCheap(t *testing.T) {
	le := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	// Offsets of 0 but for the last: all blocks but one shrink to 8 bytes.
	nearlyZero := func(n, block int) []byte {
		return encoded(t, append(make([]byte, n-8), le(zeros)...), blosc.EncodeOptions{
			Codec: blosc.Zstd, TypeSize: 8, BlockSize: block, Filters: []blosc.Filter{}, Split: blosc.SplitNever})
	}
	chunk := encoded(t, make([]byte, 1<<20), blosc.EncodeOptions{TypeSize: 8})
	for _, tc := range []struct {
		name  string
		frame made
		l     formats.Limits
		err   error
	}{
		{"2^27 chunks of zeros", made{1, 1 << 30, 1 << 57, 0, 0, nil, specialChunk(t, 1<<30, le(zeros)), nil}, formats.Limits{}, nil},
		{"the same, limited", made{1, 1 << 30, 1 << 57, 0, 0, nil, specialChunk(t, 1<<30, le(zeros)), nil}, formats.Limits{MaxEntries: 1 << 20}, formats.ErrTooLarge},
		{"8 million offsets out of nothing", made{1, 1 << 20, 1 << 43, 0, 0, chunk, nearlyZero(64<<20, 16<<20), nil}, formats.Limits{}, formats.ErrTooLarge},
		{"a million offsets, limited", made{1, 1 << 20, 1 << 40, 0, 0, chunk, nearlyZero(8<<20, 16<<10), nil}, formats.Limits{MaxMeta: 1 << 20}, formats.ErrTooLarge},
	} {
		p := tc.frame.bytes(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := cframe.Open(t.Context(), reader(p), cframe.Options{Limits: tc.l})
		runtime.ReadMemStats(&after)
		if !errors.Is(err, tc.err) || tc.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes allocated for a frame of %d", tc.name, n, len(p))
		}
		if err != nil {
			continue
		}
		if c, err := f.Chunk(t.Context(), f.Chunks()-1); err != nil || c.Special != blosc.Zeros || c.NBytes != 1<<30 || f.Chunks() != 1<<27 {
			t.Errorf("%s: %d chunks, %+v", tc.name, f.Chunks(), c)
		}
		if err := f.ReadBytes(t.Context(), make([]byte, 100), 1<<57-100); err != nil {
			t.Error(err)
		}
	}
}

// TestHostileLayers: sections of metalayers that lie, in header and trailer.
func TestHostileLayers(t *testing.T) {
	good := load(t, "cframe/metalayers.b2frame")
	put := func(off int, b ...byte) []byte {
		p := bytes.Clone(good)
		copy(p[off:], b)
		return p
	}
	first := bytes.Index(good, []byte("\xa6author\xd2")) + 8 // its offset
	content := bytes.Index(good, []byte{0xdc, 0, 5, 0xc6}) + 3
	for name, p := range map[string][]byte{
		"17 metalayers":                put(87+5, 0, 17),
		"65535 metalayers":             put(87+5, 0xff, 0xff),
		"fewer in the array":           put(content-2, 0, 4),
		"an offset before the section": put(first, 0, 0, 0, 1),
		"an offset past the header":    put(first, 0, 0, 1, 0x20),
		"a negative offset":            put(first, 0xff, 0xff, 0xff, 0xff),
		"an offset at no content":      put(first, 0, 0, 0, byte(content+1)),
		"a content of 4 GiB":           put(content, 0xc6, 0xff, 0xff, 0xff, 0xff),
		"a content past the header":    put(content, 0xc6, 0, 0, 1, 0),
		"not a map":                    put(87+4, 0xdd),
		"not a name":                   put(first-8, 0x40),
	} {
		if _, err := cframe.Open(t.Context(), reader(p), cframe.Options{}); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "metalayers") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Layers that share their content would hold more than the header does.
	p := bytes.Clone(good)
	at := binary.BigEndian.Uint32(p[first:])
	for i := 0; ; {
		k := bytes.IndexByte(p[87+7+i:content-3], 0xd2)
		if k < 0 {
			break
		}
		i += k + 1
		binary.BigEndian.PutUint32(p[87+7+i:], at)
		i += 4
	}
	binary.BigEndian.PutUint32(p[at+1:], 80)
	if _, err := cframe.Open(t.Context(), reader(p), cframe.Options{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("shared contents: %v", err)
	}
	if _, err := cframe.Open(t.Context(), reader(good), cframe.Options{Limits: formats.Limits{MaxMeta: 200}}); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("a header of 271 bytes, limited: %v", err)
	}
	f, err := cframe.Open(t.Context(), reader(load(t, "cframe/vlmeta_large.b2frame")), cframe.Options{Limits: formats.Limits{MaxMeta: 10_000}, Tail: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.VLMetalayers(t.Context()); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("vlmetalayers, limited: %v", err)
	}
}

// TestDuplicateNames: the first wins, as in C.
func TestDuplicateNames(t *testing.T) {
	p := bytes.Clone(load(t, "cframe/metalayers.b2frame"))
	if n := bytes.Count(p[:271], []byte("\xa4nums")); n != 1 {
		t.Fatal(n)
	}
	p = bytes.Replace(p, []byte("\xa4nums"), []byte("\xa4blob"), 1)
	f, err := cframe.Open(t.Context(), reader(p), cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, m := range f.Metalayers() {
		if m.Name == "blob" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d layers of one name", count)
	}
}

// everything is what a frame holds: metadata and data.
func everything(ctx context.Context, f *cframe.Frame) ([]byte, error) {
	out := fmt.Appendf(nil, "%d %d %d\n", f.Info().TypeSize, f.Chunks(), f.Info().NBytes)
	layers, err := f.VLMetalayers(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range append(f.Metalayers(), layers...) {
		out = fmt.Appendf(out, "%q %x\n", m.Name, m.Data)
	}
	for i := range f.Chunks() {
		if out, err = f.AppendChunk(ctx, out, i); err != nil {
			return nil, err
		}
	}
	// The same by blocks, which go another way.
	err = f.EachConcurrent(ctx, []cframe.Want{{Chunk: 0, Blocks: []int{0}}}[:min(1, f.Chunks())], func(int, int, []byte) error { return nil })
	return out, err
}

func suite(x *fixture, data []byte, o cframe.Options, index []formattest.Range) formattest.Suite {
	o.Limits = formats.Limits{MaxDecoded: 1 << 20, MaxMeta: 1 << 20, MaxEntries: 1 << 16}
	return formattest.Suite{
		Objects: []formattest.Object{{Name: filepath.Base(x.File), Data: data, Index: index}},
		Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
			f, err := cframe.Open(ctx, r[0], o)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) ([]byte, error) { return everything(ctx, f) }, nil
		},
		// Frames have no checksums: a flipped bit may make another valid one. It
		// decodes to no more than its chunks can.
		Check: func(got []byte) error {
			if len(got) > 1<<21 {
				return fmt.Errorf("%d bytes", len(got))
			}
			return nil
		},
		MaxAlloc: 24 << 20,
		Stride:   7,
	}
}

func TestSuite(t *testing.T) {
	for _, name := range []string{"cframe/metalayers.b2frame", "cframe/special_mixed.b2frame", "upstream/varchunks-lz4-3.0.0.b2frame", "upstream/vlblocks-lz4-fixed-3.0.0.b2frame"} {
		for _, x := range manifest(t) {
			if x.File == name {
				t.Run(name, func(t *testing.T) {
					p := load(t, name)
					formattest.Run(t, suite(&x, p, cframe.Options{Policy: starts, Tail: 64}, nil))
				})
			}
		}
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are lent", n)
	}
}

// FuzzOpen feeds any bytes: no panic, no error without a class, and no more
// memory than the limits allow.
func FuzzOpen(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.frame, uint8(0))
	}
	for _, x := range manifest(f) {
		if x.Size > 0 && x.Size < 3000 {
			f.Add(load(f, x.File), uint8(len(x.File)))
		}
	}
	f.Fuzz(func(t *testing.T, p []byte, tail uint8) {
		o := cframe.Options{Limits: formats.Limits{MaxDecoded: 1 << 20, MaxMeta: 1 << 18, MaxEntries: 1 << 12}, Tail: int64(tail), Policy: starts}
		fr, err := cframe.Open(t.Context(), reader(p), o)
		if err == nil && fr.Info().NBytes < 1<<22 { // chunks that are not stored may be many for nothing
			_, err = everything(t.Context(), fr)
		}
		if err != nil && !formattest.Allowed(err) {
			t.Fatalf("error of no known class: %v", err)
		}
		if fr != nil && fr.Refused() == nil && fr.Info().NBytes < 1<<20 {
			n := fr.Info().NBytes
			if err := fr.ReadBytes(t.Context(), make([]byte, n-n/3), n/3); err != nil && !formattest.Allowed(err) {
				t.Fatalf("error of no known class: %v", err)
			}
		}
		if n := bufpool.Loans(); n != 0 {
			t.Fatalf("%d buffers are lent", n)
		}
	})
}
