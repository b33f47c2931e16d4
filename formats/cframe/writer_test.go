package cframe

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

// The frames that were put together by hand after the specification, and which
// c-blosc2 reads: ours have the same bytes. Only the offsets chunk, which by hand
// has no filter, tells of the shuffle and of the split mode that C asks for.
func TestGoldenFrames(t *testing.T) {
	plain := WriteOptions{ChunkSize: 4, Encode: blosc.EncodeOptions{Codec: blosc.Zstd, Split: blosc.SplitAuto}}
	level9, meta := plain, plain
	level9.Encode.Level = 9
	meta.Metalayers = []Metalayer{{"foo", []byte("\xc4\x02\x01\x02")}}
	const abcd = "\x05\x01\x07\x01\x04\x00\x00\x00\x04\x00\x00\x00\x24\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + "abcd"
	cases := []struct {
		name    string
		o       WriteOptions
		f       func(t *testing.T, w *Writer)
		offsets int // where the offsets chunk begins, if it was made by hand
		want    string
	}{
		{"special offset of a short chunk", plain, func(t *testing.T, w *Writer) {
			t.Helper()
			must(t, w.WriteEncoded([]byte(abcd)), w.WriteSpecial(blosc.Zeros, 2))
		}, 97 + 36, `9ea86232 6672616d 6500d200 000061cf 00000000 000000d8 a4120055 02d30000 00000000 0006d300 00000000 000024d2
			00000001 d2000000 00d20000 0004d100 01d10001 c2d80600 00000000 01050000 00000000 00000093 cd0007de 0000dc00
			00050107 01040000 00040000 00240000 00000000 00000000 00000000 00000000 00616263 64050107 08100000 00100000
			00300000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 81940193 cd0006de 0000dc00
			00ce0000 0023d800 00000000 00000000 00000000 00000000`},
		{"special offsets chunk", plain, func(t *testing.T, w *Writer) {
			t.Helper()
			must(t, w.WriteSpecial(blosc.Zeros, 4), w.WriteSpecial(blosc.Zeros, 4), w.WriteSpecial(blosc.Zeros, 4))
		}, 0, `9ea86232 6672616d 6500d200 000061cf 00000000 000000ac a4120055 02d30000 00000000 000cd300 00000000 000000d2
			00000001 d2000000 00d20000 0004d100 01d10001 c2d80600 00000000 01050000 00000000 00000093 cd0007de 0000dc00
			00050105 08180000 00180000 00280000 00000000 00000000 00000000 00000000 30000000 00000000 81940193 cd0006de
			0000dc00 00ce0000 0023d800 00000000 00000000 00000000 00000000`},
		{"zstd, level 9, no chunk", level9, func(*testing.T, *Writer) {}, 0, `9ea86232 6672616d 6500d200 000061cf 00000000 00000084 a4120095 02d30000 00000000 0000d300 00000000 000000d2
			00000001 d2000000 00d20000 0004d100 01d10001 c2d80600 00000000 01050000 00000000 00000093 cd0007de 0000dc00
			00940193 cd0006de 0000dc00 00ce0000 0023d800 00000000 00000000 00000000 00000000`},
		{"metalayer", meta, func(t *testing.T, w *Writer) {
			t.Helper()
			must(t, w.WriteEncoded([]byte(abcd)))
		}, 115 + 36, `9ea86232 6672616d 6500d200 000073cf 00000000 000000e2 a4120055 02d30000 00000000 0004d300 00000000 000024d2
			00000001 d2000000 00d20000 0004d100 01d10001 c2d80600 00000000 01050000 00000000 00000093 cd0010de 0001a366
			6f6fd200 00006adc 0001c600 000004c4 02010205 01070104 00000004 00000024 00000000 00000000 00000000 00000000
			00000061 62636405 01070808 00000008 00000028 00000000 00000000 00000000 00000000 00000000 00000000 00000094
			0193cd00 06de0000 dc0000ce 00000023 d8000000 00000000 00000000 00000000 0000`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := write(t, c.o, func(w *Writer) { c.f(t, w) })
			want, err := hex.DecodeString(strings.Join(strings.Fields(c.want), ""))
			must(t, err)
			mustRead(t, got)
			if at := c.offsets; at > 0 {
				if got[at+21] != byte(blosc.Shuffle) || got[at+2]|0x10 != 0x17 {
					t.Errorf("offsets with flags %#02x, filter %d", got[at+2], got[at+21])
				}
				got[at+2], got[at+21] = want[at+2], want[at+21]
			}
			if d := cmp.Diff(strings.Split(hex.Dump(want), "\n"), strings.Split(hex.Dump(got), "\n")); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
	t.Run("trailer", func(t *testing.T) {
		want, err := hex.DecodeString(strings.Join(strings.Fields(`940193cd 000fde00 01a36261 72d20000 0015dc00 01c60000 00210501 07010100 00000100 00002100 00000000 00000000
			00000000 00000000 000005ce 00000052 d8000000 00000000 00000000 00000000 0000`), ""))
		must(t, err)
		chunk, err := hex.DecodeString("0501070101000000010000002100000000000000000000000000000000000000" + "05")
		must(t, err)
		if got := appendTrailer(nil, []Metalayer{{"bar", chunk}}); !bytes.Equal(got, want) {
			t.Errorf("%x, want %x", got, want)
		}
	})
}

// Frames that python-blosc2 wrote come out of Compact with the same bytes but for
// the number of threads, which we do not tell, and the offsets, which may be
// compressed in another way.
func TestCompactFixtures(t *testing.T) {
	ctx := t.Context()
	files, err := filepath.Glob("testdata/fixtures/cframe/*.b2frame")
	must(t, err)
	old, err := filepath.Glob("testdata/fixtures/cframe/old_*/*.b2frame")
	must(t, err)
	upstream, err := filepath.Glob("testdata/fixtures/upstream/*.b2frame")
	must(t, err)
	equal := 0
	for _, name := range append(append(files, old...), upstream...) {
		t.Run(strings.TrimPrefix(name, "testdata/fixtures/"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			must(t, err)
			f, err := openBytes(ctx, want)
			must(t, err)
			s := &sink{}
			must(t, Compact(ctx, s, f))
			compacted := s.b
			before, err := contentOf(ctx, f)
			must(t, err)
			_, after := mustRead(t, compacted)
			compare(t, "content", after, before)
			g, err := openBytes(ctx, compacted)
			must(t, err)
			if dead(t, f) == 0 && f.table.sorted == nil {
				equal++
				want, compacted = alike(want, f), alike(compacted, g)
				if d := cmp.Diff(strings.Split(hex.Dump(want), "\n"), strings.Split(hex.Dump(compacted), "\n")); d != "" {
					t.Errorf("-want +got\n%s", d)
				}
			}
			if n := dead(t, g); n != 0 {
				t.Errorf("%d dead bytes", n)
			}
		})
	}
	if equal < 30 {
		t.Errorf("%d frames could be compared byte by byte, expected 30", equal)
	}
}

// dead counts the bytes that belong to no chunk.
func dead(t *testing.T, f *Frame) int64 {
	t.Helper()
	headers, err := f.ChunkHeaders(t.Context(), 0, f.Chunks())
	must(t, err)
	n := f.info.CBytes
	if f.info.NBytes == 0 {
		n = 0
	}
	for i := range headers {
		if f.chunk(i).Special == blosc.None {
			n -= int64(headers[i].CBytes)
		}
	}
	return n
}

// alike leaves of a frame what two writers must agree on.
func alike(b []byte, f *Frame) []byte {
	b = bytes.Clone(b[:f.info.FrameLen])
	clear(b[atThreads : atThreads+5])
	clear(b[atFrameLen : atFrameLen+8])         // follows from the offsets chunk
	if f.info.Codec != 0 && b[atUDCodec] == 0 { // of old versions
		b[atUDCodec] = byte(f.info.Codec)
	}
	if f.info.NBytes == 0 { // C leaves the sum of chunks that are gone
		clear(b[atCBytes : atCBytes+8])
	}
	return append(b[:f.info.indexOff():f.info.indexOff()], b[f.trailerOff:]...)
}

func TestWriteAndRead(t *testing.T) {
	nan := bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 1000)
	run := bytes.Repeat([]byte{1, 2, 3, 4}, 1000)
	for _, codec := range []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.LZ4HC, blosc.Zlib, blosc.Zstd} {
		for _, parallel := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s %d", codec, parallel), func(t *testing.T) {
				want := content{
					Chunks: [][]byte{ramp(4000, 1), noise(4000, 2), make([]byte, 4000), nan, run, ramp(4000, 3), ramp(400, 4)},
					Meta:   []Metalayer{{"a", []byte("1")}, {"", nil}, {"long name of thirty one bytes..", make([]byte, 300)}},
					VL:     []Metalayer{{"x", ramp(5000, 0)}, {"y", nil}},
				}
				loans := bufpool.Loans()
				b := write(t, WriteOptions{TypeSize: 4, Metalayers: want.Meta, Parallel: parallel, Encode: blosc.EncodeOptions{Codec: codec}}, func(w *Writer) {
					must(t, w.SetVLMetalayer("x", []byte("first")), w.SetVLMetalayer("y", nil))
					for _, p := range want.Chunks {
						q := bytes.Clone(p)
						must(t, w.WriteChunk(q))
						clear(q) // it is not kept
					}
					must(t, w.SetVLMetalayer("x", want.VL[0].Data))
				})
				if n := bufpool.Loans() - loans; n != 0 {
					t.Errorf("%d buffers were not given back", n)
				}
				info, got := mustRead(t, b)
				compare(t, "content", got, want)
				if info.Codec != codec || info.ChunkSize != 4000 || info.Version != 2 || info.VariableChunks || !info.HasVL || info.Level != 5 {
					t.Errorf("%+v", info)
				}
				f, err := openBytes(t.Context(), b)
				must(t, err)
				for i, kind := range []blosc.Special{0, 0, blosc.Zeros, blosc.NaN, 0, 0, 0} {
					if got := f.chunk(i).Special; got != kind {
						t.Errorf("chunk %d is %s, want %s", i, got, kind)
					}
				}
				serial := write(t, WriteOptions{TypeSize: 4, Metalayers: want.Meta, Encode: blosc.EncodeOptions{Codec: codec}}, func(w *Writer) {
					for _, p := range want.Chunks {
						must(t, w.WriteChunk(p))
					}
					must(t, w.SetVLMetalayer("x", want.VL[0].Data), w.SetVLMetalayer("y", nil))
				})
				if !bytes.Equal(b, serial) {
					t.Error("the bytes depend on how many goroutines encode")
				}
			})
		}
	}
}

