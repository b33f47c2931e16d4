package cframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// drawOps draws changes and does them to an editor and to a model.
func drawOps(t *rapid.T, ctx context.Context, f *memFile, model *content, size int, vary bool) {
	e, err := Edit(ctx, f, EditOptions{Vary: vary, ChunkSize: size})
	if err != nil {
		t.Fatal(err)
	}
	data := func() []byte {
		n := size
		if rapid.IntRange(0, 3).Draw(t, "other size") == 0 {
			n = rapid.IntRange(1, size+40).Draw(t, "size")
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return make([]byte, n)
		case 1:
			return bytes.Repeat([]byte{7, 0, 1, 9}, (n+3)/4)[:n]
		case 2:
			return noise(n, rapid.IntRange(0, 99).Draw(t, "seed"))
		}
		return ramp(n, rapid.IntRange(0, 255).Draw(t, "seed"))
	}
	for range rapid.IntRange(0, 6).Draw(t, "changes") {
		n := len(model.Chunks)
		next := model.clone()
		var err error
		switch rapid.IntRange(0, 8).Draw(t, "change") {
		case 0, 1:
			next.Chunks = append(next.Chunks, data())
			err = e.Extend(next.Chunks[n])
		case 2:
			i := rapid.IntRange(0, n).Draw(t, "i")
			next.Chunks = slices.Insert(next.Chunks, i, data())
			err = e.Insert(i, next.Chunks[i])
		case 3:
			if n == 0 {
				continue
			}
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			next.Chunks[i] = data()
			err = e.Update(i, next.Chunks[i])
		case 4:
			if n == 0 {
				continue
			}
			i := rapid.IntRange(0, n-1).Draw(t, "i")
			next.Chunks = slices.Delete(next.Chunks, i, i+1)
			err = e.Delete(i)
		case 5:
			m := Metalayer{fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "name")), noise(rapid.IntRange(0, 99).Draw(t, "length"), 1)}
			next.VL = setLayer(next.VL, m)
			err = e.SetVLMetalayer(m.Name, m.Data)
		case 6:
			if len(next.VL) == 0 {
				continue
			}
			name := next.VL[0].Name
			next.VL = next.VL[1:]
			err = e.DeleteVLMetalayer(name)
		case 7:
			next.Meta[0].Data = noise(20, rapid.IntRange(0, 99).Draw(t, "seed"))
			err = e.SetMetalayer("m", next.Meta[0].Data)
		case 8:
			i := rapid.IntRange(0, n).Draw(t, "i")
			next.Chunks = slices.Insert(next.Chunks, i, make([]byte, size))
			err = e.InsertSpecial(i, rapid.SampledFrom([]blosc.Special{blosc.Zeros, blosc.Uninit}).Draw(t, "special"), size)
		}
		switch {
		case err == nil:
			*model = next
		case !errors.Is(err, ErrRefused) || vary:
			t.Fatal(err)
		}
	}
	if rapid.IntRange(0, 9).Draw(t, "abort") == 0 {
		if err := e.Abort(); err != nil {
			t.Fatal(err)
		}
		*model, err = readBytes(ctx, f.b)
	} else {
		err = e.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Any changes, in any order, in any number of commits: the same as to a list.
func TestEditModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		vary := rapid.Bool().Draw(t, "vary")
		size := 4 * rapid.IntRange(1, 60).Draw(t, "chunk")
		s := &sink{}
		model := content{Meta: []Metalayer{{"m", make([]byte, 20)}}}
		w, err := NewWriter(s, WriteOptions{TypeSize: rapid.SampledFrom([]int{1, 4}).Draw(t, "item"), ChunkSize: size, Metalayers: model.Meta,
			Encode: blosc.EncodeOptions{Codec: rapid.SampledFrom([]blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.Zstd}).Draw(t, "codec")}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f := &memFile{b: s.b}
		for range rapid.IntRange(1, 5).Draw(t, "commits") {
			drawOps(t, ctx, f, &model, size, vary)
			got, err := readBytes(ctx, f.b)
			if err != nil {
				t.Fatal(err)
			}
			if !equalContent(got, model) {
				t.Fatalf("got %d chunks, %v; want %d, %v", len(got.Chunks), got.VL, len(model.Chunks), model.VL)
			}
		}
	})
}

// Editing what is no sound frame is an error or leaves a frame that can be read
// as far as it could before; it never panics.
func FuzzEdit(f *testing.F) {
	for _, name := range []string{"short_last", "edited", "deleted_all", "empty_meta", "vlmeta_grown", "special_mixed"} {
		b, err := os.ReadFile("testdata/fixtures/cframe/" + name + ".b2frame")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(0), byte(0), byte(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint16, v, what byte) {
		if len(b) > 1<<16 {
			return
		}
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= v
		}
		if frame, err := openBytes(t.Context(), b); err == nil && frame.info.NBytes > 1<<20 {
			return // much may come of few bytes
		}
		before, errBefore := readBytes(t.Context(), b)
		file := &memFile{b: b}
		e, err := Edit(t.Context(), file, EditOptions{Vary: true, Limits: formats.Limits{MaxDecoded: 1 << 20, MaxMeta: 1 << 20, MaxEntries: 1 << 12}})
		if err != nil {
			return
		}
		if err = changes[int(what)%len(changes)].do(e, &content{Chunks: make([][]byte, max(6, e.Chunks())), Meta: make([]Metalayer, 1), VL: make([]Metalayer, 2)}); err == nil {
			err = e.SetVLMetalayer("fuzz", nil)
		}
		if err != nil {
			must(t, e.Abort())
			after, errAfter := readBytes(t.Context(), file.b)
			if errBefore == nil && (errAfter != nil || !equalContent(before, after)) {
				t.Fatalf("refused (%v), yet changed: %v", err, errAfter)
			}
			return
		}
		if err := e.Close(); err != nil {
			return
		}
		frame, err := openBytes(t.Context(), file.b)
		if err != nil {
			t.Fatalf("what was edited does not open: %v", err)
		}
		if frame.Chunks() != e.Chunks() {
			t.Fatalf("%d chunks, the editor has %d", frame.Chunks(), e.Chunks())
		}
	})
}