// Sizes 100, 50, 70, 100, as in a file of python-blosc2.
func TestVary(t *testing.T) {
	chunks := [][]byte{make([]byte, 400), ramp(400, 2), make([]byte, 200), noise(280, 3), make([]byte, 400), ramp(4, 5)}
	for _, parallel := range []int{1, 2, 5} {
		b := write(t, WriteOptions{TypeSize: 4, Vary: true, Parallel: parallel}, func(w *Writer) {
			for _, p := range chunks {
				must(t, w.WriteChunk(p))
			}
		})
		info, got := mustRead(t, b)
		compare(t, "content", got, content{Chunks: chunks})
		if b[atFlags] != 0x53 || info.ChunkSize != 0 || info.Version != 3 {
			t.Errorf("flags %#02x, %+v", b[atFlags], info)
		}
		if parallel == 1 {
			continue
		}
		if one := write(t, WriteOptions{TypeSize: 4, Vary: true}, func(w *Writer) {
			for _, p := range chunks {
				must(t, w.WriteChunk(p))
			}
		}); !bytes.Equal(one, b) {
			t.Error("the bytes depend on how many goroutines encode")
		}
	}
	b := write(t, WriteOptions{ChunkSize: VaryingSizes}, func(*Writer) {})
	if info, _ := mustRead(t, b); b[atFlags] != 0x53 || info.ChunkSize != 0 {
		t.Errorf("empty: flags %#02x, %+v", b[atFlags], info)
	}
	b = write(t, WriteOptions{TypeSize: 4}, func(*Writer) {})
	if info, _ := mustRead(t, b); b[atFlags] != 0x12 || info.ChunkSize != -1 {
		t.Errorf("empty: flags %#02x, %+v", b[atFlags], info)
	}
}

func TestWriteBlocks(t *testing.T) {
	for _, sameSize := range []bool{true, false} {
		var want content
		b := write(t, WriteOptions{Vary: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}, func(w *Writer) {
			for i := range 5 {
				n := 300
				if !sameSize {
					n += 10 * i
				}
				blocks := [][]byte{ramp(100+i, i), noise(50, i), ramp(n-150-i, i)}
				must(t, w.WriteBlocks(blocks))
				want.Chunks = append(want.Chunks, bytes.Join(blocks, nil))
			}
			if err := w.WriteChunk(ramp(300, 0)); !errors.Is(err, ErrRefused) {
				t.Errorf("a plain chunk among VL chunks: %v", err)
			}
			if err := w.WriteSpecial(blosc.Zeros, 300); !errors.Is(err, ErrRefused) {
				t.Errorf("a special chunk among VL chunks: %v", err)
			}
		})
		if flags := map[bool]byte{true: 0x93, false: 0xd3}[sameSize]; b[atFlags] != flags {
			t.Errorf("flags %#02x, want %#02x", b[atFlags], flags)
		}
		_, got := mustRead(t, b)
		compare(t, "content", got, want)
	}
}

// Special chunks that no offset can stand for are stored in blocks: a frame that
// begins with a chunk of 32 bytes is one that C cannot open.
func TestSpecialsStored(t *testing.T) {
	b := write(t, WriteOptions{TypeSize: 8, ChunkSize: 80}, func(w *Writer) {
		nan4, err := blosc.AppendSpecial(nil, blosc.NaN, 80, 4, 0, nil)
		must(t, err)
		must(t, w.WriteEncoded(nan4), w.WriteSpecial(blosc.NaN, 80), w.WriteSpecial(blosc.Uninit, 80), w.WriteChunk(make([]byte, 13)))
	})
	f, err := openBytes(t.Context(), b)
	must(t, err)
	for i, kind := range []blosc.Special{blosc.None, blosc.NaN, blosc.Uninit, blosc.None} {
		if got := f.chunk(i).Special; got != kind {
			t.Errorf("chunk %d: %s, want %s", i, got, kind)
		}
	}
	headers, err := f.ChunkHeaders(t.Context(), 0, f.Chunks())
	must(t, err)
	if headers[0].Special != blosc.None || headers[0].CBytes > 80 {
		t.Errorf("%+v", headers[0])
	}
	_, got := mustRead(t, b)
	compare(t, "chunks", got.Chunks, [][]byte{bytes.Repeat([]byte{0, 0, 0xc0, 0x7f}, 20), bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, 10), make([]byte, 80), make([]byte, 13)})
}

// What cannot be written is refused before anything is, and the writer goes on.
func TestRefused(t *testing.T) {
	many := make([]Metalayer, 17)
	for i := range many {
		many[i].Name = fmt.Sprint(i)
	}
	for name, o := range map[string]WriteOptions{
		"name of 32 bytes":     {Metalayers: []Metalayer{{strings.Repeat("n", 32), nil}}},
		"name with a zero":     {Metalayers: []Metalayer{{"a\x00b", nil}}},
		"name of no UTF-8":     {Metalayers: []Metalayer{{"\xff", nil}}},
		"two of a name":        {Metalayers: []Metalayer{{"a", nil}, {"a", nil}}},
		"17 metalayers":        {Metalayers: many},
		"header of over 5 MiB": {Metalayers: []Metalayer{{"a", make([]byte, 3<<20)}, {"b", make([]byte, 2<<20)}}},
		"item size":            {TypeSize: -1},
		"item size of 2 GiB":   {TypeSize: math.MaxInt32 + 1},
		"chunk size":           {ChunkSize: -2},
		"chunk of 2 GiB":       {ChunkSize: math.MaxInt32},
		"chunks of no items":   {TypeSize: 8, ChunkSize: 4001},
		"level":                {Encode: blosc.EncodeOptions{Level: 10}},
		"seven filters":        {Encode: blosc.EncodeOptions{Filters: make([]blosc.Filter, 7)}},
		"Blosc1":               {Encode: blosc.EncodeOptions{Blosc1: true}},
	} {
		s := &sink{}
		if _, err := NewWriter(s, o); !errors.Is(err, ErrRefused) || s.n != 0 {
			t.Errorf("%s: %v after %d writes", name, err, s.n)
		}
	}
	b := write(t, WriteOptions{TypeSize: 4, Metalayers: []Metalayer{{"m", []byte("four")}}}, func(w *Writer) {
		must(t, w.WriteChunk(ramp(400, 1)), w.WriteChunk(ramp(400, 2)))
		blosc1, err := blosc.AppendEncoded(nil, ramp(400, 1), blosc.EncodeOptions{Blosc1: true})
		must(t, err)
		long := append(stored(t, strings.Repeat("x", 400), 4), 0)
		value, err := blosc.AppendSpecial(nil, blosc.Value, 400, 4, 0, []byte("abcd"))
		must(t, err)
		for name, err := range map[string]error{
			"longer chunk":       w.WriteChunk(ramp(404, 1)),
			"empty chunk":        w.WriteChunk(nil),
			"blosc1 chunk":       w.WriteEncoded(blosc1),
			"bytes after chunk":  w.WriteEncoded(long),
			"value as special":   w.WriteSpecial(blosc.Value, 400),
			"NaN of odd size":    w.WriteSpecial(blosc.NaN, 399),
			"negative":           w.WriteSpecial(blosc.Zeros, -1),
			"VL":                 w.WriteBlocks([][]byte{{1}, {2}}),
			"length of metadata": w.SetMetalayer("m", []byte("three")),
			"name":               w.SetVLMetalayer(strings.Repeat("n", 32), nil),
		} {
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := w.WriteEncoded([]byte("no chunk at all, by any means....")); !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("no chunk: %v", err)
		}
		if err := w.SetMetalayer("n", nil); !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("no metalayer: %v", err)
		}
		must(t, w.SetMetalayer("m", []byte("five")), w.WriteEncoded(value), w.WriteChunk(ramp(8, 9)))
		if err := w.WriteChunk(ramp(400, 1)); !errors.Is(err, ErrRefused) {
			t.Errorf("a chunk after a short one: %v", err)
		}
	})
	_, got := mustRead(t, b)
	compare(t, "content", got, content{
		Chunks: [][]byte{ramp(400, 1), ramp(400, 2), bytes.Repeat([]byte("abcd"), 100), ramp(8, 9)}, Meta: []Metalayer{{"m", []byte("five")}}})
}

func TestLimits(t *testing.T) {
	for _, l := range []formats.Limits{{MaxEntries: 3}, {MaxMeta: 24}} {
		w, err := NewWriter(&sink{}, WriteOptions{Limits: l})
		must(t, err)
		for range 3 {
			must(t, w.WriteSpecial(blosc.Zeros, 10))
		}
		if err := w.WriteSpecial(blosc.Zeros, 10); !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// As many vlmetalayers as the format holds.
func TestManyVLMetalayers(t *testing.T) {
	var want content
	b := write(t, WriteOptions{}, func(w *Writer) {
		must(t, w.WriteChunk(ramp(100, 0)))
		want.Chunks = [][]byte{ramp(100, 0)}
		for i := range maxVLMetalayers {
			m := Metalayer{fmt.Sprintf("%031d", i), []byte{byte(i)}}
			chunk, err := encodeVL(m.Name, m.Data)
			must(t, err)
			w.vl = append(w.vl, chunk)
			want.VL = append(want.VL, m)
		}
		if err := w.SetVLMetalayer("more", nil); !errors.Is(err, ErrRefused) {
			t.Errorf("one more: %v", err)
		}
	})
	_, got := mustRead(t, b)
	compare(t, "content", got, want)
}

// Whatever write fails, no frame comes out of it, the error stays, and no buffer
// is lost.
func TestWriteErrors(t *testing.T) {
	for _, parallel := range []int{1, 3} {
		for fail := 1; ; fail++ {
			loans := bufpool.Loans()
			s := &sink{fail: fail}
			w, err := NewWriter(s, WriteOptions{Parallel: parallel})
			for i := 0; err == nil && i < 6; i++ {
				err = w.WriteChunk(noise(3000, i))
			}
			if err == nil {
				err = w.Close()
			}
			if w != nil {
				w.Abort()
			}
			if n := bufpool.Loans() - loans; n != 0 {
				t.Errorf("write %d: %d buffers were not given back", fail, n)
			}
			if err == nil {
				if fail < 8 {
					t.Errorf("done after %d writes", fail)
				}
				break
			}
			if !errors.Is(err, errSink) {
				t.Fatalf("write %d: %v", fail, err)
			}
			if w != nil {
				if err := w.Close(); err == nil {
					t.Errorf("write %d: closed after an error", fail)
				}
			}
			if _, err := openBytes(t.Context(), s.b); err == nil {
				t.Errorf("write %d: a frame without an end opens", fail)
			}
		}
	}
}

func TestAbort(t *testing.T) {
	loans := bufpool.Loans()
	w, err := NewWriter(&sink{}, WriteOptions{Parallel: 4})
	must(t, err)
	for i := range 4 {
		must(t, w.WriteChunk(noise(3000, i)))
	}
	w.Abort()
	if err := w.WriteChunk(noise(3000, 0)); err == nil {
		t.Error("written after Abort")
	}
	if n := bufpool.Loans() - loans; n != 0 {
		t.Errorf("%d buffers were not given back", n)
	}
}
